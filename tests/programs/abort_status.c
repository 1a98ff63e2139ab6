// abort() in the middle ends the whole job with SIGABRT's status.
//@ exit: 134
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    int ready = 0;
#pragma omp parallel reduction(+ : ready)
    ready++;
    printf("%d\n", ready > 0);
    fflush(stdout);
    abort();
}
