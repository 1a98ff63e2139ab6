/* `free` as flang's runtime library sees it: the driver links Fortran programs with --wrap=free, because the library
 * frees objects that came from the shared heap. It stands alone in its object, so that only such links pull it in. */
#include "internal.h"

extern void __real_free(void *object);

void __wrap_free(void *object) {
    if (!dsm_rt_free_shared(object)) __real_free(object);
}
