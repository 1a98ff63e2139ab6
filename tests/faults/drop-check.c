//@ layout: 1x1
//@ found: verify
#include <stdio.h>
long value;

__attribute__((noinline)) void set(long n) { value = n; }

int main(void) {
    set(3);
    printf("%ld\n", value);
    return 0;
}
