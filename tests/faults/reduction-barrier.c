//@ layout: 2x1
//@ found: output
#include <omp.h>
#include <stdio.h>

static long data[2][512] __attribute__((aligned(4096)));

int main(void) {
    long sum = 0, wrong = 0;
#pragma omp parallel num_threads(2) reduction(+ : wrong)
    {
        int me = omp_get_thread_num();
        for (int round = 1; round <= 100; round++) {
#pragma omp for reduction(+ : sum)
            for (int i = 0; i < 2; i++) sum++;
            data[me][0] = round;
#pragma omp barrier
            wrong += data[1 - me][0] != round;
        }
    }
    printf("%ld %ld\n", sum, wrong);
    return 0;
}
