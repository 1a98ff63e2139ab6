//@ layout: 2x1
//@ found: verify
// Seen by the state: the line behind belongs to another block.
#include <stdio.h>
#include <string.h>

_Alignas(65536) char bytes[3 * 65536];

__attribute__((noinline)) long get(char *at) {
    long n;
    memcpy(&n, at, sizeof n);
    return n;
}

int main(void) {
    long sum = 0;
    memset(bytes, 1, sizeof bytes);
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += get(bytes + 65532) & 255;
    printf("%ld\n", sum);
    return 0;
}
