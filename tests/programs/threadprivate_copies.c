// Threadprivate variables that are not thread-locals begin with the value they are initialised with, whatever the initial thread did to its own.
//@ flags: -fnoopenmp-use-tls
#include <omp.h>
#include <stdio.h>

static int counter = 41;
static double table[3] = {1, 2, 3};
static const char *where = "here";
#pragma omp threadprivate(counter, table, where)
static int beside = 5; // shares a block with the variables

int main(void) {
    counter = 7, table[1] = 9, where = 0, beside = 6;
    int sum = 0, threads = 0, links = 0;
    double middle = 0;
#pragma omp parallel reduction(+ : sum, middle, threads, links)
    {
        // Brings the block here before the first access to a copy.
        threads = beside == 6;
        sum += counter;
        middle += table[1];
        links += where != 0;
        counter = 100 + omp_get_thread_num();
    }
    printf("%d %d %d\n", sum - 41 * (threads - 1), links == threads - 1, middle == 9 + 2.0 * (threads - 1));
    int kept = 0;
#pragma omp parallel reduction(+ : kept)
    kept += counter == 100 + omp_get_thread_num();
    printf("%d\n", kept == threads);
    counter = 1;
    int copied = 0;
#pragma omp parallel copyin(counter) reduction(+ : copied)
    copied += counter;
    printf("%d\n", copied == threads);
    return 0;
}
