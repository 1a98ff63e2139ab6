//@ layout: 1x1
//@ found: verify
#include <stdio.h>
volatile long value = 3;

__attribute__((noinline)) long get(int first) {
    long sum = 0;
    if (first) sum = value;
    return sum + value;
}

int main(void) {
    long before = get(0);
    printf("%ld\n", before);
    return 0;
}
