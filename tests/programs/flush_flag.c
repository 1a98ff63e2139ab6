// A pipeline synchronised by flags: atomic write, flush, atomic read, as NPB LU does it.
#include <omp.h>
#include <stdio.h>

enum { STAGES = 4, ITEMS = 60 };
static int flag[STAGES + 1][32];
static long item[ITEMS];

static void wait_until(int *f, int value) {
    int seen;
    do {
#pragma omp atomic read
        seen = *f;
    } while (seen < value);
#pragma omp flush
}

static void announce(int *f, int value) {
#pragma omp flush
#pragma omp atomic write
    *f = value;
}

int main(void) {
    for (int i = 0; i < ITEMS; i++) item[i] = i;
    announce(&flag[0][0], ITEMS);
    int got = 0;
#pragma omp parallel num_threads(STAGES) reduction(+ : got)
    {
        int me = omp_get_thread_num();
        got += omp_get_num_threads();
        for (int i = 0; i < ITEMS; i++) {
            wait_until(&flag[me][0], i + 1);
            item[i] = item[i] * 3 + me;
            announce(&flag[me + 1][0], i + 1);
        }
    }
    long sum = 0;
    for (int i = 0; i < ITEMS; i++) sum = sum * 7 + item[i];
    printf("%d %ld\n", got, sum);

    // The same with acquire and release clauses on the atomics.
    static int ready, answer[500];
    long total = 0;
#pragma omp parallel num_threads(2) reduction(+ : total)
    {
        for (int round = 1; round <= 40; round++) {
            if (omp_get_thread_num() == 0) {
                for (int i = 0; i < 500; i++) answer[i] = i * round;
#pragma omp atomic write release
                ready = round;
            } else {
                int seen;
                do {
#pragma omp atomic read acquire
                    seen = ready;
                } while (seen != round);
                for (int i = 0; i < 500; i++) total += answer[i];
            }
#pragma omp barrier
        }
    }
    printf("%ld\n", total);
    return 0;
}
