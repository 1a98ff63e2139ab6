/* Private data that the program marks: each process counts in its own variables, and the sums are right whoever counts. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#if __has_include(<dsm.h>)
#include <dsm.h>
#else
#define DSM_PRIVATE
#define dsm_private(pointer) (pointer)
#endif

enum { STEPS = 20000, SLOTS = 64 };

static DSM_PRIVATE long table[SLOTS] = {5};
static long total, checked;

static void fill(int *values, int count, int seed)
{
    for (int i = 0; i < count; i++)
        values[i] = (i * 31 + seed) % 101;
}

static void (*volatile filler)(int *, int, int) = fill;

int main(void)
{
    long initial = table[0];

#pragma omp parallel
    {
        DSM_PRIVATE int scratch[SLOTS];
        long mine = 0;

        /* The threads of a process share its table: one after the other. */
#pragma omp critical
        {
            for (int i = 0; i < SLOTS; i++)
                table[i] = 0;
            for (int i = 0; i < STEPS; i++)
                table[i % SLOTS] += i;
            for (int i = 0; i < SLOTS; i++)
                mine += table[i];
        }
        filler(scratch, SLOTS, 7);
        const int *values = dsm_private(&scratch[0]);
        long sum = 0;
        for (int i = 0; i < SLOTS; i++)
            sum += values[i];
#pragma omp atomic
        total += mine;
#pragma omp atomic
        checked += sum;
    }
    long all = 1;
#pragma omp parallel
#pragma omp single
    all = omp_get_num_threads();
    printf("%ld %ld %ld\n", initial, total / all, checked / all);
    return 0;
}
