/* Input and output statements of Fortran, as compiled code calls them: `_FortranAio<name>` is `__dsm_io<name>` here. Statements on units of
   other processes are recorded and carried out there (runtime/fortran/src/remote.rs); all others are flang's library's, whose functions are
   weak here: only Fortran programs have them. */
#include "internal.h"
#include "fortran_io.h"

#include <stdbool.h>
#include <string.h>

typedef __int128 int128;

#define ORIGINAL(type, name, ...) __attribute__((weak)) extern type _FortranAio##name(__VA_ARGS__)

/* Statements under way in this thread whose unit is another process's. */
static __thread int remotes;

static bool is_remote(void *cookie) { return remotes && dsm_rt_io_is_remote(cookie); }

/* Begin */

#define LOCATION const char *file, int line
#define WITH_UNIT(X) \
    X(LIST_OUTPUT, BeginExternalListOutput) X(LIST_INPUT, BeginExternalListInput) X(UNFORMATTED_OUTPUT, BeginUnformattedOutput) \
    X(UNFORMATTED_INPUT, BeginUnformattedInput) X(WAIT_ALL, BeginWaitAll) X(CLOSE, BeginClose) X(FLUSH, BeginFlush) \
    X(BACKSPACE, BeginBackspace) X(ENDFILE, BeginEndfile) X(REWIND, BeginRewind) X(OPEN_UNIT, BeginOpenUnit) \
    X(INQUIRE_UNIT, BeginInquireUnit)
#define FORMATTED(X) X(FORMATTED_OUTPUT, BeginExternalFormattedOutput) X(FORMATTED_INPUT, BeginExternalFormattedInput)

#define DECLARE(kind, name) ORIGINAL(void *, name, int32_t unit, LOCATION);
WITH_UNIT(DECLARE)
#undef DECLARE
#define DECLARE(kind, name) \
    ORIGINAL(void *, name, const char *format, size_t len, const void *descriptor, int32_t unit, LOCATION);
FORMATTED(DECLARE)
#undef DECLARE
ORIGINAL(void *, BeginWait, int32_t unit, int32_t id, LOCATION);

void *dsm_rt_io_original_begin(const struct dsm_io_begin *b) {
    switch (b->kind) {
#define CASE(kind, name) case kind: return _FortranAio##name(b->unit, b->file, b->line);
    WITH_UNIT(CASE)
#undef CASE
#define CASE(kind, name) \
    case kind: return _FortranAio##name(b->format, b->format_len, b->format_descriptor, b->unit, b->file, b->line);
    FORMATTED(CASE)
#undef CASE
    case WAIT: return _FortranAioBeginWait(b->unit, b->id, b->file, b->line);
    default: return NULL;
    }
}

static void *begin(struct dsm_io_begin b) {
    void *remote = dsm_rt_io_begin(&b);
    if (!remote) return dsm_rt_io_original_begin(&b);
    remotes++;
    return remote;
}

#define DEFINE(k, name) \
    void *__dsm_io##name(int32_t unit, LOCATION) { \
        return begin((struct dsm_io_begin){.kind = k, .unit = unit, .file = file, .line = line}); \
    }
WITH_UNIT(DEFINE)
#undef DEFINE
#define DEFINE(k, name) \
    void *__dsm_io##name(const char *format, size_t len, const void *descriptor, int32_t unit, LOCATION) { \
        return begin((struct dsm_io_begin){.kind = k, .unit = unit, .file = file, .line = line, .format = format, .format_len = len, \
                                           .format_descriptor = descriptor}); \
    }
FORMATTED(DEFINE)
#undef DEFINE

void *__dsm_ioBeginWait(int32_t unit, int32_t id, LOCATION) {
    return begin((struct dsm_io_begin){.kind = WAIT, .unit = unit, .id = id, .file = file, .line = line});
}

/* Statements without a unit of the program's. */
static void begin_here(uint32_t kind) {
    struct dsm_io_begin b = {.kind = kind};
    dsm_rt_io_begin(&b);
}

#define P(...) __VA_ARGS__
#define HERE(kind, name, parameters, arguments) \
    ORIGINAL(void *, name, P parameters); \
    void *__dsm_io##name(P parameters) { \
        begin_here(kind); \
        return _FortranAio##name arguments; \
    }
#define INTERNAL(name, parameters, arguments) \
    HERE(NO_UNIT, name, (P parameters, void **scratch, size_t scratch_bytes, LOCATION), (P arguments, scratch, scratch_bytes, file, line))
#define FORMAT const char *format, size_t len, const void *descriptor
INTERNAL(BeginInternalArrayListOutput, (const void *array), (array))
INTERNAL(BeginInternalArrayListInput, (const void *array), (array))
INTERNAL(BeginInternalArrayFormattedOutput, (const void *array, FORMAT), (array, format, len, descriptor))
INTERNAL(BeginInternalArrayFormattedInput, (const void *array, FORMAT), (array, format, len, descriptor))
INTERNAL(BeginInternalListOutput, (char *text, size_t bytes), (text, bytes))
INTERNAL(BeginInternalListInput, (const char *text, size_t bytes), (text, bytes))
INTERNAL(BeginInternalFormattedOutput, (char *text, size_t bytes, FORMAT), (text, bytes, format, len, descriptor))
INTERNAL(BeginInternalFormattedInput, (const char *text, size_t bytes, FORMAT), (text, bytes, format, len, descriptor))
HERE(OPEN_NEW, BeginOpenNewUnit, (LOCATION), (file, line))
HERE(NO_UNIT, BeginInquireFile, (const char *name, size_t name_len, LOCATION), (name, name_len, file, line))
HERE(NO_UNIT, BeginInquireIoLength, (LOCATION), (file, line))

/* Control */

ORIGINAL(void, EnableHandlers, void *cookie, bool iostat, bool err, bool end, bool eor, bool iomsg);

void dsm_rt_io_original_handlers(void *cookie, uint32_t which) {
    _FortranAioEnableHandlers(cookie, which & 1, which & 2, which & 4, which & 8, which & 16);
}

void __dsm_ioEnableHandlers(void *cookie, bool iostat, bool err, bool end, bool eor, bool iomsg) {
    uint32_t which = iostat | err << 1 | end << 2 | eor << 3 | iomsg << 4;
    if (is_remote(cookie)) dsm_rt_io_handlers(cookie, which);
    else dsm_rt_io_original_handlers(cookie, which);
}

#define TEXTS(X) \
    X(SetAsynchronous) X(SetAdvance) X(SetBlank) X(SetDecimal) X(SetDelim) X(SetPad) X(SetRound) X(SetSign) X(SetAccess) X(SetAction) \
    X(SetCarriagecontrol) X(SetConvert) X(SetEncoding) X(SetForm) X(SetPosition) X(SetStatus) X(SetFile)
#define NUMBERS(X) X(SetPos) X(SetRec) X(SetRecl)

#define NAME(name) WHICH_##name,
enum { TEXTS(NAME) NUMBERS(NAME) };
#undef NAME

#define TEXT(name) \
    ORIGINAL(bool, name, void *cookie, const char *text, size_t len); \
    bool __dsm_io##name(void *cookie, const char *text, size_t len) { \
        return is_remote(cookie) ? dsm_rt_io_text(cookie, WHICH_##name, text, len) : _FortranAio##name(cookie, text, len); \
    }
TEXTS(TEXT)
#define NUMBER(name) \
    ORIGINAL(bool, name, void *cookie, int64_t value); \
    bool __dsm_io##name(void *cookie, int64_t value) { \
        return is_remote(cookie) ? dsm_rt_io_number(cookie, WHICH_##name, value) : _FortranAio##name(cookie, value); \
    }
NUMBERS(NUMBER)

uint32_t dsm_rt_io_original_text(void *cookie, uint32_t which, const char *text, size_t len) {
    switch (which) {
#define CASE(name) case WHICH_##name: return _FortranAio##name(cookie, text, len);
    TEXTS(CASE)
#undef CASE
    default: return 0;
    }
}

uint32_t dsm_rt_io_original_number(void *cookie, uint32_t which, int64_t value) {
    switch (which) {
#define CASE(name) case WHICH_##name: return _FortranAio##name(cookie, value);
    NUMBERS(CASE)
#undef CASE
    default: return 0;
    }
}

/* Items */

ORIGINAL(bool, OutputDescriptor, void *cookie, const void *descriptor);
ORIGINAL(bool, InputDescriptor, void *cookie, const void *descriptor);
ORIGINAL(bool, OutputDerivedType, void *cookie, const void *descriptor, const void *table);
ORIGINAL(bool, InputDerivedType, void *cookie, const void *descriptor, const void *table);
ORIGINAL(bool, OutputNamelist, void *cookie, const void *group);
ORIGINAL(bool, InputNamelist, void *cookie, const void *group);

uint32_t dsm_rt_io_original_item(void *cookie, const void *descriptor, uint32_t input) {
    return input ? _FortranAioInputDescriptor(cookie, descriptor) : _FortranAioOutputDescriptor(cookie, descriptor);
}

uint32_t dsm_rt_io_original_namelist(void *cookie, const void *group, uint32_t input) {
    return input ? _FortranAioInputNamelist(cookie, group) : _FortranAioOutputNamelist(cookie, group);
}

bool __dsm_ioOutputDescriptor(void *cookie, const void *descriptor) {
    return is_remote(cookie) ? dsm_rt_io_array(cookie, descriptor, NULL, 0) : _FortranAioOutputDescriptor(cookie, descriptor);
}

bool __dsm_ioInputDescriptor(void *cookie, const void *descriptor) {
    return is_remote(cookie) ? dsm_rt_io_array(cookie, descriptor, NULL, 1) : _FortranAioInputDescriptor(cookie, descriptor);
}

bool __dsm_ioOutputDerivedType(void *cookie, const void *descriptor, const void *table) {
    return is_remote(cookie) ? dsm_rt_io_array(cookie, descriptor, table, 0) : _FortranAioOutputDerivedType(cookie, descriptor, table);
}

bool __dsm_ioInputDerivedType(void *cookie, const void *descriptor, const void *table) {
    return is_remote(cookie) ? dsm_rt_io_array(cookie, descriptor, table, 1) : _FortranAioInputDerivedType(cookie, descriptor, table);
}

bool __dsm_ioOutputNamelist(void *cookie, const void *group) {
    return is_remote(cookie) ? dsm_rt_io_namelist(cookie, group, 0) : _FortranAioOutputNamelist(cookie, group);
}

bool __dsm_ioInputNamelist(void *cookie, const void *group) {
    return is_remote(cookie) ? dsm_rt_io_namelist(cookie, group, 1) : _FortranAioInputNamelist(cookie, group);
}

/* What single values are to flang's library itself: scalar objects of these types (ISO_Fortran_binding.h). */
enum { INT8 = 7, INT16, INT32, INT64, INT128, FLOAT = 27, DOUBLE, FLOAT_COMPLEX = 34, DOUBLE_COMPLEX, BOOL = 39, CHAR, CHAR16 = 43, CHAR32 };

static bool value(void *cookie, int type, size_t bytes, const void *at, int input) {
    return dsm_rt_io_value(cookie, type, bytes, (void *)at, input);
}

#define OUTPUT(name, type, code) \
    ORIGINAL(bool, name, void *cookie, type v); \
    bool __dsm_io##name(void *cookie, type v) { \
        return is_remote(cookie) ? value(cookie, code, sizeof v, &v, 0) : _FortranAio##name(cookie, v); \
    }
OUTPUT(OutputInteger8, int8_t, INT8)
OUTPUT(OutputInteger16, int16_t, INT16)
OUTPUT(OutputInteger32, int32_t, INT32)
OUTPUT(OutputInteger64, int64_t, INT64)
OUTPUT(OutputInteger128, int128, INT128)
OUTPUT(OutputReal32, float, FLOAT)
OUTPUT(OutputReal64, double, DOUBLE)
OUTPUT(OutputLogical, bool, BOOL)

#define OUTPUT_COMPLEX(name, type, code) \
    ORIGINAL(bool, name, void *cookie, type re, type im); \
    bool __dsm_io##name(void *cookie, type re, type im) { \
        type parts[2] = {re, im}; \
        return is_remote(cookie) ? value(cookie, code, sizeof parts, parts, 0) : _FortranAio##name(cookie, re, im); \
    }
OUTPUT_COMPLEX(OutputComplex32, float, FLOAT_COMPLEX)
OUTPUT_COMPLEX(OutputComplex64, double, DOUBLE_COMPLEX)

#define INPUT(name, type, count, code) \
    ORIGINAL(bool, name, void *cookie, type *v); \
    bool __dsm_io##name(void *cookie, type *v) { \
        return is_remote(cookie) ? value(cookie, code, count * sizeof *v, v, 1) : _FortranAio##name(cookie, v); \
    }
INPUT(InputReal32, float, 1, FLOAT)
INPUT(InputReal64, double, 1, DOUBLE)
INPUT(InputComplex32, float, 2, FLOAT_COMPLEX)
INPUT(InputComplex64, double, 2, DOUBLE_COMPLEX)
INPUT(InputLogical, bool, 1, BOOL)

ORIGINAL(bool, InputInteger, void *cookie, int64_t *v, int kind);

bool __dsm_ioInputInteger(void *cookie, int64_t *v, int kind) {
    int code = kind == 1 ? INT8 : kind == 2 ? INT16 : kind == 4 ? INT32 : kind == 8 ? INT64 : INT128;
    return is_remote(cookie) ? value(cookie, code, kind, v, 1) : _FortranAioInputInteger(cookie, v, kind);
}

static int character(int kind) { return kind == 1 ? CHAR : kind == 2 ? CHAR16 : CHAR32; }

ORIGINAL(bool, OutputCharacter, void *cookie, const char *text, size_t len, int kind);
ORIGINAL(bool, InputCharacter, void *cookie, char *text, size_t len, int kind);
ORIGINAL(bool, OutputAscii, void *cookie, const char *text, size_t len);
ORIGINAL(bool, InputAscii, void *cookie, char *text, size_t len);

bool __dsm_ioOutputCharacter(void *cookie, const char *text, size_t len, int kind) {
    return is_remote(cookie) ? value(cookie, character(kind), len * kind, text, 0) : _FortranAioOutputCharacter(cookie, text, len, kind);
}

bool __dsm_ioInputCharacter(void *cookie, char *text, size_t len, int kind) {
    return is_remote(cookie) ? value(cookie, character(kind), len * kind, text, 1) : _FortranAioInputCharacter(cookie, text, len, kind);
}

bool __dsm_ioOutputAscii(void *cookie, const char *text, size_t len) {
    return is_remote(cookie) ? value(cookie, CHAR, len, text, 0) : _FortranAioOutputAscii(cookie, text, len);
}

bool __dsm_ioInputAscii(void *cookie, char *text, size_t len) {
    return is_remote(cookie) ? value(cookie, CHAR, len, text, 1) : _FortranAioInputAscii(cookie, text, len);
}

/* Questions */

ORIGINAL(bool, InquireCharacter, void *cookie, size_t keyword, char *to, size_t len);
ORIGINAL(bool, InquireLogical, void *cookie, size_t keyword, bool *to);
ORIGINAL(bool, InquirePendingId, void *cookie, int32_t id, bool *to);
ORIGINAL(bool, InquireInteger64, void *cookie, size_t keyword, int64_t *to, int kind);
ORIGINAL(bool, GetNewUnit, void *cookie, int32_t *to, int kind);
ORIGINAL(size_t, GetSize, void *cookie);
ORIGINAL(size_t, GetIoLength, void *cookie);
ORIGINAL(void, GetIoMsg, void *cookie, char *to, size_t len);
ORIGINAL(int32_t, GetAsynchronousId, void *cookie);

enum { CHARACTER, LOGICAL, PENDING, INTEGER, SIZE, MESSAGE, ASYNCHRONOUS };

/* flang's number of an INQUIRE keyword: its letters as digits, behind a 1. */
static size_t keyword_number(const char *keyword) {
    size_t number = 1;
    for (; *keyword; keyword++) number = 26 * number + (*keyword - 'A');
    return number;
}

/* A unit's number that flang's library gave goes under another to other processes. */
static void rename_unit(void *at, int kind) {
    int64_t unit = 0;
    memcpy(&unit, at, kind < 8 ? kind : 8);
    unit = kind == 1 ? (int8_t)unit : kind == 2 ? (int16_t)unit : kind == 4 ? (int32_t)unit : unit;
    if (unit >= 0 || unit < INT32_MIN) return;
    unit = dsm_rt_io_unit_for_all((int32_t)unit);
    memcpy(at, &unit, kind < 8 ? kind : 8);
}

int64_t dsm_rt_io_original_ask(void *cookie, uint32_t which, uint64_t key, void *to, size_t len) {
    switch (which) {
    case CHARACTER: return _FortranAioInquireCharacter(cookie, key, to, len);
    case LOGICAL: return _FortranAioInquireLogical(cookie, key, to);
    case PENDING: return _FortranAioInquirePendingId(cookie, (int32_t)key, to);
    case INTEGER: {
        bool done = _FortranAioInquireInteger64(cookie, key, to, (int)len);
        if (done && key == keyword_number("NUMBER")) rename_unit(to, (int)len);
        return done;
    }
    case SIZE: return (int64_t)_FortranAioGetSize(cookie);
    case MESSAGE: _FortranAioGetIoMsg(cookie, to, len); return 1;
    case ASYNCHRONOUS: return _FortranAioGetAsynchronousId(cookie);
    default: return 0;
    }
}

static int64_t ask(void *cookie, uint32_t which, uint64_t key, void *to, size_t len) {
    return is_remote(cookie) ? dsm_rt_io_ask(cookie, which, key, to, len) : dsm_rt_io_original_ask(cookie, which, key, to, len);
}

bool __dsm_ioInquireCharacter(void *cookie, size_t keyword, char *to, size_t len) { return ask(cookie, CHARACTER, keyword, to, len); }
bool __dsm_ioInquireLogical(void *cookie, size_t keyword, bool *to) { return ask(cookie, LOGICAL, keyword, to, sizeof *to); }
bool __dsm_ioInquirePendingId(void *cookie, int32_t id, bool *to) { return ask(cookie, PENDING, (uint32_t)id, to, sizeof *to); }
bool __dsm_ioInquireInteger64(void *cookie, size_t keyword, int64_t *to, int kind) { return ask(cookie, INTEGER, keyword, to, kind); }
size_t __dsm_ioGetSize(void *cookie) { return (size_t)ask(cookie, SIZE, 0, NULL, 0); }
size_t __dsm_ioGetIoLength(void *cookie) { return _FortranAioGetIoLength(cookie); }
void __dsm_ioGetIoMsg(void *cookie, char *to, size_t len) { ask(cookie, MESSAGE, 0, to, len); }
int32_t __dsm_ioGetAsynchronousId(void *cookie) { return (int32_t)ask(cookie, ASYNCHRONOUS, 0, NULL, 0); }

/* Only where the unit has just been connected. */
bool __dsm_ioGetNewUnit(void *cookie, int32_t *to, int kind) {
    bool done = _FortranAioGetNewUnit(cookie, to, kind);
    if (done) rename_unit(to, kind);
    return done;
}

/* End */

ORIGINAL(int32_t, EndIoStatement, void *cookie);

int32_t dsm_rt_io_original_end(void *cookie) { return _FortranAioEndIoStatement(cookie); }

int32_t __dsm_ioEndIoStatement(void *cookie) {
    bool remote = is_remote(cookie);
    remotes -= remote;
    return dsm_rt_io_end(cookie, remote);
}

/* Extensions beside the statements */

__attribute__((weak)) extern void _FortranAFlush(int32_t unit);
__attribute__((weak)) extern int32_t _FortranAFseek(int32_t unit, int64_t position, int32_t whence, LOCATION);
__attribute__((weak)) extern int64_t _FortranAFtell(int32_t unit);

void __dsm_io_flush(int32_t unit) {
    /* All units. */
    if (unit == -1) _FortranAFlush(unit);
    else __dsm_ioEndIoStatement(__dsm_ioBeginFlush(unit, NULL, 0));
}

int32_t __dsm_io_fseek(int32_t unit, int64_t position, int32_t whence, LOCATION) {
    return _FortranAFseek(dsm_rt_io_own_unit(unit, "fseek"), position, whence, file, line);
}

int64_t __dsm_io_ftell(int32_t unit) { return _FortranAFtell(dsm_rt_io_own_unit(unit, "ftell")); }

void dsm_rt_fortran_flush(int32_t unit) {
    if (_FortranAioBeginFlush && _FortranAioEndIoStatement)
        _FortranAioEndIoStatement(_FortranAioBeginFlush(unit, NULL, 0));
}
