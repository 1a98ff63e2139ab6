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

/* Format flags, precision, width and fill character of std::cout, cerr, clog, wcout and wcerr: a program sets them once for all of its threads. The
 * places are those of libstdc++'s ABI: std::ios_base begins with a table of functions, then precision, width and flags; std::basic_ios has the fill
 * character behind a pointer, and behind it whether it was set. The C++ ABI gives the offset of the virtual base in front of the table of functions. */
__attribute__((weak)) extern char _ZSt4cout, _ZSt4cerr, _ZSt4clog, _ZSt5wcout, _ZSt5wcerr;

#define FORMAT_WORDS 4
enum { PRECISION = 8, WIDTH = 16, FLAGS = 24, FILL = 224 };

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
    }
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
    }
}

/* std::get_terminate, std::set_new_handler, std::set_terminate; std::locale's global, constructor by name and destructor. */
__attribute__((weak)) extern void (*_ZSt13get_terminatev(void))(void);
__attribute__((weak)) extern void (*_ZSt15get_new_handlerv(void))(void);
__attribute__((weak)) extern void (*_ZSt15set_new_handlerPFvvE(void (*)(void)))(void);
__attribute__((weak)) extern void (*_ZSt13set_terminatePFvvE(void (*)(void)))(void);
__attribute__((weak)) extern void *_ZNSt6locale6globalERKS_(void *, void *);
__attribute__((weak)) extern void _ZNSt6localeC1EPKc(void *, const char *);
__attribute__((weak)) extern void _ZNSt6localeD1Ev(void *);

void *dsm_rt_cxx_new_handler(void) { return _ZSt15get_new_handlerv ? (void *)_ZSt15get_new_handlerv() : NULL; }

void *dsm_rt_cxx_terminate(void) { return _ZSt13get_terminatev ? (void *)_ZSt13get_terminatev() : NULL; }

void *dsm_rt_cxx_set_new_handler(void *handler) {
    return _ZSt15set_new_handlerPFvvE ? (void *)_ZSt15set_new_handlerPFvvE((void (*)(void))handler) : NULL;
}

void *dsm_rt_cxx_set_terminate(void *handler) {
    return _ZSt13set_terminatePFvvE ? (void *)_ZSt13set_terminatePFvvE((void (*)(void))handler) : NULL;
}

void dsm_rt_cxx_global_locale(void *result, void *locale) { _ZNSt6locale6globalERKS_(result, locale); }

void dsm_rt_cxx_follow_locale(const char *name) {
    if (!_ZNSt6locale6globalERKS_ || !_ZNSt6localeC1EPKc || !_ZNSt6localeD1Ev) return;
    void *named, *before;
    _ZNSt6localeC1EPKc(&named, name);
    _ZNSt6locale6globalERKS_(&before, &named);
    _ZNSt6localeD1Ev(&before);
    _ZNSt6localeD1Ev(&named);
}
