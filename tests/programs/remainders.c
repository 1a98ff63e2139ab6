/* Subscripts with remainders of constants, which have no quotient beside them. */
#include <stdio.h>

enum { N = 4000 };
static int a[N], b[N];

__attribute__((noinline)) static void fill(int *to, unsigned modulus, int count) {
    for (int i = 0; i < count; i++) to[100u % modulus + i] = i;
}

__attribute__((noinline)) static void spread(int *to, const int *from, unsigned modulus, int count) {
#pragma omp parallel for
    for (int i = 0; i < count; i++) to[(1000u % modulus + (unsigned)i * 7u) % N] = from[i] + (int)(modulus % 5u);
}

int main(void) {
    long sum = 0;
    for (unsigned m = 3; m < 40; m++) {
        fill(a, m, N - 100);
        spread(b, a, m, N);
        for (int i = 0; i < N; i++) sum = (sum * 31 + a[i] + b[i]) % 1000003;
    }
    printf("%ld\n", sum);
    return 0;
}
