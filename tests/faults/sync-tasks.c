//@ layout: 2x1
//@ found: verify
#include <omp.h>
#include <stdio.h>

long value;

__attribute__((noinline)) long twice(void) {
    long first = value;
#pragma omp task
    __asm__ volatile("");
#pragma omp taskwait
    return first + value;
}

// The other process waits at the end of the region, and gets tasks from this one.
int main(void) {
    long sum = 0;
    value = 5;
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) {
        for (int i = 0; i < 20000; i++)
            sum += twice();
    }
    printf("%ld\n", sum);
    return 0;
}
