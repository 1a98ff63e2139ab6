/* A guard variable, as the compiler of C++ has them in front of uses of a static object, is looked at until it is not 0. */
//@ layout: 1x1
//@ found: output
#include <stdio.h>

unsigned char _ZGVstate;

__attribute__((noinline)) static int look(void) {
    return __atomic_load_n(&_ZGVstate, __ATOMIC_ACQUIRE);
}

int main(void) {
    int first = look();
    int second = look();
    __atomic_store_n(&_ZGVstate, 1, __ATOMIC_RELEASE);
    printf("%d %d %d\n", first, second, look());
    return 0;
}
