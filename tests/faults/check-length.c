//@ layout: 1x1
//@ found: verify
#include <stdio.h>
_Alignas(64) long words[16];

/* The members lie in two lines. */
__attribute__((noinline)) void both(long *at) {
    at[0] = 1;
    at[6] = 2;
}

int main(void) {
    both(words + 4);
    printf("%ld\n", words[10]);
    return 0;
}
