// The omp_* query and control functions, inside and outside of parallel regions.
//@ varies
#include <omp.h>
#include <stdio.h>

int main(void) {
    printf("outside: %d %d %d %d %d\n", omp_in_parallel(), omp_get_num_threads(), omp_get_thread_num(),
           omp_get_level(), omp_get_active_level());
    printf("max %d, procs ok %d, limit ok %d\n", omp_get_max_threads(), omp_get_num_procs() >= 1,
           omp_get_thread_limit() >= omp_get_max_threads());
    printf("ancestor %d %d size %d\n", omp_get_ancestor_thread_num(0), omp_get_ancestor_thread_num(1),
           omp_get_team_size(0));
    int mask = 0, levels = 0, size = 0;
#pragma omp parallel reduction(| : mask) reduction(+ : levels)
    {
        mask |= 1 << omp_get_thread_num();
        levels += omp_get_level() + 10 * omp_in_parallel() * 0 + omp_get_ancestor_thread_num(0);
#pragma omp single
        size = omp_get_num_threads() * 1000 + omp_get_team_size(1);
    }
    printf("default team: mask %x levels %d size %d\n", mask, levels, size);
    omp_set_num_threads(3);
    printf("max %d\n", omp_get_max_threads());
    int total = 0, ancestors = 0;
#pragma omp parallel reduction(+ : total, ancestors)
    {
        total += omp_get_num_threads() * (omp_in_parallel() ? 1 : 100);
        ancestors += omp_get_ancestor_thread_num(1);
    }
    printf("three: %d %d\n", total, ancestors);
    omp_set_dynamic(0);
    printf("dynamic %d cancel %d\n", omp_get_dynamic(), omp_get_cancellation());
    double start = omp_get_wtime();
    double tick = omp_get_wtick();
    volatile double sink = 0;
    for (int i = 0; i < 100000; i++) sink += i;
    printf("time %d %d\n", omp_get_wtime() > start, tick > 0 && tick < 0.1);
    // Every thread reads the same clock to within a second.
    double low = 1e30, high = -1e30;
#pragma omp parallel num_threads(4) reduction(min : low) reduction(max : high)
    low = high = omp_get_wtime();
    printf("clock %d\n", high - low < 1.0);
    return 0;
}
