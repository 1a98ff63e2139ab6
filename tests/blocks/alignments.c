// Each thread asks for memory at multiples of more than the heaps of processes are multiples of.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    long wrong = 0, refused = 0;
#pragma omp parallel reduction(+ : wrong, refused)
    for (int shift = 12; shift < 25; shift++) {
        size_t align = (size_t)1 << shift;
        for (int kind = 0; kind < 2; kind++) {
            char *object;
            if (posix_memalign((void **)&object, align, kind ? 1 << 20 : 9000)) {
                refused++;
                continue;
            }
            wrong += (uintptr_t)object % align != 0;
            object[8999] = 1;
            free(object);
        }
    }
    printf("%ld wrong, %ld refused\n", wrong, refused);
    return 0;
}
