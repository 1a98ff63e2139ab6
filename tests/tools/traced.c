/* Constructs whose events do not depend on which thread comes first, in a team of two. */
#include <omp.h>
#include <stdio.h>

/* What a lock protects, or an order, is added to a number of its own. */
static int sum, parts[4], order[8], cells[64];
static omp_lock_t lock;
static omp_nest_lock_t nest;
#pragma omp threadprivate(order)

static void loops(void) {
#pragma omp for
    for (int i = 0; i < 64; i++) cells[i] += i;
#pragma omp for schedule(static, 4) nowait
    for (int i = 0; i < 64; i++) cells[i] += i;
#pragma omp for schedule(dynamic, 64)
    for (int i = 0; i < 0; i++) cells[i] += i;
#pragma omp for schedule(guided)
    for (int i = 0; i < 0; i++) cells[i] += i;
#pragma omp for reduction(+ : sum)
    for (int i = 0; i < 64; i++) sum += i;
#pragma omp sections
    {
#pragma omp section
        cells[0]++;
#pragma omp section
        cells[32]++;
    }
}

static void barriers(void) {
#pragma omp barrier
#pragma omp masked
    cells[0]++;
#pragma omp flush
#pragma omp barrier
}

static void locks(void) {
#pragma omp critical
    sum++;
#pragma omp critical(named)
    parts[0]++;
    omp_set_lock(&lock);
    parts[1]++;
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nest);
    omp_set_nest_lock(&nest);
    parts[2]++;
    omp_unset_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
#pragma omp for ordered schedule(static, 1)
    for (int i = 0; i < 4; i++) {
#pragma omp ordered
        parts[3] += i;
    }
}

int main(void) {
    int depth = 0;
    omp_set_num_threads(2);
    omp_set_max_active_levels(1);
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel
    loops();
#pragma omp parallel
    barriers();
#pragma omp parallel reduction(+ : sum)
    {
        sum++;
    }
#pragma omp parallel
    locks();
    /* A region inside a region, and one that its clause makes serial. */
#pragma omp parallel
    {
        int own = 0;
#pragma omp parallel reduction(+ : own)
        own++;
        if (own != 1) __builtin_trap();
    }
#pragma omp parallel if (depth < 0)
    depth++;
    /* Tasks in a region of one thread run where they are made. */
#pragma omp parallel num_threads(1)
    {
#pragma omp task shared(sum)
        sum++;
#pragma omp taskwait
#pragma omp taskgroup
        {
#pragma omp task shared(sum) if (0)
            sum++;
#pragma omp task shared(sum) depend(out : sum)
            sum++;
#pragma omp task shared(sum) depend(in : sum) final(1)
            sum++;
        }
#pragma omp taskloop grainsize(4)
        for (int i = 0; i < 8; i++) cells[i]++;
    }
    omp_test_lock(&lock);
    omp_unset_lock(&lock);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
    printf("%d %d\n", omp_control_tool(omp_control_tool_flush, 5, NULL), omp_control_tool(omp_control_tool_start, 6, &depth));
    printf("%d %d\n", sum + parts[0] + parts[1] + parts[2] + parts[3], depth);
    return 0;
}
