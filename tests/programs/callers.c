// Functions that are not inlined and work on what their callers pass: blocks of arrays, structures, neighbours, private and shared memory.
#include <omp.h>
#include <stdio.h>

#define APART __attribute__((noinline))

enum { N = 24, PARTS = 40 };

struct cell {
    double mass, speed[3];
    long hits;
};

static double left[N][N][5][5], right[N][N][5][5], sides[N][N][5];
static struct cell cells[PARTS][7];
static double row[N * N + 8];
static long picked[N];

// One block, all of it.
APART static void multiply(double a[5][5], double b[5][5]) {
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++) {
            double sum = 0;
            for (int k = 0; k < 5; k++) sum += a[i][k] * b[k][j];
            b[i][j] = sum / 8 - (int)(sum / 8);
        }
}
APART static void substitute(double a[5][5], double x[5]) {
    for (int i = 0; i < 5; i++) x[i] -= a[i][0] * x[0] / 4 + a[i][4] * x[4] / 4;
}
// Passes its own parameter on, moved.
APART static void drift(double *speed, double by) {
    speed[0] += by;
    speed[1] -= by;
    speed[2] = by;
}
APART static void step(struct cell *c, double by) {
    c->mass += by / 2;
    drift(c->speed, by);
    if (by > 3) c->hits++;
}
// Not certain to touch what it gets.
APART static double sometimes(const double *p, double *out, int when) {
    if (!when) return 0;
    *out += p[0] + p[1];
    return p[2];
}
// Calls itself with another address.
APART static double fold(double *p, int n) {
    p[0] = p[0] / 2 + 1;
    return n > 0 ? p[0] + fold(p + 1, n - 1) : p[0];
}
// Others may call it as well; some callers own what they pass.
APART void blend(double *to, const double *from) {
    to[0] += from[0] / 2;
    to[1] += from[1] / 4;
    to[2] += from[2] / 8;
}
APART static long count(long *seen, const long *what) {
    seen[what[0] & 3]++;
    return seen[what[0] & 3] + what[0];
}
void (*volatile other)(double *, const double *) = blend;

int main(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < 25; k++) {
                left[i][j][k / 5][k % 5] = (i + 2 * j + k) % 11 / 4.0;
                right[i][j][k / 5][k % 5] = (3 * i + j + k) % 13 / 4.0;
                sides[i][j][k % 5] = k % 5;
            }
    long picks = 0;
    double folded = 0, found = 0;
    for (int round = 0; round < 4; round++) {
#pragma omp parallel reduction(+ : picks, folded, found)
        {
            int threads = omp_get_num_threads(), me = (omp_get_thread_num() + round) % threads;
            double own[8] = {1, 2, 3, 4, 5, 6, 7, 8};
#pragma omp for
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) {
                    multiply(left[i][j], right[j][i]);
                    substitute(right[j][i], sides[i][j]);
                }
            for (int part = me; part < PARTS; part += threads)
                for (int k = 0; k < 7; k++) step(&cells[part][k], round + k);
#pragma omp for
            for (int i = 0; i < N; i++) {
                found += sometimes(row + i, &row[N * N], 0);
                blend(row + 8 * i, own + i % 4);
                other(row + 8 * i + 3, row + 8 * i);
            }
#pragma omp for
            for (int i = 0; i < N; i++) {
                double mine[3] = {i, round, 1};
                for (int k = 0; k < 5; k++) blend(mine, sides[i][k]);
                for (int k = 0; k < 3; k++) row[8 * i + k] += mine[k];
                folded += fold(row + 8 * i, 6);
            }
            long seen[4] = {0};
#pragma omp for
            for (int i = 0; i < N; i++) {
                picked[i] += i * round;
                picks += count(seen, &picked[i]) - seen[picked[i] & 3];
            }
        }
        // Whatever the order of additions, these are exact.
        double sum = 0;
        for (int i = 0; i < PARTS; i++)
            for (int k = 0; k < 7; k++)
                sum += cells[i][k].mass * (k + 1) + cells[i][k].speed[0] - cells[i][k].speed[1] * 2 + cells[i][k].hits;
        double blocks = 0;
        for (int i = 0; i < N * N * 25; i++) blocks += (&right[0][0][0][0])[i] * (i % 5 + 1);
        double vectors = 0;
        for (int i = 0; i < N * N * 5; i++) vectors += (&sides[0][0][0])[i];
        printf("%d %.3f %.10g %.10g %ld %.8g %g\n", round, sum, blocks, vectors, picks, folded, found);
    }
    return 0;
}
