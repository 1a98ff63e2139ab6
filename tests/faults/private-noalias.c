//@ layout: 1x1
//@ found: verify
#include <stdio.h>
long value;

__attribute__((noinline)) void set(long *restrict p, long n) { *p = n; }

int main(void) {
    set(&value, 3);
    printf("%ld\n", value);
    return 0;
}
