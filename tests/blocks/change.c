/* Block sizes change between regions; what was written before must be there afterwards, at any process. */
#include <dsm.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 60000, ROUNDS = 12 };
int table[COUNT];

static int step(int *array, int by)
{
    int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        for (int i = (me + by) % team; i < COUNT; i += team)
            array[i] += by;
#pragma omp barrier
        for (int i = me; i < COUNT; i += 7)
            wrong += array[i] != by * (by + 1) / 2;
    }
    return wrong;
}

int main(void)
{
    static const size_t sizes[] = {64, 65536, 256, 4096, 64, 1024, 16384, 64, 65536};
    int *heap = calloc(COUNT, sizeof *heap), wrong = 0, inside = 0;
    for (int round = 1; round <= ROUNDS; round++) {
        wrong += step(table, round) + step(heap, round);
        table[round] += 5; /* not published yet */
        heap[COUNT - round] += 5;
        size_t bytes = sizes[round % 9];
        int part = round % 3 * 1000;
        int code = dsm_set_block(table + part, sizeof table - part * sizeof *table, bytes);
        code |= dsm_set_block(heap, COUNT * sizeof *heap, sizes[(round + 4) % 9]);
        if (code || (dsm_block_size(table + COUNT / 2) && dsm_block_size(table + COUNT / 2) != bytes))
            printf("round %d: %s\n", round, dsm_error(code));
        table[round] -= 5;
        heap[COUNT - round] -= 5;
    }
    int local;
#pragma omp parallel num_threads(2) reduction(| : inside)
    inside |= dsm_set_block(table, sizeof table, 64);
    printf("%d wrong; %d %d %d %d\n", wrong, dsm_set_block(table, sizeof table, 100), dsm_set_block(&local, 4, 64),
           dsm_set_block(table, 0, 64), inside);
    for (int code = 0; code < 5; code++)
        fprintf(stderr, "%s\n", dsm_error(code));
    return 0;
}
