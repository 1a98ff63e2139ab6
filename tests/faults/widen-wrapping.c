//@ layout: 1x1
//@ found: output
#include <stdio.h>

long values[64];

__attribute__((noinline)) long sum(unsigned first, unsigned second, int n) {
    long sum = 0;
    for (int i = 0; i < n; i++) sum += values[(int)(first + (second + i))];
    return sum;
}

int main(void) {
    for (int i = 0; i < 64; i++) values[i] = i;
    printf("%ld\n", sum(0x80000010u, 0x80000000u, 32));
    return 0;
}
