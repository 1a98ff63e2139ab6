/* Variables and allocations with block sizes of their own, written by all threads side by side. */
#include <dsm.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDE = 300000, ROUNDS = 10, SMALL = 50, PIECES = 100 };
int fine[100000], coarse[WIDE];
static int few[77];

static void add(int *array, int count, int first)
{
    int me = omp_get_thread_num(), team = omp_get_num_threads();
    for (int i = me; i < count; i += team)
        array[i] = first ? i : array[i] + i;
}

static int wrong(const int *array, int count)
{
    int found = 0;
    for (int i = 0; i < count; i++)
        found += array[i] != ROUNDS * i;
    return found;
}

int main(void)
{
    int *big = malloc(WIDE * sizeof *big), *small[PIECES];
    for (int i = 0; i < PIECES; i++)
        small[i] = malloc(SMALL * sizeof(int));
    int *site = malloc(40000); /* the rule for this line */
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel
        {
            add(fine, 100000, 0);
            add(coarse, WIDE, 0);
            add(few, 77, 0);
            add(big, WIDE, round == 0);
            add(site, 10000, round == 0);
            for (int i = 0; i < PIECES; i++)
                add(small[i], SMALL, round == 0);
        }
    }
    int bad = wrong(fine, 100000) + wrong(coarse, WIDE) + wrong(few, 77) + wrong(big, WIDE) + wrong(site, 10000);
    for (int i = 0; i < PIECES; i++)
        bad += wrong(small[i], SMALL);
    printf("%d wrong; blocks %zu %zu %zu %zu %zu %zu\n", bad, dsm_block_size(fine), dsm_block_size(coarse),
           dsm_block_size(few), dsm_block_size(big), dsm_block_size(small[3]), dsm_block_size(site));
    return 0;
}
