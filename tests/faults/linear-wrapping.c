//@ layout: 1x1
//@ found: verify
#include <stdio.h>

long values[256];

__attribute__((noinline)) long sum(const long *middle, unsigned char first, unsigned char n) {
    long sum = 0;
    for (unsigned char i = 0; i < n; i++) sum += middle[(signed char)(first + i)];
    return sum;
}

int main(void) {
    printf("%ld\n", sum(values + 128, 120, 20));
    return 0;
}
