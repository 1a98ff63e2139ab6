// C11 and GNU atomics on shared data: every operation and several widths, spin locks made of them.
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_int counter;
static atomic_long sum;
static _Atomic unsigned char bytes[16];
static atomic_flag guard = ATOMIC_FLAG_INIT;
static long guarded[50];
static unsigned short shorts[8];
static _Atomic double real;

typedef struct Cell {
    struct Cell *next;
    int value;
} Cell;
static _Atomic(Cell *) top;

int main(void) {
    long seen = 0, mask = 0;
#pragma omp parallel for reduction(+ : seen) schedule(static, 1)
    for (int i = 0; i < 1000; i++) {
        seen += atomic_fetch_add(&counter, 1);
        atomic_fetch_sub_explicit(&sum, i, memory_order_relaxed);
        atomic_fetch_add_explicit(&bytes[i % 16], 3, memory_order_acq_rel);
        bytes[(i + 1) % 16] += 1;
        __atomic_fetch_add(&shorts[i % 8], 5, __ATOMIC_SEQ_CST);
        __atomic_xor_fetch(&shorts[(i + 3) % 8], 0, __ATOMIC_RELEASE);
        __sync_fetch_and_or(&mask, 1L << (i % 60));
        real += 0.5;
        int expected = atomic_load(&counter);
        while (!atomic_compare_exchange_weak(&counter, &expected, expected)) {
        }
    }
    printf("%d %ld %ld %lx %.1f\n", counter, sum, seen, mask, real);
    for (int i = 0; i < 16; i++) printf("%d ", bytes[i]);
    for (int i = 0; i < 8; i++) printf("%d ", shorts[i]);
    puts("");
    // Plain data under a lock made of an atomic flag, with acquire and release only.
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < 300; i++) {
        while (atomic_flag_test_and_set_explicit(&guard, memory_order_acquire)) {
        }
        for (int k = 0; k < 50; k++) guarded[k] += i + guarded[(k + 1) % 50] % 2 * 0;
        atomic_flag_clear_explicit(&guard, memory_order_release);
    }
    long total = 0;
    for (int k = 0; k < 50; k++) total += guarded[k];
    printf("%ld\n", total);
    // A stack of heap cells: pushed by all with compare-and-swap, then popped by one.
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < 200; i++) {
        Cell *c = malloc(sizeof *c);
        c->value = i;
        c->next = atomic_load_explicit(&top, memory_order_relaxed);
        while (!atomic_compare_exchange_weak_explicit(&top, &c->next, c, memory_order_release, memory_order_relaxed)) {
        }
    }
    int cells = 0, values = 0;
    for (Cell *c = atomic_exchange(&top, NULL); c;) {
        Cell *next = c->next;
        cells++, values += c->value;
        free(c);
        c = next;
    }
    printf("%d %d\n", cells, values);
    // Message passing with fences.
    static int payload[100];
    static atomic_int flag;
    long got = 0;
#pragma omp parallel num_threads(2) reduction(+ : got)
    for (int round = 1; round <= 30; round++) {
        if (omp_get_thread_num() == 0) {
            for (int i = 0; i < 100; i++) payload[i] = i * round;
            atomic_thread_fence(memory_order_release);
            atomic_store_explicit(&flag, round, memory_order_relaxed);
        } else {
            while (atomic_load_explicit(&flag, memory_order_relaxed) != round) {
            }
            atomic_thread_fence(memory_order_acquire);
            for (int i = 0; i < 100; i++) got += payload[i];
        }
#pragma omp barrier
    }
    printf("%ld\n", got);
    return 0;
}
