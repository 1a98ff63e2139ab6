// Adjacent shorts, and the mixed-width members of one record, written by different threads.
#include "mix.h"
#include <stdio.h>

enum { N = 3001 };
static short wide[N];

typedef struct {
    char a;
    short b;
    char c;
    int d;
    char e[3];
    float f;
    long g;
} __attribute__((packed)) Mixed;

static Mixed record[50];

int main(void) {
#pragma omp parallel
    for (int phase = 0; phase < 10; phase++) {
#pragma omp for schedule(static, 1)
        for (int i = 0; i < N; i++) wide[i] = (short)(wide[i] * 5 + i + phase);
        // The same elements in other hands: pairs, read after being written by a neighbour.
#pragma omp for schedule(static, 3)
        for (int i = 0; i < N; i++) wide[i] = (short)(wide[i] ^ (phase << 3));
        // One member of every record each: iteration k touches member k of all records.
#pragma omp for schedule(static, 1)
        for (int k = 0; k < 9; k++)
            for (int i = 0; i < 50; i++) {
                Mixed *m = &record[i];
                int v = i * 10 + k + phase;
                switch (k) {
                case 0: m->a = (char)v; break;
                case 1: m->b = (short)(m->b + v); break;
                case 2: m->c = (char)(m->c ^ v); break;
                case 3: m->d += v; break;
                case 4: m->e[0] = (char)v; break;
                case 5: m->e[1] = (char)(v + 1); break;
                case 6: m->e[2]++; break;
                case 7: m->f += 0.5f; break;
                default: m->g = m->g * 3 + v;
                }
            }
    }
    unsigned long h = 0;
    for (int i = 0; i < N; i++) h = mix(h, (unsigned short)wide[i]);
    printf("%016lx\n", h);
    for (int i = 0; i < 50; i++) {
        Mixed *m = &record[i];
        h = mix(h, (unsigned long)(m->a + m->b + m->c + m->d + m->e[0] + m->e[1] + m->e[2]));
        h = mix(h, (unsigned long)(m->f * 4) + (unsigned long)m->g);
    }
    printf("%016lx\n", h);
    return 0;
}
