// A flush publishes and takes in: data handed over by relaxed atomic operations, with flushes as all that orders them; and with those that `atomic write seq_cst` implies.
#include <omp.h>
#include <sched.h>
#include <stdio.h>

enum { ROUNDS = 40, WIDTH = 200 };

static int turn, seen_by[2];
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
}

static void go_on(int value) {
#pragma omp atomic write
    turn = value;
}

static double use(int me, int round) {
    double sum = 0;
    for (int i = 0; i < WIDTH; i++) {
        sum += (me + 1) * box[i][0];
        box[i][0] = box[i][0] * 0.5 + i + round;
    }
    return sum;
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
#pragma omp flush
            sum += use(me, round);
#pragma omp flush
            go_on(2 * round + me + 1);
        }
        for (int round = ROUNDS; round < 2 * ROUNDS; round++) {
            wait_for(2 * round + me);
#pragma omp atomic write seq_cst
            seen_by[me] = round;
            sum += use(me, round);
            // Several in a row: behind these there is nothing to take in.
            for (int i = 0; i < 3; i++) {
#pragma omp atomic write seq_cst
                seen_by[me] = round + i;
            }
            go_on(2 * round + me + 1);
        }
    }
    printf("%.6e %d %d\n", sum, seen_by[0], seen_by[1]);
    return 0;
}
