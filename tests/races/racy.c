/* Data races of every kind that a report can name. The expected reports are in suite/races.rs. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

double sums[100];
static int flag;
long same = 1;
char neighbours[64];

int main(void)
{
    int *heap = malloc(4000);
    int local = 0, silent = 0;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        sums[7] = me + 1.5;
        flag = me + 1;
        same = 42;
        neighbours[me] = me + 1;
        heap[100] = me + 3;
        local = me + 9;
#pragma omp atomic
        silent += me;
#pragma omp barrier
#pragma omp critical
        sums[50] += me;
    }
    int right = sums[7] > 1 && flag > 0 && same == 42 && heap[100] > 2 && local > 8 && silent >= 0;
    printf("%s\n", right ? "done" : "wrong");
    free(heap);
    return 0;
}
