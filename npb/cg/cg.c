/*
 * CG, the conjugate gradient kernel (RNR-94-007, section 2.2.2): the inverse power method on a sparse symmetric
 * matrix, every step of which is solved approximately by 25 conjugate gradient iterations.
 *
 * One parallel region spans the whole run. A thread owns a span of rows and the same span of every vector; only
 * the direction `p` (and `z` once per solve) is read by others. An iteration has three barriers: the two scalar
 * products, and the one that makes the new direction visible.
 */
#include "algebra.h"
#include "matrix.h"
#include "params.h"
#include "report.h"
#include "result.h"
#include "team.h"

#include <math.h>

static double x[ROWS], z[ROWS], p[ROWS], q[ROWS], r[ROWS];

/* Solves matrix * z = x approximately, from z = 0. Returns the norm of the residual x - matrix * z. */
static double solve(struct member *self, struct span rows)
{
    for (int i = rows.lo; i < rows.hi; i++) {
        z[i] = 0.0;
        r[i] = x[i];
        p[i] = x[i];
    }
    double rho = team_sum_one(self, product(rows, r, r));

    for (int iteration = 0; iteration < INNER_ITERATIONS; iteration++) {
        multiply(rows, p, q);
        const double alpha = rho / team_sum_one(self, product(rows, p, q));
        for (int i = rows.lo; i < rows.hi; i++) {
            z[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        const double old = rho;
        rho = team_sum_one(self, product(rows, r, r));
        const double beta = rho / old;
        for (int i = rows.lo; i < rows.hi; i++)
            p[i] = r[i] + beta * p[i];
#pragma omp barrier
    }
    multiply(rows, z, q);
    double distance = 0.0;
    for (int i = rows.lo; i < rows.hi; i++)
        distance += (x[i] - q[i]) * (x[i] - q[i]);
    return sqrt(team_sum_one(self, distance));
}

/* One step of the power method: solves, then makes x the normalised solution. Returns the eigenvalue estimate. */
static double power_step(struct member *self, struct span rows, double *residual)
{
    *residual = solve(self, rows);
    double sums[TEAM_VALUES] = {product(rows, x, z), product(rows, z, z)};
    team_sum(self, sums);
    const double scale = 1.0 / sqrt(sums[1]);
    for (int i = rows.lo; i < rows.hi; i++)
        x[i] = scale * z[i];
    return SHIFT + 1.0 / sums[0];
}

static void start_vector(struct span rows)
{
    for (int i = rows.lo; i < rows.hi; i++)
        x[i] = 1.0;
}

/* The run as one member of the team sees it. Returns the final estimate; *seconds is set by member 0. */
static double run(struct member *self, double *seconds)
{
    const struct span rows = team_span(self, ROWS);
    const bool speaks = self->rank == 0;
    double residual, zeta = 0.0;

    matrix_build(self);
    start_vector(rows);
    power_step(self, rows, &residual); /* untimed: touches all code and data */
    start_vector(rows);
#pragma omp barrier
    const double start = wall_seconds();
    for (int iteration = 1; iteration <= OUTER_ITERATIONS; iteration++) {
        zeta = power_step(self, rows, &residual);
        if (speaks)
            cg_iteration(iteration, residual, zeta);
    }
#pragma omp barrier
    if (speaks)
        *seconds = wall_seconds() - start;
    return zeta;
}

int main(void)
{
    struct contribution *contributions = team_contributions();
    double zeta = 0.0, seconds = 0.0;
    int threads = 1;

    cg_heading(omp_get_max_threads());
    const double start = wall_seconds();
#pragma omp parallel
    {
        struct member self = team_member(contributions);
        double elapsed = 0.0;
        const double result = run(&self, &elapsed);

        if (self.rank == 0) {
            threads = self.size;
            zeta = result;
            seconds = elapsed;
        }
    }
    return cg_result(zeta, wall_seconds() - start - seconds, seconds, threads);
}
