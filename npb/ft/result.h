/* What FT prints, and its verification. */
#ifndef FT_RESULT_H
#define FT_RESULT_H

#include "transform.h"

void ft_heading(int threads);
void ft_iteration(int time, struct complex_number checksum);

/* The result, from the checksums of all iterations and the seconds that they took. Returns the exit status. */
int ft_result(const struct complex_number *checksum, double seconds, int threads);

#endif
