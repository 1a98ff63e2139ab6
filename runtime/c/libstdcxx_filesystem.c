/* std::filesystem of libstdc++, whose paths are compiled in the library.
 *
 * The functions here have the library's names and stand in front of them: they make valid what the paths among their arguments consist of, and let the library
 * allocate what it returns on the shared heap. They are weak: a program that is linked with a static libstdc++ has the originals, and its paths stay in
 * their process. Layouts are those of libstdc++'s ABI, which is frozen. */
#include "libstdcxx.h"

/* A std::filesystem::path: its text, and its list of components; the lowest bits of the list's address say of what kind the path is. */
struct path {
    struct string text;
    uintptr_t list;
};

struct component {
    struct path path;
    size_t position;
};

struct list {
    int count, capacity;
    struct component components[];
};

/* A std::filesystem::filesystem_error, and what it names. */
struct error_texts {
    struct path path1, path2;
    struct string what;
};

/* The counts of references to them. */
struct counts {
    void *functions;
    int uses, weak;
};

struct error {
    void *functions, *text;
    uintptr_t code[2];
    struct error_texts *texts;
    struct counts *counts;
};

enum { KIND_BITS = 3, ERROR_CODE = 16, COUNTS = 16, OBJECT = 48 };

static void read_string(const struct string *string) {
    dsm_rt_load(string, sizeof *string);
    dsm_rt_load(string->text, string->length + 1);
}

static void write_string(struct string *string) {
    dsm_rt_store((char *)string, sizeof *string);
    dsm_rt_store(string->text, (long)(string->text == string->local ? sizeof string->local : string->capacity + 1));
}

static struct list *list_at(uintptr_t address) { return (struct list *)(address & ~(uintptr_t)KIND_BITS); }

static void read_list(uintptr_t address) {
    struct list *list = list_at(address);
    if (list == NULL) return;
    dsm_rt_load(list, sizeof *list);
    dsm_rt_load(list->components, (size_t)list->count * sizeof *list->components);
    for (int i = 0; i < list->count; i++) read_string(&list->components[i].path.text);
}

static void write_list(uintptr_t address) {
    struct list *list = list_at(address);
    if (list == NULL) return;
    dsm_rt_store((char *)list, sizeof *list);
    dsm_rt_store((char *)list->components, (long)((size_t)list->capacity * sizeof *list->components));
    for (int i = 0; i < list->count; i++) write_string(&list->components[i].path.text);
}

/* Gives up an error's reference to its texts: the library counts without checks. False of the last one, which is left to the library. Nothing is
 * acquired, because nobody changes the texts. */
static _Bool is_in_use(struct error *error) {
    enum { SUB = 2, RELAXED = 0 };
    int one = 1, old;
    __dsm_atomic_rmw(&error->counts->uses, &one, &old, sizeof old, SUB, RELAXED);
    if (old == 1) return 0;
    dsm_rt_store((char *)error, sizeof *error);
    error->counts = NULL;
    return 1;
}

/* Makes an argument valid. What it is: a path that is read (p), written (w), made (r) or whose list is passed without it (l); a list of components that is
 * freed (f) or made (n); a string (s); an error code, perhaps none (e); a filesystem_error that is read (x) or destroyed (d);
 * another object (o). */
static void argument(char what, uintptr_t value) {
    struct path *path = (struct path *)value;
    switch (what) {
    case 'p':
        dsm_rt_load(path, sizeof *path);
        read_string(&path->text);
        read_list(path->list);
        break;
    case 'w':
        dsm_rt_store((char *)path, sizeof *path);
        write_string(&path->text);
        write_list(path->list);
        break;
    case 'r': dsm_rt_store((char *)path, sizeof *path); break;
    case 'l':
        dsm_rt_load(path, sizeof(uintptr_t));
        read_list(*(uintptr_t *)value);
        break;
    case 'n': dsm_rt_store((char *)value, sizeof(uintptr_t)); break;
    case 'f': write_list(value); break;
    case 's': read_string((struct string *)value); break;
    case 'e':
        if (value) dsm_rt_store((char *)value, ERROR_CODE);
        break;
    case 'x': {
        struct error *error = (struct error *)value;
        dsm_rt_load(error, sizeof *error);
        dsm_rt_load(error->texts, sizeof *error->texts);
        read_string(&error->texts->what);
        break;
    }
    case 'd': {
        struct error *error = (struct error *)value;
        dsm_rt_store((char *)error, sizeof *error);
        if (error->counts == NULL || is_in_use(error)) break;
        /* The counts of references lie in front of what is counted. */
        dsm_rt_store((char *)error->texts - COUNTS, COUNTS + sizeof *error->texts);
        error->counts->uses = 1;
        write_string(&error->texts->what);
        for (struct path *at = &error->texts->path1; at <= &error->texts->path2; at++) {
            write_string(&at->text);
            write_list(at->list);
        }
        break;
    }
    case 'o': dsm_rt_store((char *)value, OBJECT); break;
    }
}

static void leave(unsigned *before) { dsm_filesystem_depth = *before; }

/* What functions return in registers. */
struct result {
    uintptr_t first, second;
};

typedef struct result Function(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

static struct result call(Function *function, int allocates, const char *what, const uintptr_t *a) {
    __attribute__((cleanup(leave))) unsigned before = dsm_filesystem_depth;
    if (before == 0 && dsm_rt_several_processes())
        for (int i = 0; what[i]; i++) {
            if (what[i] == 'v')
                dsm_rt_load((void *)a[i + 1], a[i]);
            else
                argument(what[i], a[i]);
        }
    if (allocates) dsm_filesystem_depth = before + 1;
    return function(a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define JOINED(a, b) a##b
#define NAMED(line) JOINED(function_, line)
#define FUNCTION(symbol, what) DEFINE(NAMED(__COUNTER__), symbol, 1, what)
/* What these allocate belongs to the process. */
#define PRIVATE(symbol, what) DEFINE(NAMED(__COUNTER__), symbol, 0, what)
#define DEFINE(name, symbol, allocates, what) \
    __attribute__((weak, visibility("default"))) Function name __asm__(symbol); \
    struct result name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f) { \
        static Function *own; \
        if (own == NULL) own = (Function *)library_function(symbol); \
        return call(own, allocates, what, (uintptr_t[]){a, b, c, d, e, f}); \
    }

/* ---- functions of one path or two, with an error code or without; what stands in front of the paths, and between them and the error code ---- */

#define SPACE "_ZNSt10filesystem"
#define PATH "RKNS_7__cxx114pathE"
#define ERROR "RSt10error_code"

#define WITH(name, paths, more, before, what, between) \
    FUNCTION(SPACE name "E" paths more, before what) \
    FUNCTION(SPACE name "E" paths more ERROR, before what between "e")
#define ONE(name) WITH(name, PATH, "", "", "p", "")
#define TWO(name) WITH(name, PATH "S3_", "", "", "pp", "")
#define ONE_TO_PATH(name) WITH(name, PATH, "", "r", "p", "")
#define TWO_TO_PATH(name) WITH(name, PATH "S3_", "", "r", "pp", "")

ONE("10remove_all") ONE("12current_path") ONE("14symlink_status") ONE("15hard_link_count") ONE("15last_write_time") ONE("16create_directory")
ONE("18create_directories") ONE("6remove") ONE("6status") ONE("8is_empty") ONE("9file_size")
TWO("10equivalent") TWO("12copy_symlink") TWO("14create_symlink") TWO("16create_directory") TWO("16create_hard_link") TWO("24create_directory_symlink")
TWO("6rename")
ONE_TO_PATH("12read_symlink") ONE_TO_PATH("16weakly_canonical") ONE_TO_PATH("8absolute") ONE_TO_PATH("9canonical")
TWO_TO_PATH("8relative") TWO_TO_PATH("9proximate")
WITH("5space", PATH, "", "o", "p", "")
WITH("11permissions", PATH, "NS_5permsENS_12perm_optionsE", "", "p", "--")
WITH("11resize_file", PATH, "m", "", "p", "-")
WITH("15last_write_time", PATH, "NSt6chrono10time_pointINS_12__file_clockENS4_8durationIlSt5ratioILl1ELl1000000000EEEEEE", "", "p", "-")
WITH("4copy", PATH "S3_", "NS_12copy_optionsE", "", "pp", "-")
WITH("9copy_file", PATH "S3_", "NS_12copy_optionsE", "", "pp", "-")

FUNCTION(SPACE "12current_pathB5cxx11Ev", "r")
FUNCTION(SPACE "12current_pathB5cxx11E" ERROR, "re")
FUNCTION(SPACE "19temp_directory_pathB5cxx11Ev", "r")
FUNCTION(SPACE "19temp_directory_pathB5cxx11E" ERROR, "re")

/* ---- paths ---- */

#define MEMBER "_ZNSt10filesystem7__cxx114path"
#define CONST_MEMBER "_ZNKSt10filesystem7__cxx114path"
#define VIEW "St17basic_string_viewIcSt11char_traitsIcEE"

FUNCTION(SPACE "7__cxx1110hash_valueERKNS0_4pathE", "p")
FUNCTION(CONST_MEMBER "9root_nameEv", "rp")
FUNCTION(CONST_MEMBER "14root_directoryEv", "rp")
FUNCTION(CONST_MEMBER "9root_pathEv", "rp")
FUNCTION(CONST_MEMBER "13relative_pathEv", "rp")
FUNCTION(CONST_MEMBER "11parent_pathEv", "rp")
FUNCTION(CONST_MEMBER "16lexically_normalEv", "rp")
FUNCTION(CONST_MEMBER "18lexically_relativeERKS1_", "rpp")
FUNCTION(CONST_MEMBER "19lexically_proximateERKS1_", "rpp")
FUNCTION(CONST_MEMBER "12has_filenameEv", "p")
FUNCTION(CONST_MEMBER "13has_root_nameEv", "p")
FUNCTION(CONST_MEMBER "13has_root_pathEv", "p")
FUNCTION(CONST_MEMBER "15has_parent_pathEv", "p")
FUNCTION(CONST_MEMBER "17has_relative_pathEv", "p")
FUNCTION(CONST_MEMBER "18has_root_directoryEv", "p")
FUNCTION(CONST_MEMBER "17_M_find_extensionEv", "p")
FUNCTION(CONST_MEMBER "7compareERKS1_", "pp")
FUNCTION(CONST_MEMBER "7compareE" VIEW, "pv")
FUNCTION(MEMBER "14_M_split_cmptsEv", "w")
FUNCTION(MEMBER "15remove_filenameEv", "w")
FUNCTION(MEMBER "16replace_filenameERKS1_", "wp")
FUNCTION(MEMBER "17replace_extensionERKS1_", "wp")
FUNCTION(MEMBER "9_M_appendE" VIEW, "wv")
FUNCTION(MEMBER "9_M_concatE" VIEW, "wv")
FUNCTION(MEMBER "aSERKS1_", "wp")
FUNCTION(MEMBER "dVERKS1_", "wp")
FUNCTION(MEMBER "pLERKS1_", "wp")
FUNCTION(CONST_MEMBER "5_List13_Impl_deleterclEPNS2_5_ImplE", "-f")
FUNCTION(CONST_MEMBER "5_List3endEv", "l")
FUNCTION(CONST_MEMBER "5_List5beginEv", "l")
FUNCTION(MEMBER "5_ListC1ERKS2_", "nl")
FUNCTION(MEMBER "5_ListC1Ev", "n")

/* ---- directories, which belong to the process that opens them ---- */

#define CLASS "_ZNSt10filesystem7__cxx11"
#define CONST_CLASS "_ZNKSt10filesystem7__cxx11"
#define OPEN "ERKNS0_4pathENS_17directory_optionsEPSt10error_code"
#define TEXT "ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"

PRIVATE(CLASS "18directory_iteratorC1" OPEN, "op-e")
PRIVATE(CLASS "18directory_iteratorC2" OPEN, "op-e")
PRIVATE(CLASS "18directory_iterator9incrementERSt10error_code", "oe")
PRIVATE(CLASS "18directory_iteratorppEv", "o")
PRIVATE(CONST_CLASS "18directory_iteratordeEv", "o")
PRIVATE(CLASS "28recursive_directory_iteratorC1" OPEN, "op-e")
PRIVATE(CLASS "28recursive_directory_iteratorC2" OPEN, "op-e")
PRIVATE(CLASS "28recursive_directory_iterator9incrementERSt10error_code", "oe")
PRIVATE(CLASS "28recursive_directory_iteratorppEv", "o")
PRIVATE(CONST_CLASS "28recursive_directory_iteratordeEv", "o")
PRIVATE(CLASS "28recursive_directory_iterator3popEv", "o")
PRIVATE(CLASS "28recursive_directory_iterator3popERSt10error_code", "oe")
PRIVATE(CLASS "28recursive_directory_iterator25disable_recursion_pendingEv", "o")
PRIVATE(CONST_CLASS "28recursive_directory_iterator17recursion_pendingEv", "o")
PRIVATE(CONST_CLASS "28recursive_directory_iterator5depthEv", "o")
PRIVATE(CONST_CLASS "28recursive_directory_iterator7optionsEv", "o")
PRIVATE(CLASS "28recursive_directory_iteratorD1Ev", "o")
PRIVATE(CLASS "28recursive_directory_iteratorD2Ev", "o")
PRIVATE(CLASS "28recursive_directory_iteratoraSEOS1_", "oo")
PRIVATE(CLASS "28recursive_directory_iteratoraSERKS1_", "oo")

/* ---- errors ---- */

FUNCTION(CLASS "16filesystem_errorC1" TEXT "St10error_code", "os")
FUNCTION(CLASS "16filesystem_errorC1" TEXT "RKNS0_4pathESt10error_code", "osp")
FUNCTION(CLASS "16filesystem_errorC1" TEXT "RKNS0_4pathESC_St10error_code", "ospp")
FUNCTION(CLASS "16filesystem_errorC2" TEXT "St10error_code", "os")
FUNCTION(CLASS "16filesystem_errorC2" TEXT "RKNS0_4pathESt10error_code", "osp")
FUNCTION(CLASS "16filesystem_errorC2" TEXT "RKNS0_4pathESC_St10error_code", "ospp")
FUNCTION(CLASS "16filesystem_errorD0Ev", "d")
FUNCTION(CLASS "16filesystem_errorD1Ev", "d")
FUNCTION(CLASS "16filesystem_errorD2Ev", "d")
FUNCTION(CONST_CLASS "16filesystem_error5path1Ev", "x")
FUNCTION(CONST_CLASS "16filesystem_error5path2Ev", "x")
FUNCTION(CONST_CLASS "16filesystem_error4whatEv", "x")
