/* CG: class parameters, reference values, and the arrays' extents that follow from them. */
#ifndef CG_PARAMS_H
#define CG_PARAMS_H

#if NPB_CLASS == 'S'
#define ROWS 1400
#define VECTOR_NONZEROS 7
#define OUTER_ITERATIONS 15
#define SHIFT 10.0
#define ZETA 8.5971775078648
#elif NPB_CLASS == 'W'
#define ROWS 7000
#define VECTOR_NONZEROS 8
#define OUTER_ITERATIONS 15
#define SHIFT 12.0
#define ZETA 10.362595087124
#elif NPB_CLASS == 'A'
#define ROWS 14000
#define VECTOR_NONZEROS 11
#define OUTER_ITERATIONS 15
#define SHIFT 20.0
#define ZETA 17.130235054029
#elif NPB_CLASS == 'B'
#define ROWS 75000
#define VECTOR_NONZEROS 13
#define OUTER_ITERATIONS 75
#define SHIFT 60.0
#define ZETA 22.712745482631
#elif NPB_CLASS == 'C'
#define ROWS 150000
#define VECTOR_NONZEROS 15
#define OUTER_ITERATIONS 75
#define SHIFT 110.0
#define ZETA 28.973605592845
#else
#error "CG: unknown class"
#endif

#define TOLERANCE 1e-10
#define INNER_ITERATIONS 25

/* Reciprocal of the condition number: the matrix's smallest eigenvalue before the shift. */
#define RCOND 0.1

/* A random vector has VECTOR_NONZEROS entries, and one more if its diagonal entry is not among them. */
#define VECTOR_ENTRIES (VECTOR_NONZEROS + 1)

/* What the outer products have in all, before duplicates are summed. */
#define MAX_NONZEROS (ROWS * VECTOR_ENTRIES * VECTOR_ENTRIES)

#endif
