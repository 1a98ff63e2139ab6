//@ layout: 2x1
//@ found: verify
#include <stdio.h>

long value;

__attribute__((noinline)) long twice(void) {
    long first = value;
#pragma omp task
    __asm__ volatile("");
#pragma omp taskwait
    return first + value;
}

int main(void) {
    long sum = 0;
    value = 5;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += twice();
    printf("%ld\n", sum);
    return 0;
}
