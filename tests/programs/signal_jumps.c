// Leaving a handler by siglongjmp, handlers on a stack of their own, errors of the processor, and a mask while the handler runs.
#define _GNU_SOURCE
#include <omp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static sigjmp_buf back;
static char stack[1 << 16];
static volatile sig_atomic_t depth, deepest, jumps;
static double table[1000];
static int *volatile nowhere;

static void jump(int signal) { siglongjmp(back, signal); }

static void nest(int signal) {
    char local[2000];
    depth++;
    if (depth > deepest) deepest = depth;
    for (unsigned i = 0; i < sizeof local; i++) local[i] = (char)i;
    if (signal == SIGUSR1) raise(SIGUSR2);
    depth--;
    jumps += local[5];
}

int main(void) {
    signal(SIGALRM, jump);
    volatile int times = 0;
    for (volatile int round = 0; round < 20; round++) {
        if (sigsetjmp(back, 1) == 0) {
            struct itimerval soon = {{0, 0}, {0, 1000}};
            setitimer(ITIMER_REAL, &soon, 0);
            for (volatile long i = 0;; i++) table[i % 1000] += 0;
        }
        times++;
#pragma omp parallel for num_threads(4)
        for (int i = 0; i < 1000; i++) table[i] += 1;
    }
    double sum = 0;
    for (int i = 0; i < 1000; i++) sum += table[i];
    printf("left %d times, %.0f\n", times, sum);

    signal(SIGSEGV, jump);
    int caught = sigsetjmp(back, 1);
    if (!caught) *nowhere = 1;
    printf("caught %d\n", caught == SIGSEGV);
    signal(SIGFPE, jump);
    caught = sigsetjmp(back, 1);
    if (!caught) raise(SIGFPE);
    printf("caught %d\n", caught == SIGFPE);
    signal(SIGABRT, jump);
    caught = sigsetjmp(back, 1);
    if (!caught) abort();
    printf("caught %d\n", caught == SIGABRT);

    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack}, seen;
    sigaltstack(&own, 0);
    sigaltstack(0, &seen);
    printf("stack %d %d\n", seen.ss_sp == stack, seen.ss_size == sizeof stack);
    struct sigaction action = {.sa_handler = nest, .sa_flags = SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, 0);
    sigaction(SIGUSR2, &action, 0);
    raise(SIGUSR1);
    printf("nested %d\n", deepest);
    sigaddset(&action.sa_mask, SIGUSR2);
    sigaction(SIGUSR1, &action, 0);
    deepest = 0;
    raise(SIGUSR1);
    printf("blocked %d\n", deepest);
    static int good[4];
#pragma omp parallel num_threads(4)
    for (int turn = 0; turn < 4; turn++) {
#pragma omp barrier
        if (turn == omp_get_thread_num()) {
            int before = jumps;
            raise(SIGUSR1);
            good[turn] = jumps == before + 10;
        }
    }
    printf("in threads %d %d %d %d\n", good[0], good[1], good[2], good[3]);
    return 0;
}
