/* Memory-based operations as the Fortran module `dsm` (include/dsm.f90) names them: by the type of their operands. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __DSM__ 1
#include "../include/dsm_operations.h"

#define OPERATION(name, suffix, type, code)                                                  \
    void __dsm_##name##_##suffix(type *place, type operand)                                  \
    {                                                                                        \
        uint64_t bits = 0;                                                                   \
        memcpy(&bits, &operand, sizeof operand);                                             \
        __dsm_post(place, bits, 0, sizeof operand, code);                                    \
    }                                                                                        \
    type __dsm_fetch_##name##_##suffix(type *place, type operand)                            \
    {                                                                                        \
        uint64_t bits = 0;                                                                   \
        memcpy(&bits, &operand, sizeof operand);                                             \
        bits = __dsm_fetch(place, bits, 0, sizeof operand, code);                            \
        memcpy(&operand, &bits, sizeof operand);                                             \
        return operand;                                                                      \
    }

#define COMPARE_AND_SWAP(suffix, type)                                                       \
    void __dsm_cas_##suffix(type *place, type expected, type operand)                        \
    {                                                                                        \
        uint64_t before = 0, bits = 0;                                                       \
        memcpy(&before, &expected, sizeof expected);                                         \
        memcpy(&bits, &operand, sizeof operand);                                             \
        __dsm_post(place, bits, before, sizeof operand, DSM_OPERATION_CAS);                  \
    }                                                                                        \
    type __dsm_fetch_cas_##suffix(type *place, type expected, type operand)                  \
    {                                                                                        \
        uint64_t before = 0, bits = 0;                                                       \
        memcpy(&before, &expected, sizeof expected);                                         \
        memcpy(&bits, &operand, sizeof operand);                                             \
        bits = __dsm_fetch(place, bits, before, sizeof operand, DSM_OPERATION_CAS);          \
        memcpy(&operand, &bits, sizeof operand);                                             \
        return operand;                                                                      \
    }

#define INTEGER(suffix, type)                                                                \
    OPERATION(add, suffix, type, DSM_OPERATION_ADD)                                          \
    OPERATION(and, suffix, type, DSM_OPERATION_AND)                                          \
    OPERATION(or, suffix, type, DSM_OPERATION_OR)                                            \
    OPERATION(xor, suffix, type, DSM_OPERATION_XOR)                                          \
    OPERATION(min, suffix, type, DSM_OPERATION_MIN)                                          \
    OPERATION(max, suffix, type, DSM_OPERATION_MAX)                                          \
    OPERATION(swap, suffix, type, DSM_OPERATION_SWAP)                                        \
    COMPARE_AND_SWAP(suffix, type)                                                           \
    void __dsm_write_flag_##suffix(void *to, const void *from, size_t bytes, type *flag, type operand) \
    {                                                                                        \
        __dsm_write_flag(to, from, bytes, flag, (uint64_t)operand, sizeof operand);          \
    }

#define REAL(suffix, type)                                                                   \
    OPERATION(add, suffix, type, DSM_OPERATION_FADD)                                         \
    OPERATION(swap, suffix, type, DSM_OPERATION_SWAP)                                        \
    COMPARE_AND_SWAP(suffix, type)

INTEGER(i4, int32_t)
INTEGER(i8, int64_t)
REAL(r4, float)
REAL(r8, double)
