/* LU: class parameters. The reference values are in verify.c. */
#ifndef LU_PARAMS_H
#define LU_PARAMS_H

#if NPB_CLASS == 'S'
#define POINTS 12
#define ITERATIONS 50
#define TIME_STEP 0.5
#elif NPB_CLASS == 'W'
#define POINTS 33
#define ITERATIONS 300
#define TIME_STEP 1.5e-3
#elif NPB_CLASS == 'A'
#define POINTS 64
#define ITERATIONS 250
#define TIME_STEP 2.0
#elif NPB_CLASS == 'B'
#define POINTS 102
#define ITERATIONS 250
#define TIME_STEP 2.0
#elif NPB_CLASS == 'C'
#define POINTS 162
#define ITERATIONS 250
#define TIME_STEP 2.0
#else
#error "LU: unknown class"
#endif

/* Points along an axis that are unknowns: all but those on the boundary. */
#define INNER (POINTS - 2)

/* Over-relaxation factor of the SSOR iteration. */
#define OMEGA 1.2
#define TOLERANCE 1e-8

#endif
