/* One thread is the first to store to memory, in ascending order, in which blocks of several sizes follow each other; the other one reads it. */
#include <dsm.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 1 << 20, STEP = 192 };
static volatile char first[BYTES], second[BYTES / 3], third[BYTES];

static int both(volatile char *data, size_t bytes)
{
    int wrong = 0;
#pragma omp parallel num_threads(2) reduction(+ : wrong)
    {
        if (omp_get_thread_num() == 1)
            for (size_t i = 0; i < bytes; i += STEP)
                data[i] = 1 + i % 100;
#pragma omp barrier
        if (omp_get_thread_num() == 0)
            for (size_t i = 0; i < bytes; i += STEP)
                wrong += data[i] != (char)(1 + i % 100);
    }
    return wrong;
}

int main(void)
{
    volatile char *heap = calloc(BYTES, 1), *all[] = {first, second, third};
    size_t bytes[] = {sizeof first, sizeof second, sizeof third};
    int wrong = 0, code = 0;
    for (int size = 64, at = 70000; size <= 65536; size *= 4, at += 150000)
        code |= dsm_set_block((void *)(heap + at), 50000, size);
    wrong += both(heap, BYTES);
    /* In the order in which they lie in memory. */
    for (int done = 0; done < 3; done++) {
        int next = -1;
        for (int i = 0; i < 3; i++)
            if (all[i] && (next < 0 || all[i] < all[next]))
                next = i;
        wrong += both(all[next], bytes[next]);
        all[next] = NULL;
    }
    printf("%d wrong, %s\n", wrong, code ? dsm_error(code) : "sizes set");
    return 0;
}
