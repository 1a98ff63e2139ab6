/* What of the C++ library the runtime touches. All of it is weak: a C program has none. */
#include "internal.h"

__attribute__((weak)) extern char __libc_single_threaded;

/* std::ios_base::Init: the object whose constructor opens std::cout and its relatives, whose destructor flushes them. */
__attribute__((weak)) void _ZNSt8ios_base4InitC1Ev(void *);
__attribute__((weak)) void _ZNSt8ios_base4InitD1Ev(void *);

void dsm_rt_cxx_streams(int open) {
    static char init[8];
    if (open && _ZNSt8ios_base4InitC1Ev) _ZNSt8ios_base4InitC1Ev(init);
    if (!open && _ZNSt8ios_base4InitD1Ev) _ZNSt8ios_base4InitD1Ev(init);
}

/* libstdc++ takes the plain way of counting references if the process has one thread. */
void dsm_rt_cxx_threads(void) {
    if (&__libc_single_threaded) __libc_single_threaded = 0;
}

/* The compiler makes the stream valid before the call; the driver's headers say why. */
void __dsm_ios_base(void *stream) { (void)stream; }

_Thread_local unsigned dsm_filesystem_depth;

/* operator new in libraries: what libstdc++ asks for may be needed in all processes. */
#define NEW(name) \
    __attribute__((weak, visibility("default"))) void *name(size_t size) { \
        if (dsm_filesystem_depth > 0 && dsm_rt_several_processes()) return dsm_shared_new(size); \
        void *object = dsm_rt_library_new(size, (uintptr_t)__builtin_return_address(0)); \
        return object ? object : dsm_private_new(size); \
    }

NEW(_Znwm)
NEW(_Znam)

/* A std::locale::_Impl, which the library takes for private memory. */
void *__dsm_locale_new(size_t size) {
    void *object = dsm_rt_locale_new(size);
    return object ? object : dsm_private_new(size);
}

/* operator delete in libraries: objects of the program may be freed there. The further arguments are not used. */
#define DELETE(name) \
    __attribute__((weak, visibility("default"))) void name(void *object) { __dsm_delete(object); }

DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm)
DELETE(_ZdaPvm)
DELETE(_ZdlPvSt11align_val_t)
DELETE(_ZdaPvSt11align_val_t)
DELETE(_ZdlPvmSt11align_val_t)
DELETE(_ZdaPvmSt11align_val_t)
DELETE(_ZdlPvRKSt9nothrow_t)
DELETE(_ZdaPvRKSt9nothrow_t)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t)

/* Format flags, precision, width, fill character and locale of std::cout, cerr, clog, wcout and wcerr: a program sets them once for all of its threads. The
 * places are those of libstdc++'s ABI: std::ios_base begins with a table of functions, then precision, width and flags, and ends with the locale; std::basic_ios has the fill
 * character behind a pointer, and behind it whether it was set. The C++ ABI gives the offset of the virtual base in front of the table of functions. */
__attribute__((weak)) extern char _ZSt4cout, _ZSt4cerr, _ZSt4clog, _ZSt5wcout, _ZSt5wcerr;

#define FORMAT_WORDS 5
enum { PRECISION = 8, WIDTH = 16, FLAGS = 24, LOCALE = 208, FILL = 224 };

static char *ios(int i) {
    char *streams[] = {&_ZSt4cout, &_ZSt4cerr, &_ZSt4clog, &_ZSt5wcout, &_ZSt5wcerr};
    if (!streams[i]) return NULL;
    char *table = *(char **)streams[i];
    return table ? streams[i] + *(ptrdiff_t *)(table - 24) : NULL;
}

enum { STREAMS = 5, NARROW = 3 };
#define FILL_AND_FLAG 0xffffffffffull

void dsm_rt_cxx_formats(uint64_t *words) {
    for (int i = 0; i < STREAMS; i++, words += FORMAT_WORDS) {
        char *stream = ios(i);
        if (!stream) continue;
        words[0] = *(uint64_t *)(stream + PRECISION);
        words[1] = *(uint64_t *)(stream + WIDTH);
        words[2] = *(uint32_t *)(stream + FLAGS);
        words[3] = i < NARROW ? *(uint16_t *)(stream + FILL) : *(uint64_t *)(stream + FILL) & FILL_AND_FLAG;
        words[4] = *(uint64_t *)(stream + LOCALE);
    }
}

/* std::locale: classic, global, constructor, destructor; std::basic_ios::imbue. */
__attribute__((weak)) extern const uint64_t *_ZNSt6locale7classicEv(void);
__attribute__((weak)) extern void *_ZNSt6locale6globalERKS_(void *, void *);
__attribute__((weak)) extern void _ZNSt6localeC1Ev(void *);
__attribute__((weak)) extern void _ZNSt6localeD1Ev(void *);
__attribute__((weak)) extern void *_ZNSt9basic_iosIcSt11char_traitsIcEE5imbueERKSt6locale(void *, void *, const void *);
__attribute__((weak)) extern void *_ZNSt9basic_iosIwSt11char_traitsIwEE5imbueERKSt6locale(void *, void *, const void *);

/* Whether every process has the locale: it is one of process 0's, or the classic one. */
static int is_everywhere(uint64_t locale) { return dsm_rt_is_common(locale) || (locale && locale == *_ZNSt6locale7classicEv()); }

static void imbue(int i, uint64_t locale) {
    void *before;
    if (*(uint64_t *)(ios(i) + LOCALE) == locale) return;
    if (i < NARROW)
        _ZNSt9basic_iosIcSt11char_traitsIcEE5imbueERKSt6locale(&before, ios(i), &locale);
    else
        _ZNSt9basic_iosIwSt11char_traitsIwEE5imbueERKSt6locale(&before, ios(i), &locale);
    _ZNSt6localeD1Ev(&before);
}

/* The global locale: the address of its implementation. */
uint64_t dsm_rt_cxx_locale(void) {
    uint64_t global;
    _ZNSt6localeC1Ev(&global);
    uint64_t implementation = global;
    _ZNSt6localeD1Ev(&global);
    return implementation;
}

void dsm_rt_cxx_follow_locale(uint64_t locale) {
    if (!_ZNSt6locale6globalERKS_ || !is_everywhere(locale)) return;
    void *before;
    _ZNSt6locale6globalERKS_(&before, &locale);
    _ZNSt6localeD1Ev(&before);
}

void dsm_rt_cxx_set_formats(const uint64_t *words) {
    for (int i = 0; i < STREAMS; i++, words += FORMAT_WORDS) {
        char *stream = ios(i);
        if (!stream) continue;
        *(uint64_t *)(stream + PRECISION) = words[0];
        *(uint64_t *)(stream + WIDTH) = words[1];
        *(uint32_t *)(stream + FLAGS) = (uint32_t)words[2];
        if (i < NARROW)
            *(uint16_t *)(stream + FILL) = (uint16_t)words[3];
        else {
            *(uint32_t *)(stream + FILL) = (uint32_t)words[3];
            stream[FILL + 4] = (char)(words[3] >> 32);
        }
        if (is_everywhere(words[4])) imbue(i, words[4]);
    }
}

/* No locale of process 0 is in use here. */
void dsm_rt_cxx_classic_locales(void) {
    if (!_ZNSt6locale7classicEv) return;
    uint64_t classic = *_ZNSt6locale7classicEv();
    dsm_rt_cxx_follow_locale(classic);
    for (int i = 0; i < STREAMS; i++)
        if (ios(i)) imbue(i, classic);
}

/* std::get_terminate, std::set_new_handler, std::set_terminate; std::locale's operator=, constructors from two, its implementation's copy
 * constructor and destructor; the destructor of std::ios_base. */
__attribute__((weak)) extern void (*_ZSt13get_terminatev(void))(void);
__attribute__((weak)) extern void (*_ZSt15get_new_handlerv(void))(void);
__attribute__((weak)) extern void (*_ZSt15set_new_handlerPFvvE(void (*)(void)))(void);
__attribute__((weak)) extern void (*_ZSt13set_terminatePFvvE(void (*)(void)))(void);
__attribute__((weak)) extern void *_ZNSt6localeaSERKS_(void *, const void *);
__attribute__((weak)) extern void _ZNSt6locale5_ImplC1ERKS0_m(void *, const void *, size_t);
__attribute__((weak)) extern void _ZNSt6localeC1ERKS_S1_i(void *, const void *, const void *, int);
__attribute__((weak)) extern void _ZNSt6localeC1ERKS_PKci(void *, const void *, const char *, int);
__attribute__((weak)) extern void _ZNSt6locale5_Impl16_M_replace_facetEPKS0_PKNS_2idE(void *, const void *, const void *);
__attribute__((weak)) extern void _ZNSt6locale5_ImplD1Ev(void *);
__attribute__((weak)) extern void _ZNSt8ios_baseD2Ev(void *);

void *dsm_rt_cxx_new_handler(void) { return _ZSt15get_new_handlerv ? (void *)_ZSt15get_new_handlerv() : NULL; }

void *dsm_rt_cxx_terminate(void) { return _ZSt13get_terminatev ? (void *)_ZSt13get_terminatev() : NULL; }

void *dsm_rt_cxx_set_new_handler(void *handler) {
    return _ZSt15set_new_handlerPFvvE ? (void *)_ZSt15set_new_handlerPFvvE((void (*)(void))handler) : NULL;
}

void *dsm_rt_cxx_set_terminate(void *handler) {
    return _ZSt13set_terminatePFvvE ? (void *)_ZSt13set_terminatePFvvE((void (*)(void))handler) : NULL;
}

void dsm_rt_cxx_global_locale(void *result, void *locale) { _ZNSt6locale6globalERKS_(result, locale); }

void dsm_rt_cxx_locale_copy(void *made, const void *from, size_t references) { _ZNSt6locale5_ImplC1ERKS0_m(made, from, references); }

void dsm_rt_cxx_locale_implementation_end(void *locale) { _ZNSt6locale5_ImplD1Ev(locale); }

void dsm_rt_cxx_locale_combine(void *made, const void *from, const void *other, int categories) {
    _ZNSt6localeC1ERKS_S1_i(made, from, other, categories);
}

void dsm_rt_cxx_locale_named(void *made, const void *from, const char *name, int categories) { _ZNSt6localeC1ERKS_PKci(made, from, name, categories); }

void dsm_rt_cxx_locale_replace(void *locale, const void *other, const void *id) {
    _ZNSt6locale5_Impl16_M_replace_facetEPKS0_PKNS_2idE(locale, other, id);
}

void dsm_rt_cxx_locale_end(void *locale) { _ZNSt6localeD1Ev(locale); }

void *dsm_rt_cxx_locale_assign(void *to, const void *from) { return _ZNSt6localeaSERKS_(to, from); }

void dsm_rt_cxx_stream_end(void *stream) { _ZNSt8ios_baseD2Ev(stream); }
