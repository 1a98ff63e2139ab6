// The same tentative definitions as in main.c: with -fcommon they become one object.
#include "shared.h"

int common_array[100];
long common_scalar;
__attribute__((visibility("hidden"))) int counter;

int hidden_counter(void) {
#pragma omp parallel num_threads(4)
    {
#pragma omp critical
        counter += common_array[3] != 0;
    }
    return counter;
}
