/* What crosses between the C and the Rust half for statements of Fortran. */
#ifndef DSM_FORTRAN_IO_H
#define DSM_FORTRAN_IO_H

#include <stddef.h>
#include <stdint.h>

/* Kinds of statements; `statement::Kind` in Rust. */
enum {
    LIST_OUTPUT, LIST_INPUT, FORMATTED_OUTPUT, FORMATTED_INPUT, UNFORMATTED_OUTPUT, UNFORMATTED_INPUT, WAIT, WAIT_ALL, CLOSE, FLUSH,
    BACKSPACE, ENDFILE, REWIND, OPEN_UNIT, INQUIRE_UNIT, OPEN_NEW, NO_UNIT
};

/* A statement's beginning; `statement::Begin` in Rust. */
struct dsm_io_begin {
    uint32_t kind;
    int32_t unit;
    const char *format;
    size_t format_len;
    const void *format_descriptor;
    const char *file;
    int32_t line;
    int32_t id;
};

/* In Rust. Null if the statement is this process's to carry out, under the unit's number that is then in the structure. */
void *dsm_rt_io_begin(struct dsm_io_begin *begin);
uint32_t dsm_rt_io_is_remote(void *cookie);
void dsm_rt_io_handlers(void *cookie, uint32_t which);
uint32_t dsm_rt_io_text(void *cookie, uint32_t which, const char *text, size_t len);
uint32_t dsm_rt_io_number(void *cookie, uint32_t which, int64_t value);
uint32_t dsm_rt_io_value(void *cookie, int32_t type, size_t bytes, void *at, uint32_t input);
uint32_t dsm_rt_io_array(void *cookie, const void *descriptor, const void *table, uint32_t input);
uint32_t dsm_rt_io_namelist(void *cookie, const void *group, uint32_t input);
int64_t dsm_rt_io_ask(void *cookie, uint32_t which, uint64_t key, void *to, size_t len);
int32_t dsm_rt_io_end(void *cookie, uint32_t remote);
int32_t dsm_rt_io_unit_for_all(int32_t unit);
int32_t dsm_rt_io_own_unit(int32_t unit, const char *function);

/* In C: flang's library's own. */
void *dsm_rt_io_original_begin(const struct dsm_io_begin *begin);
void dsm_rt_io_original_handlers(void *cookie, uint32_t which);
uint32_t dsm_rt_io_original_text(void *cookie, uint32_t which, const char *text, size_t len);
uint32_t dsm_rt_io_original_number(void *cookie, uint32_t which, int64_t value);
uint32_t dsm_rt_io_original_item(void *cookie, const void *descriptor, uint32_t input);
uint32_t dsm_rt_io_original_namelist(void *cookie, const void *group, uint32_t input);
int64_t dsm_rt_io_original_ask(void *cookie, uint32_t which, uint64_t key, void *to, size_t len);
int32_t dsm_rt_io_original_end(void *cookie);

#endif
