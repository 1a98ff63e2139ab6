/* Comparison of FT's checksums with the published ones. */
#ifndef FT_VERIFY_H
#define FT_VERIFY_H

#include "transform.h"

#include <stdbool.h>

/* Whether the checksums of all iterations are right. */
bool checksums_agree(const struct complex_number *checksum);

#endif
