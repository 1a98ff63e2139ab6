/* Exceptions of C++ whose objects other processes may reach, through a `std::exception_ptr`.
 *
 * In a job of several processes an exception's object lies in shared memory, behind libstdc++'s header of it and a count of references. What the
 * unwinder and libstdc++ change while an exception is under way lies in a dependent exception, as after `std::rethrow_exception`: also the
 * first time that an object is thrown. So nobody but this file writes to header and count, and does so through checks. The functions stand in
 * front of libstdc++'s, also for libraries; objects that are not in shared memory go to libstdc++'s own. A program that is linked
 * with -static-libstdc++ has the originals; there, exceptions stay in their process. They are weak for programs that name the static library otherwise.
 *
 * Layouts: the Itanium C++ ABI with libstdc++'s extensions (unwind-cxx.h), which are frozen. */
#include "internal.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#define PUBLIC __attribute__((weak, visibility("default")))
#define ABSENT __attribute__((weak)) extern

typedef void destructor(void *);

/* What `__cxa_get_globals` gives. */
struct globals {
    struct header *caught;
    unsigned int uncaught;
};

struct header {
    void *type;
    destructor *destroy;
    void (*unexpected)(void), (*terminate)(void);
    struct header *next;
    int handlers, switch_value;
    const unsigned char *action, *language_data;
    uintptr_t catch_temp;
    void *adjusted;
    struct _Unwind_Exception unwind;
};

struct refcounted {
    int unused;
    struct header header;
};

struct dependent {
    void *primary;
    destructor *padding;
    void (*unexpected)(void), (*terminate)(void);
    struct header *next;
    int handlers, switch_value;
    const unsigned char *action, *language_data;
    uintptr_t catch_temp;
    void *adjusted;
    struct _Unwind_Exception unwind;
};

_Static_assert(offsetof(struct header, unwind) == offsetof(struct dependent, unwind), "one header for both");

/* In front of libstdc++'s header. */
struct object {
    uint64_t references;
    uint64_t bytes;
    struct refcounted exception;
};

/* "GNUCC++\0", and 1 for a dependent one. */
#define CLASS 0x474e5543432b2b00
#define DEPENDENT (CLASS + 1)

ABSENT struct globals *__cxa_get_globals(void);
ABSENT struct dependent *__cxa_allocate_dependent_exception(void);
ABSENT void __cxa_free_dependent_exception(struct dependent *);
ABSENT void *__cxa_begin_catch(void *);
ABSENT void (*_ZSt14get_unexpectedv(void))(void);
ABSENT void (*_ZSt13get_terminatev(void))(void);
ABSENT __attribute__((noreturn)) void _ZSt9terminatev(void);

/* Of the atomic entries: operations and order. */
enum { ADD = 1, SUB = 2, ACQ_REL = 4 };

static struct object *of(void *thrown) { return (struct object *)thrown - 1; }

static uint64_t change_references(void *thrown, uint32_t operation) {
    uint64_t one = 1, old;
    __dsm_atomic_rmw(&of(thrown)->references, &one, &old, sizeof old, operation, ACQ_REL);
    return old;
}

/* libstdc++'s function of a name. */
static void *next(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

/* ---- the texts of std::logic_error and std::runtime_error ---- */

/* A string with counted references, in front of its characters. */
struct text {
    uint64_t length, capacity;
    int references;
};

#define TEXT_HEADER 24

/* The exception's text if it is derived from a class that has one: where the object keeps its address. */
static char **text_of(void *thrown, void *type) {
    static const char *const bases[] = {"_ZTISt13runtime_error", "_ZTISt11logic_error"};
    for (int i = 0; i < 2; i++) {
        /* type_info::__do_catch, as the handler of a catch clause asks. */
        typedef _Bool do_catch(const void *base, const void *type, void **object, unsigned outer);
        do_catch ***base = dlsym(RTLD_DEFAULT, bases[i]);
        void *object = thrown;
        if (base && (*base)[4](base, type, &object, 1)) return (char **)object + 1;
    }
    return NULL;
}

/* Moves a text to shared memory. Its count is that of a string that must not be shared between objects: copies of the exception get a
 * text of their own, and nobody counts without checks. */
static void share_text(char **place) {
    __dsm_load_range(place, sizeof *place);
    struct text *old = (struct text *)(*place - TEXT_HEADER);
    if (dsm_rt_is_shared(old)) {
        /* The library has allocated it for a function of std::filesystem. */
        __dsm_load_range(old, TEXT_HEADER);
        if (old->references != 0) return;
        __dsm_store_range(old, TEXT_HEADER);
        old->references = -1;
        return;
    }
    if (old->length == 0) return;
    uint64_t bytes = TEXT_HEADER + old->length + 1;
    char *copy = __dsm_new_nothrow(bytes);
    if (!copy) return;
    __dsm_overwrite_range(copy, bytes);
    memcpy(copy, old, bytes);
    *(struct text *)copy = (struct text){old->length, old->length, -1};
    __dsm_store_range(place, sizeof *place);
    *place = copy + TEXT_HEADER;
    if (__atomic_fetch_sub(&old->references, 1, __ATOMIC_ACQ_REL) <= 0) __dsm_free(old);
}

static void share_text_of(void *thrown, void *type) {
    char **place = text_of(thrown, type);
    if (place) share_text(place);
}

/* Makes all valid that a library's destructor touches. */
static void make_valid(void *thrown, struct object *object) {
    __dsm_store_range(thrown, object->bytes);
    char **place = text_of(thrown, object->exception.header.type);
    if (!place || !dsm_rt_is_shared(*place)) return;
    struct text *text = (struct text *)(*place - TEXT_HEADER);
    __dsm_load_range(text, TEXT_HEADER);
    __dsm_store_range(text, TEXT_HEADER + text->length + 1);
}

/* ---- objects ---- */

static void release(void *thrown) {
    if (change_references(thrown, SUB) != 1) return;
    struct object *object = of(thrown);
    __dsm_load_range(object, sizeof *object);
    if (object->exception.header.destroy) {
        make_valid(thrown, object);
        object->exception.header.destroy(thrown);
    }
    dsm_rt_free(object);
}

PUBLIC void *__cxa_allocate_exception(size_t bytes) {
    struct object *object = dsm_rt_exception(sizeof(struct object) + bytes);
    if (!object) return ((void *(*)(size_t))next("__cxa_allocate_exception"))(bytes);
    memset(object, 0, sizeof *object + bytes);
    object->bytes = bytes;
    return object + 1;
}

PUBLIC void __cxa_free_exception(void *thrown) {
    if (dsm_rt_is_shared(thrown))
        dsm_rt_free(of(thrown));
    else
        ((void (*)(void *))next("__cxa_free_exception"))(thrown);
}

PUBLIC struct refcounted *__cxa_init_primary_exception(void *thrown, void *type, destructor *destroy) {
    typedef struct refcounted *init(void *, void *, destructor *);
    if (!dsm_rt_is_shared(thrown)) return ((init *)next("__cxa_init_primary_exception"))(thrown, type, destroy);
    struct refcounted *exception = &of(thrown)->exception;
    __dsm_store_range(of(thrown), sizeof(struct object));
    exception->header.type = type;
    exception->header.destroy = destroy;
    exception->header.unexpected = _ZSt14get_unexpectedv();
    exception->header.terminate = _ZSt13get_terminatev();
    exception->header.unwind.exception_class = CLASS;
    return exception;
}

/* ---- std::runtime_error and std::logic_error, whose texts libstdc++ makes, copies and gives up without checks ----
 *
 * Those of objects in shared memory lie there, too. The functions stand in front of libstdc++'s for derived classes of the library as well,
 * whose members call those of the two classes. */

/* A function of libstdc++ by name. */
#define LIBRARY(name) ({ static void *found; if (!found) found = next(name); found; })

typedef void construct(char **error, void *from);

static void make_text_valid(char **error, void (*make_valid)(void *, uint64_t)) {
    __dsm_load_range(error, 2 * sizeof *error);
    struct text *text = (struct text *)(error[1] - TEXT_HEADER);
    if (!dsm_rt_is_shared(text)) return;
    __dsm_load_range(text, TEXT_HEADER);
    make_valid(text, TEXT_HEADER + text->length + 1);
}

/* The object has got a text. One in shared memory may be that of an object outside, of which copies are inside. */
static void keep_text(char **error) {
    if (dsm_rt_is_shared(error) || dsm_rt_is_shared(error[1])) share_text(error + 1);
}

static void make_text(char **error, void *from, construct *library) {
    int several = dsm_rt_several_processes();
    if (several) __dsm_store_range(error, 2 * sizeof *error);
    library(error, from);
    if (several) keep_text(error);
}

static void copy_text(char **to, char **from, construct *library) {
    make_text_valid(from, __dsm_load_range);
    make_text(to, from, library);
}

/* The text goes from one object to the other. */
static void move_text(char **to, char **from, construct *library) {
    __dsm_store_range(from, 2 * sizeof *from);
    make_text(to, from, library);
}

static char **assign_text(char **to, char **from, construct *library) {
    make_text_valid(from, __dsm_load_range);
    make_text_valid(to, __dsm_store_range);
    make_text(to, from, library);
    return to;
}

/* libstdc++ swaps the texts, too, but then takes them for such as may be shared between objects. */
static char **swap_texts(char **to, char **from) {
    __dsm_store_range(from, 2 * sizeof *from);
    __dsm_store_range(to, 2 * sizeof *to);
    char *text = to[1];
    to[1] = from[1];
    from[1] = text;
    if (dsm_rt_several_processes()) {
        keep_text(to);
        keep_text(from);
    }
    return to;
}

/* Makes a std::string readable. */
static void *read_string(char **string) {
    enum { STRING = 32 };
    __dsm_load_range(string, STRING);
    __dsm_load_range(string[0], (uint64_t)string[1] + 1);
    return string;
}

static void destroy(char **error, void (*library)(char **)) {
    make_text_valid(error, __dsm_store_range);
    __dsm_store_range(error, 2 * sizeof *error);
    library(error);
}

static char *read_text(char **error) {
    make_text_valid(error, __dsm_load_range);
    return error[1];
}

#define STRING "ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
#define CONSTRUCTORS(CLASS, C)                                                                                                            \
    PUBLIC void CLASS##C##EPKc(char **error, char *text) { make_text(error, text, LIBRARY(#CLASS #C "EPKc")); }                             \
    PUBLIC void CLASS##C##_string(char **error, char **string) __asm__(#CLASS #C STRING);                                                  \
    void CLASS##C##_string(char **error, char **string) { make_text(error, read_string(string), LIBRARY(#CLASS #C STRING)); }               \
    PUBLIC void CLASS##C##ERKS_(char **to, char **from) { copy_text(to, from, LIBRARY(#CLASS #C "ERKS_")); }                                \
    PUBLIC void CLASS##C##EOS_(char **to, char **from) { move_text(to, from, LIBRARY(#CLASS #C "EOS_")); }
#define DESTRUCTOR(CLASS, D) \
    PUBLIC void CLASS##D##Ev(char **error) { destroy(error, LIBRARY(#CLASS #D "Ev")); }
#define DESTRUCTORS(CLASS) \
    DESTRUCTOR(CLASS, D0)  \
    DESTRUCTOR(CLASS, D1)  \
    DESTRUCTOR(CLASS, D2)
#define TEXTS(NAME)                                                                                                                       \
    CONSTRUCTORS(_ZNSt##NAME, C1)                                                                                                          \
    CONSTRUCTORS(_ZNSt##NAME, C2)                                                                                                          \
    PUBLIC char **_ZNSt##NAME##aSERKS_(char **to, char **from) { return assign_text(to, from, LIBRARY("_ZNSt" #NAME "aSERKS_")); }           \
    PUBLIC char **_ZNSt##NAME##aSEOS_(char **to, char **from) { return swap_texts(to, from); }                                             \
    DESTRUCTORS(_ZNSt##NAME)                                                                                                              \
    PUBLIC char *_ZNKSt##NAME##4whatEv(char **error) { return read_text(error); }
TEXTS(13runtime_error)
TEXTS(11logic_error)
/* Those of derived classes are called through tables of virtual functions, and write to the object. */
DESTRUCTORS(_ZNSt12domain_error)
DESTRUCTORS(_ZNSt12future_error)
DESTRUCTORS(_ZNSt12length_error)
DESTRUCTORS(_ZNSt12out_of_range)
DESTRUCTORS(_ZNSt16invalid_argument)
DESTRUCTORS(_ZNSt11range_error)
DESTRUCTORS(_ZNSt11regex_error)
DESTRUCTORS(_ZNSt12system_error)
DESTRUCTORS(_ZNSt14overflow_error)
DESTRUCTORS(_ZNSt15underflow_error)
DESTRUCTORS(_ZNSt8ios_base7failureB5cxx11)

/* std::ios_base::failure, whose constructors put a text together. */
#define FAILURE "_ZNSt8ios_base7failureB5cxx11"
#define ERROR_CODE "RKSt10error_code"
#define FAILURES(C)                                                                                                                       \
    PUBLIC void failure_##C(char **error, char **string) __asm__(FAILURE #C STRING);                                                       \
    void failure_##C(char **error, char **string) {                                                                                        \
        ((construct *)LIBRARY(FAILURE #C STRING))(error, read_string(string));                                                             \
    }                                                                                                                                      \
    PUBLIC void failure_##C##_code(char **error, char **string, void *code) __asm__(FAILURE #C STRING ERROR_CODE);                         \
    void failure_##C##_code(char **error, char **string, void *code) {                                                                     \
        ((void (*)(char **, void *, void *))LIBRARY(FAILURE #C STRING ERROR_CODE))(error, read_string(string), code);                      \
    }
FAILURES(C1)
FAILURES(C2)

/* ---- throwing and catching ---- */

static void end_of_flight(_Unwind_Reason_Code code, struct _Unwind_Exception *unwind) {
    struct dependent *flight = (struct dependent *)((char *)unwind - offsetof(struct dependent, unwind));
    if (code != _URC_FOREIGN_EXCEPTION_CAUGHT && code != _URC_NO_REASON) {
        flight->terminate();
        abort();
    }
    void *thrown = flight->primary;
    __cxa_free_dependent_exception(flight);
    release(thrown);
}

/* Takes over a reference. */
static _Noreturn void raise_exception(void *thrown) {
    struct dependent *flight = __cxa_allocate_dependent_exception();
    flight->primary = thrown;
    flight->unexpected = _ZSt14get_unexpectedv();
    flight->terminate = _ZSt13get_terminatev();
    flight->unwind.exception_class = DEPENDENT;
    flight->unwind.exception_cleanup = end_of_flight;
    /* libstdc++ reads the type behind the reference's back; it never changes. So it does the object where handlers are for a base class. */
    __dsm_load_range(of(thrown), sizeof(struct object));
    __dsm_load_range(thrown, of(thrown)->bytes);
    dsm_load_thrown(of(thrown)->exception.header.type, thrown);
    __cxa_get_globals()->uncaught++;
    _Unwind_RaiseException(&flight->unwind);
    /* Nobody catches it. */
    __cxa_begin_catch(&flight->unwind);
    _ZSt9terminatev();
}

PUBLIC __attribute__((noreturn)) void __cxa_throw(void *thrown, void *type, destructor *destroy) {
    typedef void throw(void *, void *, destructor *);
    if (!dsm_rt_is_shared(thrown)) {
        ((throw *)next("__cxa_throw"))(thrown, type, destroy);
        __builtin_unreachable();
    }
    __cxa_init_primary_exception(thrown, type, destroy);
    share_text_of(thrown, type);
    of(thrown)->references = 1;
    raise_exception(thrown);
}

/* ---- std::exception_ptr, which is the object's address; `pointer` may be in shared memory ---- */

static void *get(void **pointer) {
    __dsm_load_range(pointer, sizeof *pointer);
    return *pointer;
}

/* std::rethrow_exception(exception_ptr) */
PUBLIC __attribute__((noreturn)) void _ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE(void **pointer) {
    typedef void rethrow(void **);
    void *thrown = get(pointer);
    if (!dsm_rt_is_shared(thrown)) {
        ((rethrow *)next("_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE"))(pointer);
        __builtin_unreachable();
    }
    change_references(thrown, ADD);
    raise_exception(thrown);
}

/* std::current_exception(); the result is returned in memory. */
PUBLIC void **_ZSt17current_exceptionv(void **result) {
    struct header *caught = __cxa_get_globals()->caught;
    void *thrown = NULL;
    if (caught && caught->unwind.exception_class == DEPENDENT)
        thrown = ((struct dependent *)((char *)&caught->unwind - offsetof(struct dependent, unwind)))->primary;
    if (!dsm_rt_is_shared(thrown)) return ((void **(*)(void **))next("_ZSt17current_exceptionv"))(result);
    change_references(thrown, ADD);
    __dsm_store_range(result, sizeof *result);
    *result = thrown;
    return result;
}

/* exception_ptr::_M_addref() */
PUBLIC void _ZNSt15__exception_ptr13exception_ptr9_M_addrefEv(void **pointer) {
    void *thrown = get(pointer);
    if (dsm_rt_is_shared(thrown))
        change_references(thrown, ADD);
    else
        ((void (*)(void **))next("_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv"))(pointer);
}

/* exception_ptr::_M_release() */
PUBLIC void _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(void **pointer) {
    void *thrown = get(pointer);
    if (dsm_rt_is_shared(thrown))
        release(thrown);
    else
        ((void (*)(void **))next("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv"))(pointer);
}

/* exception_ptr::exception_ptr(void *), of an object that std::make_exception_ptr has made. */
static void adopt(void **pointer, void *thrown, const char *name) {
    if (!dsm_rt_is_shared(thrown)) {
        ((void (*)(void **, void *))next(name))(pointer, thrown);
        return;
    }
    __dsm_load_range(of(thrown), sizeof(struct object));
    if (change_references(thrown, ADD) == 0) share_text_of(thrown, of(thrown)->exception.header.type);
    __dsm_store_range(pointer, sizeof *pointer);
    *pointer = thrown;
}

PUBLIC void _ZNSt15__exception_ptr13exception_ptrC1EPv(void **pointer, void *thrown) {
    adopt(pointer, thrown, "_ZNSt15__exception_ptr13exception_ptrC1EPv");
}

PUBLIC void _ZNSt15__exception_ptr13exception_ptrC2EPv(void **pointer, void *thrown) {
    adopt(pointer, thrown, "_ZNSt15__exception_ptr13exception_ptrC2EPv");
}

/* exception_ptr::__cxa_exception_type() */
PUBLIC void *_ZNKSt15__exception_ptr13exception_ptr20__cxa_exception_typeEv(void **pointer) {
    void *thrown = get(pointer);
    if (!dsm_rt_is_shared(thrown))
        return ((void *(*)(void **))next("_ZNKSt15__exception_ptr13exception_ptr20__cxa_exception_typeEv"))(pointer);
    __dsm_load_range(of(thrown), sizeof(struct object));
    return of(thrown)->exception.header.type;
}
