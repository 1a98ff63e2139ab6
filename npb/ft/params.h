/* FT: class parameters. The reference checksums are in verify.c. */
#ifndef FT_PARAMS_H
#define FT_PARAMS_H

#if NPB_CLASS == 'S'
#define LOG_NX 6
#define LOG_NY 6
#define LOG_NZ 6
#define ITERATIONS 6
#elif NPB_CLASS == 'W'
#define LOG_NX 7
#define LOG_NY 7
#define LOG_NZ 5
#define ITERATIONS 6
#elif NPB_CLASS == 'A'
#define LOG_NX 8
#define LOG_NY 8
#define LOG_NZ 7
#define ITERATIONS 6
#elif NPB_CLASS == 'B'
#define LOG_NX 9
#define LOG_NY 8
#define LOG_NZ 8
#define ITERATIONS 20
#elif NPB_CLASS == 'C'
#define LOG_NX 9
#define LOG_NY 9
#define LOG_NZ 9
#define ITERATIONS 20
#else
#error "FT: unknown class"
#endif

#define NX (1 << LOG_NX)
#define NY (1 << LOG_NY)
#define NZ (1 << LOG_NZ)
#define POINTS ((double)NX * NY * NZ)
#define MAX_AXIS (NX > NY ? (NX > NZ ? NX : NZ) : (NY > NZ ? NY : NZ))

/* Thermal diffusivity of the equation that the evolution solves. */
#define ALPHA 1e-6
#define TOLERANCE 1e-12

#endif
