//@ layout: 1x1
//@ found: verify
#include <stdio.h>
typedef double row __attribute__((ext_vector_type(4)));
typedef _Bool mask __attribute__((ext_vector_type(4)));

_Alignas(64) double values[8];

__attribute__((noinline)) void put(double *p, row v, int n) {
    mask on = {n > 0, n > 1, n > 2, n > 3};
    __builtin_masked_store(on, v, p);
}

int main(void) {
    put(values, (row){1, 2, 3, 4}, 3);
    printf("%g %g\n", values[2], values[3]);
    return 0;
}
