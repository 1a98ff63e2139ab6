// Migratory data: a record that moves from thread to thread under a lock.
//
// Whoever holds the lock reads and writes the whole record; the next holder needs all of it. The lock's
// hand-off carries the notice that the record has changed, the next holder's first access fetches it, and
// the record's home follows its writer. No barrier is involved, and threads that do not take the lock pay
// nothing.
#include <omp.h>
#include <stdio.h>

enum { TURNS = 600, WORDS = 128 };

static struct {
    omp_lock_t lock;
    long turns;
    long words[WORDS];
    int last_owner;
    long changes_of_owner;
} record;

int main(void) {
    int team = 0;
    omp_init_lock(&record.lock);
    record.last_owner = -1;
    double start = omp_get_wtime();
#pragma omp parallel
    {
#pragma omp single
        team = omp_get_num_threads();
#pragma omp for schedule(static, 1)
        for (int turn = 0; turn < TURNS; turn++) {
            omp_set_lock(&record.lock);
            // Every word depends on its predecessor's value from earlier turns: a stale word would show.
            for (int i = 0; i < WORDS; i++) record.words[i] += record.turns + i;
            record.turns++;
            if (record.last_owner != omp_get_thread_num()) record.changes_of_owner++;
            record.last_owner = omp_get_thread_num();
            omp_unset_lock(&record.lock);
        }
    }
    double seconds = omp_get_wtime() - start;
    omp_destroy_lock(&record.lock);
    printf("%d threads took %ld turns, the record changed hands %ld times: %.1f us a turn\n", team, record.turns,
           record.changes_of_owner, seconds / TURNS * 1e6);
    int wrong = record.turns != TURNS;
    for (int i = 0; i < WORDS; i++) wrong += record.words[i] != TURNS * (TURNS - 1L) / 2 + (long)i * TURNS;
    puts(wrong ? "WRONG" : "verified");
    return wrong != 0;
}
