/* `free` as uninstrumented code sees it that is part of the program or of an instrumented shared library: the driver links with
 * --wrap=free, because such code, flang's runtime library for one, frees objects of the shared heap. It stands alone in its
 * object, so that only such links pull it in. */
#include "internal.h"

extern void __real_free(void *object);

void __wrap_free(void *object) {
    if (!dsm_rt_free_shared(object)) __real_free(object);
}
