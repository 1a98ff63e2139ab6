/* Blocks that several processes store to between the same meetings, and under locks of single elements, by several threads of each. */
#include <omp.h>
#include <stdio.h>

enum { ROUNDS = 400, ROWS = 8, WIDTH = 512, LOCKS = 512, UPDATES = 100 };

static long rows[ROWS][WIDTH];
static long cells[LOCKS * 8];
static omp_lock_t locks[LOCKS];

static void barriers(void)
{
#pragma omp parallel
    {
        int threads = omp_get_num_threads(), thread = omp_get_thread_num();
        for (int round = 0; round < ROUNDS; round++) {
            for (int i = thread; i < WIDTH; i += threads)
                rows[round % ROWS][i] += i + round;
#pragma omp barrier
        }
    }
    long wrong = 0;
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < WIDTH; i++) {
            long sum = 0;
            for (int round = r; round < ROUNDS; round += ROWS)
                sum += i + round;
            wrong += rows[r][i] != sum;
        }
    printf("%ld wrong\n", wrong);
}

static void locked(void)
{
    long expected = 0, sum = 0;
    for (int i = 0; i < LOCKS; i++)
        omp_init_lock(&locks[i]);
#pragma omp parallel reduction(+ : expected)
    {
        unsigned state = 1 + omp_get_thread_num();
        for (int round = 0; round < ROUNDS / 4; round++) {
            for (int i = 0; i < UPDATES; i++) {
                state = state * 1664525u + 1013904223u;
                int at = (state >> 16) % LOCKS;
                omp_set_lock(&locks[at]);
                cells[at * 8] += i % 7;
                omp_unset_lock(&locks[at]);
                expected += i % 7;
            }
#pragma omp barrier
        }
    }
    for (int i = 0; i < LOCKS; i++)
        sum += cells[i * 8];
    printf("%ld wrong\n", expected - sum);
}

int main(void)
{
    barriers();
    locked();
    return 0;
}
