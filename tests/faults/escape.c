//@ layout: 2x1
//@ found: output
// The native stack is no shared memory, so there is nothing to assert.
#include <stdio.h>

int main(void) {
    long counts[2] = {0, 0};
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 2; i++) counts[i] = i + 1;
    printf("%ld %ld\n", counts[0], counts[1]);
    return 0;
}
