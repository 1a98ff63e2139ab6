//@ layout: 2x1
//@ found: verify
#include <stdio.h>

long counter, values[1000];

__attribute__((noinline)) long sum(void) {
    long sum = 0;
    for (int i = 0; i < 1000; i++) {
#pragma omp critical
        counter++;
        sum += values[i];
    }
    return sum;
}

int main(void) {
    long total = 0;
#pragma omp parallel num_threads(2) reduction(+ : total)
    total += sum();
    printf("%ld %ld\n", total, counter);
    return 0;
}
