// `omp atomic` without capture, on variables of other processes: posted, and to the thread, its process and all who synchronise as if done at once. The arguments: rounds, and the
// name of a file that is not there.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BINS = 3000, MOST = 64, STEPS = 200 };

static long counter, histogram[BINS], turns[MOST], given, taken;
static int small[BINS];
static double sum;
static float short_sum;
static unsigned char bytes[BINS];
// Not in one block: what makes one accessible leaves the other alone.
static struct {
    long of[MOST];
} slots __attribute__((aligned(65536))), values __attribute__((aligned(65536)));
static int done;

static int check(int holds, const char *what, long round) {
    if (!holds) fprintf(stderr, "thread %d, round %ld: %s\n", omp_get_thread_num(), round, what);
    return !holds;
}

// Everything that a thread may do with a variable of its own, in its order. Neighbours are of others.
static int in_order(int index, unsigned *random, long round) {
    int wrong = 0;
    long *slot = &slots.of[index], expected = values.of[index], old;
    // Before anything else makes it accessible here.
    for (int i = 1; i < 10; i++) {
#pragma omp atomic
        *slot += i;
        expected += i;
    }
    wrong += check(*slot == expected, "the first load", round);
    for (int i = 0; i < STEPS; i++) {
        *random = *random * 1664525u + 1013904223u;
        switch (*random >> 28) {
        case 0:
            wrong += check(*slot == expected, "a load", round);
            break;
        case 1:
            *slot = expected = i;
            break;
        case 2:
#pragma omp atomic capture
            old = (*slot)++;
            wrong += check(old == expected++, "a capture", round);
            break;
        case 3:
#pragma omp atomic read
            old = *slot;
            wrong += check(old == expected, "an atomic read", round);
            break;
        case 4:
#pragma omp atomic write
            *slot = expected = 5;
            break;
        case 5:
#pragma omp atomic
            *slot *= 3;
            expected = (long)(3 * (unsigned long)expected);
            break;
        case 6:
#pragma omp atomic
            *slot |= 64;
            expected |= 64;
            break;
        default:
#pragma omp atomic
            *slot += i;
            expected += i;
        }
    }
    values.of[index] = expected;
    return wrong + check(*slot == expected, "the last load", round);
}

int main(int argc, char **argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 10;
    const char *file = argc > 2 ? argv[2] : NULL;
    int wrong = 0;
    for (long round = 0; round < rounds; round++) {
        counter = 0, sum = 0, short_sum = 0, given = 0, taken = 0;
        for (int i = 0; i < BINS; i++) histogram[i] = small[i] = bytes[i] = 0;
#pragma omp parallel reduction(+ : wrong)
        {
            int me = omp_get_thread_num(), threads = omp_get_num_threads();
            unsigned random = 77 * round + me;
            for (int i = 0; i < 2000; i++) {
                random = random * 1664525u + 1013904223u;
#pragma omp atomic
                counter++;
#pragma omp atomic
                histogram[random % BINS] += 2;
#pragma omp atomic
                small[random % BINS] -= 3;
#pragma omp atomic
                bytes[random % BINS] += 255;
#pragma omp atomic
                sum += 0.25;
#pragma omp atomic
                short_sum -= 1;
            }
#pragma omp barrier
            long total = 0, low = 0;
            unsigned char all = 0;
            for (int i = 0; i < BINS; i++) total += histogram[i], low += small[i], all += bytes[i];
            wrong += check(counter == 2000 * threads && total == 2 * counter && low == -3 * counter, "counts", round);
            wrong += check(sum == 0.25 * counter && short_sum == -counter && all == (unsigned char)-counter, "sums", round);
#pragma omp barrier
            for (int shift = 0; shift < 4; shift++) {
                wrong += in_order((me + round + shift) % threads, &random, round);
#pragma omp barrier
            }
            // The next one of a ring, by locks; and what threads poll is no variable that they have added to.
            for (int turn = 0; turn < 10; turn++) {
#pragma omp critical
                {
                    wrong += check(turns[0] == turns[1] && turns[1] == turns[2], "locked", round);
                    for (int i = 0; i < 3; i++) {
#pragma omp atomic
                        turns[i]++;
                    }
                }
            }
#pragma omp atomic
            given++;
            long seen;
            if (me == 0) {
                do {
#pragma omp atomic read
                    seen = given;
                } while (seen < threads);
#pragma omp atomic write
                taken = 1;
            } else {
                do {
#pragma omp atomic read
                    seen = taken;
                } while (!seen);
            }
#pragma omp barrier
            // Tasks: who waits for them sees what they have added, in whatever thread.
            if (me == threads - 1) {
                for (int i = 0; i < 50; i++) {
#pragma omp task firstprivate(i)
                    {
#pragma omp atomic
                        histogram[i] += 7;
                    }
                }
                long before = 0;
                for (int i = 50; i < 100; i++) before += histogram[i];
#pragma omp taskwait
                long after = 0;
                for (int i = 0; i < BINS; i++) after += histogram[i];
                wrong += check(after == 4000 * threads + 350 && before >= 0, "tasks", round);
            }
        }
    }
    // A thread that adds, and then only asks the system, for a sign that another one gives when it has seen that.
    if (file)
#pragma omp parallel
    {
        if (omp_get_thread_num() == omp_get_num_threads() - 1) {
#pragma omp atomic
            done++;
            while (access(file, F_OK)) usleep(1000);
        } else if (omp_get_thread_num() == 0) {
            int seen;
            do {
#pragma omp atomic read
                seen = done;
            } while (!seen);
            fclose(fopen(file, "w"));
        }
    }
    puts(wrong ? "WRONG" : "verified");
    return wrong != 0;
}
