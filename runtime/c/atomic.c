/* The functions of libatomic with the size in their names, made of the general ones. */
#include "internal.h"

#include <stdbool.h>

#define OPERATION(bytes, type, name, code, result)                                                        \
    type __dsm_library_atomic_fetch_##name##_##bytes(void *object, type value, int order) {                \
        type old;                                                                                          \
        __dsm_atomic_rmw(object, &value, &old, bytes, code, order);                                        \
        return old;                                                                                        \
    }                                                                                                      \
    type __dsm_library_atomic_##name##_fetch_##bytes(void *object, type value, int order) {                \
        type old;                                                                                          \
        __dsm_atomic_rmw(object, &value, &old, bytes, code, order);                                        \
        return (type)(result);                                                                             \
    }

/* The codes are those of `dsm_abi::atomic::RmwOp`. */
#define SIZED(bytes, type)                                                                                 \
    type __dsm_library_atomic_load_##bytes(void *object, int order) {                                      \
        type out;                                                                                          \
        __dsm_library_atomic_load(bytes, object, &out, order);                                             \
        return out;                                                                                        \
    }                                                                                                      \
    void __dsm_library_atomic_store_##bytes(void *object, type value, int order) {                         \
        __dsm_library_atomic_store(bytes, object, &value, order);                                          \
    }                                                                                                      \
    type __dsm_library_atomic_exchange_##bytes(void *object, type value, int order) {                      \
        type old;                                                                                          \
        __dsm_library_atomic_exchange(bytes, object, &value, &old, order);                                 \
        return old;                                                                                        \
    }                                                                                                      \
    bool __dsm_library_atomic_compare_exchange_##bytes(void *object, void *expected, type desired,         \
                                                       int success, int failure) {                         \
        return __dsm_library_atomic_compare_exchange(bytes, object, expected, &desired, success, failure); \
    }                                                                                                      \
    OPERATION(bytes, type, add, 1, old + value)                                                            \
    OPERATION(bytes, type, sub, 2, old - value)                                                            \
    OPERATION(bytes, type, and, 3, old & value)                                                            \
    OPERATION(bytes, type, nand, 4, ~(old & value))                                                        \
    OPERATION(bytes, type, or, 5, old | value)                                                             \
    OPERATION(bytes, type, xor, 6, old ^ value)

SIZED(1, uint8_t)
SIZED(2, uint16_t)
SIZED(4, uint32_t)
SIZED(8, uint64_t)
SIZED(16, unsigned __int128)
