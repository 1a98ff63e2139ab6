// Global variables with alignments of more than a page, with and without initial values: each is where its alignment puts it, has its value, and is shared.
#include <omp.h>
#include <stdint.h>
#include <stdio.h>

enum { COUNT = 1000 };

static _Alignas(1 << 18) long zeros[COUNT];
static _Alignas(1 << 17) long numbers[COUNT] = {1, 2, 3};
_Alignas(1 << 21) int last;

int main(void) {
    int bad = ((uintptr_t)zeros & ((1 << 18) - 1)) != 0;
    bad += ((uintptr_t)numbers & ((1 << 17) - 1)) != 0;
    bad += ((uintptr_t)&last & ((1 << 21) - 1)) != 0;
#pragma omp parallel for reduction(+ : bad)
    for (int i = 0; i < COUNT; i++) {
        bad += zeros[i] != 0 || numbers[i] != (i < 3 ? i + 1 : 0);
        zeros[i] = i;
        numbers[i] -= i;
    }
    for (int i = 0; i < COUNT; i++) bad += zeros[i] != i || numbers[i] != (i < 3 ? 1 : -i);
#pragma omp parallel
#pragma omp critical
    last++;
    printf("%d are wrong, all threads have come: %d\n", bad, last == omp_get_max_threads());
    return bad;
}
