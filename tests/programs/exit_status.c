// The value that main returns is the program's exit status, after buffers were written.
//@ exit: 42
#include <stdio.h>

static int status = 40;

int main() {
    printf("no newline at the end");
#pragma omp parallel sections
    {
#pragma omp section
        status++;
    }
#pragma omp parallel num_threads(2)
#pragma omp single
    status++;
    return status;
}
