// long double and 128-bit integers in shared arrays, members, locals, arguments and results.
#include <math.h>
#include <stdio.h>

typedef struct {
    char c;
    long double v;
    __int128 n;
} Wide;

static long double series[300];
static Wide records[100];
static unsigned __int128 factors[50];

static long double next(long double x, Wide w) {
    return sqrtl(x) + w.v;
}

int main(void) {
    long double locals[10] = {0};
#pragma omp parallel
    {
#pragma omp for schedule(static, 1)
        for (int i = 0; i < 300; i++) series[i] = 1.0L / (i + 1);
#pragma omp for schedule(static, 1)
        for (int i = 0; i < 100; i++) records[i] = (Wide){(char)i, series[299 - i], (__int128)i << 70};
#pragma omp for schedule(dynamic, 3)
        for (int i = 0; i < 100; i++) series[i] = next(series[i], records[99 - i]);
#pragma omp for schedule(static, 1)
        for (int i = 0; i < 50; i++) {
            factors[i] = 1;
            for (int k = 2; k <= i % 34; k++) factors[i] *= (unsigned)k;
            records[i].n += (__int128)factors[i];
        }
#pragma omp for schedule(static, 1)
        for (int i = 0; i < 10; i++)
            for (int k = 0; k < 30; k++) locals[i] += series[k * 10 + i];
    }
    for (int i = 0; i < 10; i++) printf("%.15Lf ", locals[i]);
    puts("");
    unsigned long h = 0;
    for (int i = 0; i < 100; i++) h = h * 31 + (unsigned long)(records[i].n >> 64) * 7 + (unsigned long)records[i].n + (unsigned char)records[i].c;
    printf("%lx\n", h);
    return 0;
}
