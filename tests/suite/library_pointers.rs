//! Addresses of the C library's functions: one of each in a program and its libraries, whatever has been taken.

use super::case::Case;

/// Tables in a library, and what it takes for equal.
const LIBRARY: &str = "#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define API __attribute__((visibility(\"default\")))
typedef int (*order_t)(const char *, const char *);
struct table { order_t order; size_t (*length)(const char *); void *(*get)(size_t); int (*print)(const char *, ...); };
API const struct table table = {strcmp, strlen, malloc, printf};
API int is_strcmp(order_t order) { return order == strcmp; }
API order_t given(void) { return strcmp; }
static char own[16][40];
API long equal(order_t order)
{
    long n = 0;
#pragma omp parallel for
    for (int i = 0; i < 16; i++) snprintf(own[i], sizeof own[i], \"text %d\", i % 3);
#pragma omp parallel for reduction(+ : n)
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) n += order(own[i], own[j]) == 0;
    return n;
}
";

const USER: &str = "#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef int (*order_t)(const char *, const char *);
struct table { order_t order; size_t (*length)(const char *); void *(*get)(size_t); int (*print)(const char *, ...); };
extern const struct table table;
int is_strcmp(order_t order);
order_t given(void);
long equal(order_t order);
static order_t own = strcmp;
int main(void)
{
    printf(\"%d %d %d\\n\", table.order == strcmp, table.length == strlen, table.get == malloc);
    printf(\"%d %d %d %d\\n\", table.print == printf, is_strcmp(strcmp), is_strcmp(strcoll), given() == own);
    printf(\"%ld %ld\\n\", equal(own), equal(given()));
    return 3;
}
";

#[test]
fn addresses_are_equal_in_libraries() {
    let Some(case) = Case::new("pointers", &[("user.c", USER), ("library.c", LIBRARY)]) else { return };
    let origin = "-Wl,-rpath,$ORIGIN";
    for (linker, code, hidden) in
        [("bfd", "-fPIE -pie", ""), ("lld", "-fno-pie -no-pie", "-fvisibility=hidden")]
    {
        case.both(&format!("-fuse-ld={linker} -O2 -fopenmp -fPIC {hidden} -shared ../library.c -o lib.so"));
        case.both(&format!("-fuse-ld={linker} -O2 -fopenmp {code} ../user.c lib.so {origin} -o x"));
        case.agrees("x");
    }
}
