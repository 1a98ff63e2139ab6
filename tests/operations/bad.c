// Calls that cannot be carried out; the argument says which.
#include <dsm.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static int shared[100];
DSM_PRIVATE int private_one;
static dsm_fifo *queue;
static dsm_handle handle;
static omp_lock_t lock;

static void empty(void *place, const void *argument, size_t bytes) { (void)place, (void)argument, (void)bytes; }
static void locks(void *place, const void *argument, size_t bytes) {
    (void)place, (void)argument, (void)bytes;
    omp_set_lock(&lock);
}
static void meets(void *place, const void *argument, size_t bytes) {
    (void)place, (void)argument, (void)bytes;
#pragma omp barrier
}
static void forks(void *place, const void *argument, size_t bytes) {
    (void)place, (void)argument, (void)bytes;
#pragma omp parallel
    dsm_add(&shared[0], 1);
}
static void signals(void *place, const void *argument, size_t bytes) {
    (void)argument, (void)bytes;
    dsm_signal(place, empty, NULL, 0);
}

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
    if (!strcmp(what, "unregistered")) dsm_signal(shared, empty, NULL, 0);
    if (!strcmp(what, "function")) dsm_register(NULL);
    omp_init_lock(&lock);
    dsm_register(empty);
    dsm_register(locks);
    dsm_register(meets);
    dsm_register(forks);
    dsm_register(signals);
    if (!strcmp(what, "place")) dsm_signal(&private_one, empty, NULL, 0);
    if (!strcmp(what, "argument")) dsm_signal(shared, empty, shared, 65);
    if (!strcmp(what, "process")) dsm_signal_process(2, empty, NULL, 0);
    if (!strcmp(what, "negative")) dsm_signal_process(-1, empty, NULL, 0);
    if (!strcmp(what, "locks")) dsm_wait(dsm_signal_process(1, locks, NULL, 0));
    if (!strcmp(what, "meets")) dsm_wait(dsm_signal_process(1, meets, NULL, 0));
    if (!strcmp(what, "forks")) dsm_wait(dsm_signal_process(1, forks, NULL, 0));
    if (!strcmp(what, "signals")) dsm_wait(dsm_signal(shared, signals, NULL, 0));
    if (!strcmp(what, "handle")) handle.what = 1, dsm_wait(handle);
    if (!strcmp(what, "open")) dsm_bundle_begin(), dsm_bundle_begin();
    if (!strcmp(what, "end")) dsm_bundle_end();
    if (!strcmp(what, "fetch")) dsm_bundle_begin(), (void)dsm_fetch_add(&shared[0], 1);
    if (!strcmp(what, "blocks")) {
        char *block = (char *)shared - (size_t)shared % dsm_block_size(shared) + dsm_block_size(shared);
        dsm_bundle_begin();
        dsm_add(&shared[0], 1);
        dsm_add((int *)block, 1);
        dsm_bundle_end();
    }
    if (!strcmp(what, "many")) {
        dsm_bundle_begin();
        for (int i = 0; i < 65; i++) dsm_add(&shared[0], 1);
        dsm_bundle_end();
    }
    handle = dsm_signal_process(1, empty, NULL, 0);
    if (!strcmp(what, "destroyed") || !strcmp(what, "twice")) dsm_fifo_destroy(queue);
    // By the last thread, which may be in another process.
#pragma omp parallel
    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
        if (!strcmp(what, "destroyed")) dsm_fifo_push(queue, &one);
        if (!strcmp(what, "twice")) dsm_fifo_destroy(queue);
        if (!strcmp(what, "inside")) dsm_register(empty);
        if (!strcmp(what, "foreign")) dsm_test(handle);
    }
    return 0;
}
