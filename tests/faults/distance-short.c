//@ layout: 1x1
//@ found: verify
#include <stdio.h>

double values[64 * 1000];

__attribute__((noinline)) void add(double *rows, long count, long length) {
    for (long row = 0; row < count; row++) {
        long first = length * row, end = first + length;
        for (long i = first; i < end; i++) rows[i] += 1;
    }
}

int main(void) {
    add(values, 64, 1000);
    printf("%g\n", values[777]);
    return 0;
}
