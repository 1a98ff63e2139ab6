/* MG: class parameters and the reference norm of the final residual. */
#ifndef MG_PARAMS_H
#define MG_PARAMS_H

#if NPB_CLASS == 'S'
#define LEVELS 5
#define ITERATIONS 4
#define NORM 0.5307707005734e-4
#elif NPB_CLASS == 'W'
#define LEVELS 7
#define ITERATIONS 4
#define NORM 0.6467329375339e-5
#elif NPB_CLASS == 'A'
#define LEVELS 8
#define ITERATIONS 4
#define NORM 0.2433365309069e-5
#elif NPB_CLASS == 'B'
#define LEVELS 8
#define ITERATIONS 20
#define NORM 0.1800564401355e-5
#elif NPB_CLASS == 'C'
#define LEVELS 9
#define ITERATIONS 20
#define NORM 0.5706732285740e-6
#else
#error "MG: unknown class"
#endif

#define TOLERANCE 1e-8

/* Interior points of the finest grid along an axis; every grid has a ghost point at both ends of each axis. */
#define POINTS (1 << LEVELS)
#define MAX_ROW (POINTS + 2)

/* The operator A, by distance: centre, faces, edges, corners. Faces have weight 0. */
#define A_CENTRE (-8.0 / 3.0)
#define A_EDGE (1.0 / 6.0)
#define A_CORNER (1.0 / 12.0)

/* The smoother S, by distance: centre, faces, edges. Corners have weight 0. */
#if NPB_CLASS == 'S' || NPB_CLASS == 'W' || NPB_CLASS == 'A'
#define S_CENTRE (-3.0 / 8.0)
#define S_FACE (1.0 / 32.0)
#define S_EDGE (-1.0 / 64.0)
#else
#define S_CENTRE (-3.0 / 17.0)
#define S_FACE (1.0 / 33.0)
#define S_EDGE (-1.0 / 61.0)
#endif

#endif
