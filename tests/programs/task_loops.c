// taskloop with all its clauses.
#include <omp.h>
#include <stdio.h>

enum { N = 1000 };
static int hits[N], owner[N];
static struct {
    const char *what;
    int wrong;
} counts[20];
static int counted;

// Printed at the end: whichever process ran this has an output buffer of its own.
static void count(const char *what) {
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += hits[i] != 1, hits[i] = 0;
    counts[counted].what = what;
    counts[counted++].wrong = wrong;
}

static long sum = 5, last = -1, first = 100;
static double product = 1;

int main(void) {
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop
        for (int i = 0; i < N; i++) hits[i]++;
        count("plain");
#pragma omp taskloop grainsize(7)
        for (int i = N - 1; i >= 0; i--) hits[i]++;
        count("grainsize");
#pragma omp taskloop grainsize(strict : 300)
        for (unsigned i = 0; i < N; i++) hits[i]++;
        count("strict");
#pragma omp taskloop num_tasks(13) untied
        for (long i = 0; i < N; i += 3)
            for (int k = 0; k < 3 && i + k < N; k++) hits[i + k]++;
        count("num_tasks");
#pragma omp taskloop collapse(2) grainsize(11)
        for (int i = 0; i < 20; i++)
            for (int j = 0; j < 50; j++) hits[i * 50 + j]++;
        count("collapse");
#pragma omp taskloop if (0)
        for (int i = 0; i < N; i++) hits[i]++;
        count("undeferred");

#pragma omp taskloop reduction(+ : sum) grainsize(10)
        for (int i = 0; i < N; i++) sum += i;
#pragma omp taskloop reduction(* : product) num_tasks(4)
        for (int i = 0; i < 10; i++) product *= 2;
#pragma omp taskloop lastprivate(last) firstprivate(first) num_tasks(9)
        for (int i = 0; i < N; i++) last = i + first;

#pragma omp taskgroup
        {
#pragma omp taskloop nogroup grainsize(50)
            for (int i = 0; i < N; i++) hits[i]++;
        }
        count("nogroup");
#pragma omp taskloop simd grainsize(64)
        for (int i = 0; i < N; i++) hits[i] += 1;
        count("simd");
#pragma omp taskloop grainsize(5)
        for (int i = 10; i < 10; i++) hits[i] = 77;
        for (int i = 0; i < N; i++) hits[i] = 1;
        count("empty");
    }
    // All threads take part.
    long total = 0;
#pragma omp parallel reduction(+ : total)
    {
        long mine = 0;
#pragma omp taskloop reduction(+ : mine) num_tasks(6)
        for (int i = 0; i < 60; i++) mine += i;
        total += mine / 1770;
#pragma omp master
        {
#pragma omp taskloop grainsize(20)
            for (int i = 0; i < N; i++) owner[i] = i;
        }
    }
    long mix = 0;
    for (int i = 0; i < N; i++) mix = mix * 3 + owner[i];
    printf("%d %ld\n", total >= 1, mix);
#pragma omp parallel master taskloop num_tasks(8)
    for (int i = 0; i < N; i++) hits[i]++;
    count("combined");
    for (int i = 0; i < counted; i++) printf("%s %d\n", counts[i].what, counts[i].wrong);
    printf("%ld %.0f %ld\n", sum, product, last);
    return 0;
}
