// A program of three files: common and extern variables, weak symbols, aliases, statics of one name.
//@ flags: -fcommon
#include "shared.h"
#include <stdio.h>

int common_array[100];
long common_scalar;
static int same_name = 5;

// Overridden by strong.c.
__attribute__((weak)) int weak_value = 1;
__attribute__((weak)) int weak_function(void) { return 1; }
// Not overridden anywhere.
__attribute__((weak)) int weak_only[4] = {4, 3, 2, 1};
extern int absent __attribute__((weak));

int main(void) {
    for (int round = 0; round < 5; round++) {
#pragma omp parallel for schedule(static, 1)
        for (int i = 0; i < 100; i++) {
            common_array[i] += i + round;
            if (i < 50) exported[i] += same_name;
        }
        other_file(round);
    }
    long sum = common_scalar;
    for (int i = 0; i < 100; i++) sum += common_array[i] * (i + 1L);
    for (int i = 0; i < 50; i++) sum += exported[i];
    printf("%ld %d %d %d %d\n", sum, weak_value, weak_function(), weak_only[1], &absent == 0);
    printf("%d %d %s\n", alias_of_exported[7] == exported[7], hidden_counter(), message);
    return 0;
}
