//@ layout: 1x1
//@ found: verify
#include <stdio.h>
long counter;

int main(void) {
    long old = __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
    printf("%ld %ld\n", old, counter);
    return 0;
}
