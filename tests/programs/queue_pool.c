// A work pool: a locked queue of heap jobs that make more jobs, until a counter says all is done.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Job {
    struct Job *next;
    int depth, id;
} Job;

static Job *queue;
static int pending;
static long done_sum, done;
static omp_lock_t lock;

static void push(int depth, int id) {
    Job *j = malloc(sizeof *j);
    j->depth = depth, j->id = id, j->next = queue;
    queue = j;
    pending++;
}

int main(void) {
    omp_init_lock(&lock);
    for (int i = 0; i < 5; i++) push(5, i);
#pragma omp parallel
    for (;;) {
        int left;
        omp_set_lock(&lock);
        Job *j = queue;
        if (j) queue = j->next;
        left = pending;
        omp_unset_lock(&lock);
        if (!j && left == 0) break;
        if (!j) continue;
        int value = j->id * 3 + j->depth;
        omp_set_lock(&lock);
        if (j->depth > 0) {
            push(j->depth - 1, j->id * 2);
            push(j->depth - 1, j->id * 2 + 1);
        }
        pending--;
        done++;
        done_sum += value;
        omp_unset_lock(&lock);
        free(j);
    }
    omp_destroy_lock(&lock);
    printf("%ld %ld %d\n", done, done_sum, queue == NULL);
    return 0;
}
