/* printf and scanf formats that only the call knows: makes the memory behind the arguments valid.
 *
 * The pass reads constant formats itself. For the others, and for arguments behind a va_list, it puts one of the
 * functions below in front of the call. Two steps: the format gives the types of the arguments in order (numbered
 * ones, `%2$s`, too), then the arguments are taken from the list and those that are memory are looked at. The C
 * library reads the same format again; what it would reject is not looked at here. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { MAX_SLOTS = 128 };

/* What an argument is and what happens to the memory behind it. */
typedef enum { ABSENT, INT, LONG, WINT, DOUBLE, LONG_DOUBLE, POINTER, STRING, WIDE_STRING, STORE } Kind;

/* No bound, or none known. */
enum { OPEN = -1 };

typedef struct {
    Kind kind;
    /* STRING, WIDE_STRING: precision; STORE: bytes. */
    long bound;
    /* Argument with the precision, or -1. */
    int bound_slot;
} Slot;

typedef struct {
    Slot slots[MAX_SLOTS];
    int count;
} Slots;

static int put(Slots *s, int number, Kind kind, long bound, int bound_slot) {
    int at = number > 0 ? number - 1 : s->count;
    if (at >= MAX_SLOTS) return -1;
    while (s->count <= at) s->slots[s->count++] = (Slot){ABSENT, OPEN, -1};
    s->slots[at] = (Slot){kind, bound, bound_slot};
    return at;
}

/* Digits at *f; 0 if there are none. */
static long digits(const char **f) {
    long value = 0;
    while (**f >= '0' && **f <= '9' && value < (1L << 40)) value = value * 10 + *(*f)++ - '0';
    return value;
}

/* The n of `n$` at *f; 0 if there is none. */
static int numbered(const char **f) {
    const char *at = *f;
    long value = digits(&at);
    if (value == 0 || value > MAX_SLOTS || *at != '$') return 0;
    *f = at + 1;
    return (int)value;
}

/* A length modifier at *f, as the number of bytes of an integer; *wide: `l`; *longest: `L`. */
static long modifier(const char **f, int *wide, int *longest) {
    long bytes = sizeof(int);
    for (;; (*f)++) switch (**f) {
        case 'h': bytes = bytes == sizeof(short) ? 1 : sizeof(short); break;
        case 'l': *wide = 1; bytes = sizeof(long); break;
        case 'L': *longest = 1; bytes = sizeof(long long); break;
        case 'j': case 'z': case 't': case 'q': bytes = sizeof(long long); break;
        default: return bytes;
        }
}

static void print_conversion(Slots *s, const char **f) {
    int number = numbered(f), wide = 0, longest = 0, bound_slot = -1;
    long precision = OPEN;
    while (**f && strchr("-+ #0'I", **f)) (*f)++;
    if (**f == '*') {
        (*f)++;
        put(s, numbered(f), INT, OPEN, -1);
    } else {
        digits(f);
    }
    if (**f == '.') {
        (*f)++;
        if (**f == '*') {
            (*f)++;
            bound_slot = put(s, numbered(f), INT, OPEN, -1);
        } else {
            precision = digits(f);
        }
    }
    long bytes = modifier(f, &wide, &longest);
    char conversion = **f;
    if (conversion == 0) return;
    (*f)++;
    switch (conversion) {
    case '%': case 'm': break;
    case 'd': case 'i': case 'o': case 'u': case 'x': case 'X': case 'b': case 'B':
        put(s, number, bytes == sizeof(long) ? LONG : INT, OPEN, -1);
        break;
    case 'c': put(s, number, wide ? WINT : INT, OPEN, -1); break;
    case 'C': put(s, number, WINT, OPEN, -1); break;
    case 'a': case 'A': case 'e': case 'E': case 'f': case 'F': case 'g': case 'G':
        put(s, number, longest ? LONG_DOUBLE : DOUBLE, OPEN, -1);
        break;
    case 's': put(s, number, wide ? WIDE_STRING : STRING, precision, bound_slot); break;
    case 'S': put(s, number, WIDE_STRING, precision, bound_slot); break;
    case 'n': put(s, number, STORE, bytes, -1); break;
    default: put(s, number, POINTER, OPEN, -1); break;
    }
}

static void scan_conversion(Slots *s, const char **f) {
    int number = numbered(f), wide = 0, longest = 0, suppressed = 0, allocates = 0;
    for (; **f && strchr("*'Im", **f); (*f)++) {
        suppressed |= **f == '*';
        allocates |= **f == 'm';
    }
    long width = digits(f);
    if (**f == 'm') {
        allocates = 1;
        (*f)++;
    }
    long bytes = modifier(f, &wide, &longest);
    char conversion = **f;
    if (conversion == 0) return;
    (*f)++;
    long unit = wide ? sizeof(wchar_t) : 1;
    switch (conversion) {
    case '%': return;
    case 'a': case 'A': case 'e': case 'E': case 'f': case 'F': case 'g': case 'G':
        bytes = longest ? sizeof(long double) : wide ? sizeof(double) : sizeof(float);
        break;
    case '[':
        /* A `]` directly behind `[` or `[^` is a member of the set. */
        if (**f == '^') (*f)++;
        if (**f == ']') (*f)++;
        while (**f && **f != ']') (*f)++;
        if (**f) (*f)++;
        bytes = width ? (width + 1) * unit : OPEN;
        break;
    case 'S': unit = sizeof(wchar_t); /* fall through */
    case 's': bytes = width ? (width + 1) * unit : OPEN; break;
    case 'C': unit = sizeof(wchar_t); /* fall through */
    case 'c': bytes = (width ? width : 1) * unit; break;
    case 'p': bytes = sizeof(void *); break;
    default: break;
    }
    if (suppressed) return;
    put(s, number, STORE, allocates ? (long)sizeof(void *) : bytes, -1);
}

static void read_format(Slots *s, const char *format, void (*conversion)(Slots *, const char **)) {
    s->count = 0;
    dsm_rt_load_string(format, OPEN);
    while ((format = strchr(format, '%'))) {
        format++;
        conversion(s, &format);
    }
}

/* Takes the arguments from the list and makes what is behind them valid; `open_bytes`: bytes of a store without bound. */
static void visit(const Slots *s, va_list list, long open_bytes) {
    long values[MAX_SLOTS];
    for (int i = 0; i < s->count; i++) {
        const Slot *slot = &s->slots[i];
        void *pointer = NULL;
        switch (slot->kind) {
        case ABSENT: case INT: values[i] = va_arg(list, int); continue;
        case WINT: values[i] = (long)va_arg(list, wint_t); continue;
        case LONG: values[i] = va_arg(list, long); continue;
        case DOUBLE: (void)va_arg(list, double); continue;
        case LONG_DOUBLE: (void)va_arg(list, long double); continue;
        default: pointer = va_arg(list, void *); break;
        }
        values[i] = (long)pointer;
    }
    for (int i = 0; i < s->count; i++) {
        const Slot *slot = &s->slots[i];
        char *pointer = (char *)values[i];
        if (slot->kind < STRING || pointer == NULL) continue;
        long bound = slot->bound_slot >= 0 ? values[slot->bound_slot] : slot->bound;
        if (slot->kind == STRING)
            dsm_rt_load_string(pointer, bound < 0 ? OPEN : bound);
        else if (slot->kind == WIDE_STRING)
            dsm_rt_load_wide_string(pointer, bound < 0 ? OPEN : bound);
        else
            dsm_rt_store(pointer, bound < 0 ? open_bytes : bound);
    }
}

/* Bytes made writable for a string that `scanf` reads without a width from a stream. */
enum { UNKNOWN_BYTES = 4096 };

/* Most bytes of a character of any locale of the GNU C library, and of a wide one. */
enum { MULTIBYTE_BYTES = 6 };

void __dsm_print_list(const char *format, va_list list) {
    Slots slots;
    va_list copy;
    read_format(&slots, format, print_conversion);
    va_copy(copy, list);
    visit(&slots, copy, 0);
    va_end(copy);
}

void __dsm_print_arguments(const char *format, ...) {
    va_list list;
    va_start(list, format);
    __dsm_print_list(format, list);
    va_end(list);
}

/* `source`: the string that is read, or null. */
void __dsm_scan_list(const char *source, const char *format, va_list list) {
    Slots slots;
    va_list copy;
    read_format(&slots, format, scan_conversion);
    long open_bytes = UNKNOWN_BYTES;
    if (source) {
        dsm_rt_load_string(source, OPEN);
        open_bytes = (long)((strlen(source) + 1) * sizeof(wchar_t));
    }
    va_copy(copy, list);
    visit(&slots, copy, open_bytes);
    va_end(copy);
}

void __dsm_scan_arguments(const char *source, const char *format, ...) {
    va_list list;
    va_start(list, format);
    __dsm_scan_list(source, format, list);
    va_end(list);
}

/* Before `vsprintf`: the arguments, then the destination, whose length they decide. */
void __dsm_print_to_list(char *to, const char *format, va_list list) {
    va_list copy;
    __dsm_print_list(format, list);
    va_copy(copy, list);
    int length = vsnprintf(NULL, 0, format, copy);
    va_end(copy);
    if (length >= 0) dsm_rt_store(to, length + 1L);
}

void __dsm_print_to_arguments(char *to, const char *format, ...) {
    va_list list;
    va_start(list, format);
    __dsm_print_to_list(to, format, list);
    va_end(list);
}

/* Before `vsnprintf`: of much space, only what the text needs is made writable. */
enum { ROOM = 4096 };

void __dsm_print_within_list(char *to, uint64_t bytes, const char *format, va_list list) {
    __dsm_print_list(format, list);
    if (bytes > ROOM) {
        va_list copy;
        va_copy(copy, list);
        int length = vsnprintf(NULL, 0, format, copy);
        va_end(copy);
        uint64_t needed = length < 0 ? 0 : length + 1UL;
        if (needed < bytes) bytes = needed;
    }
    dsm_rt_store(to, (long)bytes);
}

void __dsm_print_within_arguments(char *to, uint64_t bytes, const char *format, ...) {
    va_list list;
    va_start(list, format);
    __dsm_print_within_list(to, bytes, format, list);
    va_end(list);
}

/* A format of wide characters as one of bytes, in memory that the caller frees: directives are of ASCII characters, others are of no interest. */
static char *narrowed(const wchar_t *format) {
    dsm_rt_load_wide_string((const char *)format, OPEN);
    size_t length = wcslen(format);
    char *out = malloc(length + 1);
    if (out == NULL) abort();
    for (size_t i = 0; i <= length; i++) out[i] = format[i] < 0 || format[i] > 127 ? '?' : (char)format[i];
    return out;
}

void __dsm_wprint_list(const wchar_t *format, va_list list) {
    char *bytes = narrowed(format);
    __dsm_print_list(bytes, list);
    free(bytes);
}

void __dsm_wprint_arguments(const wchar_t *format, ...) {
    va_list list;
    va_start(list, format);
    __dsm_wprint_list(format, list);
    va_end(list);
}

/* A string of multibyte characters needs no more bytes than the source has. */
void __dsm_wscan_list(const wchar_t *source, const wchar_t *format, va_list list) {
    Slots slots;
    va_list copy;
    char *bytes = narrowed(format);
    read_format(&slots, bytes, scan_conversion);
    long open_bytes = UNKNOWN_BYTES;
    if (source) {
        dsm_rt_load_wide_string((const char *)source, OPEN);
        open_bytes = (long)((wcslen(source) + 1) * MULTIBYTE_BYTES);
    }
    va_copy(copy, list);
    visit(&slots, copy, open_bytes);
    va_end(copy);
    free(bytes);
}

void __dsm_wscan_arguments(const wchar_t *source, const wchar_t *format, ...) {
    va_list list;
    va_start(list, format);
    __dsm_wscan_list(source, format, list);
    va_end(list);
}

/* The allocating ones give memory of the shared heap. */
int __dsm_vasprintf(char **out, const char *format, va_list list) {
    va_list copy;
    __dsm_print_list(format, list);
    va_copy(copy, list);
    int length = vsnprintf(NULL, 0, format, copy);
    va_end(copy);
    char *text = length < 0 ? NULL : __dsm_malloc(length + 1L);
    if (text == NULL) return -1;
    dsm_rt_store(text, length + 1L);
    dsm_rt_store((char *)out, sizeof *out);
    *out = text;
    return vsnprintf(text, length + 1L, format, list);
}

int __dsm_asprintf(char **out, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = __dsm_vasprintf(out, format, list);
    va_end(list);
    return length;
}

int __dsm_vasprintf_chk(char **out, int flag, const char *format, va_list list) {
    (void)flag;
    return __dsm_vasprintf(out, format, list);
}

int __dsm_asprintf_chk(char **out, int flag, const char *format, ...) {
    (void)flag;
    va_list list;
    va_start(list, format);
    int length = __dsm_vasprintf(out, format, list);
    va_end(list);
    return length;
}
