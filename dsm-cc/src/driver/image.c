/* Linked into each shared library: tells the program's runtime about the library when it is loaded. */
#include "../../../runtime/c/image.h"

/* Of the program, which dsm-cc must have linked. */
extern void __dsm_add_image(const struct dsm_image *image);

static const struct dsm_image image = DSM_IMAGE;

__attribute__((constructor)) static void add(void) { __dsm_add_image(&image); }
