// Strong definitions, and the work on data that main.c owns.
#include "shared.h"

int weak_value = 20;
int weak_function(void) { return 30; }
int exported[50] = {1, 2, 3};
extern int alias_of_exported[50] __attribute__((alias("exported")));
const char *message = "not yet";
static int same_name = 7;

void other_file(int round) {
#pragma omp parallel for schedule(static, 3) reduction(+ : common_scalar)
    for (int i = 0; i < 100; i++) {
        common_array[99 - i] ^= same_name;
        common_scalar += common_array[99 - i] + weak_value;
    }
#pragma omp parallel sections
    {
#pragma omp section
        alias_of_exported[7] += round;
#pragma omp section
        message = round == 4 ? "complete" : "partial";
    }
}
