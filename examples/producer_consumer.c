// Producer and consumer: data handed over by a flag, with flush, without locks or barriers.
//
// The producer fills a slot, flushes, and raises the slot's flag; the consumer waits for the flag,
// flushes, and reads the slot. The first flush publishes what was written before the flag; the second
// takes in what the flag's writer had published. Only the flag itself is atomic: the items are ordinary
// memory, and there may be any amount of it.
#include <omp.h>
#include <sched.h>
#include <stdio.h>

enum { SLOTS = 8, ITEMS = 500, LENGTH = 256 };

static double slot[SLOTS][LENGTH];
static int filled[SLOTS]; // number of the item that the slot holds, plus 1; 0: empty

static void wait_for(int *flag, int value) {
    int seen;
    do {
#pragma omp atomic read
        seen = *flag;
        if (seen != value) sched_yield();
    } while (seen != value);
#pragma omp flush
}

static void raise_flag(int *flag, int value) {
#pragma omp flush
#pragma omp atomic write
    *flag = value;
}

int main(void) {
    double sum = 0, start = omp_get_wtime();
#pragma omp parallel num_threads(2)
    {
        // With one thread only, it would wait for itself: then it takes turns with itself.
        int alone = omp_get_num_threads() == 1, me = omp_get_thread_num();
        for (int item = 0; item < ITEMS; item++) {
            int s = item % SLOTS;
            if (me == 0) {
                wait_for(&filled[s], 0);
                for (int i = 0; i < LENGTH; i++) slot[s][i] = item + i * 0.5;
                raise_flag(&filled[s], item + 1);
            }
            if (me == 1 || alone) {
                wait_for(&filled[s], item + 1);
                for (int i = 0; i < LENGTH; i++) sum += slot[s][i];
                raise_flag(&filled[s], 0);
            }
        }
    }
    double seconds = omp_get_wtime() - start;
    double expected = LENGTH * (ITEMS * (ITEMS - 1.0) / 2) + ITEMS * 0.5 * (LENGTH * (LENGTH - 1.0) / 2);
    printf("%d items of %zu bytes through %d slots: %.1f us an item\n", ITEMS, sizeof slot[0], SLOTS,
           seconds / ITEMS * 1e6);
    puts(sum == expected ? "verified" : "WRONG");
    return sum != expected;
}
