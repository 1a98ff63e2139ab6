// Memory that others have written becomes read-only before it is read: the process that reads it has to get it first.
#define _DEFAULT_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 64, WORDS = PAGE / sizeof(long) };

int main(void) {
    static long globals[PAGES * WORDS] __attribute__((aligned(PAGE)));
    long *places[] = {aligned_alloc(PAGE, PAGES * PAGE), globals};
    for (int p = 0; p < 2; p++) {
        long *data = places[p], sum = 0;
#pragma omp parallel for schedule(static)
        for (int i = 0; i < PAGES * WORDS; i++) data[i] = i;
#pragma omp parallel reduction(+ : sum)
        {
            if (mprotect(data, PAGES * PAGE, PROT_READ)) perror("mprotect");
#pragma omp for schedule(static, WORDS)
            for (int i = 0; i < PAGES * WORDS; i++) sum += data[i];
        }
        if (mprotect(data, PAGES * PAGE, PROT_READ | PROT_WRITE)) perror("mprotect");
        printf("%ld\n", sum);
    }
#pragma omp parallel
    for (int p = 0; p < 2; p++)
        if (mprotect(places[p], PAGES * PAGE, PROT_READ | PROT_WRITE)) perror("mprotect");
    free(places[0]);
    return 0;
}
