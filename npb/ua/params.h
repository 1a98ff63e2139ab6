/* UA: class parameters, reference values, and the constants of the problem (NAS-04-006). */
#ifndef UA_PARAMS_H
#define UA_PARAMS_H

#if NPB_CLASS == 'S'
#define LEVELS 4
#define MAX_ELEMENTS 250
#define STEPS 50
#define RADIUS 0.040
#define INTEGRAL 0.1890013110962e-2
#elif NPB_CLASS == 'W'
#define LEVELS 5
#define MAX_ELEMENTS 700
#define STEPS 100
#define RADIUS 0.060
#define INTEGRAL 0.2569794837076e-4
#elif NPB_CLASS == 'A'
#define LEVELS 6
#define MAX_ELEMENTS 2400
#define STEPS 200
#define RADIUS 0.076
#define INTEGRAL 0.8939996281443e-4
#elif NPB_CLASS == 'B'
#define LEVELS 7
#define MAX_ELEMENTS 8800
#define STEPS 200
#define RADIUS 0.076
#define INTEGRAL 0.4507561922901e-4
#elif NPB_CLASS == 'C'
#define LEVELS 8
#define MAX_ELEMENTS 33500
#define STEPS 200
#define RADIUS 0.067
#define INTEGRAL 0.1544736587100e-4
#else
#error "UA: unknown class"
#endif

#define TOLERANCE 1e-8

/* Elements are cubes with edge 2^-level, level 0 .. LEVELS; lengths are counted in edges of the smallest ones. */
#define EXTENT (1 << LEVELS)
#define UNIT (1.0 / EXTENT)

#define TIME_STEP (0.04 * UNIT)
#define CG_ITERATIONS 10
#define ADAPTATION_INTERVAL 5

/* The heat source: a ball of RADIUS that moves along the diagonal; the fluid has the same velocity on each axis. */
#define VELOCITY 3.0
#define DIFFUSIVITY 0.005
#define START_X (3.0 / 7.0)
#define START_Y (2.0 / 7.0)
#define START_Z (2.0 / 7.0)

#endif
