// Each task has its own control variables: what one sets, its children inherit and nobody else sees.
//@ env: OMP_SCHEDULE=dynamic
// LLVM's runtime, which the output is compared with, fails an assertion now and then in its other mode if a task may adjust teams while the initial one may not.
//@ env: KMP_DYNAMIC_MODE=thread_limit
#include <omp.h>
#include <stdio.h>

static void show(const char *what) {
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    printf("%-12s threads %d schedule 0x%x,%d dynamic %d levels %d device %d\n", what, omp_get_max_threads(), (unsigned)kind, chunk,
           omp_get_dynamic(), omp_get_max_active_levels(), omp_get_default_device());
}

static void change(int n) {
    omp_set_num_threads(n);
    omp_set_schedule(n % 2 ? omp_sched_dynamic | omp_sched_monotonic : omp_sched_guided, n);
    omp_set_dynamic(n % 2);
    omp_set_max_active_levels(n);
    omp_set_default_device(n);
}

static void schedules(void) {
    const unsigned kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided, omp_sched_auto};
    for (int i = 0; i < 4; i++)
        for (int chunk = 0; chunk < 10; chunk += 5)
            for (unsigned bit = 0; bit < 2; bit++) {
                omp_sched_t kind;
                int given;
                omp_set_schedule((omp_sched_t)(kinds[i] | bit << 31), chunk);
                omp_get_schedule(&kind, &given);
                printf("set 0x%x,%d: 0x%x,%d\n", kinds[i] | bit << 31, chunk, (unsigned)kind, given);
            }
}

int main(void) {
    omp_set_num_threads(4);
    show("start");
#pragma omp parallel num_threads(1)
    {
        change(6);
#pragma omp task if (0)
        {
            show("if(0)");
            change(5);
#pragma omp task if (0)
            change(9);
            show("if(0) inner");
        }
        show("after if(0)");
    }
    show("after region");
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task if (0)
        {
            change(7);
#pragma omp parallel num_threads(2)
#pragma omp single
            {
                show("region in it");
                change(8);
            }
            show("after that");
        }
        show("undeferred");
#pragma omp task final(1)
        {
            change(7);
#pragma omp task
            change(8);
            show("final");
        }
#pragma omp taskwait
        show("after final");
#pragma omp taskloop if (0) num_tasks(2)
        for (int i = 0; i < 2; i++) change(9 + i);
        show("taskloop");
#pragma omp task untied
        {
            change(11);
#pragma omp taskyield
            show("untied");
        }
#pragma omp taskwait
#pragma omp task
        change(12);
#pragma omp taskwait
        show("deferred");
    }
    show("end");
#pragma omp target thread_limit(3)
    { printf("limit %d\n", omp_get_thread_limit()); }
    int team = 0;
#pragma omp parallel num_threads(8)
#pragma omp single
    team = omp_get_num_threads();
    printf("limit %d team %d\n", omp_get_thread_limit() > 1000, team);
    schedules();
    return 0;
}
