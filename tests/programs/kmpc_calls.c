// Calls of the compilers' interface that clang 22 does not generate, and other compilers and versions do: simd schedules of the run time with
// a vector length, a task without a routine, and all memory as an address.
#include <omp.h>
#include <stddef.h>
#include <stdio.h>

enum { RUNTIME_SIMD = 47, LENGTH = 4, TIED = 1, IN = 1, OUT = 2 };

typedef struct { int reserved, flags, more[2]; const char *source; } Location;
typedef struct { void *shareds, *routine; int part; void *data[2]; int number; } Task;
typedef struct { size_t address, length; unsigned char flags; } Dependence;

int __kmpc_global_thread_num(Location *);
void __kmpc_dispatch_init_4(Location *, int, int, int, int, int, int);
int __kmpc_dispatch_next_4(Location *, int, int *, int *, int *, int *);
Task *__kmpc_omp_task_alloc(Location *, int, int, size_t, size_t, int (*)(int, Task *));
int __kmpc_omp_task_with_deps(Location *, int, Task *, int, Dependence *, int, Dependence *);

static Location location = {0, 2, {0, 0}, ";file;function;0;0;;"};

static void loops(omp_sched_t kind, int chunk, int count) {
    int iterations = 0, odd = 0, lasts = 0;
    omp_set_schedule(kind, chunk);
#pragma omp parallel reduction(+ : iterations, odd, lasts)
    {
        int thread = __kmpc_global_thread_num(&location), last = 0, low, high, step;
        __kmpc_dispatch_init_4(&location, thread, RUNTIME_SIMD, 0, count - 1, 1, LENGTH);
        while (__kmpc_dispatch_next_4(&location, thread, &last, &low, &high, &step)) {
            int size = high - low + 1;
            iterations += size;
            odd += high != count - 1 && size % (LENGTH * (chunk ? chunk : 1)) != 0;
            lasts += high == count - 1;
        }
    }
    printf("schedule %d, %d: %d iterations, %d odd chunks, %d last\n", kind, chunk, iterations, odd, lasts);
}

static int order[8], steps;

static int note(int thread, Task *task) {
    int at;
    (void)thread;
#pragma omp atomic capture
    at = steps++;
    order[at] = task->number;
    return 0;
}

static void task(int number, int (*routine)(int, Task *), size_t address, unsigned char flags) {
    int thread = __kmpc_global_thread_num(&location);
    Task *made = __kmpc_omp_task_alloc(&location, thread, TIED, sizeof(Task), 0, routine);
    Dependence on = {address, 0, flags};
    made->number = number;
    __kmpc_omp_task_with_deps(&location, thread, made, 1, &on, 0, NULL);
}

int main(void) {
    for (int count = 27; count <= 101; count += 37) {
        loops(omp_sched_static, 0, count);
        loops(omp_sched_static, 2, count);
        loops(omp_sched_dynamic, 0, count);
        loops(omp_sched_dynamic, 3, count);
        loops(omp_sched_guided, 1, count);
        loops(omp_sched_auto, 0, count);
    }
    int x, y;
#pragma omp parallel
#pragma omp single
    {
        task(1, note, (size_t)&x, OUT);
        task(0, NULL, (size_t)&x, IN);
        task(2, note, (size_t)-1, OUT);
        task(3, note, (size_t)&y, IN);
        task(0, NULL, (size_t)&y, OUT);
        task(4, note, (size_t)-1, OUT);
    }
    for (int i = 0; i < steps; i++) printf("%d%c", order[i], i + 1 < steps ? ' ' : '\n');
    return 0;
}
