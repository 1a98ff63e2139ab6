// Sets of processors of any size, which the C library allocates: made by one thread, and looked at by all.
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>

int main(void) {
    int wrong = 0;
    for (int most = 64; most <= 4096; most *= 4) {
        size_t bytes = CPU_ALLOC_SIZE(most);
        cpu_set_t *set = CPU_ALLOC(most);
        CPU_ZERO_S(bytes, set);
        for (int i = 0; i < most; i += 3) CPU_SET_S(i, bytes, set);
#pragma omp parallel reduction(+ : wrong)
        wrong += CPU_COUNT_S(bytes, set) != (most + 2) / 3;
#pragma omp parallel for reduction(+ : wrong)
        for (int i = 0; i < most; i++) wrong += !CPU_ISSET_S(i, bytes, set) != (i % 3 != 0);
        CPU_FREE(set);
    }
    printf("%d\n", wrong);
    return 0;
}
