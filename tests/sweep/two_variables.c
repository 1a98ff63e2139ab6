// A variable that is falsely shared and one that is read in bulk: each wants another block size.
//
// With a first argument "wrong", a run with the largest blocks says that it is wrong. With "count DIRECTORY", each run adds a byte to DIRECTORY/runs, and the third
// one waits as long as there is DIRECTORY/gate.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <omp.h>

enum { ROWS = 64, THREADS = 4, WORDS = 8, TABLE = 1 << 14, ROUNDS = 40 };

// Of each 256 bytes, every thread writes 64.
static _Alignas(65536) long bins[ROWS][THREADS][WORDS];
static _Alignas(65536) long table[TABLE];

static void count(const char *directory) {
    char path[4096];
    struct stat status;
    snprintf(path, sizeof path, "%s/runs", directory);
    FILE *runs = fopen(path, "a");
    fputc('x', runs);
    fclose(runs);
    stat(path, &status);
    if (status.st_size != 3) return;
    snprintf(path, sizeof path, "%s/pid", directory);
    FILE *pid = fopen(path, "w");
    fprintf(pid, "%d\n", (int)getpid());
    fclose(pid);
    snprintf(path, sizeof path, "%s/gate", directory);
    while (stat(path, &status) == 0) usleep(1000);
}

int main(int argc, char **argv) {
    const char *block = getenv("DSM_BLOCK");
    int wrong = argc > 1 && !strcmp(argv[1], "wrong") && block && !strcmp(block, "65536");
    if (argc > 2 && !strcmp(argv[1], "count")) count(argv[2]);
    int team = 1;
#pragma omp parallel num_threads(omp_get_max_threads() < THREADS ? omp_get_max_threads() : THREADS) reduction(+ : wrong)
    {
        int thread = omp_get_thread_num();
#pragma omp single
        team = omp_get_num_threads();
        for (int round = 1; round <= ROUNDS; round++) {
            for (int row = 0; row < ROWS; row++) bins[row][thread][0] += row;
#pragma omp single
            for (int i = 0; i < TABLE; i++) table[i] = i ^ round;
            long sum = 0;
            for (int i = 0; i < TABLE; i++) sum += (table[i] ^ round) == i;
            wrong += sum != TABLE;
#pragma omp barrier
        }
    }
    for (int row = 0; row < ROWS; row++)
        for (int thread = 0; thread < team; thread++) wrong += bins[row][thread][0] != (long)ROUNDS * row;
    puts(wrong ? "wrong" : "right");
    return 0;
}
