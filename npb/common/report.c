/* The result block, the clock, and the comparison with reference values. */
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#define EDITION "1.0"

double wall_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool agrees(double value, double expected, double tolerance)
{
    return fabs((value - expected) / expected) <= tolerance;
}

void report_heading(const char *name)
{
    printf("\n\n NAS Parallel Benchmarks (" NPB_MODEL " C, edition %s) - %s Benchmark\n\n", EDITION, name);
}

static void print_size(const struct report *report)
{
    char text[64];

    if (report->count != 0)
        snprintf(text, sizeof text, "%ld", report->count);
    else if (report->size[2] != 0)
        snprintf(text, sizeof text, "%4dx%4dx%4d", report->size[0], report->size[1], report->size[2]);
    else
        snprintf(text, sizeof text, "%d", report->size[0]);
    printf(" Size            = %24s\n", text);
}

int report_result(const struct report *report)
{
    printf("\n\n %s Benchmark Completed.\n", report->name);
    printf(" Class           = %24c\n", NPB_CLASS);
    print_size(report);
    printf(" Iterations      = %24d\n", report->iterations);
    printf(" Time in seconds = %24.2f\n", report->seconds);
    printf(" Total threads   = %24d\n", report->threads);
    printf(" Mop/s total     = %24.2f\n", report->mops);
    printf(" Mop/s/thread    = %24.2f\n", report->mops / report->threads);
    printf(" Operation type  = %24s\n", report->operation);
    printf(" Verification    = %24s\n", report->verified ? "SUCCESSFUL" : "UNSUCCESSFUL");
    printf(" Version         = %24s\n", EDITION);
    printf(" Compiler        = %s\n\n", __VERSION__);
    return report->verified ? 0 : 1;
}
