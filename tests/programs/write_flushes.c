// The flush of `atomic write seq_cst` takes in as well: data that a relaxed read has announced are used behind such a write, with no other flush between.
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

int main(void) {
    double sum = 0;
    long writes = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum, writes)
    {
        int me = omp_get_thread_num();
        // Everybody has a copy.
        for (int i = 0; i < WIDTH; i++) sum += box[i][0];
#pragma omp barrier
        for (int round = 0; round < ROUNDS; round++) {
            wait_for(2 * round + me);
#pragma omp atomic write seq_cst
            seen_by[me] = round;
            for (int i = 0; i < WIDTH; i++) {
                sum += (me + 1) * box[i][0];
                box[i][0] = box[i][0] * 0.5 + i + round;
            }
            // Several in a row, behind the first of which there is nothing to take in.
            for (int i = 0; i < 3; i++) {
#pragma omp atomic write seq_cst
                seen_by[me] = round + i;
                writes++;
            }
#pragma omp atomic write
            turn = 2 * round + me + 1;
        }
    }
    printf("%.6e %ld %d %d\n", sum, writes, seen_by[0], seen_by[1]);
    return 0;
}
