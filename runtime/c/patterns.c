/* Functions that compile or expand patterns and return memory: every process can use what one has got.
 *
 * What the C library makes of a regular expression is private to the process that compiled it. The program's `regex_t` therefore holds a copy of
 * the pattern on the shared heap, and each process compiles it when it first uses it. Lists of paths and of directory entries are copied to the
 * shared heap. Callbacks may synchronise, so nothing is taken for valid behind one. */
#define _GNU_SOURCE
#include "internal.h"

#include <dirent.h>
#include <glob.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wordexp.h>

#define OPEN (-1)

void __dsm_free(void *object);
void __dsm_wordfree(wordexp_t *given);

/* ---- regular expressions ---- */

/* What is known of an expression everywhere; `serial` tells it from others that were at the same address. */
struct pattern {
    unsigned long serial;
    int flags;
    char text[];
};

/* What the program's `regex_t` holds, in place of the C library's first two members. */
struct handle {
    struct pattern *pattern;
    unsigned long mark;
};

#define MARK 0x64736d2d72656745ul
#define BUCKETS 64

/* Expressions that this process has compiled. Those that another process freed stay. */
struct compiled {
    struct compiled *next;
    unsigned long serial;
    regex_t expression;
};

static struct compiled *compiled[BUCKETS];

static struct compiled **bucket(unsigned long serial) { return &compiled[serial % BUCKETS]; }

static struct compiled *find(unsigned long serial) {
    struct compiled *at = __atomic_load_n(bucket(serial), __ATOMIC_ACQUIRE);
    while (at && at->serial != serial) at = at->next;
    return at;
}

static void add(struct compiled *new) {
    struct compiled **head = bucket(new->serial);
    new->next = __atomic_load_n(head, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(head, &new->next, new, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
}

int __dsm_regcomp(regex_t *out, const char *text, int flags) {
    static unsigned count;
    dsm_rt_load_string(text, OPEN);
    struct compiled *own = malloc(sizeof *own);
    if (own == NULL) return REG_ESPACE;
    int status = regcomp(&own->expression, text, flags);
    size_t bytes = sizeof(struct pattern) + strlen(text) + 1;
    struct pattern *pattern = status ? NULL : dsm_shared(bytes);
    if (pattern == NULL) {
        if (status == 0) regfree(&own->expression);
        free(own);
        return status ? status : REG_ESPACE;
    }
    pattern->serial = own->serial = (unsigned long)getpid() << 32 | __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    pattern->flags = flags;
    strcpy(pattern->text, text);
    add(own);
    dsm_rt_store((char *)out, sizeof *out);
    *out = own->expression;
    struct handle handle = {pattern, MARK};
    memcpy(out, &handle, sizeof handle);
    return 0;
}

/* The expression in this process; null if it is one of a library's own. */
static struct compiled *here(const regex_t *given, struct pattern **pattern) {
    struct handle handle;
    dsm_rt_load(given, sizeof *given);
    memcpy(&handle, given, sizeof handle);
    if (handle.mark != MARK) return NULL;
    *pattern = handle.pattern;
    dsm_rt_load(handle.pattern, sizeof(struct pattern));
    struct compiled *found = find(handle.pattern->serial);
    if (found) return found;
    dsm_rt_load_string(handle.pattern->text, OPEN);
    found = malloc(sizeof *found);
    if (found == NULL || regcomp(&found->expression, handle.pattern->text, handle.pattern->flags) != 0) abort();
    found->serial = handle.pattern->serial;
    add(found);
    return found;
}

int __dsm_regexec(const regex_t *given, const char *text, size_t count, regmatch_t *matches, int flags) {
    struct pattern *pattern;
    struct compiled *own = here(given, &pattern);
    if (matches && (count || flags & REG_STARTEND))
        dsm_rt_store((char *)matches, (long)((count ? count : 1) * sizeof *matches));
    if (flags & REG_STARTEND)
        dsm_rt_load(text + matches->rm_so, matches->rm_eo - matches->rm_so);
    else
        dsm_rt_load_string(text, OPEN);
    return regexec(own ? &own->expression : given, text, count, matches, flags);
}

void __dsm_regfree(regex_t *given) {
    struct pattern *pattern;
    struct compiled *own = here(given, &pattern);
    if (own == NULL) {
        regfree(given);
        return;
    }
    /* Compiled forms stay: another thread may just look through the list. */
    __dsm_free(pattern);
    dsm_rt_store((char *)given, sizeof *given);
    memset(given, 0, sizeof *given);
}

/* ---- paths and words ---- */

/* A list on the shared heap: `offset` null pointers, the strings of the old list, which it replaces, and copies of private ones. */
static char **extended(char **old, size_t offset, size_t kept, char *const *added, size_t count) {
    char **list = dsm_shared((offset + kept + count + 1) * sizeof *list);
    if (list == NULL) return NULL;
    for (size_t i = 0; i < offset; i++) list[i] = NULL;
    if (kept) {
        dsm_rt_load(old + offset, kept * sizeof *list);
        memcpy(list + offset, old + offset, kept * sizeof *list);
    }
    if (old) __dsm_free(old);
    for (size_t i = 0; i < count; i++) list[offset + kept + i] = dsm_copied(added[i], strlen(added[i]) + 1);
    list[offset + kept + count] = NULL;
    return list;
}

static void release(char **list, size_t offset, size_t count) {
    dsm_rt_load(list, (offset + count) * sizeof *list);
    for (size_t i = 0; i < count; i++) __dsm_free(list[offset + i]);
    __dsm_free(list);
}

int __dsm_glob(const char *pattern, int flags, int (*report)(const char *, int), glob_t *out) {
    glob_t own = {0};
    dsm_rt_load_string(pattern, OPEN);
    dsm_rt_load(out, sizeof *out);
    if (flags & GLOB_ALTDIRFUNC) {
        own.gl_closedir = out->gl_closedir;
        own.gl_readdir = out->gl_readdir;
        own.gl_opendir = out->gl_opendir;
        own.gl_lstat = out->gl_lstat;
        own.gl_stat = out->gl_stat;
    }
    dsm_rt_validate_environment();
    int status = glob(pattern, flags & ~(GLOB_APPEND | GLOB_DOOFFS), report, &own);
    dsm_rt_store((char *)out, sizeof *out);
    size_t offset = flags & GLOB_DOOFFS ? out->gl_offs : 0, old = flags & GLOB_APPEND ? out->gl_pathc : 0;
    char **paths = extended(flags & GLOB_APPEND ? out->gl_pathv : NULL, offset, old, own.gl_pathv, own.gl_pathc);
    if (paths == NULL) {
        globfree(&own);
        return GLOB_NOSPACE;
    }
    out->gl_pathc = old + own.gl_pathc;
    out->gl_pathv = paths;
    out->gl_flags = own.gl_flags | (flags & GLOB_DOOFFS);
    if (!(flags & GLOB_DOOFFS)) out->gl_offs = 0;
    globfree(&own);
    return status;
}

void __dsm_globfree(glob_t *given) {
    dsm_rt_store((char *)given, sizeof *given);
    if (given->gl_pathv == NULL) return;
    size_t offset = given->gl_flags & GLOB_DOOFFS ? given->gl_offs : 0;
    release(given->gl_pathv, offset, given->gl_pathc);
    given->gl_pathv = NULL;
    given->gl_pathc = 0;
}

int __dsm_wordexp(const char *text, wordexp_t *out, int flags) {
    wordexp_t own = {0};
    dsm_rt_load_string(text, OPEN);
    dsm_rt_load(out, sizeof *out);
    if (flags & WRDE_REUSE) __dsm_wordfree(out);
    dsm_rt_validate_environment();
    int status = wordexp(text, &own, flags & ~(WRDE_APPEND | WRDE_DOOFFS | WRDE_REUSE));
    if (status && status != WRDE_NOSPACE) return status;
    dsm_rt_store((char *)out, sizeof *out);
    size_t offset = flags & WRDE_DOOFFS ? out->we_offs : 0, old = flags & WRDE_APPEND ? out->we_wordc : 0;
    size_t count = own.we_wordc;
    char **words = extended(flags & WRDE_APPEND ? out->we_wordv : NULL, offset, old, own.we_wordv, count);
    wordfree(&own);
    if (words == NULL) return WRDE_NOSPACE;
    out->we_wordc = old + count;
    out->we_wordv = words;
    if (!(flags & WRDE_DOOFFS)) out->we_offs = 0;
    return status;
}

void __dsm_wordfree(wordexp_t *given) {
    dsm_rt_store((char *)given, sizeof *given);
    if (given->we_wordv == NULL) return;
    release(given->we_wordv, given->we_offs, given->we_wordc);
    given->we_wordv = NULL;
    given->we_wordc = 0;
}

/* ---- directories ---- */

typedef int (*Filter)(const struct dirent *);
typedef int (*Compare)(const struct dirent **, const struct dirent **);

struct order {
    Compare compare;
};

static int in_order(const void *left, const void *right, void *order) {
    /* The comparison may be the C library's own. */
    const struct dirent *const entries[] = {*(const struct dirent *const *)left, *(const struct dirent *const *)right};
    for (int i = 0; i < 2; i++) {
        dsm_rt_load(entries[i], offsetof(struct dirent, d_name));
        dsm_rt_load(entries[i], entries[i]->d_reclen);
    }
    return ((struct order *)order)->compare((const struct dirent **)left, (const struct dirent **)right);
}

static int scan(DIR *directory, struct dirent ***out, Filter filter, Compare compare) {
    struct dirent **list = NULL, **entries = NULL, *entry;
    size_t count = 0, space = 0;
    if (directory == NULL) return -1;
    while ((entry = readdir(directory))) {
        struct dirent *copy = dsm_copied(entry, entry->d_reclen);
        if (copy && filter && !filter(copy)) {
            __dsm_free(copy);
            continue;
        }
        if (count == space) {
            struct dirent **grown = realloc(list, (space = 2 * space + 16) * sizeof *list);
            list = grown ? grown : (free(list), NULL);
        }
        if (copy == NULL || list == NULL) abort();
        list[count++] = copy;
    }
    closedir(directory);
    struct order order = {compare};
    if (compare) qsort_r(list, count, sizeof *list, in_order, &order);
    entries = dsm_shared((count + 1) * sizeof *entries);
    if (entries == NULL) abort();
    if (count) memcpy(entries, list, count * sizeof *list);
    free(list);
    dsm_rt_store((char *)out, sizeof *out);
    *out = entries;
    return (int)count;
}

int __dsm_scandir(const char *path, struct dirent ***out, Filter filter, Compare compare) {
    dsm_rt_load_string(path, OPEN);
    return scan(opendir(path), out, filter, compare);
}
