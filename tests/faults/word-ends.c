//@ layout: 1x1
//@ found: verify
#include <stdio.h>
_Alignas(64) long words[64];

/* Neighbours are less than a line of 64 bytes apart. */
__attribute__((noinline)) void some(long *at) {
    at[0] = at[7] = at[14] = at[21] = at[28] = at[35] = 1;
}

int main(void) {
    some(words);
    printf("%ld\n", words[21]);
    return 0;
}
