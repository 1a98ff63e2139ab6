// A job to be killed: it runs for two minutes, with barriers, locks and data that moves all the time.
// victim run | segv T | abort T | exit T | return: thread T of the team ends the job in that way when there is a file "last", which is removed.
// victim until FILE: ends when there is such a file, and says whether its data are right.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 4096 };
static long data[N], counter;
static omp_lock_t lock;

static void end_it(const char *how) {
    if (strcmp(how, "segv") == 0) *(volatile int *)8 = 1;
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "exit") == 0) exit(5);
}

int main(int argc, char **argv) {
    char how[16] = "run";
    if (argc > 1) snprintf(how, sizeof how, "%s", argv[1]);
    int who = argc > 2 ? atoi(argv[2]) : -1;
    const char *file = strcmp(how, "until") == 0 ? argv[2] : "";
    double end = omp_get_wtime() + 120;
    omp_init_lock(&lock);
    int more = 1;
    long round = 0;
    for (; more; round++) {
        int is_last = remove("last") == 0;
#pragma omp parallel
        {
            for (int inner = 0; inner < 20; inner++) {
#pragma omp for schedule(static, 1)
                for (int i = 0; i < N; i++) data[i] += round + i;
                omp_set_lock(&lock);
                counter++;
                omp_unset_lock(&lock);
            }
            if (is_last && omp_get_thread_num() == who) end_it(how);
        }
        if (round == 2) {
            puts("running");
            fflush(stdout);
        }
        if (is_last && strcmp(how, "return") == 0) return 3;
        more = omp_get_wtime() < end && access(file, F_OK) != 0;
    }
    long wrong = counter != 20 * round * omp_get_max_threads();
    for (int i = 0; i < N; i++) wrong += data[i] != 20 * (round * (round - 1) / 2 + round * i);
    printf("%ld wrong\n", wrong);
    return 0;
}
