/* Functions of wide characters and of encodings that reach memory through addresses in memory, or that allocate. */
#define _GNU_SOURCE
#include "internal.h"

#include <iconv.h>
#include <string.h>
#include <wchar.h>

#define OPEN (-1)

/* Most bytes of a character of any locale (MB_LEN_MAX). */
#define MB_BYTES 16

static void load_wide(const wchar_t *string, long most) { dsm_rt_load_wide_string((const char *)string, most); }

wchar_t *__dsm_wcsdup(const wchar_t *string) {
    load_wide(string, OPEN);
    size_t bytes = (wcslen(string) + 1) * sizeof(wchar_t);
    wchar_t *copy = __dsm_malloc(bytes);
    if (copy == NULL) return NULL;
    dsm_rt_store((char *)copy, (long)bytes);
    return wmemcpy(copy, string, bytes / sizeof(wchar_t));
}

wchar_t *__dsm_wcsncat(wchar_t *to, const wchar_t *from, size_t most) {
    load_wide(to, OPEN);
    load_wide(from, most > PTRDIFF_MAX ? OPEN : (long)most);
    wchar_t *end = to + wcslen(to);
    dsm_rt_store((char *)end, (long)((wcsnlen(from, most) + 1) * sizeof(wchar_t)));
    return wcsncat(to, from, most);
}

wchar_t *__dsm_wcstok(wchar_t *string, const wchar_t *separators, wchar_t **rest) {
    dsm_rt_store((char *)rest, sizeof *rest);
    load_wide(separators, OPEN);
    wchar_t *from = string ? string : *rest;
    if (from) {
        load_wide(from, OPEN);
        dsm_rt_store((char *)from, (long)((wcslen(from) + 1) * sizeof(wchar_t)));
    }
    return wcstok(string, separators, rest);
}

/* A conversion of at most `units` of the result's characters of `unit` bytes; the source's address lies in memory. */
static void convert(void *to, void *from, void *state, size_t unit, size_t units) {
    dsm_rt_store(from, sizeof(void *));
    if (state) dsm_rt_store(state, sizeof(mbstate_t));
    if (to) dsm_rt_store(to, (long)(unit * units));
}

size_t __dsm_mbsrtowcs(wchar_t *to, const char **from, size_t most, mbstate_t *state) {
    dsm_rt_load(from, sizeof *from);
    dsm_rt_load_string(*from, OPEN);
    size_t length = strlen(*from) + 1;
    convert(to, from, state, sizeof(wchar_t), most < length ? most : length);
    return mbsrtowcs(to, from, most, state);
}

size_t __dsm_wcsrtombs(char *to, const wchar_t **from, size_t most, mbstate_t *state) {
    dsm_rt_load(from, sizeof *from);
    load_wide(*from, OPEN);
    size_t length = (wcslen(*from) + 1) * MB_BYTES;
    convert(to, from, state, 1, most < length ? most : length);
    return wcsrtombs(to, from, most, state);
}

size_t __dsm_mbsnrtowcs(wchar_t *to, const char **from, size_t bytes, size_t most, mbstate_t *state) {
    dsm_rt_load(from, sizeof *from);
    dsm_rt_load_string(*from, bytes > PTRDIFF_MAX ? OPEN : (long)bytes);
    size_t length = strnlen(*from, bytes) + 1;
    convert(to, from, state, sizeof(wchar_t), most < length ? most : length);
    return mbsnrtowcs(to, from, bytes, most, state);
}

size_t __dsm_wcsnrtombs(char *to, const wchar_t **from, size_t characters, size_t most, mbstate_t *state) {
    dsm_rt_load(from, sizeof *from);
    load_wide(*from, characters > PTRDIFF_MAX ? OPEN : (long)characters);
    size_t length = (wcsnlen(*from, characters) + 1) * MB_BYTES;
    convert(to, from, state, 1, most < length ? most : length);
    return wcsnrtombs(to, from, characters, most, state);
}

iconv_t __dsm_iconv_open(const char *to, const char *from) {
    dsm_rt_load_string(to, OPEN);
    dsm_rt_load_string(from, OPEN);
    dsm_rt_validate_environment();
    return iconv_open(to, from);
}

/* The descriptor is private to the process that opened it. */
size_t __dsm_iconv(iconv_t descriptor, char **from, size_t *bytes, char **to, size_t *capacity) {
    if (from) dsm_rt_store((char *)from, sizeof *from);
    if (bytes) dsm_rt_store((char *)bytes, sizeof *bytes);
    if (to) dsm_rt_store((char *)to, sizeof *to);
    if (capacity) dsm_rt_store((char *)capacity, sizeof *capacity);
    if (from && *from) dsm_rt_load(*from, *bytes);
    if (to && *to) dsm_rt_store(*to, (long)*capacity);
    return iconv(descriptor, from, bytes, to, capacity);
}
