// Locks are made and end all the time, more of them than any table holds at once: with a call at both ends, without one at the end, and in memory
// that was given back while its lock was held.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIVE = 600000, GENERATIONS = 40, EACH = 500 };

struct node {
    omp_lock_t lock;
    pthread_mutex_t mutex;
    long value;
};

int main(void) {
    // All of them live at once, and none of them ends.
    omp_lock_t *locks = malloc(LIVE * sizeof *locks);
    int *counts = calloc(LIVE, sizeof *counts);
    for (int i = 0; i < LIVE; i++) omp_init_lock(&locks[i]);
    #pragma omp parallel for
    for (int i = 0; i < LIVE; i++) {
        omp_set_lock(&locks[i]);
        counts[i]++;
        omp_unset_lock(&locks[i]);
    }
    long sum = 0;
    for (int i = 0; i < LIVE; i++) sum += counts[i];
    printf("%ld\n", sum);
    free(locks);
    free(counts);

    // Generations of nodes, each with two locks; every second one is given back with its locks held.
    long total = 0;
    for (int g = 0; g < GENERATIONS; g++) {
        struct node *nodes = calloc(EACH, sizeof *nodes);
        for (int i = 0; i < EACH; i++) {
            omp_init_lock(&nodes[i].lock);
            pthread_mutex_init(&nodes[i].mutex, NULL);
        }
        #pragma omp parallel for schedule(static, 1)
        for (int i = 0; i < 4 * EACH; i++) {
            struct node *node = &nodes[i % EACH];
            omp_set_lock(&node->lock);
            pthread_mutex_lock(&node->mutex);
            node->value += i;
            pthread_mutex_unlock(&node->mutex);
            omp_unset_lock(&node->lock);
        }
        for (int i = 0; i < EACH; i++) {
            total += nodes[i].value;
            if (g % 2) {
                omp_set_lock(&nodes[i].lock);
                pthread_mutex_lock(&nodes[i].mutex);
            } else {
                omp_destroy_lock(&nodes[i].lock);
                pthread_mutex_destroy(&nodes[i].mutex);
            }
        }
        free(nodes);
    }
    printf("%ld\n", total);

    // A nest lock that begins again is held by nobody.
    static omp_nest_lock_t nest;
    omp_init_nest_lock(&nest);
    int depth = 0;
    for (int i = 0; i < 3; i++) {
        omp_set_nest_lock(&nest);
        depth = omp_test_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
    }
    omp_destroy_nest_lock(&nest);
    omp_init_nest_lock(&nest);
    int again = omp_test_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
    printf("%d %d\n", depth, again);
}
