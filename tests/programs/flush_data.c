// A flush publishes and takes in: data handed over by relaxed atomic operations, with flushes as all that orders them.
#include <omp.h>
#include <sched.h>
#include <stdio.h>

enum { ROUNDS = 40, WIDTH = 200 };

static int turn;
// Neither integers, which are taken for flags right before a flush, nor in the flag's block.
static double box[WIDTH][8];

static void wait_for(int value) {
    for (;;) {
        int seen;
#pragma omp atomic read
        seen = turn;
        if (seen == value) break;
        sched_yield();
    }
#pragma omp flush
}

static void go_on(int value) {
#pragma omp flush
#pragma omp atomic write
    turn = value;
}

int main(void) {
    double sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
        int me = omp_get_thread_num();
        // Everybody has a copy.
        for (int i = 0; i < WIDTH; i++) sum += box[i][0];
#pragma omp barrier
        for (int round = 0; round < ROUNDS; round++) {
            wait_for(2 * round + me);
            for (int i = 0; i < WIDTH; i++) {
                sum += (me + 1) * box[i][0];
                box[i][0] = box[i][0] * 0.5 + i + round;
            }
            go_on(2 * round + me + 1);
        }
    }
    printf("%.6e\n", sum);
    return 0;
}
