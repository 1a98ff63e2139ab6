//! The linker's option `--wrap`: what it says holds for the program, and not for the runtime.

use super::case::Case;

const COPIES: &str = "#include <stdio.h>
#include <string.h>
void *__real_memcpy(void *, const void *, size_t);
static long calls;
long buffer[8][512], source[512];
void *__wrap_memcpy(void *to, const void *from, size_t n)
{
#pragma omp atomic
    calls++;
    return __real_memcpy(to, from, n);
}
int main(int argc, char **argv)
{
    for (int i = 0; i < 512; i++) source[i] = i;
    size_t n = sizeof source - 8 * (argc - 1);
#pragma omp parallel for
    for (int i = 0; i < 8; i++) memcpy(buffer[i], source, n);
    long sum = 0;
    for (int i = 0; i < 8; i++) sum += buffer[i][511];
    printf(\"%ld, %ld calls\\n\", sum, calls);
    return 0;
}
";

const TEMPLATES: &str = "__asm__(\".symver memcpy,memcpy@GLIBC_2.2.5\");
#include <iostream>
#include <string>
int main()
{
    std::string line, all = \"four\";
    while (std::getline(std::cin, line)) all += line;
    long n = 0;
#pragma omp parallel for reduction(+ : n)
    for (int i = 0; i < 8; i++) n += (long)all.size();
    std::cout << n << \"\\n\";
}
";

const ALLOCATIONS: &str = "#include <stdio.h>
#include <stdlib.h>
long allocations, releases;
int main(void)
{
    static int *p[8];
#pragma omp parallel for
    for (int i = 0; i < 8; i++) {
        p[i] = malloc(400);
        p[i][99] = i;
    }
    long sum = 0;
    for (int i = 0; i < 8; i++) sum += p[i][99];
#pragma omp parallel for
    for (int i = 0; i < 8; i++) free(p[7 - i]);
    printf(\"%ld, %ld allocated, %ld freed\\n\", sum, allocations, releases);
    return 0;
}
";

const COUNTS_ALLOCATIONS: &str = "#include <stddef.h>
void *__real_malloc(size_t);
extern long allocations;
void *__wrap_malloc(size_t n)
{
#pragma omp atomic
    allocations++;
    return __real_malloc(n);
}
";

const COUNTS_RELEASES: &str = "void __real_free(void *);
extern long releases;
void __wrap_free(void *p)
{
#pragma omp atomic
    releases++;
    __real_free(p);
}
";

/// Runs the program in three layouts, each of which must print this.
fn prints(case: &Case, program: &str, expected: &str) {
    for layout in ["-n 1 -t 2", "-n 2 -t 1", "-n 4 -t 1"] {
        let text = case.must("dsm", &case.dsm.run, &format!("{layout} ./{program}"));
        assert_eq!(text, expected, "{layout}");
    }
}

#[test]
fn copies_of_the_program_are_wrapped_and_those_of_the_runtime_are_not() {
    let Some(case) = Case::new("wrapped_copies", &[("copies.c", COPIES)]) else { return };
    for option in ["-Wl,--wrap=memcpy", "-Xlinker --wrap -Xlinker memcpy", "-Wl,--wrap,memcpy -fuse-ld=lld"] {
        case.compiled(&format!("-O2 -fopenmp ../copies.c -o x {option}"));
        prints(&case, "x", "4088, 8 calls\n");
    }
}

#[test]
fn what_the_runtime_defines_is_wrapped_in_the_program_only() {
    let source = "#include <stdio.h>
#include <pthread.h>
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static int calls, n;
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *p)
{
    calls++;
    return __real_pthread_create(t, a, f, p);
}
static void *add(void *p) { return n += 3, p; }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, add, 0);
    pthread_join(t, 0);
    int sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 8; i++) sum += n;
    printf(\"%d, %d calls\\n\", sum, calls);
    return 0;
}
";
    let Some(case) = Case::new("wrapped_threads", &[("threads.c", source)]) else { return };
    for linker in ["bfd", "lld"] {
        case.compiled(&format!("-O2 -fopenmp ../threads.c -o x -Wl,--wrap=pthread_create -fuse-ld={linker}"));
        prints(&case, "x", "24, 1 calls\n");
    }
}

#[test]
fn compiled_templates_are_not_wrapped() {
    let Some(case) = Case::new("wrapped_templates", &[("templates.cpp", TEMPLATES)]) else { return };
    for linker in ["bfd", "lld"] {
        let line = format!("-O3 -fopenmp ../templates.cpp -o x -Wl,--wrap=memcpy -fuse-ld={linker}");
        case.must("dsm", &case.dsm.cxx, &line);
        prints(&case, "x", "32\n");
    }
}

/// A program that counts what it allocates and frees.
fn counting(name: &str) -> Option<Case> {
    let sources =
        [("main.c", ALLOCATIONS), ("allocations.c", COUNTS_ALLOCATIONS), ("releases.c", COUNTS_RELEASES)];
    Case::new(name, &sources)
}

#[test]
fn wrappers_of_the_allocator_are_called_and_get_shared_memory() {
    let Some(case) = counting("wrapped_allocator") else { return };
    case.compiled("-O2 -fopenmp -c ../main.c ../allocations.c ../releases.c");
    case.must("dsm", "ar", "rcs libcounters.a allocations.o releases.o");
    for linker in ["bfd", "lld"] {
        for (wrappers, expected) in [
            ("-L. -lcounters -Wl,--wrap=malloc,--wrap=free", "28, 8 allocated, 8 freed\n"),
            ("allocations.o -Wl,--wrap=malloc", "28, 8 allocated, 0 freed\n"),
            ("releases.o -Wl,--wrap=free", "28, 0 allocated, 8 freed\n"),
        ] {
            case.compiled(&format!("-fopenmp main.o {wrappers} -fuse-ld={linker} -o x"));
            prints(&case, "x", expected);
        }
    }
}

#[test]
fn what_cannot_be_wrapped_is_refused() {
    let Some(case) = counting("wrapped_refused") else { return };
    let line = "-O2 -fopenmp ../main.c ../allocations.c -o x";
    let parts = ["--wrap=memalign is not supported", "aligned_alloc", "-Dmemalign=wrapper"];
    case.refused(&format!("{line} -Wl,--wrap=memalign"), "x", &parts);
    let parts = ["--wrap=malloc is not supported", "no part of this link"];
    case.refused(&format!("-fPIC -shared {line} -Wl,--wrap=malloc"), "x", &parts);
    case.native("-O2 -c ../main.c -o ../plain.o");
    let line = "-O2 -fopenmp -fdsm-allow-plain ../allocations.c ../plain.o -o x -Wl,--wrap=malloc";
    case.refused(line, "x", &["--wrap=malloc is not supported", "plain.o' calls malloc"]);
}
