// Constructors with priorities and a destructor; they run once, before main, and may allocate.
#include <stdio.h>
#include <stdlib.h>

static int order[8], used;
static int *prepared;

static __attribute__((constructor(300))) void third(void) {
    order[used++] = 3;
}
static __attribute__((constructor(200))) void second(void) {
    order[used++] = 2;
    prepared = malloc(100 * sizeof *prepared);
    for (int i = 0; i < 100; i++) prepared[i] = i * used;
}
static __attribute__((constructor(150))) void first(void) {
    order[used++] = 1;
}
static __attribute__((constructor)) void last(void) {
    order[used++] = 4;
}
static __attribute__((destructor)) void finish(void) {
    printf("destructor after %d\n", used);
}
static void at_exit(void) {
    printf("atexit with %d\n", prepared[1]);
}

int main(void) {
    atexit(at_exit);
    long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 100; i++) sum += prepared[i] + order[i % 4];
    printf("%d: %d %d %d %d, %ld\n", used, order[0], order[1], order[2], order[3], sum);
#pragma omp parallel for
    for (int i = 0; i < 100; i++) prepared[i] = 7;
    return 0;
}
