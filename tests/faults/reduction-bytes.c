//@ layout: 2x1
//@ found: output
#include <stdio.h>

int main(void) {
    long sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += 1000000;
    printf("%ld\n", sum);
    return 0;
}
