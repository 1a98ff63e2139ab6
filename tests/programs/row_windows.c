/* Rows whose bounds are loaded from memory, in nests without synchronisation that are entered again and again: what a nest remembers
 * as valid must be forgotten before the next one. Rows change hands every round, in whole and in parts of lines. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1500, ROUNDS = 12, MOST = 40 };

static int start[ROWS + 1];
static int fixed[ROWS * MOST / 2];
static long sums[ROUNDS];

/* Adds up rows, upwards or downwards. */
static long add_rows(const int *restrict value, int first, int past, int step)
{
    long sum = 0;

    for (int row = first; row != past; row += step)
        for (int k = start[row]; k < start[row + 1]; k++)
            sum += (long)value[k] * (row + 1) + fixed[k];
    return sum;
}

/* Writes every `step`-th row from `first` on. */
static void set_rows(int *restrict value, int first, int step, int round)
{
    for (int row = first; row < ROWS; row += step)
        for (int k = start[row]; k < start[row + 1]; k++)
            value[k] = (k * 7 + round * 13) % 1009;
}

int main(void)
{
    unsigned seed = 1;

    for (int row = 0; row < ROWS; row++) {
        seed = seed * 1103515245u + 12345u;
        start[row + 1] = start[row] + (int)(seed >> 16) % (MOST / 2);
    }
    const int length = start[ROWS];
    int *value = calloc(length, sizeof *value);

    for (int k = 0; k < length; k++)
        fixed[k] = k % 17;
#pragma omp parallel
    {
        const int self = omp_get_thread_num(), all = omp_get_num_threads();

        for (int round = 0; round < ROUNDS; round++) {
            /* Single rows by turns, then blocks of rows. */
            if (round % 2)
                set_rows(value, (self + round) % all, all, round);
            else
#pragma omp for schedule(static) nowait
                for (int row = 0; row < ROWS; row++)
                    for (int k = start[row]; k < start[row + 1]; k++)
                        value[k] = (k * 7 + round * 13) % 1009;
#pragma omp barrier
            const long up = add_rows(value, 0, ROWS, 1), down = add_rows(value, ROWS - 1, -1, -1);

            if (up != down)
                printf("thread sees %ld upwards and %ld downwards in round %d\n", up, down, round);
#pragma omp atomic
            sums[round] += up == down ? up % 1000003 : 0;
#pragma omp barrier
        }
#pragma omp single
        for (int round = 0; round < ROUNDS; round++)
            printf("round %d: %ld\n", round, sums[round] / all);
    }
    free(value);
    return 0;
}
