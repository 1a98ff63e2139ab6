// Overheads of OpenMP constructs, measured as the EPCC suite does: J. M. Bull, "Measuring Synchronisation and Scheduling Overheads in OpenMP" (EWOMP 1999); for
// tasks, Bull, Reid and McDonnell, "A Microbenchmark Suite for OpenMP Tasks" (IWOMP 2012). The overhead of a construct is what a number of executions around a
// delay take, less what the delays take by themselves in one thread, divided by the number.
//
//     constructs [NAME...]       prints a line a construct: its name and the median overhead in nanoseconds
//
// Each test function executes its construct n times in the whole team, and keeps every thread busy for n delays.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPETITIONS 15
#define LEAST_SECONDS 1e-3
#define DELAY_SECONDS 1e-7
#define SPREAD_SECONDS 0.2
#define ITERATIONS 128
#define ARRAY 1024
#define TEAMS 64
#define HELD 32
#define FILE_BYTES (1 << 20)

static int delay_length = 1;
static int team;
static double sum;
static omp_lock_t lock;
static omp_nest_lock_t nest_lock;
static FILE *input;
static double per_thread[ARRAY];
#pragma omp threadprivate(per_thread)

static void delay(void) {
    float a = 0;
    int length = delay_length;
    for (int i = 0; i < length; i++)
        a += i;
    if (a < 0)
        printf("%f\n", a);
}

static void use(const double *array) {
    if (array[0] < 0)
        printf("%f\n", array[0]);
}

// References: what one thread takes.

static void delays(int n) {
    for (int i = 0; i < n; i++)
        delay();
}

static void loops(int n) {
    delays(n * ITERATIONS);
}


static void additions(int n) {
    volatile double local = 0;
    for (int i = 0; i < n; i++)
        local += 1;
}

static void nothing(int n) {
    (void)n;
}

static void arrays(int n) {
    for (int i = 0; i < n; i++) {
        double array[ARRAY];
        array[0] = i;
        use(array);
        delay();
    }
}

// Regions.

static void parallel(int n) {
    for (int i = 0; i < n; i++) {
#pragma omp parallel
        delay();
    }
}

static void parallel_for(int n) {
    for (int i = 0; i < n; i++) {
#pragma omp parallel for
        for (int j = 0; j < team; j++)
            delay();
    }
}

static void nested_parallel(int n) {
    for (int i = 0; i < n; i++) {
#pragma omp parallel
        {
#pragma omp parallel num_threads(2)
            delay();
        }
    }
}

static void teams(int n) {
    for (int i = 0; i < n; i++) {
#pragma omp teams distribute parallel for num_teams(TEAMS)
        for (int j = 0; j < team * ITERATIONS; j++)
            delay();
    }
}

// Worksharing.

static void for_(int n) {
#pragma omp parallel firstprivate(n)
    for (int i = 0; i < n; i++) {
#pragma omp for
        for (int j = 0; j < team; j++)
            delay();
    }
}

static void sections(int n) {
#pragma omp parallel firstprivate(n)
    for (int i = 0; i < n; i++) {
#pragma omp sections
        {
            delay();
#pragma omp section
            delay();
        }
    }
}

static void single(int n) {
#pragma omp parallel firstprivate(n)
    for (int i = 0; i < n; i++) {
#pragma omp single
        delay();
    }
}

static void masked(int n) {
#pragma omp parallel firstprivate(n)
    for (int i = 0; i < n; i++) {
#pragma omp masked
        delay();
    }
}

#define SCHEDULE(name, ...)                                                    \
    static void name(int n) {                                                  \
        _Pragma("omp parallel firstprivate(n)")                                \
        for (int i = 0; i < n; i++) {                                          \
            _Pragma(#__VA_ARGS__)                                              \
            for (int j = 0; j < ITERATIONS * team; j++)                        \
                delay();                                                       \
        }                                                                      \
    }
SCHEDULE(schedule_static, omp for schedule(static))
SCHEDULE(schedule_static_1, omp for schedule(static, 1))
SCHEDULE(schedule_dynamic_1, omp for schedule(dynamic, 1))
SCHEDULE(schedule_dynamic_16, omp for schedule(dynamic, 16))
SCHEDULE(schedule_guided_1, omp for schedule(guided, 1))
SCHEDULE(schedule_guided_16, omp for schedule(guided, 16))

// Synchronisation.

static void barrier(int n) {
#pragma omp parallel firstprivate(n)
    for (int i = 0; i < n; i++) {
        delay();
#pragma omp barrier
    }
}

// The threads execute n between them, one at a time.
static void critical(int n) {
#pragma omp parallel firstprivate(n)
    for (int i = 0; i < n / team; i++) {
#pragma omp critical
        delay();
    }
}

static void set_lock(int n) {
#pragma omp parallel firstprivate(n)
    for (int i = 0; i < n / team; i++) {
        omp_set_lock(&lock);
        delay();
        omp_unset_lock(&lock);
    }
}

static void set_nest_lock(int n) {
#pragma omp parallel firstprivate(n)
    for (int i = 0; i < n / team; i++) {
        omp_set_nest_lock(&nest_lock);
        delay();
        omp_unset_nest_lock(&nest_lock);
    }
}

static void ordered(int n) {
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < n; i++) {
#pragma omp ordered
        delay();
    }
}

static void doacross(int n) {
#pragma omp parallel for ordered(1) schedule(static, 1)
    for (int i = 0; i < n; i++) {
#pragma omp ordered depend(sink : i - 1)
        delay();
#pragma omp ordered depend(source)
    }
}

static void atomic(int n) {
#pragma omp parallel firstprivate(n)
    for (int i = 0; i < n / team; i++) {
#pragma omp atomic
        sum += 1;
    }
}

// Sums of floating-point numbers at random places, as programs without OpenMP's `atomic` write them.
static void compare_swap(int n) {
    static double places[1 << 16];
#pragma omp parallel firstprivate(n)
    {
        unsigned long random = omp_get_thread_num() + 1;
        for (int i = 0; i < n / team; i++) {
            random = random * 6364136223846793005 + 1442695040888963407;
            double *place = &places[random >> 48], seen, next;
            __atomic_load(place, &seen, __ATOMIC_RELAXED);
            do next = seen + 1;
            while (!__atomic_compare_exchange(place, &seen, &next, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
        }
    }
}

// All threads read what nobody changes.
static void atomic_read(int n) {
#pragma omp parallel firstprivate(n)
    {
        double local = 0, value;
        for (int i = 0; i < n; i++) {
#pragma omp atomic read
            value = sum;
            local += value;
        }
        use(&local);
    }
}

static void flush(int n) {
#pragma omp parallel firstprivate(n)
    for (int i = 0; i < n; i++) {
        delay();
#pragma omp flush
    }
}

static void reduction(int n) {
    double total = 0;
    for (int i = 0; i < n; i++) {
#pragma omp parallel reduction(+ : total)
        {
            delay();
            total += 1;
        }
    }
    sum = total;
}

// Data.

static void private_(int n) {
    double array[ARRAY];
    for (int i = 0; i < n; i++) {
#pragma omp parallel private(array)
        {
            array[0] = 1;
            use(array);
            delay();
        }
    }
}

static void firstprivate_(int n) {
    double array[ARRAY] = {0};
    for (int i = 0; i < n; i++) {
#pragma omp parallel firstprivate(array)
        {
            array[0] = 1;
            use(array);
            delay();
        }
    }
}

static void copyin(int n) {
    for (int i = 0; i < n; i++) {
#pragma omp parallel copyin(per_thread)
        {
            use(per_thread);
            delay();
        }
    }
}

static void copyprivate(int n) {
#pragma omp parallel firstprivate(n)
    {
        double array[ARRAY] = {0};
        for (int i = 0; i < n; i++) {
#pragma omp single copyprivate(array)
            {
                array[0] = i;
                delay();
            }
            use(array);
        }
    }
}

// Tasks.

static void parallel_task(int n) {
#pragma omp parallel firstprivate(n)
    for (int i = 0; i < n; i++) {
#pragma omp task
        delay();
    }
}

static void master_task(int n) {
#pragma omp parallel firstprivate(n)
    {
#pragma omp masked
        for (int i = 0; i < n * team; i++) {
#pragma omp task
            delay();
        }
    }
}

static void task_if_false(int n) {
#pragma omp parallel firstprivate(n)
    for (int i = 0; i < n; i++) {
#pragma omp task if (0)
        delay();
    }
}

static void taskwait(int n) {
#pragma omp parallel firstprivate(n)
    for (int i = 0; i < n; i++) {
#pragma omp task
        delay();
#pragma omp taskwait
    }
}

static void taskgroup(int n) {
#pragma omp parallel firstprivate(n)
    for (int i = 0; i < n; i++) {
#pragma omp taskgroup
        {
#pragma omp task
            delay();
        }
    }
}

static void task_barrier(int n) {
#pragma omp parallel firstprivate(n)
    for (int i = 0; i < n; i++) {
#pragma omp task
        delay();
#pragma omp barrier
    }
}

static void nested_task(int n) {
#pragma omp parallel firstprivate(n)
    for (int i = 0; i < n; i++) {
#pragma omp task
        {
#pragma omp task
            delay();
#pragma omp taskwait
        }
    }
}

static void task_depend(int n) {
    int token = 0;
#pragma omp parallel
#pragma omp masked
    for (int i = 0; i < n; i++) {
#pragma omp task depend(inout : token)
        delay();
    }
    (void)token;
}

static void taskloop(int n) {
#pragma omp parallel firstprivate(n)
    {
#pragma omp masked
        for (int i = 0; i < n; i++) {
#pragma omp taskloop grainsize(ITERATIONS)
            for (unsigned long j = 0; j < ITERATIONS * (unsigned long)team; j++)
                delay();
        }
    }
}

// No construct, but what many threads do side by side: each has some objects, and allocates one for each that it frees.
static void allocation(int n) {
#pragma omp parallel
    {
        char *held[HELD] = {0};
        for (int i = 0; i < n; i++) {
            char **object = &held[i % HELD];
            free(*object);
            *object = malloc(16 + i % 256);
            *(volatile char *)*object = 1;
        }
        for (int i = 0; i < HELD; i++)
            free(held[i]);
    }
}

// Nor is this: the last thread reads a file by characters that the initial one has opened.
static void characters(int n) {
    if (!input) {
        input = tmpfile();
        for (int i = 0; i < FILE_BYTES; i++)
            putc('a', input);
    }
    rewind(input);
#pragma omp parallel
    if (omp_get_thread_num() == team - 1)
        for (int i = 0; i < n; i++)
            if (getc(input) < 0)
                rewind(input);
}

struct construct {
    const char *name;
    void (*reference)(int n), (*test)(int n);
};

static const struct construct constructs[] = {
    {"parallel", delays, parallel},
    {"parallel-for", delays, parallel_for},
    {"parallel-nested", delays, nested_parallel},
    {"teams", loops, teams},
    {"for", delays, for_},
    {"sections", delays, sections},
    {"single", delays, single},
    {"masked", delays, masked},
    {"static", loops, schedule_static},
    {"static-1", loops, schedule_static_1},
    {"dynamic-1", loops, schedule_dynamic_1},
    {"dynamic-16", loops, schedule_dynamic_16},
    {"guided-1", loops, schedule_guided_1},
    {"guided-16", loops, schedule_guided_16},
    {"barrier", delays, barrier},
    {"critical", delays, critical},
    {"lock", delays, set_lock},
    {"nest-lock", delays, set_nest_lock},
    {"ordered", delays, ordered},
    {"doacross", delays, doacross},
    {"atomic", additions, atomic},
    {"atomic-read", nothing, atomic_read},
    {"compare-swap", nothing, compare_swap},
    {"flush", delays, flush},
    {"reduction", delays, reduction},
    {"private", arrays, private_},
    {"firstprivate", arrays, firstprivate_},
    {"copyin", delays, copyin},
    {"copyprivate", arrays, copyprivate},
    {"task", delays, parallel_task},
    {"task-master", delays, master_task},
    {"task-if-0", delays, task_if_false},
    {"task-nested", delays, nested_task},
    {"task-depend", delays, task_depend},
    {"task-barrier", delays, task_barrier},
    {"taskwait", delays, taskwait},
    {"taskgroup", delays, taskgroup},
    {"taskloop", loops, taskloop},
    {"malloc", nothing, allocation},
    {"getc", nothing, characters},
};
#define COUNT (int)(sizeof constructs / sizeof constructs[0])

static double seconds(void (*body)(int n), int n) {
    double start = omp_get_wtime();
    body(n);
    return omp_get_wtime() - start;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

static void find_delay(void) {
    double times[REPETITIONS];
    for (;; delay_length *= 2) {
        for (int i = 0; i < REPETITIONS; i++)
            times[i] = seconds(delays, 1000) / 1000;
        if (median(times, REPETITIONS) >= DELAY_SECONDS)
            return;
    }
}

// Nanoseconds of one execution.
static double overhead(const struct construct *c) {
    double times[REPETITIONS];
    int n = team;
    c->test(n);
    while (n < 1 << 24 && seconds(c->test, n) < LEAST_SECONDS)
        n *= 2;
    for (int i = 0; i < REPETITIONS; i++)
        times[i] = (seconds(c->test, n) - seconds(c->reference, n)) / n * 1e9;
    return median(times, REPETITIONS);
}

static int selected(const char *name, int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (!strcmp(name, argv[i]))
            return 1;
    return argc == 1;
}

// The system may start both threads on one processor, and takes tens of milliseconds to move one.
static void spread_threads(void) {
    double end = omp_get_wtime() + SPREAD_SECONDS;
    while (omp_get_wtime() < end) {
        parallel(1);
        for_(1);
    }
}

int main(int argc, char **argv) {
    team = omp_get_max_threads();
    omp_set_max_active_levels(2);
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest_lock);
    find_delay();
    spread_threads();
    for (int i = 0; i < COUNT; i++)
        if (selected(constructs[i].name, argc, argv)) {
            printf("%s %.1f\n", constructs[i].name, overhead(&constructs[i]));
            fflush(stdout);
        }
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest_lock);
    return 0;
}
