//@ layout: 1x1
//@ found: verify
#include <stdio.h>
#include <omp.h>

int main(void) {
    long counts[16];
    for (int i = 0; i < 16; i++) counts[i] = i;
#pragma omp parallel num_threads(2)
    {
#pragma omp critical
        counts[3]++;
    }
    printf("%ld\n", counts[3]);
    return 0;
}
