//@ layout: 1x1
//@ found: verify
#include <stdio.h>
struct { long a, b; } pair;

__attribute__((noinline)) long change(long n) {
    long old = pair.a;
    pair.b = n;
    return old;
}

int main(void) {
    long old = change(3);
    printf("%ld %ld\n", old, pair.b);
    return 0;
}
