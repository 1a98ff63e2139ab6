// Variables that a thread changes by plain stores and then reads atomically, which gives what it has stored; others store beside them.
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, FAR = 1024, ROUNDS = 200 };

static int apart[THREADS * FAR], together[THREADS];
static _Atomic long initialised[THREADS];
static double numbers[THREADS];

int main(void) {
    int wrong = 0, *heap = calloc(THREADS * FAR, sizeof *heap);
    for (int i = 0; i < THREADS * FAR; i++) apart[i] = heap[i] = -1;
    for (int i = 0; i < THREADS; i++) together[i] = -1, numbers[i] = -1;
#pragma omp parallel num_threads(THREADS) reduction(+ : wrong)
    {
        int me = omp_get_thread_num(), value;
#pragma omp atomic read
        value = apart[me * FAR];
        wrong += value != -1;
#pragma omp barrier
        for (int i = 0; i < ROUNDS; i++) {
            apart[me * FAR] = i;
#pragma omp atomic read
            value = apart[me * FAR];
            wrong += value != i;
            heap[me * FAR] = i;
#pragma omp atomic read
            value = heap[me * FAR];
            wrong += value != i;
            together[me] = me + i;
#pragma omp atomic read
            value = together[me];
            wrong += value != me + i;
#pragma omp atomic
            together[me]++;
            wrong += together[me] != me + i + 1;
            together[me] -= 2;
#pragma omp atomic read
            value = together[me];
            wrong += value != me + i - 1;
            atomic_init(&initialised[me], i);
            wrong += atomic_load_explicit(&initialised[me], memory_order_relaxed) != i;
            double number;
            numbers[me] = i + 0.5;
#pragma omp atomic read
            number = numbers[me];
            wrong += number != i + 0.5;
        }
#pragma omp barrier
        // Another thread stores plainly, and this one reads atomically behind the barrier.
        int next = (me + 1) % THREADS;
        for (int i = 0; i < ROUNDS; i++) {
            if (i % 2) together[me] = i;
            else {
#pragma omp atomic write
                together[me] = i;
            }
#pragma omp barrier
#pragma omp atomic read
            value = together[next];
            wrong += value != i;
#pragma omp atomic read
            value = together[me];
            wrong += value != i;
#pragma omp barrier
        }
    }
    printf("%d\n", wrong);
    free(heap);
    return 0;
}
