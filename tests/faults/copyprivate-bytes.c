//@ layout: 2x1
//@ found: output
#include <omp.h>
#include <stdio.h>

int main(void) {
    long read = 0, sum = 0;
#pragma omp parallel num_threads(2) firstprivate(read) reduction(+ : sum)
    {
#pragma omp single copyprivate(read)
        read = 1000000;
        sum += read;
    }
    printf("%ld\n", sum);
    return 0;
}
