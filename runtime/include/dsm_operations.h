/* Memory-based operations: operations on memory that are executed where it is (after T. Matsumoto's Memory-Based Communication Facilities).
 * Included by <dsm.h>. C++ programs use <dsm.hpp>, Fortran programs the module dsm; the book's chapter on memory-based operations says what is
 * guaranteed. */
#ifndef DSM_OPERATIONS_H
#define DSM_OPERATIONS_H

#include <stddef.h>
#include <stdint.h>
#ifndef __DSM__
#include <stdlib.h>
#include <string.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Codes of operations. */
enum {
    DSM_OPERATION_SWAP = 0,
    DSM_OPERATION_ADD = 1,
    DSM_OPERATION_AND = 3,
    DSM_OPERATION_OR = 5,
    DSM_OPERATION_XOR = 6,
    DSM_OPERATION_MAX = 7,
    DSM_OPERATION_MIN = 8,
    DSM_OPERATION_UMAX = 9,
    DSM_OPERATION_UMIN = 10,
    DSM_OPERATION_FADD = 11,
    DSM_OPERATION_CAS = 255,
};

/* A queue, which has no contents that can be looked at. */
typedef struct dsm_fifo dsm_fifo;

/* What a thread has posted, or a signal. Zeros: nothing that would have to be waited for. */
typedef struct {
    uint64_t what, number;
} dsm_handle;

/* What a signal calls: with the place that it was for, and a copy of the argument. */
typedef void dsm_function(void *place, const void *argument, size_t bytes);

#ifdef __DSM__

/* What the macros call: an operation on `size` bytes, without and with what they were; operands have them in front. */
void __dsm_post(void *place, uint64_t operand, uint64_t expected, uint32_t size, uint32_t code);
uint64_t __dsm_fetch(void *place, uint64_t operand, uint64_t expected, uint32_t size, uint32_t code);
void __dsm_write_flag(void *to, const void *from, size_t bytes, void *flag, uint64_t value, uint32_t size);

/* What the calling thread posts from now on is executed after all that it has posted before. Does not wait. */
void dsm_fence(void);

/* Waits until all that the calling thread has posted, and its signals, are executed. */
void dsm_flush(void);

/* All that the calling thread has posted so far. */
dsm_handle dsm_posted(void);

/* Whether what a handle stands for is executed. Of what is posted, a request's worth is sent with each call that finds that it is not. */
int dsm_test(dsm_handle handle);

/* Waits until what a handle stands for is executed. */
void dsm_wait(dsm_handle handle);

/* The operations without a result that the thread asks for between the two are one: they are posted at the end, and no other operation on the same words comes
 * in between. They are 64 at most, and lie in one block (dsm_block_size). */
void dsm_bundle_begin(void);
void dsm_bundle_end(void);

/* Allows signals to call a function. By the thread that runs main, outside of parallel regions. */
void dsm_register(dsm_function *function);

/* Has a registered function called, at the process that has the data at `place` (or at a process that is named; its place is null), with a copy of `bytes` bytes, 64 at most. Returns as
 * soon as the signal is there, and what to wait for. */
dsm_handle dsm_signal(void *place, dsm_function *function, const void *argument, size_t bytes);
dsm_handle dsm_signal_process(int process, dsm_function *function, const void *argument, size_t bytes);

/* Reads `bytes` bytes of shared memory from where they are, into any memory. Returns when that is done; what the thread has posted comes before it. */
void dsm_read(void *into, const void *from, size_t bytes);

/* Posts a store of `bytes` bytes of any memory, which is free again on return, to shared memory. */
void dsm_write(void *to, const void *from, size_t bytes);

/* A queue in the memory of the calling process, with space for `capacity` elements of so many bytes, at most 65536 each. A null pointer if memory is exhausted. Any thread
 * of any process may push and pop; the order of each that pushes is kept. Threads that are to use it learn the pointer as they learn any other data. */
dsm_fifo *dsm_fifo_create(size_t capacity, size_t element_bytes);

/* Ends a queue that nobody uses any more; elements in it are lost. */
void dsm_fifo_destroy(dsm_fifo *queue);

/* Appends an element, or takes the oldest: DSM_OK, DSM_FULL or DSM_EMPTY. One request, and nobody waits for anybody else. What the thread has posted comes before it. */
int dsm_fifo_push(dsm_fifo *queue, const void *element);
int dsm_fifo_pop(dsm_fifo *queue, void *element);

#else

/* In a program of one process they are ordinary atomic operations. */
static inline uint64_t __dsm_changed(uint64_t old, uint64_t operand, uint64_t expected, uint32_t size, uint32_t code)
{
    unsigned shift = 64 - 8 * size;
    int64_t a = (int64_t)(old << shift) >> shift, b = (int64_t)(operand << shift) >> shift;
    switch (code) {
    case DSM_OPERATION_SWAP: return operand;
    case DSM_OPERATION_AND: return old & operand;
    case DSM_OPERATION_OR: return old | operand;
    case DSM_OPERATION_XOR: return old ^ operand;
    case DSM_OPERATION_MAX: return a > b ? old : operand;
    case DSM_OPERATION_MIN: return a < b ? old : operand;
    case DSM_OPERATION_UMAX: return old > operand ? old : operand;
    case DSM_OPERATION_UMIN: return old < operand ? old : operand;
    case DSM_OPERATION_CAS: return old == expected ? operand : old;
    case DSM_OPERATION_FADD:
        if (size == 4) {
            union { uint64_t bits; float value; } x, y;
            x.bits = old, y.bits = operand;
            x.value += y.value;
            return x.bits;
        } else {
            union { uint64_t bits; double value; } x, y;
            x.bits = old, y.bits = operand;
            x.value += y.value;
            return x.bits;
        }
    default: return old + operand;
    }
}

#define DSM_OPERATION_ON_(type)                                                                                            \
    do {                                                                                                                   \
        type old = __atomic_load_n((type *)place, __ATOMIC_RELAXED);                                                       \
        while (!__atomic_compare_exchange_n((type *)place, &old, (type)__dsm_changed(old, operand, expected, size, code), \
                                            0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))                                        \
            ;                                                                                                              \
        return old;                                                                                                        \
    } while (0)

static inline uint64_t __dsm_fetch(void *place, uint64_t operand, uint64_t expected, uint32_t size, uint32_t code)
{
    switch (size) {
    case 1: DSM_OPERATION_ON_(uint8_t);
    case 2: DSM_OPERATION_ON_(uint16_t);
    case 4: DSM_OPERATION_ON_(uint32_t);
    default: DSM_OPERATION_ON_(uint64_t);
    }
}

static inline void __dsm_post(void *place, uint64_t operand, uint64_t expected, uint32_t size, uint32_t code)
{
    (void)__dsm_fetch(place, operand, expected, size, code);
}

static inline void dsm_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void dsm_flush(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

static inline dsm_handle dsm_posted(void)
{
    dsm_handle nothing = {0, 0};
    return nothing;
}

static inline int dsm_test(dsm_handle handle)
{
    (void)handle;
    return 1;
}

static inline void dsm_wait(dsm_handle handle) { (void)handle; }

/* A lock of this source file. */
static inline char *__dsm_lock(int of_signals)
{
    static char locks[2];
    return &locks[of_signals];
}

static inline void __dsm_lock_begin(int of_signals)
{
    while (__atomic_test_and_set(__dsm_lock(of_signals), __ATOMIC_ACQUIRE))
        ;
}

static inline void dsm_bundle_begin(void) { __dsm_lock_begin(0); }
static inline void dsm_bundle_end(void) { __atomic_clear(__dsm_lock(0), __ATOMIC_RELEASE); }

static inline void dsm_register(dsm_function *function) { (void)function; }

static inline dsm_handle dsm_signal(void *place, dsm_function *function, const void *argument, size_t bytes)
{
    uint64_t copy[8];
    if (bytes > sizeof copy)
        abort();
    memcpy(copy, argument, bytes);
    __dsm_lock_begin(1);
    function(place, copy, bytes);
    __atomic_clear(__dsm_lock(1), __ATOMIC_RELEASE);
    return dsm_posted();
}

static inline dsm_handle dsm_signal_process(int process, dsm_function *function, const void *argument, size_t bytes)
{
    if (process != 0)
        abort();
    return dsm_signal(NULL, function, argument, bytes);
}

static inline void dsm_read(void *into, const void *from, size_t bytes)
{
    uint64_t whole;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    switch ((uintptr_t)from % (bytes ? bytes : 1) ? 0 : bytes) {
    case 1: whole = __atomic_load_n((const uint8_t *)from, __ATOMIC_SEQ_CST); break;
    case 2: whole = __atomic_load_n((const uint16_t *)from, __ATOMIC_SEQ_CST); break;
    case 4: whole = __atomic_load_n((const uint32_t *)from, __ATOMIC_SEQ_CST); break;
    case 8: whole = __atomic_load_n((const uint64_t *)from, __ATOMIC_SEQ_CST); break;
    default: memcpy(into, from, bytes); return;
    }
    memcpy(into, &whole, bytes);
}

static inline void dsm_write(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void __dsm_write_flag(void *to, const void *from, size_t bytes, void *flag, uint64_t value, uint32_t size)
{
    dsm_write(to, from, bytes);
    __dsm_post(flag, value, 0, size, DSM_OPERATION_SWAP);
}

struct dsm_fifo {
    size_t capacity, element_bytes, head, count;
    char locked;
};

static inline dsm_fifo *dsm_fifo_create(size_t capacity, size_t element_bytes)
{
    dsm_fifo *queue = (dsm_fifo *)calloc(1, sizeof(dsm_fifo) + capacity * element_bytes);
    if (queue)
        queue->capacity = capacity, queue->element_bytes = element_bytes;
    return queue;
}

static inline void dsm_fifo_destroy(dsm_fifo *queue) { free(queue); }

static inline int __dsm_fifo_move(dsm_fifo *queue, const void *from, void *into)
{
    while (__atomic_test_and_set(&queue->locked, __ATOMIC_ACQUIRE))
        ;
    int done = from ? queue->count < queue->capacity : queue->count > 0;
    size_t at = (queue->head + (from ? queue->count : 0)) % queue->capacity;
    char *element = (char *)(queue + 1) + at * queue->element_bytes;
    if (done && from)
        memcpy(element, from, queue->element_bytes), queue->count++;
    else if (done)
        memcpy(into, element, queue->element_bytes), queue->count--, queue->head = (at + 1) % queue->capacity;
    __atomic_clear(&queue->locked, __ATOMIC_RELEASE);
    return done ? DSM_OK : from ? DSM_FULL : DSM_EMPTY;
}

static inline int dsm_fifo_push(dsm_fifo *queue, const void *element) { return __dsm_fifo_move(queue, element, NULL); }
static inline int dsm_fifo_pop(dsm_fifo *queue, void *element) { return __dsm_fifo_move(queue, NULL, element); }

#endif

#ifdef __cplusplus
}
#else

/* The operations, on `*place` of any integer type; dsm_add also float and double, dsm_swap and dsm_cas any type of 1, 2, 4 or 8 bytes. Posted: executed in this order of the thread
 * on each place, at the latest when the thread calls dsm_flush or an operation with a result, or its process releases: at a barrier, an unlock, the
 * beginning and end of a parallel region, a flush. */
#define dsm_add(place, value) DSM_POST_(place, value, DSM_NUMBER_(place, DSM_OPERATION_ADD, DSM_OPERATION_ADD, DSM_OPERATION_FADD))
#define dsm_and(place, value) DSM_POST_(place, value, DSM_INTEGER_(place, DSM_OPERATION_AND, DSM_OPERATION_AND))
#define dsm_or(place, value) DSM_POST_(place, value, DSM_INTEGER_(place, DSM_OPERATION_OR, DSM_OPERATION_OR))
#define dsm_xor(place, value) DSM_POST_(place, value, DSM_INTEGER_(place, DSM_OPERATION_XOR, DSM_OPERATION_XOR))
#define dsm_min(place, value) DSM_POST_(place, value, DSM_INTEGER_(place, DSM_OPERATION_MIN, DSM_OPERATION_UMIN))
#define dsm_max(place, value) DSM_POST_(place, value, DSM_INTEGER_(place, DSM_OPERATION_MAX, DSM_OPERATION_UMAX))
#define dsm_swap(place, value) DSM_POST_(place, value, DSM_OPERATION_SWAP)
#define dsm_cas(place, expected, value) DSM_POST_EXPECTED_(place, expected, value)

/* The same at once, and what the value was before. */
#define dsm_fetch_add(place, value) DSM_FETCH_(place, value, DSM_NUMBER_(place, DSM_OPERATION_ADD, DSM_OPERATION_ADD, DSM_OPERATION_FADD))
#define dsm_fetch_and(place, value) DSM_FETCH_(place, value, DSM_INTEGER_(place, DSM_OPERATION_AND, DSM_OPERATION_AND))
#define dsm_fetch_or(place, value) DSM_FETCH_(place, value, DSM_INTEGER_(place, DSM_OPERATION_OR, DSM_OPERATION_OR))
#define dsm_fetch_xor(place, value) DSM_FETCH_(place, value, DSM_INTEGER_(place, DSM_OPERATION_XOR, DSM_OPERATION_XOR))
#define dsm_fetch_min(place, value) DSM_FETCH_(place, value, DSM_INTEGER_(place, DSM_OPERATION_MIN, DSM_OPERATION_UMIN))
#define dsm_fetch_max(place, value) DSM_FETCH_(place, value, DSM_INTEGER_(place, DSM_OPERATION_MAX, DSM_OPERATION_UMAX))
#define dsm_fetch_swap(place, value) DSM_FETCH_(place, value, DSM_OPERATION_SWAP)
#define dsm_fetch_cas(place, expected, value) DSM_FETCH_EXPECTED_(place, expected, value)

/* Posts a store of `bytes` bytes, and then one of `value` to `*flag`: who reads the flag by dsm_read, and then the bytes by dsm_read, finds them there. One request if both lie
 * in one chunk of memory whose homes are one process. */
#define dsm_write_flag(to, from, bytes, flag, value)                                                                    \
    __extension__({                                                                                                    \
        __typeof__(*(flag)) *dsm_flag_ = (flag);                                                                       \
        union { __typeof__(*(flag)) value_; uint64_t bits_; } dsm_value_ = {.bits_ = 0};                               \
        dsm_value_.value_ = (value);                                                                                   \
        __dsm_write_flag(to, from, bytes, (void *)dsm_flag_, dsm_value_.bits_, sizeof *dsm_flag_);                     \
    })

/* The code for signed and unsigned integers; other types are none of the operation's. */
#define DSM_INTEGER_(place, s, u)                                                                                       \
    _Generic(*(place), char: s, signed char: s, short: s, int: s, long: s, long long: s, unsigned char: u,              \
             unsigned short: u, unsigned: u, unsigned long: u, unsigned long long: u)
#define DSM_NUMBER_(place, s, u, f)                                                                                     \
    _Generic(*(place), char: s, signed char: s, short: s, int: s, long: s, long long: s, unsigned char: u,              \
             unsigned short: u, unsigned: u, unsigned long: u, unsigned long long: u, float: f, double: f)

#define DSM_OPERANDS_(place, value)                                                                                     \
    __typeof__(*(place)) *dsm_place_ = (place);                                                                        \
    _Static_assert(sizeof *dsm_place_ <= 8 && (sizeof *dsm_place_ & (sizeof *dsm_place_ - 1)) == 0,                     \
                   "memory-based operations have operands of 1, 2, 4 or 8 bytes");                                      \
    union { __typeof__(*(place)) value_; uint64_t bits_; } dsm_operand_ = {.bits_ = 0};                                 \
    dsm_operand_.value_ = (value);
#define DSM_POST_(place, value, code)                                                                                   \
    __extension__({                                                                                                    \
        DSM_OPERANDS_(place, value)                                                                                    \
        __dsm_post((void *)dsm_place_, dsm_operand_.bits_, 0, sizeof *dsm_place_, code);                               \
    })
#define DSM_FETCH_(place, value, code)                                                                                  \
    __extension__({                                                                                                    \
        DSM_OPERANDS_(place, value)                                                                                    \
        dsm_operand_.bits_ = __dsm_fetch((void *)dsm_place_, dsm_operand_.bits_, 0, sizeof *dsm_place_, code);         \
        dsm_operand_.value_;                                                                                           \
    })
#define DSM_POST_EXPECTED_(place, expected, value)                                                                      \
    __extension__({                                                                                                    \
        DSM_OPERANDS_(place, value)                                                                                    \
        union { __typeof__(*(place)) value_; uint64_t bits_; } dsm_expected_ = {.bits_ = 0};                           \
        dsm_expected_.value_ = (expected);                                                                             \
        __dsm_post((void *)dsm_place_, dsm_operand_.bits_, dsm_expected_.bits_, sizeof *dsm_place_, DSM_OPERATION_CAS); \
    })
#define DSM_FETCH_EXPECTED_(place, expected, value)                                                                     \
    __extension__({                                                                                                    \
        DSM_OPERANDS_(place, value)                                                                                    \
        union { __typeof__(*(place)) value_; uint64_t bits_; } dsm_expected_ = {.bits_ = 0};                           \
        dsm_expected_.value_ = (expected);                                                                             \
        dsm_operand_.bits_ = __dsm_fetch((void *)dsm_place_, dsm_operand_.bits_, dsm_expected_.bits_,                  \
                                         sizeof *dsm_place_, DSM_OPERATION_CAS);                                       \
        dsm_operand_.value_;                                                                                           \
    })

#endif

#endif
