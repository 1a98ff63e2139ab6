/* The result of MG: the norm of the final residual and its distance to the published one. */
#include "result.h"

#include "params.h"
#include "report.h"

#include <math.h>
#include <stdio.h>

void mg_heading(int threads)
{
    report_heading("MG");
    printf(" Size: %4dx%4dx%4d  (class %c)\n", POINTS, POINTS, POINTS, NPB_CLASS);
    printf(" Iterations:                  %5d\n", ITERATIONS);
    printf(" Number of available threads: %5d\n\n", threads);
}

void mg_iteration(int iteration)
{
    if (iteration == 1 || iteration == ITERATIONS || iteration % 5 == 0)
        printf("  iter %3d\n", iteration);
}

int mg_result(double norm, double initialization, double seconds, int threads)
{
    printf(" Initialization time: %15.3f seconds\n\n", initialization);
    printf(" L2 Norm is %20.13e\n", norm);
    printf(" Error is   %20.13e\n", fabs(norm - NORM) / NORM);
    return report_result(&(struct report){
        .name = "MG",
        .size = {POINTS, POINTS, POINTS},
        .iterations = ITERATIONS,
        .seconds = seconds,
        .mops = 58.0 * ITERATIONS * POINTS * POINTS * POINTS * 1e-6 / seconds,
        .operation = "floating point",
        .threads = threads,
        .verified = agrees(norm, NORM, TOLERANCE),
    });
}
