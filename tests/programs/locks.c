// omp locks and nest locks: set, unset, test, hand-off of data, locks inside heap records.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    omp_lock_t lock;
    long balance;
    int moves;
} Account;

static omp_nest_lock_t nest;
static long depth_sum;

static void climb(int depth) {
    omp_set_nest_lock(&nest);
    depth_sum += depth;
    if (depth > 0) climb(depth - 1);
    omp_unset_nest_lock(&nest);
}

int main(void) {
    enum { ACCOUNTS = 16 };
    Account *bank = malloc(ACCOUNTS * sizeof *bank);
    for (int i = 0; i < ACCOUNTS; i++) {
        omp_init_lock(&bank[i].lock);
        bank[i].balance = 1000;
        bank[i].moves = 0;
    }
#pragma omp parallel for schedule(dynamic, 5)
    for (int i = 0; i < 1500; i++) {
        int from = i % ACCOUNTS, to = (i * 7 + 3) % ACCOUNTS;
        if (from == to) continue;
        int first = from < to ? from : to, second = from < to ? to : from;
        omp_set_lock(&bank[first].lock);
        omp_set_lock(&bank[second].lock);
        bank[from].balance -= i % 13;
        bank[to].balance += i % 13;
        bank[from].moves++;
        bank[to].moves++;
        omp_unset_lock(&bank[second].lock);
        omp_unset_lock(&bank[first].lock);
    }
    for (int i = 0; i < ACCOUNTS; i++) printf("%ld/%d ", bank[i].balance, bank[i].moves);
    puts("");

    long tested = 0;
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < 200; i++) {
        while (!omp_test_lock(&bank[0].lock)) {
        }
        tested += i;
        omp_unset_lock(&bank[0].lock);
    }
    printf("tested %ld\n", tested);
    for (int i = 0; i < ACCOUNTS; i++) omp_destroy_lock(&bank[i].lock);
    free(bank);

    omp_init_nest_lock(&nest);
#pragma omp parallel for
    for (int i = 0; i < 60; i++) climb(i % 6);
    printf("depth %ld\n", depth_sum);
    int levels = 0;
    while (levels < 3) levels = omp_test_nest_lock(&nest);
    printf("levels %d\n", levels);
    for (int i = 0; i < 3; i++) omp_unset_nest_lock(&nest);
    omp_destroy_nest_lock(&nest);

    omp_lock_t local;
    omp_init_lock_with_hint(&local, omp_sync_hint_contended);
    int sum = 0;
#pragma omp parallel num_threads(4)
    for (int i = 0; i < 50; i++) {
        omp_set_lock(&local);
        sum += omp_get_thread_num() + 1;
        omp_unset_lock(&local);
    }
    omp_destroy_lock(&local);
    printf("sum %d\n", sum);
    return 0;
}
