//@ layout: 2x1
//@ found: verify
#include <stdio.h>
#include <stdlib.h>

/* Common numbers of two sorted lists, each of which ends with a negative one. */
__attribute__((noinline)) int common(const char *a, const char *b) {
    int count = 0;
    while (*a >= 0 && *b >= 0) {
        if (*a == *b) count++, a++, b++;
        else if (*a > *b) b++;
        else a++;
    }
    return count;
}

int main(void) {
    char *lists = malloc(3000);
    for (int i = 0; i < 3000; i++) lists[i] = i % 1500 == 1499 ? -1 : i % 1500 / 15;
    int count = 0;
#pragma omp parallel num_threads(2) reduction(+ : count)
    count += common(lists, lists + 1500);
    printf("%d\n", count);
    free(lists);
    return 0;
}
