/*
 * CG on MPI processes, for comparison with the OpenMP version. A process has the rows and the parts of vectors that a
 * thread has there. In place of the barriers an iteration has two reductions and a collection of the direction, which
 * every process needs as a whole. The matrix is built in full by each.
 */
#include "algebra.h"
#include "report.h"
#include "result.h"
#include "world.h"

#include <math.h>

static double x[ROWS], z[ROWS], p[ROWS], q[ROWS], r[ROWS];

/* A process, its rows, and how all vectors are divided. */
struct part {
    struct member self;
    struct span rows;
    struct division vector;
};

/* Solves matrix * z = x approximately, from z = 0. Returns the norm of the residual x - matrix * z. */
static double solve(const struct part *part)
{
    const struct span rows = part->rows;

    for (int i = rows.lo; i < rows.hi; i++) {
        z[i] = 0.0;
        r[i] = x[i];
        p[i] = x[i];
    }
    double rho = world_sum_one(product(rows, r, r));
    for (int iteration = 0; iteration < INNER_ITERATIONS; iteration++) {
        world_gather(p, &part->vector);
        multiply(rows, p, q);
        const double alpha = rho / world_sum_one(product(rows, p, q));
        for (int i = rows.lo; i < rows.hi; i++) {
            z[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        const double old = rho;
        rho = world_sum_one(product(rows, r, r));
        for (int i = rows.lo; i < rows.hi; i++)
            p[i] = r[i] + rho / old * p[i];
    }
    world_gather(z, &part->vector);
    multiply(rows, z, q);
    double distance = 0.0;
    for (int i = rows.lo; i < rows.hi; i++)
        distance += (x[i] - q[i]) * (x[i] - q[i]);
    return sqrt(world_sum_one(distance));
}

/* One step of the power method: solves, then makes x the normalised solution. Returns the eigenvalue estimate. */
static double power_step(const struct part *part, double *residual)
{
    const struct span rows = part->rows;

    *residual = solve(part);
    double sums[] = {product(rows, x, z), product(rows, z, z)};
    world_sum(sums, 2);
    for (int i = rows.lo; i < rows.hi; i++)
        x[i] = z[i] / sqrt(sums[1]);
    return SHIFT + 1.0 / sums[0];
}

static void start_vector(struct span rows)
{
    for (int i = rows.lo; i < rows.hi; i++)
        x[i] = 1.0;
}

int main(void)
{
    struct part part = {.self = world_begin()};
    struct member builder = {.size = 1};
    const bool speaks = part.self.rank == 0;
    double residual, zeta = 0.0;
    int status = 0;

    part.rows = team_span(&part.self, ROWS);
    part.vector = world_division(&part.self, ROWS, 1, 0);
    if (speaks)
        cg_heading(part.self.size);
    const double launch = wall_seconds();
    matrix_build(&builder);
    start_vector(part.rows);
    power_step(&part, &residual); /* untimed: touches all code and data */
    start_vector(part.rows);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = wall_seconds();
    for (int iteration = 1; iteration <= OUTER_ITERATIONS; iteration++) {
        zeta = power_step(&part, &residual);
        if (speaks)
            cg_iteration(iteration, residual, zeta);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (speaks)
        status = cg_result(zeta, start - launch, wall_seconds() - start, part.self.size);
    MPI_Finalize();
    return status;
}
