//@ layout: 2x1
//@ found: verify
// Seen by the state: the check is entered, but looks at the state of another line.
#include <stdio.h>
long values[4096];

__attribute__((noinline)) long get(int i) { return values[i]; }

int main(void) {
    long sum = 0;
    for (int i = 0; i < 4096; i++) values[i] = i;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += get(1000);
    printf("%ld\n", sum);
    return 0;
}
