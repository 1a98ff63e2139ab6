//@ layout: 2x1
//@ found: output
#include <stdio.h>

static long data[8] __attribute__((aligned(4096)));
static int flag __attribute__((aligned(4096)));
static int ready __attribute__((aligned(4096)));

int main(void) {
    long sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
#pragma omp for schedule(static, 1)
        for (int thread = 0; thread < 2; thread++) {
            int seen;
            if (thread == 0) {
                do {
#pragma omp atomic read
                    seen = ready;
#pragma omp flush
                } while (!seen);
                data[0] = 5;
#pragma omp flush
#pragma omp atomic write
                flag = 1;
            } else {
                // It has a copy.
                sum += data[0];
#pragma omp flush
#pragma omp atomic write
                ready = 1;
                do {
#pragma omp atomic read
                    seen = flag;
#pragma omp flush
                } while (!seen);
                sum += data[0];
            }
        }
    }
    printf("%ld\n", sum);
    return 0;
}
