/*
 * FT, the three-dimensional fast Fourier transform kernel (RNR-94-007, section 2.2.5): solves a diffusion equation
 * by transforming random initial data once, and for every time multiplying with the decay and transforming back.
 *
 * One parallel region spans the whole run. An iteration has two barriers: between the pass along z, where threads
 * own rows, and the one along x and y, where they own planes; and the sum over the team for the checksum.
 */
#include "field.h"
#include "params.h"
#include "report.h"
#include "result.h"
#include "team.h"

/* The transform of the initial data, and the field that is being worked on. */
static struct complex_number *spectrum, *work;

/* From random initial data to their transform in `spectrum`. */
static void transform_initial_data(const struct roots *roots, struct span planes, struct span rows)
{
    field_draw(work, planes);
    field_planes_forward(roots, work, planes);
#pragma omp barrier
    field_pencils_forward(roots, work, spectrum, rows);
#pragma omp barrier
}

/* The solution at `time` goes to `work`; returns its checksum. */
static struct complex_number solve(struct member *self, const struct roots *roots, struct span planes,
                                   struct span rows, int time)
{
    field_pencils_evolve(roots, time, spectrum, work, rows);
#pragma omp barrier
    field_planes_inverse(roots, work, planes);
    const struct complex_number part = field_sample(work, planes);
    double sum[TEAM_VALUES] = {part.re, part.im};
    team_sum(self, sum);
    return (struct complex_number){sum[0] / POINTS, sum[1] / POINTS};
}

/* The run as one member of the team sees it; *seconds and the checksums are set by member 0. */
static void run(struct member *self, struct complex_number *checksum, double *seconds)
{
    const struct span planes = team_span(self, NZ), rows = team_span(self, NY);
    const bool speaks = self->rank == 0;
    struct roots roots;

    field_zero_rows(spectrum, rows); /* the first touch: only the owner of the rows ever uses them */
    field_zero_planes(work, planes);
#pragma omp barrier
    roots_fill(&roots);
    transform_initial_data(&roots, planes, rows); /* untimed: touches all code and data */
    const double start = wall_seconds();
    roots_fill(&roots);
    transform_initial_data(&roots, planes, rows);
    for (int time = 1; time <= ITERATIONS; time++) {
        const struct complex_number sum = solve(self, &roots, planes, rows, time);
        if (speaks) {
            ft_iteration(time, sum);
            checksum[time - 1] = sum;
        }
    }
#pragma omp barrier
    if (speaks)
        *seconds = wall_seconds() - start;
}

int main(void)
{
    struct contribution *contributions = team_contributions();
    struct complex_number checksum[ITERATIONS];
    double seconds = 0.0;
    int threads = 1;

    ft_heading(omp_get_max_threads());
    spectrum = allocate(FIELD_POINTS, sizeof *spectrum);
    work = allocate(FIELD_POINTS, sizeof *work);
#pragma omp parallel
    {
        struct member self = team_member(contributions);
        double elapsed = 0.0;

        run(&self, checksum, &elapsed);
        if (self.rank == 0) {
            threads = self.size;
            seconds = elapsed;
        }
    }
    return ft_result(checksum, seconds, threads);
}
