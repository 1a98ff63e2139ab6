//@ layout: 2x1
//@ found: verify
#include <stdio.h>

long value;

int main(void) {
    value = 5;
    long first = value;
#pragma omp parallel num_threads(2)
    {
#pragma omp critical
        value += 2;
    }
    printf("%ld %ld\n", first, value);
    return 0;
}
