// Plain variables spun on around a flush, with no flush between data and flag nor behind the loop: NPB LU's pipeline, and other shapes of it.
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 40, COLUMNS = 300, SWEEPS = 12 };
static double grid[ROWS][COLUMNS];
static int flag[ROWS];

// A wavefront over rows: row i of a sweep needs row i - 1 of the same one, and may not run ahead of row i + 1 of the sweep before.
static void sweep(void) {
#pragma omp for nowait schedule(static)
    for (int i = 0; i < ROWS; i++) {
        if (i != 0) {
            while (flag[i - 1] == 0) {
#pragma omp flush(flag)
                ;
            }
        }
        if (i != ROWS - 1) {
            while (flag[i] == 1) {
#pragma omp flush(flag)
                ;
            }
        }
        for (int j = 0; j < COLUMNS; j++) grid[i][j] = grid[i][j] * 0.5 + (i ? grid[i - 1][j] : j) + 1.0;
        if (i != 0) flag[i - 1] = 0;
        if (i != ROWS - 1) flag[i] = 1;
#pragma omp flush(flag)
    }
}

// A ring of threads that hands data around through a member of a structure behind a pointer.
typedef struct {
    long payload[64];
    int turn;
} Ring;

static void ring_wait(int *turn, int value) {
    while (*turn != value) {
#pragma omp flush
        sched_yield();
    }
}

static void ring_pass(int *turn, int value) {
    *turn = value;
#pragma omp flush
}

static void ring(Ring *r, int rounds) {
#pragma omp parallel num_threads(3)
    {
        int me = omp_get_thread_num(), threads = omp_get_num_threads();
        for (int n = 0; n < rounds; n++) {
            ring_wait(&r->turn, n * threads + me);
            for (int k = 0; k < 64; k++) r->payload[k] = r->payload[k] * 3 + me + k;
            ring_pass(&r->turn, n * threads + me + 1);
        }
    }
}

// A consumer that works while it polls, and a volatile flag without any flush.
static int done;
static volatile int opened;
static long results[200], box;

static long poll(void) {
    long sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
        if (omp_get_thread_num() == 0) {
            while (!opened) sched_yield();
            box *= 2;
            for (int i = 0; i < 200; i++) results[i] = i * box;
            done = 1;
#pragma omp flush(done)
        } else {
            box = 21;
            opened = 1;
            int polls = 0;
            while (!done) {
                polls++;
                sched_yield();
#pragma omp flush(done)
            }
            for (int i = 0; i < 200; i++) sum += results[i];
            if (polls < 0) printf("never\n");
        }
    }
    return sum;
}

// Flag and data captured from the stack.
static double captured(void) {
    int ready = 0;
    double value[50] = {0}, got = 0;
#pragma omp parallel num_threads(2) shared(ready, value, got)
    {
        if (omp_get_thread_num() == 1) {
            for (int i = 0; i < 50; i++) value[i] = i * 1.5;
            ready = 7;
#pragma omp flush
        } else {
            while (ready != 7) {
#pragma omp flush
            }
            for (int i = 0; i < 50; i++) got += value[i];
        }
    }
    return got;
}

int main(void) {
#pragma omp parallel
    for (int s = 0; s < SWEEPS; s++) sweep();
    double sum = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) sum += grid[i][j] * (i + 1);
    printf("%.6e\n", sum);
    Ring *r = calloc(1, sizeof *r);
    ring(r, 20);
    long mix = 0;
    for (int k = 0; k < 64; k++) mix = mix * 7 + r->payload[k];
    printf("%ld\n", mix);
    free(r);
    printf("%ld\n", poll());
    for (int n = 0; n < 5; n++) printf("%.1f\n", captured());
    return 0;
}
