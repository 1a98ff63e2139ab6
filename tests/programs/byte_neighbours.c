// Adjacent bytes written by different threads in the same interval, and by others in the next.
#include "mix.h"
#include <omp.h>
#include <stdio.h>

enum { N = 4099, PHASES = 12 };
static unsigned char data[N], copy[N];
static _Bool flags[N];

int main(void) {
    int bad = 0;
#pragma omp parallel reduction(+ : bad)
    {
        int me = omp_get_thread_num(), team = omp_get_num_threads();
        for (int phase = 0; phase < PHASES; phase++) {
            // Byte i belongs to thread (i + phase) mod team.
            for (int i = 0; i < N; i++)
                if ((i + phase) % team == me) {
                    data[i] = (unsigned char)(data[i] * 3 + i + phase);
                    flags[i] = data[i] & 1;
                }
#pragma omp barrier
            for (int i = me; i < N; i += team) copy[i] = (unsigned char)(data[N - 1 - i] + flags[i]);
#pragma omp barrier
            for (int i = 0; i < N; i++) bad += copy[i] != (unsigned char)(data[N - 1 - i] + flags[i]);
#pragma omp barrier
        }
    }
    unsigned long h = 0;
    for (int i = 0; i < N; i++) h = mix(mix(h, data[i]), copy[i]);
    printf("bad %d %016lx\n", bad, h);
    return 0;
}
