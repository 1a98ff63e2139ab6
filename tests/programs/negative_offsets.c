// Elements in front of a pointer are reached by offsets without a sign: constants, numbers of an inlined function, and fields of structures.
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 6000, BEFORE = 3 };

struct cell {
    unsigned value;
    unsigned pad[7];
};

static struct cell *cells;

#define CELL(n) (*(struct cell *)((char *)cells + (n) * sizeof(struct cell)))

static unsigned at_distance(const struct cell *from, int distance) {
    return ((const struct cell *)((const char *)from + distance * sizeof *from))->value;
}

__attribute__((noinline)) static void set_first(unsigned value) {
    CELL(-1).value = value;
}

__attribute__((noinline)) static unsigned get_first(void) {
    return CELL(-1).value;
}

__attribute__((noinline)) static void set_pad(unsigned value) {
    CELL(-BEFORE).pad[2] = value;
}

int main(void) {
    struct cell *all = calloc(CELLS + BEFORE, sizeof *all);
    cells = all + BEFORE;
    unsigned sum = 0;
    for (int round = 0; round < 5; round++) {
#pragma omp parallel for
        for (int i = 0; i < CELLS; i++)
            cells[i].value = i * 3 + round;
        set_first(round * 1000);
        set_pad(round);
#pragma omp parallel for reduction(+ : sum)
        for (int i = 1; i < CELLS; i++)
            sum += at_distance(&cells[i], -1) ^ get_first() ^ cells[-BEFORE].pad[2];
    }
    printf("%u\n", sum);
    free(all);
    return 0;
}
