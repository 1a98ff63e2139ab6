/* `__cxa_demangle` of the Itanium C++ ABI, on memory of the shared heap. In an object of its own, as only programs that call it need the C++ library for it. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

char *__cxa_demangle(const char *name, char *buffer, size_t *bytes, int *status);

/* A buffer that the name does not fit into is freed, and `bytes` says how long the one is that is returned. */
char *__dsm_demangle(const char *name, char *buffer, size_t *bytes, int *status) {
    int result = 0;
    if (name) dsm_rt_load_string(name, -1);
    /* The library does not take a buffer without its length. */
    size_t space = 0;
    char *private = __cxa_demangle(name, buffer && !bytes ? buffer : NULL, NULL, &result);
    if (status) {
        dsm_rt_store((char *)status, sizeof *status);
        *status = result;
    }
    if (!private) return NULL;
    size_t length = strlen(private) + 1;
    if (bytes) {
        dsm_rt_store((char *)bytes, sizeof *bytes);
        space = *bytes;
    }
    char *found = buffer;
    if (!buffer || space < length) {
        found = __dsm_malloc(length);
        if (bytes) *bytes = length;
        if (buffer) __dsm_free(buffer);
    }
    if (found) {
        dsm_rt_store(found, length);
        memcpy(found, private, length);
    }
    free(private);
    return found;
}
