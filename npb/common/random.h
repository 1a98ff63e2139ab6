/*
 * The benchmarks' random numbers: the linear congruential sequence x' = a x (mod 2^46) with a = 5^13
 * (RNR-94-007, section 2.3).
 *
 * The states are kept as integers. A state is below 2^46 and therefore exact as a double, so every implementation
 * of the sequence, whatever arithmetic it uses, yields the same numbers bit for bit.
 */
#ifndef NPB_RANDOM_H
#define NPB_RANDOM_H

#include <stdint.h>

#define RANDOM_SEED UINT64_C(314159265)
#define RANDOM_MULTIPLIER UINT64_C(1220703125)
#define RANDOM_BITS 46
#define RANDOM_MASK ((UINT64_C(1) << RANDOM_BITS) - 1)

/* Product modulo 2^46. Bits lost beyond 2^64 are multiples of 2^46 anyway. */
static inline uint64_t random_multiply(uint64_t a, uint64_t b)
{
    return (a * b) & RANDOM_MASK;
}

/* The state after `state`. */
static inline uint64_t random_next(uint64_t state)
{
    return random_multiply(state, RANDOM_MULTIPLIER);
}

/* The number in (0, 1) that a state stands for. */
static inline double random_unit(uint64_t state)
{
    return (double)(int64_t)state * 0x1p-46;
}

/* The state `steps` after `state`, by repeated squaring of the multiplier. */
static inline uint64_t random_skip(uint64_t state, uint64_t steps)
{
    for (uint64_t factor = RANDOM_MULTIPLIER; steps != 0; steps >>= 1) {
        if (steps & 1)
            state = random_multiply(state, factor);
        factor = random_multiply(factor, factor);
    }
    return state;
}

#endif
