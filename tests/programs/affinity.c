//@ env: OMP_PLACES=threads
//@ env: OMP_PROC_BIND=close
// Places: their processors, who is bound to which, and the text about it.
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void) {
    static int place[4], partition[4], allowed[4], numbers[4], right[4], process[4];
    static char text[4][40];
    int places = omp_get_num_places();
    printf("%d places, bind %d, device %d\n", places, omp_get_proc_bind(), omp_get_default_device());
    for (int p = 0; p < places; p++) {
        int ids[64];
        omp_get_place_proc_ids(p, ids);
        printf("%d: %d of %d\n", p, ids[0], omp_get_place_num_procs(p));
    }
#pragma omp parallel num_threads(4)
    {
        int me = omp_get_thread_num(), ids[64], list[1024];
        cpu_set_t set;
        sched_getaffinity(0, sizeof set, &set);
        place[me] = omp_get_place_num();
        partition[me] = omp_get_partition_num_places();
        omp_get_partition_place_nums(list);
        numbers[me] = list[partition[me] - 1];
        omp_get_place_proc_ids(place[me], ids);
        allowed[me] = CPU_COUNT(&set);
        right[me] = CPU_ISSET(ids[0], &set) != 0;
        omp_capture_affinity(text[me], sizeof text[me], "%.3n of %{num_threads}, level %0.2L");
        char id[40], own[40];
        omp_capture_affinity(id, sizeof id, "%P");
        snprintf(own, sizeof own, "%d", (int)getpid());
        process[me] = strcmp(id, own) == 0;
    }
    for (int i = 0; i < 4; i++)
        printf("%d: place %d, partition %d to %d, processors %d %d, process %d, %s\n", i, place[i], partition[i], numbers[i], allowed[i], right[i], process[i], text[i]);
    char format[100], small[8];
    size_t length = omp_get_affinity_format(format, sizeof format);
    printf("%zu %s %d %d\n", length, format, omp_get_place_num_procs(-1), omp_get_place_num_procs(places));
    omp_set_affinity_format("thread %n of %N");
    length = omp_capture_affinity(small, sizeof small, NULL);
    printf("%zu %s\n", length, small);
#pragma omp parallel num_threads(4)
    omp_capture_affinity(text[omp_get_thread_num()], sizeof text[0], NULL);
    for (int i = 0; i < 4; i++) printf("%s\n", text[i]);
    omp_display_affinity(NULL);
    return 0;
}
