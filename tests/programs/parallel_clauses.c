// parallel with if, num_threads, shared, private, firstprivate, default(none); nested regions.
#include <omp.h>
#include <stdio.h>

static int seen[64];
static int inner_total;

int main(void) {
    int base = 10, scratch = -1;
    for (int k = 1; k <= 6; k++) {
        for (int i = 0; i < 64; i++) seen[i] = 0;
#pragma omp parallel num_threads(k) default(none) shared(seen, k) firstprivate(base) private(scratch)
        {
            scratch = omp_get_thread_num() + base;
            base += 100;
            seen[omp_get_thread_num()] = scratch + base + omp_get_num_threads();
        }
        int sum = 0;
        for (int i = 0; i < 64; i++) sum += seen[i] * (i + 1);
        printf("team %d sum %d base %d scratch %d\n", k, sum, base, scratch);
    }
    for (int go = 0; go < 2; go++) {
        int members = 0;
#pragma omp parallel if (go) num_threads(3)
        {
#pragma omp atomic
            members++;
        }
        printf("if(%d): %d\n", go, members);
    }
    // Nested regions run with one thread each unless more levels are asked for.
#pragma omp parallel num_threads(3)
    {
        int outer = omp_get_thread_num();
        int local = 0;
#pragma omp parallel num_threads(2) shared(local) firstprivate(outer)
        {
#pragma omp atomic
            local += outer + 1 + 100 * omp_get_thread_num() + 1000 * (omp_get_level() == 2);
        }
#pragma omp critical
        inner_total += local;
    }
    printf("nested total %d level %d\n", inner_total, omp_get_level());
    return 0;
}
