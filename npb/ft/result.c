/* The result of FT. */
#include "result.h"

#include "report.h"
#include "verify.h"

#include <math.h>
#include <stdio.h>

void ft_heading(int threads)
{
    report_heading("FT");
    printf(" Size                : %4dx%4dx%4d\n", NX, NY, NZ);
    printf(" Iterations                  : %6d\n", ITERATIONS);
    printf(" Number of available threads : %6d\n\n", threads);
}

void ft_iteration(int time, struct complex_number checksum)
{
    printf(" T = %4d     Checksum = %21.12e%22.12e\n", time, checksum.re, checksum.im);
}

int ft_result(const struct complex_number *checksum, double seconds, int threads)
{
    const double log_points = log(POINTS);
    const double operations =
        POINTS * (14.8157 + 7.19641 * log_points + (5.23518 + 7.21113 * log_points) * ITERATIONS);

    return report_result(&(struct report){
        .name = "FT",
        .size = {NX, NY, NZ},
        .iterations = ITERATIONS,
        .seconds = seconds,
        .mops = operations / seconds * 1e-6,
        .operation = "floating point",
        .threads = threads,
        .verified = checksums_agree(checksum),
    });
}
