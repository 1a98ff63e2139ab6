/* Facets of libstdc++ whose virtual functions read and write the program's memory.
 *
 * The functions are compiled in the library, without checks, and are called through the facets' tables of virtual functions, so neither the compiler pass
 * nor the linker sees who calls them. The functions here have their names and stand in front of them, also in the library's tables: they make the memory
 * valid that the arguments name, and call the library's. They are weak: a program that has such a template instantiated, with checks, uses its own. */
#include "libstdcxx.h"

#include <string.h>
#include <time.h>
#include <wchar.h>

static void read_range(const void *from, const void *end) { dsm_rt_load(from, (size_t)((const char *)end - (const char *)from)); }

static void write_range(void *from, const void *end) { dsm_rt_store(from, (const char *)end - (char *)from); }

#define FUNCTION(result, name, symbol, parameters, arguments, checks) \
    __attribute__((weak, visibility("default"))) result name parameters __asm__(symbol); \
    result name parameters { \
        static result(*library) parameters; \
        if (library == NULL) library = library_function(symbol); \
        if (dsm_rt_several_processes()) { \
            checks; \
        } \
        return library arguments; \
    }

/* ---- std::ctype ---- */

#define NARROW "_ZNKSt5ctypeIcE"
#define WIDE "_ZNKSt5ctypeIwE"

FUNCTION(const char *, narrow_toupper, NARROW "10do_toupperEPcPKc", (const void *this, char *from, const char *end), (this, from, end), write_range(from, end))
FUNCTION(const char *, narrow_tolower, NARROW "10do_tolowerEPcPKc", (const void *this, char *from, const char *end), (this, from, end), write_range(from, end))
FUNCTION(const char *, narrow_widen, NARROW "8do_widenEPKcS2_Pc", (const void *this, const char *from, const char *end, char *to), (this, from, end, to),
         read_range(from, end); write_range(to, to + (end - from)))
FUNCTION(const char *, narrow_narrow, NARROW "9do_narrowEPKcS2_cPc", (const void *this, const char *from, const char *end, char other, char *to),
         (this, from, end, other, to), read_range(from, end); write_range(to, to + (end - from)))

FUNCTION(const wchar_t *, wide_is, WIDE "5do_isEPKwS2_Pt", (const void *this, const wchar_t *from, const wchar_t *end, uint16_t *kinds),
         (this, from, end, kinds), read_range(from, end); write_range(kinds, kinds + (end - from)))
FUNCTION(const wchar_t *, wide_scan_is, WIDE "10do_scan_isEtPKwS2_", (const void *this, uint16_t kind, const wchar_t *from, const wchar_t *end),
         (this, kind, from, end), read_range(from, end))
FUNCTION(const wchar_t *, wide_scan_not, WIDE "11do_scan_notEtPKwS2_", (const void *this, uint16_t kind, const wchar_t *from, const wchar_t *end),
         (this, kind, from, end), read_range(from, end))
FUNCTION(const wchar_t *, wide_toupper, WIDE "10do_toupperEPwPKw", (const void *this, wchar_t *from, const wchar_t *end), (this, from, end),
         write_range(from, end))
FUNCTION(const wchar_t *, wide_tolower, WIDE "10do_tolowerEPwPKw", (const void *this, wchar_t *from, const wchar_t *end), (this, from, end),
         write_range(from, end))
FUNCTION(const char *, wide_widen, WIDE "8do_widenEPKcS2_Pw", (const void *this, const char *from, const char *end, wchar_t *to), (this, from, end, to),
         read_range(from, end); write_range(to, to + (end - from)))
FUNCTION(const wchar_t *, wide_narrow, WIDE "9do_narrowEPKwS2_cPc", (const void *this, const wchar_t *from, const wchar_t *end, char other, char *to),
         (this, from, end, other, to), read_range(from, end); write_range(to, to + (end - from)))

/* ---- std::collate ---- */

/* Moves a text that the library has allocated to the shared heap. */
static struct string *shared(struct string *string, size_t width) {
    if (string->text == string->local || dsm_rt_is_shared(string->text)) return string;
    size_t bytes = (string->capacity + 1) * width;
    char *text = dsm_shared_new(bytes);
    memcpy(text, string->text, (string->length + 1) * width);
    __dsm_delete(string->text);
    string->text = text;
    return string;
}

#define COLLATE(name, class, c, character) \
    FUNCTION(int, name##_compare, class "10do_compareEPK" c "S3_S3_S3_", \
             (const void *this, const character *a, const character *a_end, const character *b, const character *b_end), (this, a, a_end, b, b_end), \
             read_range(a, a_end); read_range(b, b_end)) \
    FUNCTION(long, name##_hash, class "7do_hashEPK" c "S3_", (const void *this, const character *from, const character *end), (this, from, end), \
             read_range(from, end)) \
    __attribute__((weak, visibility("default"))) struct string *name##_transform(struct string *result, const void *this, const character *from, \
                                                                                 const character *end) __asm__(class "12do_transformEPK" c "S3_"); \
    struct string *name##_transform(struct string *result, const void *this, const character *from, const character *end) { \
        static struct string *(*library)(struct string *, const void *, const character *, const character *); \
        if (library == NULL) library = library_function(class "12do_transformEPK" c "S3_"); \
        if (!dsm_rt_several_processes()) return library(result, this, from, end); \
        read_range(from, end); \
        dsm_rt_store((char *)result, sizeof *result); \
        return shared(library(result, this, from, end), sizeof(character)); \
    }

COLLATE(narrow_collate, "_ZNKSt7__cxx117collateIcE", "c", char)
COLLATE(wide_collate, "_ZNKSt7__cxx117collateIwE", "w", wchar_t)

/* ---- std::codecvt: characters of the program, characters of files ---- */

#define CONVERSION(name, class, in, out, length, unshift) \
    FUNCTION(int, name##_out, class out, \
             (const void *this, mbstate_t *state, const void *from, const void *end, void **stop, char *to, char *to_end, char **to_next), \
             (this, state, from, end, stop, to, to_end, to_next), conversion(state, from, end, stop, to, to_end, to_next)) \
    FUNCTION(int, name##_in, class in, \
             (const void *this, mbstate_t *state, const void *from, const void *end, void **stop, void *to, void *to_end, void **to_next), \
             (this, state, from, end, stop, to, to_end, to_next), conversion(state, from, end, stop, to, to_end, to_next)) \
    FUNCTION(int, name##_unshift, class unshift, (const void *this, mbstate_t *state, char *to, char *end, char **stop), (this, state, to, end, stop), \
             dsm_rt_store((char *)state, sizeof *state); dsm_rt_store((char *)stop, sizeof *stop); write_range(to, end)) \
    FUNCTION(int, name##_length, class length, (const void *this, mbstate_t *state, const char *from, const char *end, size_t most), \
             (this, state, from, end, most), dsm_rt_store((char *)state, sizeof *state); read_range(from, end))

static void conversion(mbstate_t *state, const void *from, const void *end, void *stop, void *to, void *to_end, void *to_next) {
    dsm_rt_store((char *)state, sizeof *state);
    dsm_rt_store(stop, sizeof(void *));
    dsm_rt_store(to_next, sizeof(void *));
    read_range(from, end);
    write_range(to, to_end);
}

#define TO_BYTES(name, class, c) \
    CONVERSION(name, class, "5do_inERS0_PKcS4_RS4_P" c "S6_RS6_", "6do_outERS0_PK" c "S4_RS4_PcS6_RS6_", "9do_lengthERS0_PKcS4_m", "10do_unshiftERS0_PcS3_RS3_")
#define TO_UTF8(name, class, c) \
    CONVERSION(name, class, "5do_inERS0_PKDuS4_RS4_P" c "S6_RS6_", "6do_outERS0_PK" c "S4_RS4_PDuS6_RS6_", "9do_lengthERS0_PKDuS4_m", \
               "10do_unshiftERS0_PDuS3_RS3_")

TO_BYTES(narrow, "_ZNKSt7codecvtIcc11__mbstate_tE", "c")
TO_BYTES(wide, "_ZNKSt7codecvtIwc11__mbstate_tE", "w")
TO_BYTES(utf16, "_ZNKSt7codecvtIDsc11__mbstate_tE", "Ds")
TO_BYTES(utf32, "_ZNKSt7codecvtIDic11__mbstate_tE", "Di")
TO_UTF8(utf16_utf8, "_ZNKSt7codecvtIDsDu11__mbstate_tE", "Ds")
TO_UTF8(utf32_utf8, "_ZNKSt7codecvtIDiDu11__mbstate_tE", "Di")

#define UTF8(name, class, c) \
    CONVERSION(name, class, "5do_inER11__mbstate_tPKcS4_RS4_P" c "S6_RS6_", "6do_outER11__mbstate_tPK" c "S4_RS4_PcS6_RS6_", \
               "9do_lengthER11__mbstate_tPKcS4_m", "10do_unshiftER11__mbstate_tPcS3_RS3_")
#define UTF8_OF(name, base) UTF8(name##_w, base "IwE", "w") UTF8(name##_s, base "IDsE", "Ds") UTF8(name##_i, base "IDiE", "Di")

UTF8_OF(of_utf8, "_ZNKSt19__codecvt_utf8_base")
UTF8_OF(of_utf16, "_ZNKSt20__codecvt_utf16_base")
UTF8_OF(of_utf8_utf16, "_ZNKSt25__codecvt_utf8_utf16_base")

/* ---- dates and money ---- */

/* A std::ostreambuf_iterator, a std::istreambuf_iterator. */
struct output {
    char *buffer;
    _Bool failed;
};
struct input {
    char *buffer;
    int character;
};

enum { IOS_BASE = 216, STREAMBUF = 64 };

static void stream(char *buffer, void *base) {
    dsm_rt_store(base, IOS_BASE);
    if (buffer == NULL) return;
    dsm_rt_store(buffer, STREAMBUF);
    /* Behind the table of functions: begin, next and end of what can be read, then of what can be written. */
    char *const *places = (char *const *)(buffer + sizeof(void *));
    if (places[1]) read_range(places[1], places[2]);
    if (places[4]) write_range(places[4], places[5]);
}

static void digits(const struct string *string, size_t width) {
    dsm_rt_load(string, sizeof *string);
    dsm_rt_load(string->text, string->length * width);
}

#define PUT(class, c) class "I" c "St19ostreambuf_iteratorI" c "St11char_traitsI" c "EEE"
#define GET(class, c) class "I" c "St19istreambuf_iteratorI" c "St11char_traitsI" c "EEE"

#define PUTS(name, c, character) \
    FUNCTION(struct output, name##_put_time, PUT("_ZNKSt8time_put", c) "6do_putES3_RSt8ios_base" c "PK2tmcc", \
             (const void *this, struct output to, void *base, character fill, const struct tm *time, char format, char modifier), \
             (this, to, base, fill, time, format, modifier), stream(to.buffer, base); dsm_rt_load(time, sizeof *time)) \
    FUNCTION(struct output, name##_put_amount, PUT("_ZNKSt7__cxx119money_put", c) "6do_putES4_bRSt8ios_base" c "e", \
             (const void *this, struct output to, _Bool international, void *base, character fill, long double amount), \
             (this, to, international, base, fill, amount), stream(to.buffer, base)) \
    FUNCTION(struct output, name##_put_digits, PUT("_ZNKSt7__cxx119money_put", c) "6do_putES4_bRSt8ios_base" c "RKNS_12basic_stringI" c "S3_SaI" c "EEE", \
             (const void *this, struct output to, _Bool international, void *base, character fill, const struct string *number), \
             (this, to, international, base, fill, number), stream(to.buffer, base); digits(number, sizeof(character)))

PUTS(narrow, "c", char)
PUTS(wide, "w", wchar_t)

#define GET_TIME(name, what, c) \
    FUNCTION(struct input, name, GET("_ZNKSt7__cxx118time_get", c) what "ES4_S4_RSt8ios_baseRSt12_Ios_IostateP2tm", \
             (const void *this, struct input from, struct input end, void *base, int *error, struct tm *time), (this, from, end, base, error, time), \
             stream(from.buffer, base); dsm_rt_store((char *)error, sizeof *error); dsm_rt_store((char *)time, sizeof *time))

#define GETS(name, c) \
    GET_TIME(name##_get_time, "11do_get_time", c) GET_TIME(name##_get_date, "11do_get_date", c) GET_TIME(name##_get_year, "11do_get_year", c) \
    GET_TIME(name##_get_weekday, "14do_get_weekday", c) GET_TIME(name##_get_month, "16do_get_monthname", c) \
    FUNCTION(struct input, name##_get_by_format, GET("_ZNKSt7__cxx118time_get", c) "6do_getES4_S4_RSt8ios_baseRSt12_Ios_IostateP2tmcc", \
             (const void *this, struct input from, struct input end, void *base, int *error, struct tm *time, char format, char modifier), \
             (this, from, end, base, error, time, format, modifier), stream(from.buffer, base); dsm_rt_store((char *)error, sizeof *error); \
             dsm_rt_store((char *)time, sizeof *time)) \
    FUNCTION(struct input, name##_get_amount, GET("_ZNKSt7__cxx119money_get", c) "6do_getES4_S4_bRSt8ios_baseRSt12_Ios_IostateRe", \
             (const void *this, struct input from, struct input end, _Bool international, void *base, int *error, long double *amount), \
             (this, from, end, international, base, error, amount), stream(from.buffer, base); dsm_rt_store((char *)error, sizeof *error); \
             dsm_rt_store((char *)amount, sizeof *amount))

GETS(narrow, "c")
GETS(wide, "w")
