/* The result of CG: the shifted eigenvalue and its distance to the published one. */
#include "result.h"

#include "params.h"
#include "report.h"

#include <math.h>
#include <stdio.h>

void cg_heading(int threads)
{
    report_heading("CG");
    printf(" Size: %11d\n", ROWS);
    printf(" Iterations:                  %5d\n", OUTER_ITERATIONS);
    printf(" Number of available threads: %5d\n", threads);
}

void cg_iteration(int iteration, double residual, double zeta)
{
    if (iteration == 1)
        printf("\n   iteration           ||r||                 zeta\n");
    printf("    %5d       %20.14e%20.13f\n", iteration, residual, zeta);
}

int cg_result(double zeta, double initialization, double seconds, int threads)
{
    const double terms = VECTOR_NONZEROS * (VECTOR_NONZEROS + 1.0);
    const double operations = 2.0 * OUTER_ITERATIONS * ROWS * (3.0 + terms + INNER_ITERATIONS * (5.0 + terms) + 3.0);

    printf(" Initialization time = %15.3f seconds\n", initialization);
    printf(" Zeta is    %20.13e\n", zeta);
    printf(" Error is   %20.13e\n", fabs(zeta - ZETA) / ZETA);
    return report_result(&(struct report){
        .name = "CG",
        .size = {ROWS},
        .iterations = OUTER_ITERATIONS,
        .seconds = seconds,
        .mops = operations / seconds * 1e-6,
        .operation = "floating point",
        .threads = threads,
        .verified = agrees(zeta, ZETA, TOLERANCE),
    });
}
