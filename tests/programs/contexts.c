// Contexts have stacks of their own, also for locals whose address other threads have.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define CONTEXTS 6

static ucontext_t main_context, contexts[CONTEXTS];
static long *kept[CONTEXTS];
static int finished, over[CONTEXTS];

__attribute__((noinline)) static void keep(long *p, int k) { kept[k] = p; }

__attribute__((noinline)) static void pause_here(int k)
{
    swapcontext(&contexts[k], &main_context);
}

__attribute__((noinline)) static long deep(int k, int depth)
{
    long x[32];
    keep(x, k);
    for (int i = 0; i < 32; i++) x[i] = 1000 * k + depth;
    if (depth > 0) {
        long below = deep(k, depth - 1);
        keep(x, k);
        pause_here(k);
        long s = below;
        for (int i = 0; i < 32; i++) s += x[i];
        return s;
    }
    pause_here(k);
    long s = 0;
#pragma omp parallel for reduction(+ : s) num_threads(4)
    for (int i = 0; i < 32; i++) s += kept[k][i];
    return s;
}

static void body(int k, int depth)
{
    printf("context %d: %ld\n", k, deep(k, depth));
    over[k] = 1;
    finished++;
}

/* Control comes back to a function without locals of that kind. */
static ucontext_t again;
static volatile int times;
static void come_back(void)
{
    getcontext(&again);
    times++;
    if (times < 3) setcontext(&again);
}

int main(void)
{
    static char fixed[2][65536];
    for (int round = 0; round < 2; round++) {
        finished = 0;
        memset(over, 0, sizeof over);
        for (int k = 0; k < CONTEXTS; k++) {
            getcontext(&contexts[k]);
            contexts[k].uc_stack.ss_sp = k < 2 ? fixed[k] : malloc(65536);
            contexts[k].uc_stack.ss_size = 65536;
            contexts[k].uc_link = &main_context;
            makecontext(&contexts[k], (void (*)(void))body, 2, k, k % 3);
        }
        while (finished < CONTEXTS)
            for (int k = 0; k < CONTEXTS; k++)
                if (!over[k]) swapcontext(&main_context, &contexts[k]);
        for (int k = 2; k < CONTEXTS; k++) free(contexts[k].uc_stack.ss_sp);
        printf("%d\n", finished);
    }
    come_back();
    printf("%d\n", times);
    return 0;
}
