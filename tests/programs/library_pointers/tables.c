/* Addresses of library functions in constant tables. */
#include "table.h"

const struct functions functions = {strcmp, strlen, memcpy, strchr, snprintf, sscanf, strtod, fputs, printf};
const struct memory memory = {malloc, calloc, realloc, free};
int (*const orders[3])(const char *, const char *) = {strcmp, strcasecmp, strcoll};
void *addresses[4] = {(void *)strcmp, (char *)strlen + 1, (void *)free, (void *)snprintf};

int is_plain(int (*order)(const char *, const char *)) { return order == strcmp; }
