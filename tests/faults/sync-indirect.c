//@ layout: 2x1
//@ found: verify
#include <stdio.h>

long value;

void step(void) {
#pragma omp barrier
}

void (*volatile steps[2])(void) = {step, step};

__attribute__((noinline)) long twice(void) {
    long first = value;
    steps[value & 1]();
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
