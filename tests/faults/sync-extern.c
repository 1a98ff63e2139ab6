//@ layout: 2x1
//@ found: verify
#include <stdio.h>

long value;

/* The linker may take another one. */
__attribute__((weak, noinline)) void step(void) {
#pragma omp barrier
}

__attribute__((noinline)) long twice(void) {
    long first = value;
    step();
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
