/* What the C++ library reads of objects whose dynamic type it works with: the pointers to virtual tables, of the object that is named, of the
 * complete object, and of every base that has a virtual base of its own (Itanium C++ ABI, sections 2.4 and 2.9.5). They are made valid before
 * the library sees the object. Virtual tables and type information are constants. */
#include "internal.h"

struct type_info {
    const void *kind;
    const char *name;
};

struct base {
    const struct type_info *type;
    /* Bit 0: virtual base, whose place stands in the virtual table at the distance that the upper bits say. Otherwise they are its place. */
    long flags;
};

struct single_base {
    struct type_info info;
    const struct type_info *base;
};

struct several_bases {
    struct type_info info;
    unsigned flags, count;
    struct base bases[];
};

struct pointer_type {
    struct type_info info;
    unsigned flags;
    const struct type_info *pointee;
};

enum { VIRTUAL = 1, PLACE_SHIFT = 8 };

/* The virtual tables of the three kinds of type information above; what points to one points behind its first two words. */
__attribute__((weak)) extern const void *_ZTVN10__cxxabiv120__si_class_type_infoE[];
__attribute__((weak)) extern const void *_ZTVN10__cxxabiv121__vmi_class_type_infoE[];
__attribute__((weak)) extern const void *_ZTVN10__cxxabiv119__pointer_type_infoE[];

static int is_kind(const struct type_info *type, const void *const *table) { return table && type->kind == table + 2; }

/* Makes the pointer to the virtual table at `object` readable and returns it. */
static const long *virtual_table(const char *object) {
    dsm_rt_load(object, sizeof(void *));
    return *(const long *const *)object;
}

/* Makes what the library reads of an object of the class readable. */
static void load_class(const struct type_info *type, const char *object) {
    if (is_kind(type, _ZTVN10__cxxabiv120__si_class_type_infoE)) {
        load_class(((const struct single_base *)type)->base, object);
    } else if (is_kind(type, _ZTVN10__cxxabiv121__vmi_class_type_infoE)) {
        const struct several_bases *class = (const struct several_bases *)type;
        for (unsigned i = 0; i < class->count; i++) {
            const struct base *base = &class->bases[i];
            long place = base->flags >> PLACE_SHIFT;
            if (base->flags & VIRTUAL) place = *(const long *)((const char *)virtual_table(object) + place);
            load_class(base->type, object + place);
        }
    }
}

__attribute__((weak)) void *__dynamic_cast(const void *object, const void *from, const void *to, long hint);

void *__dsm_dynamic_cast(const char *object, const void *from, const void *to, long hint) {
    if (dsm_rt_is_shared(object)) {
        const long *table = virtual_table(object);
        const char *whole = object + table[-2];
        virtual_table(whole);
        load_class((const struct type_info *)table[-1], whole);
    }
    return __dynamic_cast(object, from, to, hint);
}

/* A pointer that is thrown is converted to the types of handlers while these are looked for. */
void dsm_load_thrown(const void *type, void *thrown) {
    if (!is_kind(type, _ZTVN10__cxxabiv119__pointer_type_infoE)) return;
    const char *object = *(const char **)thrown;
    if (dsm_rt_is_shared(object)) load_class(((const struct pointer_type *)type)->pointee, object);
}

__attribute__((weak)) void __cxa_throw(void *thrown, void *type, void (*destroy)(void *));

void __dsm_cxa_throw(void *thrown, void *type, void (*destroy)(void *)) {
    dsm_load_thrown(type, thrown);
    __cxa_throw(thrown, type, destroy);
}

__attribute__((weak)) void __cxa_rethrow(void);
__attribute__((weak)) struct type_info *__cxa_current_exception_type(void);
/* std::current_exception, whose result is returned in memory, and the destructor's work on it. */
struct exception_pointer {
    void *thrown;
};
__attribute__((weak)) void _ZSt17current_exceptionv(struct exception_pointer *result);
__attribute__((weak)) void _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(struct exception_pointer *held);

void __dsm_cxa_rethrow(void) {
    struct type_info *type = __cxa_current_exception_type();
    /* Of exceptions of other languages there is no type. */
    if (type && is_kind(type, _ZTVN10__cxxabiv119__pointer_type_infoE)) {
        struct exception_pointer held;
        _ZSt17current_exceptionv(&held);
        void *thrown = held.thrown;
        /* Counting references synchronises, so what is made valid is so behind it; the handler keeps the object. */
        _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(&held);
        dsm_load_thrown(type, thrown);
    }
    __cxa_rethrow();
}
