// exit() called deep inside main's thread ends the program with its status and runs atexit handlers.
//@ exit: 7
#include <stdio.h>
#include <stdlib.h>

static int cells[100];

static void handler(void) {
    int sum = 0;
    for (int i = 0; i < 100; i++) sum += cells[i];
    printf("sum %d\n", sum);
}

static void deep(int n) {
    int here[50];
    for (int i = 0; i < 50; i++) here[i] = n;
#pragma omp parallel for
    for (int i = 0; i < 50; i++) cells[i + n % 2 * 50] += here[i];
    if (n == 0) exit(7);
    deep(n - 1);
}

int main(void) {
    atexit(handler);
    deep(9);
    return 1;
}
