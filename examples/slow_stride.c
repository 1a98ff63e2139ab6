// Slow on purpose: single misses along a stride. `dsm-run --profile` says so, and -DMENDED does what it says.
//
// Each record is large, and of those that other threads have written the loop reads one field: each miss fetches a block for eight bytes of it. Mended, the
// field has an array of its own, whose blocks are full of what the loop reads and come in one piece.
#include <stdio.h>

enum { N = 1024, ROUNDS = 10 };

#ifdef MENDED
static long keys[N];
#define KEY(i) keys[i]
#else
static struct {
    long key;
    char rest[16384 - sizeof(long)];
} records[N];
#define KEY(i) records[i].key
#endif

static void change(int round) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++) KEY(i) = i + round;
}

static long add_up(void) {
    long all = 0;
#pragma omp parallel reduction(+ : all)
    {
        long sum = 0;
        for (int i = 0; i < N; i++) sum += KEY(i);
#pragma omp single nowait
        all = sum;
    }
    return all;
}

int main(void) {
    int wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
        change(round);
        wrong += add_up() != (long)N * (N - 1) / 2 + (long)N * round;
    }
    puts(wrong ? "WRONG" : "verified");
    return wrong != 0;
}
