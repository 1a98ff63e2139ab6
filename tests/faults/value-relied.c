//@ layout: 2x1
//@ found: output
// Behind an atomic operation that is a release, a store to one half of an element, on whose check a store to the other half relies.
#include <stdio.h>
#include <stdlib.h>

enum { ELEMENTS = 4096, ROUNDS = 64 };

struct element {
    _Alignas(16) long first;
    long second;
};

int main(void) {
    struct element *elements = aligned_alloc(4096, ELEMENTS * sizeof *elements);
    static long next;
    for (int i = 0; i < ELEMENTS; i++)
        elements[i].first = elements[i].second = 0;
    for (int round = 1; round <= ROUNDS; round++) {
#pragma omp parallel for schedule(static, 1)
        for (int i = 0; i < ELEMENTS; i++) {
            long taken = __sync_fetch_and_add(&next, 1);
            elements[i].first = round;
            if (taken >= 0)
                elements[i].second = round;
        }
    }
    long wrong = 0;
    for (int i = 0; i < ELEMENTS; i++)
        wrong += elements[i].first != ROUNDS || elements[i].second != ROUNDS;
    printf(wrong ? "wrong\n" : "right\n");
    return wrong != 0;
}
