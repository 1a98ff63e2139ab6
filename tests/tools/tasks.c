/* Tasks that idle processes take over, in a tree and in a loop, some with dependences. */
#include <stdio.h>

static int values[100], chain[4];

static long fibonacci(int n) {
    if (n < 2) return n;
    long a, b;
#pragma omp task shared(a)
    a = fibonacci(n - 1);
#pragma omp task shared(b)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(void) {
    long tree = 0, sum = 0;
#pragma omp parallel
#pragma omp single
    {
        tree = fibonacci(10);
#pragma omp taskgroup
        for (int i = 0; i < 8; i++) {
#pragma omp task depend(inout : chain[i / 2])
            chain[i / 2] += i;
        }
#pragma omp taskloop grainsize(1) nogroup
        for (int i = 0; i < 100; i++) values[i] = i;
    }
    for (int i = 0; i < 100; i++) sum += values[i];
    for (int i = 0; i < 4; i++) sum += chain[i];
    printf("%ld %ld\n", tree, sum);
    return 0;
}
