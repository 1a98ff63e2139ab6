//@ layout: 1x1
//@ found: verify
#include <stdio.h>
long value, other;

__attribute__((noinline)) static void set(long *p, long n) { *p = n; }

int main(void) {
    set(&value, 3);
    set(&other, 4);
    printf("%ld %ld\n", value, other);
    return 0;
}
