//@ layout: 2x1
//@ found: verify
#include <stdio.h>
#include <omp.h>


long value;
omp_lock_t lock;

__attribute__((noinline)) long twice(void) {
    long first = value;
    omp_set_lock(&lock);
    omp_unset_lock(&lock);
    return first + value;
}

int main(void) {
    long sum = 0;
    value = 5;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += twice();
    printf("%ld\n", sum);
    return 0;
}
