/* What CG prints, and its verification. */
#ifndef CG_RESULT_H
#define CG_RESULT_H

void cg_heading(int threads);
void cg_iteration(int iteration, double residual, double zeta);

/* The result. Returns the exit status. `initialization` and `seconds` are those before and of the timed part. */
int cg_result(double zeta, double initialization, double seconds, int threads);

#endif
