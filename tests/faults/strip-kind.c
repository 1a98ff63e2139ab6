//@ layout: 2x1
//@ found: verify
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

/* Keeps what is odd, up to the first zero. */
__attribute__((noinline)) char *odd(const char *from, char *to) {
    for (; *from; from++)
        if (*from % 2) *to++ = *from;
    return to;
}

int main(void) {
    char *text = malloc(3000), *kept = malloc(6000);
    for (int i = 0; i < 3000; i++) text[i] = i == 2999 ? 0 : 1 + i % 100;
    for (int i = 0; i < 6000; i++) kept[i] = 0;
    int count = 0;
#pragma omp parallel num_threads(2) reduction(+ : count)
    {
        char *mine = kept + 3000 * omp_get_thread_num();
        count += mine[0];
        count += odd(text, mine) - mine;
    }
    printf("%d %d\n", count, kept[3000]);
    free(text);
    free(kept);
    return 0;
}
