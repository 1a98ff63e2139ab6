// File descriptors used by all threads: written in parts, read elsewhere, one position for all, opened in a region and used behind it.
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char big[200000], back[200000];

int main(void) {
    static char name[] = "dsm-test-XXXXXX";
    int file = mkstemp(name);
    if (file < 0) return 1;
    // Parts written by their threads, at their places.
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < 40; i++) {
        char line[16];
        snprintf(line, sizeof line, "line %3d abcde\n", i);
        if (pwrite(file, line, 15, 15 * i) != 15) abort();
    }
    int wrong = 0;
#pragma omp parallel for schedule(static, 1) reduction(+ : wrong)
    for (int i = 0; i < 40; i++) {
        static char got[40][16];
        int other = 39 - i, number;
        wrong += pread(file, got[i], 15, 15 * other) != 15 || sscanf(got[i], "line %d", &number) != 1 || number != other;
    }
    printf("%d %ld\n", wrong, (long)lseek(file, 0, SEEK_END));
    // One position for all.
    lseek(file, 0, SEEK_SET);
    long sum = 0;
    int ends = 0;
#pragma omp parallel for schedule(static, 1) reduction(+ : sum, ends)
    for (int i = 0; i < 44; i++) {
        char line[16] = "";
        int number = 0;
#pragma omp critical
        if (read(file, line, 15) == 0) ends++;
        if (sscanf(line, "line %d", &number) == 1) sum += number;
    }
    printf("%ld %d %ld\n", sum, ends, (long)lseek(file, 0, SEEK_CUR));
    // More than travels at once, from shared memory into shared memory.
    for (int i = 0; i < 200000; i++) big[i] = (char)(i % 251);
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) {
        lseek(file, 0, SEEK_SET);
        if (ftruncate(file, 0) || write(file, big, sizeof big) != sizeof big || fsync(file)) abort();
        lseek(file, 0, SEEK_SET);
        if (read(file, back, sizeof back) != sizeof back) abort();
    }
    printf("%d %ld\n", memcmp(big, back, sizeof big), (long)lseek(file, 0, SEEK_END));
    // Opened and closed by whoever, used by others; errors come back.
    static int opened, closed, again;
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1) opened = open(name, O_RDONLY);
#pragma omp barrier
        if (omp_get_thread_num() == 0) {
            char c;
            lseek(opened, 1000, SEEK_SET);
            if (read(opened, &c, 1) != 1 || c != big[1000]) abort();
            closed = close(opened);
        }
#pragma omp barrier
        if (omp_get_thread_num() == 1) again = (int)lseek(opened, 0, SEEK_CUR);
    }
    printf("%d %d %d\n", opened > 2, closed, again);
    // A pipe between a thread and another.
    static int ends_of_pipe[2];
    static char told[6];
    if (pipe(ends_of_pipe)) return 1;
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1 && write(ends_of_pipe[1], "hello", 6) != 6) abort();
#pragma omp barrier
        if (omp_get_thread_num() == 0 && read(ends_of_pipe[0], told, 6) != 6) abort();
    }
    puts(told);
    unlink(name);
    return close(file);
}
