//@ libs: -latomic
//@ flags: -Wno-atomic-alignment
// Atomics that go through libatomic: structures, long double, complex, objects without alignment or across blocks.
#include <complex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

typedef struct { long a, b, c; } Wide;
typedef struct { char tag[3]; } Odd;
static _Atomic Wide wide;
static _Atomic Odd odd;
static _Atomic long double ld;
static long double sum;
static double complex product = 1;
static float complex turns;
static __int128 big;
static _Atomic __int128 counter;
// 24 bytes at every distance from the start of a block, and integers without alignment.
static struct { char pad[4084]; Wide value; } __attribute__((packed)) across[3];
static struct { char pad[4093]; int i; char pad2[4089]; long l; } __attribute__((packed)) loose;

static int torn(Wide w) { return w.b != 2 * w.a || w.c != 3 * w.a; }

int main(void) {
    int bad = 0;
    long seen = 0;
#pragma omp parallel for reduction(+ : bad, seen) schedule(static, 1)
    for (int i = 0; i < 240; i++) {
        Wide now = atomic_load(&wide), next;
        do {
            bad += torn(now);
            next = (Wide){now.a + 1, now.b + 2, now.c + 3};
        } while (!atomic_compare_exchange_weak(&wide, &now, next));
        Wide *far = &across[i % 3].value;
        __atomic_load(far, &now, __ATOMIC_RELAXED);
        do {
            bad += torn(now);
            next = (Wide){now.a + i, now.b + 2 * i, now.c + 3 * i};
        } while (!__atomic_compare_exchange(far, &now, &next, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
        ld += 0.5L;
#pragma omp atomic
        sum += i;
#pragma omp atomic
        turns += 1 + 2 * I;
        if (i < 64) {
#pragma omp atomic
            product *= I;
        }
#pragma omp atomic
        big += (__int128)i << 64;
        counter ^= (__int128)1 << (i % 120);
        long double before;
#pragma omp atomic capture
        {
            before = sum;
            sum -= 1;
        }
        seen += before > 0;
#pragma omp atomic
        loose.i += i;
#pragma omp atomic
        loose.l -= i;
    }
    printf("%d %d\n", bad, seen > 0);
    Wide end = atomic_load(&wide);
    printf("%ld %ld %ld\n", end.a, end.b, end.c);
    for (int k = 0; k < 3; k++) printf("%ld %ld %ld\n", across[k].value.a, across[k].value.b, across[k].value.c);
    printf("%Lg %Lg %g%+gi %g%+gi %lx %lx %d %ld\n", (long double)ld, sum, creal(product), cimag(product), crealf(turns), cimagf(turns),
           (long)(big >> 64), (long)(counter >> 64) | (long)counter, loose.i, loose.l);
    // A store that publishes what was written before, and a load that takes it in.
    static int payload[500];
    long got = 0;
#pragma omp parallel num_threads(2) reduction(+ : got)
    for (int round = 1; round <= 20; round++) {
#pragma omp single nowait
        {
            for (int k = 0; k < 500; k++) payload[k] = k * round;
            atomic_store_explicit(&wide, ((Wide){round, round, round}), memory_order_release);
        }
        while (atomic_load_explicit(&wide, memory_order_acquire).c != round) {
        }
        for (int k = 0; k < 500; k++) got += payload[k];
#pragma omp barrier
    }
    printf("%ld\n", got);
    Odd was = atomic_exchange(&odd, ((Odd){{'a', 'b', 'c'}}));
    printf("%d %.3s\n", was.tag[0], atomic_load(&odd).tag);
    return 0;
}
