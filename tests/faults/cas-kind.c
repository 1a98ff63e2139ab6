/* A bit is set by a compare-and-swap that is repeated until nobody has come between. */
//@ layout: 1x1
//@ found: output
#include <stdio.h>

static unsigned long bits[4];

__attribute__((noinline)) static void set(unsigned long *word, unsigned long bit) {
    unsigned long seen = *word;
    while (!__atomic_compare_exchange_n(word, &seen, seen | bit, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

int main(void) {
    for (int i = 0; i < 6; i++) set(&bits[i % 4], 1ul << i % 4);
    printf("%lx %lx %lx %lx\n", bits[0], bits[1], bits[2], bits[3]);
    return 0;
}
