/*
 * FT on MPI processes, for comparison with the OpenMP version. A process has the planes and rows that a thread has
 * there, at the same places of fields of full extent, of which it touches only these. In place of the barriers between
 * passes along z and passes along x and y, each process sends each other the part of its planes that is in the other's
 * rows, or the reverse.
 */
#include "field.h"
#include "report.h"
#include "result.h"
#include "world.h"

/* A process, its planes and rows, and where in a field its planes meet the rows of each process and the reverse. */
struct part {
    struct member self;
    struct span planes, rows;
    int *ones, *zeros;
    MPI_Datatype *my_planes, *my_rows;
};

/* The elements of a field that are in some planes and some rows. */
static MPI_Datatype piece_type(struct span planes, struct span rows)
{
    const size_t plane_bytes = PLANE_PITCH * sizeof(struct complex_number);
    const size_t row_bytes = ROW_PITCH * sizeof(struct complex_number);
    const MPI_Aint start = (MPI_Aint)((size_t)planes.lo * plane_bytes + (size_t)rows.lo * row_bytes);
    const int length = (rows.hi - rows.lo) * (int)ROW_PITCH;
    MPI_Datatype number, stack, piece;

    MPI_Type_contiguous(2, MPI_DOUBLE, &number);
    MPI_Type_create_hvector(planes.hi - planes.lo, length, (MPI_Aint)plane_bytes, number, &stack);
    MPI_Type_create_hindexed(1, (int[]){1}, (MPI_Aint[]){start}, stack, &piece);
    MPI_Type_commit(&piece);
    MPI_Type_free(&stack);
    MPI_Type_free(&number);
    return piece;
}

static struct part part_of(struct member self)
{
    const size_t size = (size_t)self.size;
    struct part part = {self, team_span(&self, NZ), team_span(&self, NY), NULL, NULL, NULL, NULL};

    part.ones = allocate(size, sizeof *part.ones);
    part.zeros = allocate(size, sizeof *part.zeros);
    part.my_planes = allocate(size, sizeof *part.my_planes);
    part.my_rows = allocate(size, sizeof *part.my_rows);
    for (int t = 0; t < self.size; t++) {
        part.ones[t] = t != self.rank; /* what is in its own planes and rows stays */
        part.zeros[t] = 0;
        part.my_planes[t] = piece_type(part.planes, span_of(NY, t, self.size));
        part.my_rows[t] = piece_type(span_of(NZ, t, self.size), part.rows);
    }
    return part;
}

/* From what each process has in its planes to all that is in its rows. */
static void planes_to_rows(const struct part *part, struct complex_number *field)
{
    MPI_Alltoallw(field, part->ones, part->zeros, part->my_planes, field, part->ones, part->zeros, part->my_rows,
                  MPI_COMM_WORLD);
}

/* The reverse. */
static void rows_to_planes(const struct part *part, struct complex_number *field)
{
    MPI_Alltoallw(field, part->ones, part->zeros, part->my_rows, field, part->ones, part->zeros, part->my_planes,
                  MPI_COMM_WORLD);
}

/* The transform of the initial data, and the field that is being worked on. */
static struct complex_number *spectrum, *work;

static void transform_initial_data(const struct part *part, const struct roots *roots)
{
    field_draw(work, part->planes);
    field_planes_forward(roots, work, part->planes);
    planes_to_rows(part, work);
    field_pencils_forward(roots, work, spectrum, part->rows);
}

/* The solution at `time` goes to `work`; returns its checksum. */
static struct complex_number solve(const struct part *part, const struct roots *roots, int time)
{
    field_pencils_evolve(roots, time, spectrum, work, part->rows);
    rows_to_planes(part, work);
    field_planes_inverse(roots, work, part->planes);
    const struct complex_number sample = field_sample(work, part->planes);
    double sum[] = {sample.re, sample.im};
    world_sum(sum, 2);
    return (struct complex_number){sum[0] / POINTS, sum[1] / POINTS};
}

int main(void)
{
    const struct part part = part_of(world_begin());
    const bool speaks = part.self.rank == 0;
    struct complex_number checksum[ITERATIONS];
    struct roots roots;
    int status = 0;

    if (speaks)
        ft_heading(part.self.size);
    spectrum = allocate(FIELD_POINTS, sizeof *spectrum);
    work = allocate(FIELD_POINTS, sizeof *work);
    field_zero_rows(spectrum, part.rows);
    field_zero_planes(work, part.planes);
    roots_fill(&roots);
    transform_initial_data(&part, &roots); /* untimed: touches all code and data */
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = wall_seconds();
    roots_fill(&roots);
    transform_initial_data(&part, &roots);
    for (int time = 1; time <= ITERATIONS; time++) {
        checksum[time - 1] = solve(&part, &roots, time);
        if (speaks)
            ft_iteration(time, checksum[time - 1]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (speaks)
        status = ft_result(checksum, wall_seconds() - start, part.self.size);
    MPI_Finalize();
    return status;
}
