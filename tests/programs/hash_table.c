// A chained hash table with a lock per bucket group: parallel insert, update, delete, lookup.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 97, LOCKS = 7, KEYS = 600 };

typedef struct Entry {
    struct Entry *next;
    char *key;
    int count;
} Entry;

static struct {
    Entry *bucket[BUCKETS];
    omp_lock_t lock[LOCKS];
    int used[LOCKS];
} *table;

static unsigned hash(const char *s) {
    unsigned h = 2166136261u;
    for (; *s; s++) h = (h ^ (unsigned char)*s) * 16777619u;
    return h;
}

static void change(const char *key, int by) {
    unsigned b = hash(key) % BUCKETS;
    omp_lock_t *lock = &table->lock[b % LOCKS];
    omp_set_lock(lock);
    Entry **at = &table->bucket[b];
    while (*at && strcmp((*at)->key, key) != 0) at = &(*at)->next;
    if (!*at) {
        Entry *e = malloc(sizeof *e);
        e->key = strdup(key);
        e->count = 0;
        e->next = NULL;
        *at = e;
        table->used[b % LOCKS]++;
    }
    (*at)->count += by;
    if ((*at)->count == 0) {
        Entry *dead = *at;
        *at = dead->next;
        free(dead->key);
        free(dead);
        table->used[b % LOCKS]--;
    }
    omp_unset_lock(lock);
}

int main(void) {
    table = calloc(1, sizeof *table);
    for (int i = 0; i < LOCKS; i++) omp_init_lock(&table->lock[i]);
#pragma omp parallel for schedule(dynamic, 8)
    for (int i = 0; i < KEYS * 3; i++) {
        char key[32];
        snprintf(key, sizeof key, "key-%d", i % KEYS);
        change(key, 1 + i % KEYS % 5);
    }
#pragma omp parallel for schedule(static, 4)
    for (int i = 0; i < KEYS; i += 2) {
        char key[32];
        snprintf(key, sizeof key, "key-%d", i);
        change(key, -3 * (1 + i % 5));
    }
    int used = 0, alive = 0;
    long sum = 0;
    for (int i = 0; i < LOCKS; i++) used += table->used[i];
#pragma omp parallel for reduction(+ : alive, sum)
    for (int b = 0; b < BUCKETS; b++)
        for (Entry *e = table->bucket[b]; e; e = e->next) alive++, sum += e->count * (long)atoi(e->key + 4);
    printf("%d %d %ld\n", used, alive, sum);
    for (int b = 0; b < BUCKETS; b++)
        while (table->bucket[b]) {
            Entry *e = table->bucket[b];
            table->bucket[b] = e->next;
            free(e->key);
            free(e);
        }
    for (int i = 0; i < LOCKS; i++) omp_destroy_lock(&table->lock[i]);
    free(table);
    return 0;
}
