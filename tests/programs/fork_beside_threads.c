//@ flags: -D_GNU_SOURCE
// Children allocate, though other threads were in the middle of it when they were made.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int done;

static int child(void) {
    char *objects[64];
    for (int i = 0; i < 64; i++) {
        objects[i] = malloc(20000 + i);
        if (!objects[i]) return 1;
        memset(objects[i], i, 20000);
    }
    for (int i = 0; i < 64; i++) {
        if (objects[i][i] != i) return 2;
        free(objects[i]);
    }
    return 0;
}

int main(void) {
    int failed = 0;
#pragma omp parallel reduction(+ : failed)
    if (omp_get_thread_num() == 0) {
        for (int i = 0; i < 60; i++) {
            pid_t pid = fork();
            if (pid == 0) {
                alarm(20);
                _exit(child());
            }
            int status = -1;
            failed += waitpid(pid, &status, 0) != pid || status != 0;
        }
#pragma omp atomic write seq_cst
        done = 1;
    } else {
        int ends = 0;
        while (!ends) {
            for (int i = 0; i < 50; i++) {
                char *volatile object = malloc(16384 + 64 * i);
                object[i] = 1;
                free(object);
            }
#pragma omp atomic read seq_cst
            ends = done;
        }
    }
    printf("%d failed\n", failed);
    return 0;
}
