//! Functions that dsm-cc did not compile: the link names those that get shared memory, and users state what they read and write.

use dsm_tests::execute::{self, Outcome};
use std::process::Command;

use super::case::Case;

/// A library as other compilers make it.
const PLAIN: &str = "#include <stddef.h>
struct piece { double *at; long n; };
double plain_sum(const double *a, long n) { double s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }
void plain_scale(double *a, long rows, long columns, double f) { for (long i = 0; i < rows * columns; i++) a[i] *= f; }
long plain_length(const char *text) { long n = 0; while (text[n]) n++; return n; }
long plain_apply(double *a, int n, double (*change)(double)) { for (int i = 0; i < n; i++) a[i] = change(a[i]); return n; }
void plain_level(const int *level) { }
double plain_piece(struct piece p) { return p.n ? p.at[0] : 0; }
";

const DECLARATIONS: &str = "double plain_sum(const double *a, long n);
void plain_scale(double *a, long rows, long columns, double f);
long plain_length(const char *text);
long plain_apply(double *a, int n, double (*change)(double));
void plain_level(const int *level);
";

/// Each call is made by a thread that has not written the data.
const USER: &str = "
#include <stdio.h>
#include <string.h>
enum { N = 40000 };
static double a[N];
static char text[9000];
static int level;
static double more(double x) { double y; _Pragma(\"omp atomic read\") y = a[0]; return x + (y > 0); }
int main(void)
{
    double sum = 0;
    long length = 0;
#pragma omp parallel num_threads(4)
    {
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++) a[i] = i % 5 + 1;
#pragma omp single
        memset(text, 'x', sizeof text - 1);
#pragma omp for schedule(static, 1) reduction(+ : sum, length)
        for (int i = 3; i >= 0; i--) {
            sum += plain_sum(a, N);
            length += plain_length(text);
            plain_level(&level);
        }
#pragma omp for schedule(static, 1)
        for (int i = 3; i >= 0; i--) plain_scale(a + i * N / 4, 100, N / 400, 2);
#pragma omp for schedule(static, 1)
        for (int i = 3; i >= 0; i--) plain_apply(a + i * N / 4, N / 4, more);
#pragma omp for schedule(static, 1000) reduction(+ : sum)
        for (int i = 0; i < N; i++) sum += a[i];
    }
    printf(\"%.0f %ld\\n\", sum, length);
    return 0;
}
";

const EFFECTS: &str = "# What lib.so does.
plain_sum:    reads(arg0, arg1*8)
plain_scale:  writes(arg0, arg1*arg2*8)    # a matrix
plain_length: reads(arg0, string)
plain_apply:  writes(arg0, arg1*8), calls
plain_level:  harmless
";

const ORIGIN: &str = "-Wl,-rpath,$ORIGIN";

fn source(declarations: &str) -> String {
    format!("{declarations}{USER}")
}

/// `dsm/x` on several layouts does what `clang/x` does.
fn agrees(case: &Case) {
    let expected = case.must("clang", case.root.join("clang/x"), "");
    for layout in [["-n", "1", "-t", "4"], ["-n", "2", "-t", "2"], ["-n", "4", "-t", "1"]] {
        let mut command = Command::new(&case.dsm.run);
        command.args(layout).arg(case.root.join("dsm/x"));
        execute::hide_own_variables(&mut command);
        let found = execute::run(&mut command, "", execute::time_limit());
        assert_eq!((found.text(), found.errors()), (expected.clone(), String::new()), "{layout:?}");
    }
}

/// The link must succeed and warn of these functions, in this order, each on a line.
fn warns(outcome: &Outcome, functions: &[(&str, &str)]) {
    let errors = outcome.errors();
    assert_eq!(outcome.status, Some(0), "{errors}");
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!(lines.len(), functions.len(), "{errors}");
    for (line, (place, function)) in lines.iter().zip(functions) {
        let begin =
            format!("{place}: warning: `{function}` gets a pointer to memory that processes may share");
        assert!(line.starts_with(&begin), "not '{begin}': {line}");
    }
}

#[test]
fn a_file_states_effects() {
    let sources = [("user.c", &*source(DECLARATIONS)), ("plain.c", PLAIN), ("effects", EFFECTS)];
    let Some(case) = Case::new("effects_file", &sources) else { return };
    for directory in ["clang", "dsm"] {
        case.must(directory, dsm_tests::toolchain::clang(), "-O2 -fPIC -shared ../plain.c -o lib.so");
    }
    case.native(&format!("-O2 -fopenmp ../user.c lib.so {ORIGIN} -o x"));
    for level in ["-O0", "-O2"] {
        case.compiled(&format!("{level} -fopenmp -fdsm-effects=../effects ../user.c lib.so {ORIGIN} -o x"));
        agrees(&case);
    }
}

#[test]
fn the_source_states_effects() {
    let declarations = "#include <dsm.h>
#ifdef __cplusplus
extern \"C\" {
#endif
double plain_sum(const double *a, long n) DSM_EFFECTS(\"reads(arg0, arg1*8)\");
void plain_scale(double *a, long rows, long columns, double f) DSM_EFFECTS(\"writes(arg0, arg1*arg2*8)\");
long plain_length(const char *text) DSM_EFFECTS(\"reads(arg0, string)\");
long plain_apply(double *a, int n, double (*change)(double)) DSM_EFFECTS(\"writes(arg0, arg1*8), calls\");
void plain_level(const int *level) DSM_EFFECTS(\"harmless\");
#ifdef __cplusplus
}
#endif
";
    let (c, cxx) = (source(DECLARATIONS), source(declarations));
    let sources = [("user.c", &*c), ("stated.c", &*cxx), ("stated.cpp", &*cxx), ("plain.c", PLAIN)];
    let Some(case) = Case::new("effects_source", &sources) else { return };
    for directory in ["clang", "dsm"] {
        case.must(directory, dsm_tests::toolchain::clang(), "-O2 -c ../plain.c -o plain.o");
    }
    case.native("-O2 -fopenmp ../user.c plain.o -o x");
    case.compiled("-O2 -fopenmp -fdsm-allow-plain ../stated.c plain.o -o x");
    agrees(&case);
    case.must("dsm", &case.dsm.cxx, "-O2 -fopenmp -fdsm-allow-plain ../stated.cpp plain.o -o x");
    agrees(&case);
}

#[test]
fn what_has_no_checks_is_named() {
    let user = "struct piece { double *at; long n; };
double plain_piece(struct piece p);
static long most(const long *values) { long n = 0; for (int i = 0; i < 3; i++) n += values[i]; return n; }
static struct piece one = {a, 3};
__attribute__((noinline)) long use(void)
{
    long three[3] = {1, 2, 3};
    plain_level(&level);
    plain_level(&level);
    return plain_piece(one) + most(three);
}
";
    let user = source(DECLARATIONS)
        .replace("int main", &format!("{user}int main"))
        .replace("return 0", "return use() < 0");
    let sources = [("user.c", &*user), ("plain.c", PLAIN), ("effects", EFFECTS)];
    let Some(case) = Case::new("effects_unknown", &sources) else { return };
    let clang = dsm_tests::toolchain::clang();
    case.must("dsm", &clang, "-O2 -fPIC -shared ../plain.c -o libplain.so");
    case.must("dsm", &clang, "-O2 -c ../plain.c -o plain.o");
    case.must("dsm", "ar", "rcs libstatic.a plain.o");
    let all = [
        ("../user.c:21", "plain_level"),
        ("../user.c:23", "plain_piece"),
        ("../user.c:37", "plain_sum"),
        ("../user.c:38", "plain_length"),
        ("../user.c:42", "plain_scale"),
        ("../user.c:44", "plain_apply"),
    ];
    let lines = |outcome: &Outcome| {
        // Line numbers are those of the source, whatever the compiler did with the calls.
        warns(outcome, &all);
        assert!(outcome.errors().contains(
            "`plain_level` gets a pointer to memory that processes may share (and in 2 more calls)"
        ));
    };
    lines(&case.cc("-O1 -fopenmp ../user.c -L. -lplain -o x"));
    case.compiled("-O1 -fopenmp -c ../user.c -o user.o");
    lines(&case.cc("user.o libplain.so -o x"));
    lines(&case.cc("-O1 -flto -fuse-ld=lld -fopenmp ../user.c -L. -lplain -o x"));
    lines(&case.cc("-fdsm-allow-plain user.o plain.o -o x"));
    let archive = case.cc("user.o -L. -lstatic -o x").errors();
    assert!(archive.lines().filter(|l| l.contains("warning: `plain_")).count() == all.len(), "{archive}");
    case.compiled("-w user.o libplain.so -o x");
    let piece = case.cc("-O1 -fopenmp -fdsm-effects=../effects ../user.c libplain.so -o x");
    warns(&piece, &[all[1]]);
}

/// Definitions with checks in another source, object, archive or library end the doubt; what a library calls is judged with the program.
#[test]
fn what_has_checks_is_not_named() {
    let middle = "double plain_sum(const double *a, long n);
static double values[10];
double middle(double *a) { return plain_sum(a, 10) + plain_sum(values, 10); }
";
    let user = "double middle(double *a);
static double a[10];
int main(void) { a[1] = 1; return (int)middle(a) - 1; }
";
    let sources = [("user.c", user), ("middle.c", middle), ("plain.c", PLAIN)];
    let Some(case) = Case::new("effects_known", &sources) else { return };
    case.compiled("-O2 ../user.c ../middle.c ../plain.c -o x");
    for source in ["user", "middle", "plain"] {
        case.compiled(&format!("-O2 -fPIC -c ../{source}.c -o {source}.o"));
    }
    case.must("dsm", "ar", "rcs libplain.a plain.o");
    case.compiled("user.o middle.o -L. -lplain -o x");
    case.compiled("-O2 -flto -fuse-ld=lld ../user.c ../middle.c ../plain.c -o x");
    case.compiled("-shared plain.o -o libchecked.so");
    case.compiled(&format!("user.o middle.o -L. -lchecked {ORIGIN} -o x"));
    // No library knows what it is linked with.
    case.compiled("-shared middle.o -o libmiddle.so");
    case.compiled("user.o libmiddle.so plain.o -o x");
    case.must("dsm", dsm_tests::toolchain::clang(), "-O2 -fPIC -shared ../plain.c -o libunchecked.so");
    warns(&case.cc("user.o libmiddle.so libunchecked.so -o x"), &[("../middle.c:3", "plain_sum")]);
}

#[test]
fn nonsense_is_refused_with_its_place() {
    let sources = [("user.c", &*source(DECLARATIONS)), ("plain.c", PLAIN)];
    let Some(case) = Case::new("effects_nonsense", &sources) else { return };
    for (text, part) in [
        (
            "plain_sum: reads(arg0, arg1*8)\nplain_level harmless\n",
            "../effects:2: `plain_level harmless` is not of the form",
        ),
        (
            "plain_sum: reads(arg0, arg1*8\n",
            "../effects:1: `reads(arg0, arg1*8` is no effect; there are reads(",
        ),
        ("plain_sum: reads(arg0, lots)\n", "../effects:1: `lots` is no length: a number of bytes"),
        ("plain_sum: reads(a, 8)\n", "../effects:1: `a` is no argument: they are arg0"),
        ("f: harmless\n\nf: calls\n", "../effects:3: the effects of `f` are stated twice"),
    ] {
        case.write("effects", text);
        let outcome = case.cc("-O2 -fopenmp -fdsm-effects=../effects -c ../user.c -o user.o");
        let errors = outcome.errors();
        assert_eq!(outcome.status, Some(1), "{errors}");
        assert!(errors.starts_with(&format!("error: {part}")), "{errors}");
        assert_eq!(errors.lines().count(), 2, "{errors}");
    }
    let missing = case.cc("-fdsm-effects=../none -c ../user.c -o user.o");
    assert!(
        missing.status == Some(1) && missing.errors().contains("error: ../none: cannot read"),
        "{}",
        missing.errors()
    );
    case.write("user.c", "#include <dsm.h>\nvoid f(int *) DSM_EFFECTS(\"writes\");\nstatic int x;\nint main(void) { f(&x); }\n");
    let source = case.cc("-c ../user.c -o user.o").errors();
    assert!(source.starts_with("error: ../user.c:2: `writes` is no effect"), "{source}");
    // Lengths that are not there, or no numbers.
    case.write("user.c", "void f(int *, double);\nstatic int x;\nint main(void) { f(&x, 1); }\n");
    for length in ["arg1", "arg2*8"] {
        case.write("effects", &format!("f: writes(arg0, {length})\n"));
        let outcome = case.cc("-fdsm-effects=../effects -c ../user.c -o user.o");
        let errors = outcome.errors();
        assert!(
            outcome.status == Some(0)
                && errors.contains("user.c:3:")
                && errors.contains("do not fit this call"),
            "{errors}"
        );
    }
}
