/* What a benchmark prints, in NPB's form: a heading, and the block with the result at the end. */
#ifndef NPB_REPORT_H
#define NPB_REPORT_H

#include <stdbool.h>

#ifndef NPB_CLASS
#error "compile with -DNPB_CLASS=\"'S'\" or another class letter"
#endif

/* The programming model, for the title line. */
#ifndef NPB_MODEL
#define NPB_MODEL "OpenMP"
#endif

struct report {
    const char *name;      /* two letters */
    int size[3];           /* one extent, or three with the grid's; unused ones are 0 */
    long count;            /* number of objects where that is the size; else 0 */
    int iterations;
    double seconds;
    double mops;           /* millions of operations in all */
    const char *operation; /* what an operation is */
    int threads;
    bool verified;
};

/* Seconds on a clock that only moves forward. */
double wall_seconds(void);

/* The title line of benchmark `name`. */
void report_heading(const char *name);

/* The result block. Returns the program's exit status: 0 if and only if the result is verified. */
int report_result(const struct report *report);

/* Whether `value` is within the relative distance `tolerance` of `expected`; a NaN never is. */
bool agrees(double value, double expected, double tolerance);

#endif
