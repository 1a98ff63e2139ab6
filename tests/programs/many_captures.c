// A region that captures three hundred and one variables.
#include <stdio.h>

#define TEN(M, p) M(p##0) M(p##1) M(p##2) M(p##3) M(p##4) M(p##5) M(p##6) M(p##7) M(p##8) M(p##9)
#define HUNDRED(M, p)                                                                                                  \
    TEN(M, p##0) TEN(M, p##1) TEN(M, p##2) TEN(M, p##3) TEN(M, p##4) TEN(M, p##5) TEN(M, p##6) TEN(M, p##7)            \
    TEN(M, p##8) TEN(M, p##9)
#define ALL(M) HUNDRED(M, 1) HUNDRED(M, 2) HUNDRED(M, 3)

#define DECLARE(n) int v##n = n;
#define STEP(n) v##n++;
#define ADD(n) sum += v##n;

int main(void) {
    ALL(DECLARE)
    long total = 0;
#pragma omp parallel num_threads(4)
    {
#pragma omp critical
        { ALL(STEP) }
#pragma omp barrier
        long sum = 0;
        ALL(ADD)
#pragma omp atomic
        total += sum;
    }
    printf("%ld\n", total);
}
