/* What MG prints, and its verification. */
#ifndef MG_RESULT_H
#define MG_RESULT_H

void mg_heading(int threads);
void mg_iteration(int iteration);

/* The result. Returns the exit status. `initialization` and `seconds` are those before and of the timed part. */
int mg_result(double norm, double initialization, double seconds, int threads);

#endif
