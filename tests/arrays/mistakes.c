/* One mistake, which the argument names; made by the last thread where any process can make it. */
#include <dsm.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static long table[100];

int main(int argc, char **argv)
{
    const char *mistake = argc > 1 ? argv[1] : "";
    dsm_array *array = dsm_array_create(100, 8, 4096);
    long value[2] = {0, 0};
#define IS(name) (strcmp(mistake, name) == 0)
    if (IS("destroyed") || IS("twice"))
        dsm_array_destroy(array);
    if (IS("process"))
        dsm_place(table, sizeof table, 7);
    if (IS("stack"))
        dsm_place(value, sizeof value, 0);
    if (IS("none"))
        dsm_place(table, 0, 0);
#pragma omp parallel
    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
        if (IS("foreign"))
            dsm_array_get((dsm_array *)(uintptr_t)16, 0, 1, value);
        if (IS("null"))
            dsm_array_own(NULL, 0, 1);
        if (IS("range"))
            dsm_array_put(array, 99, 2, value);
        if (IS("huge"))
            dsm_array_get(array, SIZE_MAX, 2, value);
        if (IS("location"))
            dsm_array_location(array, 100);
        if (IS("destroyed"))
            dsm_array_get(array, 0, 1, value);
        if (IS("twice"))
            dsm_array_destroy(array);
        if (IS("memory"))
            dsm_array_get(array, 0, 1, NULL);
        if (IS("empty"))
            dsm_array_create(0, 8, 4096);
        if (IS("page"))
            dsm_array_create(10, 8, 100);
        if (IS("element"))
            dsm_array_create(10, 65, 64);
        if (IS("space"))
            dsm_array_create((size_t)1 << 60, 8, 4096);
        if (IS("region"))
            dsm_place(table, sizeof table, 0);
    }
}
