// Threads store different values to the same variables without synchronisation, and to bytes beside them. A variable of four bytes has one of the values, not a mixture
// of their bytes, and no byte beside it is lost. Nobody publishes anything before all have stored: relaxed atomic operations order nothing.
#include <omp.h>
#include <stdio.h>

enum { ELEMENTS = 5000, ROUNDS = 12, OWN = 4 };

static struct element {
    unsigned raced;
    unsigned char own[OWN];
    // The same value by all, beside bytes of one thread each.
    unsigned char same;
    unsigned char beside[OWN - 1];
} elements[ELEMENTS];
static int stored[ROUNDS];

// What a thread stores: the lowest byte differs from all others, of the next two some are those that were there.
static unsigned value(int thread, int round, int i) {
    unsigned low = 1 + (thread * 16 + round + i) % 251;
    return low | (unsigned)((thread + i) % 3) << 8 | (unsigned)((thread + round) % 2) << 16;
}

int main(void) {
    int mixtures = 0, lost = 0, threads = 0;
#pragma omp parallel reduction(+ : mixtures, lost)
    {
        int me = omp_get_thread_num();
        int team = omp_get_num_threads();
#pragma omp single
        threads = team;
        for (int round = 0; round < ROUNDS; round++) {
#pragma omp for
            for (int i = 0; i < ELEMENTS; i++)
                elements[i] = (struct element){0};
            for (int i = 0; i < ELEMENTS; i++) {
                struct element *e = &elements[i];
                e->raced = value(me, round, i);
                e->same = 1;
                if (me < OWN)
                    e->own[me] = round + 1;
                if (me < OWN - 1)
                    e->beside[me] = round + 1;
            }
#pragma omp atomic
            stored[round]++;
            for (int all = 0; all < team;) {
#pragma omp atomic read
                all = stored[round];
            }
#pragma omp barrier
#pragma omp for
            for (int i = 0; i < ELEMENTS; i++) {
                struct element *e = &elements[i];
                int is_one = 0;
                for (int thread = 0; thread < team; thread++)
                    is_one |= e->raced == value(thread, round, i);
                mixtures += !is_one;
                lost += e->same != 1;
                for (int thread = 0; thread < team && thread < OWN; thread++)
                    lost += e->own[thread] != round + 1;
                for (int thread = 0; thread < team && thread < OWN - 1; thread++)
                    lost += e->beside[thread] != round + 1;
            }
        }
    }
    printf("%d mixtures, %d bytes lost\n", mixtures, lost);
    return threads < 1;
}
