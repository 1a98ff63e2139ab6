// Calls that cannot be carried out; the argument says which.
#include <dsm.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static int shared[100];
DSM_PRIVATE int private_one;
static dsm_fifo *queue;

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int one;
    if (!strcmp(what, "private")) dsm_add(&private_one, 1);
    if (!strcmp(what, "null")) dsm_fetch_add((int *)0, 1);
    if (!strcmp(what, "misaligned")) dsm_add((int *)((char *)shared + 1), 1);
    if (!strcmp(what, "read")) dsm_read(&one, &private_one, sizeof one);
    if (!strcmp(what, "write")) dsm_write(shared, shared, (size_t)1 << 40);
    if (!strcmp(what, "flag")) dsm_write_flag(shared, shared + 50, sizeof one, &private_one, 1);
    if (!strcmp(what, "capacity")) queue = dsm_fifo_create(0, 8);
    if (!strcmp(what, "element")) queue = dsm_fifo_create(8, 100000);
    if (!strcmp(what, "pointer")) dsm_fifo_pop((dsm_fifo *)malloc(100), &one);
    queue = dsm_fifo_create(8, sizeof one);
    if (!strcmp(what, "destroyed") || !strcmp(what, "twice")) dsm_fifo_destroy(queue);
    // By the last thread, which may be in another process.
#pragma omp parallel
    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
        if (!strcmp(what, "destroyed")) dsm_fifo_push(queue, &one);
        if (!strcmp(what, "twice")) dsm_fifo_destroy(queue);
    }
    return 0;
}
