// Polling of plain variables through functions.
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>
struct stack { int *top, items[64]; };
static int data[64], ready, done, turn[2], steps;
static __attribute__((noinline)) int peek(int *p) { return *p; }
static __attribute__((noinline)) void look(void) {
#pragma omp flush
}
static __attribute__((noinline)) int look_at(int *p) {
#pragma omp flush
    return *p;
}
static __attribute__((noinline)) void publish(int *p, int value) {
#pragma omp flush
    *p = value;
#pragma omp flush
}
static __attribute__((noinline)) void await(int *p, int value) {
    while (peek(p) != value) look();
#pragma omp flush
}
static inline int size(struct stack *s) { return (int)(s->top - s->items); }
static inline void relax(void) { __builtin_ia32_pause(); }
int main(void) {
    long sum = 0;
    // The flush and the load in functions.
#pragma omp parallel num_threads(2) reduction(+ : sum)
    for (int round = 1; round <= 30; round++) {
        if (omp_get_thread_num() == 0) {
            for (int i = 0; i < 64; i++) data[i] = i * round;
            publish(&ready, round);
            await(&done, round);
        } else {
            while (look_at(&ready) != round) { }
#pragma omp flush
            for (int i = 0; i < 64; i++) sum += data[i];
            publish(&done, round);
        }
    }
    printf("%ld\n", sum);
    // A stack under a lock, polled outside of it.
    struct stack jobs;
    omp_lock_t lock;
    int busy = 1, total = 0;
    jobs.top = jobs.items;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(3)
    {
        if (omp_get_thread_num() == 0) {
            for (int i = 1; i <= 200; i++) {
                if (i % 20 == 0) usleep(1000);
                omp_set_lock(&lock);
                if (size(&jobs) < 60) *jobs.top++ = i; else i--;
                omp_unset_lock(&lock);
            }
            omp_set_lock(&lock);
            busy = 0;
            omp_unset_lock(&lock);
        } else {
            for (;;) {
                omp_set_lock(&lock);
                int ended = 0;
                if (size(&jobs) > 0) total += *--jobs.top;
                else ended = !busy;
                omp_unset_lock(&lock);
                if (ended) break;
                while (size(&jobs) == 0 && busy) relax();
            }
        }
    }
    omp_destroy_lock(&lock);
    printf("%d\n", total);
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();
        for (int i = 0; i < 20; i++) {
            if (me == 0) {
                turn[0] = i + 1;
                while (turn[1] <= i) sched_yield();
            } else {
                while (turn[0] <= i) usleep(10);
                steps++;
                turn[1] = i + 1;
            }
        }
    }
    printf("%d\n", steps);
    return 0;
}
