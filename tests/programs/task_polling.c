// The thread that makes a task polls a variable that the task sets; another thread has to run the task, which may be one of another process.
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static int started, set[3], results[3];
static atomic_int answer;

static int read_flag(int *flag) {
    int value;
#pragma omp atomic read acquire
    value = *flag;
    return value;
}

static void set_flag(int *flag) {
#pragma omp atomic write release
    *flag = 1;
}

int main(void) {
#pragma omp parallel
#pragma omp single nowait
    if (omp_get_num_threads() > 1) {
#pragma omp task
        {
            results[0] = 10;
            set_flag(&started);
        }
        while (!read_flag(&started)) usleep(2000);
        results[1] = results[0] + 1;
        for (int i = 0; i < 3; i++) {
#pragma omp task firstprivate(i)
            set_flag(&set[i]);
        }
        for (int i = 0; i < 3; i++)
            while (!read_flag(&set[i]));
#pragma omp task
        atomic_store(&answer, 12);
        while (!atomic_load(&answer));
        results[2] = atomic_load(&answer);
    } else {
        for (int i = 0; i < 3; i++) results[i] = 10 + i;
    }
    printf("%d %d %d\n", results[0], results[1], results[2]);
    return 0;
}
