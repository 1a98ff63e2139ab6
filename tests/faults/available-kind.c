//@ layout: 1x1
//@ found: verify
#include <stdio.h>
volatile long value = 3;

__attribute__((noinline)) void change(void) {
    if (value) value = 4;
}

int main(void) {
    change();
    printf("%ld\n", value);
    return 0;
}
