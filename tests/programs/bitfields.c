// Bitfields in records; members of separate storage units may be written by different threads.
#include "mix.h"
#include <stdio.h>

typedef struct {
    unsigned a : 3, b : 7, c : 22;
    unsigned : 0;
    int d : 5;
    unsigned : 0;
    unsigned char e : 4, f : 4;
    unsigned long g : 40, h : 24;
} Fields;

static Fields all[300];

int main(void) {
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < 300; i++) {
        all[i].a = (unsigned)i & 7;
        all[i].b = (unsigned)(i * 3) & 127;
        all[i].c = (unsigned)i * 1000;
        all[i].d = i % 31 - 15;
        all[i].e = (unsigned char)(i & 15);
        all[i].f = (unsigned char)(i / 3 & 15);
        all[i].g = (unsigned long)i << 30;
        all[i].h = (unsigned)i;
    }
    // Each unit of a record is its own memory location.
#pragma omp parallel
    for (int round = 0; round < 8; round++) {
#pragma omp sections
        {
#pragma omp section
            for (int i = 0; i < 300; i++) all[i].a++, all[i].b += 2, all[i].c -= 5;
#pragma omp section
            for (int i = 0; i < 300; i++) all[i].d ^= round;
#pragma omp section
            for (int i = 0; i < 300; i++) all[i].e += 3, all[i].f = (unsigned char)(all[i].f ^ all[i].e);
        }
#pragma omp for schedule(dynamic, 7)
        for (int i = 0; i < 300; i++) all[i].g += all[i].c + (unsigned long)all[i].b, all[i].h ^= all[i].a;
    }
    unsigned long h = 0;
    for (int i = 0; i < 300; i++) {
        Fields *f = &all[i];
        h = mix(h, f->a + f->b * 8UL + f->c * 1024UL + (unsigned long)(f->d + 16));
        h = mix(h, f->e + f->f * 16UL + (f->g << 8) + ((unsigned long)f->h << 20));
    }
    printf("%zu %016lx\n", sizeof(Fields), h);
    return 0;
}
