//@ layout: 2x1
//@ found: guard
//@ flags: -fdsm-line=4096
// As for library-length.
#include <stdio.h>
#include <string.h>

_Alignas(4096) char words[65536];

int main(void) {
    long found = 0;
    memset(words, 'a', sizeof words);
#pragma omp parallel num_threads(2) reduction(+ : found)
    found += (char *)memchr(words + 1, 'b', sizeof words - 1) == NULL;
    printf("%ld\n", found);
    return 0;
}
