//! What cannot be shared, or is too much, is said, with its place: by the compiler where it sees it, by the program where it happens.

use super::case::Case;

/// Runs the driver, which must succeed; its warnings.
fn warnings(case: &Case, arguments: &str) -> Vec<String> {
    let outcome = case.cc(arguments);
    assert_eq!(outcome.status, Some(0), "{arguments}\n{}", outcome.errors());
    outcome.errors().lines().filter(|l| l.contains("warning:")).map(str::to_owned).collect()
}

#[test]
fn inline_assembly() {
    let source = "int x, a[100];
int main(void)
{
    int own = 0, r;
    __asm__ volatile(\"incl %0\" : \"+m\"(own));
    __asm__ volatile(\"incl %0\" : \"+m\"(x));
    __asm__ volatile(\"movl (%1), %0\" : \"=r\"(r) : \"r\"(a));
    __asm__ volatile(\"\" : : \"r\"(a) : \"memory\");
    __asm__ volatile(\"pause\" : : : \"memory\");
    return own + x + r;
}
";
    let Some(case) = Case::new("assembly", &[("asm.c", source)]) else { return };
    for options in ["-O2", "-O0", "-O2 -g", "-O2 -flto"] {
        let found = warnings(&case, &format!("{options} -c ../asm.c -o asm.o"));
        let [operand, address] = &found[..] else { panic!("{options}: {found:?}") };
        assert!(
            operand.contains("asm.c:6:") && operand.contains("operand in memory"),
            "{options}: {operand}"
        );
        assert!(address.contains("asm.c:7:") && address.contains("gets the address"), "{options}: {address}");
    }
}

/// As kernels are written that have more pointers than there are registers: those are in local variables, from which the assembly loads them.
#[test]
fn addresses_in_variables() {
    let source = "#include <stdint.h>
void kernel(long k, const double *a, const double *b, double *c, long row)
{
    uint64_t iterations = k / 4, rest = k % 4;
    const double *next = b + k;
    __asm__ volatile(\"movq %2, %%rax\\n\\tmovq %3, %%rbx\\n\\tmovq %0, %%rsi\\n\\t\"
                     : : \"m\"(iterations), \"m\"(rest), \"m\"(a), \"m\"(b), \"m\"(c), \"m\"(row), \"m\"(next)
                     : \"rax\", \"rbx\", \"rsi\", \"memory\");
}
void integers(double *p, long n)
{
    uintptr_t x = (uintptr_t)(p + n);
    __asm__ volatile(\"movq %0, %%rax\" : : \"m\"(x) : \"rax\", \"memory\");
    __asm__ volatile(\"movq (%0), %%rax\" : : \"r\"(x) : \"rax\", \"memory\");
}
double none(double *p, long n)
{
    double d = p[0], out = d, four[4] = {d, d, d, d};
    unsigned mode;
    uintptr_t low = (uintptr_t)p & 63, length = (uintptr_t)(p + n) - (uintptr_t)p;
    const char *text = \"text\";
    __asm__ volatile(\"stmxcsr %0\" : \"=m\"(mode));
    __asm__ volatile(\"ldmxcsr %0\" : : \"m\"(mode));
    __asm__ volatile(\"movsd %1, %%xmm0; movsd %%xmm0, %0\" : \"=m\"(out) : \"m\"(d) : \"xmm0\");
    __asm__ volatile(\"movups %0, %%xmm0; movq %1, %%rax\" : : \"m\"(four), \"m\"(n) : \"xmm0\", \"rax\", \"memory\");
    __asm__ volatile(\"movq %0, %%rax; movq %1, %%rax\" : : \"m\"(low), \"m\"(length) : \"rax\", \"memory\");
    __asm__ volatile(\"movq %0, %%rax\" : : \"m\"(text) : \"rax\");
    __asm__ volatile(\"\" : \"+m\"(p), \"+r\"(length) : \"r\"((uintptr_t)p) : \"memory\");
    return out + p[n] + length;
}
";
    let Some(case) = Case::new("assembly-variables", &[("asm.c", source)]) else { return };
    for options in ["-O2", "-O0", "-O3 -g"] {
        let found = warnings(&case, &format!("{options} -c ../asm.c -o asm.o"));
        let [kernel, variable, register] = &found[..] else { panic!("{options}: {found:?}") };
        let reads = "reads the address of memory that may be shared from an operand in memory";
        assert!(kernel.contains("asm.c:6:") && kernel.contains(reads), "{options}: {kernel}");
        assert!(variable.contains("asm.c:13:") && variable.contains(reads), "{options}: {variable}");
        assert!(
            register.contains("asm.c:14:") && register.contains("gets the address"),
            "{options}: {register}"
        );
    }
}

/// Without devices target regions are ordinary ones, and right.
#[test]
fn target_regions() {
    let source = "#include <omp.h>
#include <stdio.h>
int a[100];
int main(void)
{
    int s = 0;
#pragma omp target map(tofrom : s)
    s = omp_get_num_devices();
#pragma omp target teams distribute parallel for map(tofrom : a)
    for (int i = 0; i < 100; i++) a[i] = i;
#pragma omp target parallel for reduction(+ : s) map(tofrom : s)
    for (int i = 0; i < 100; i++) s += a[i];
    printf(\"%d %d %d\\n\", s, omp_get_num_devices(), omp_is_initial_device());
    return 0;
}
";
    let Some(case) = Case::new("target", &[("target.c", source)]) else { return };
    let found = warnings(&case, "-O2 -fopenmp ../target.c -o x");
    let [plain, first, second] = &found[..] else { panic!("{found:?}") };
    for (warning, line) in [(plain, "7"), (first, "9"), (second, "11")] {
        let text = format!("target.c:{line}:");
        assert!(warning.contains(&text) && warning.contains("`main`"), "{warning}");
        assert!(warning.contains("omp target") && warning.contains("runs on the host"), "{warning}");
    }
    case.native("-O2 -fopenmp ../target.c -o x");
    case.agrees("x");
    for processes in [1, 2] {
        let line = format!("OMP_TARGET_OFFLOAD=mandatory {} -n {processes} ./x", case.dsm.run.display());
        let outcome = case.run("dsm", "env", &line);
        let message = outcome.errors();
        assert!(outcome.status != Some(0) && outcome.text().is_empty(), "{message}");
        assert!(
            message.contains("OMP_TARGET_OFFLOAD is mandatory") && message.contains("line 7"),
            "{message}"
        );
    }
    let fortran = "program target
  integer :: x
  x = 0
!$omp target map(tofrom: x)
  x = 3
!$omp end target
  print *, x
end program
";
    case.write("target.f90", fortran);
    let outcome = case.run("dsm", &case.dsm.fc, "-O2 -fopenmp ../target.f90 -o f");
    assert!(outcome.errors().contains("`omp target` region in line 4"), "{}", outcome.errors());
    let link = "-O2 -fopenmp -fopenmp-targets=nvptx64 ../target.c -o y";
    case.refused(link, "y", &["-fopenmp-targets=nvptx64", "not supported"]);
}

/// A child has a copy of its parent's memory, and is no part of the job.
#[test]
fn fork() {
    let source = "#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int a[100000];
int main(int argc, char **argv)
{
    int *heap = malloc(1 << 20);
    *heap = 3;
    a[0] = 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (argc > 1 && !strcmp(argv[1], \"exec\")) execlp(\"echo\", \"echo\", \"from exec\", NULL);
        a[0] += 76;
        *heap += 4;
        char *more = malloc(1 << 20);
        strcpy(more, \"child\");
        printf(\"%s %d %d\\n\", more, a[0], *heap);
        free(more), free(heap), exit(5);
    }
    int status;
    waitpid(child, &status, 0);
    printf(\"parent %d %d %d\\n\", a[0], *heap, WEXITSTATUS(status));
    fflush(stdout);
#pragma omp parallel for
    for (int i = 0; i < 100000; i++) a[i] = i;
    child = fork();
    if (child == 0) {
        long sum = 0;
        for (int i = 0; i < 100000; i++) sum += a[i];
        _exit(sum != 4999950000);
    }
    waitpid(child, &status, 0);
    printf(\"then %d\\n\", WEXITSTATUS(status));
    return 0;
}
";
    let Some(case) = Case::new("fork", &[("fork.c", source)]) else { return };
    case.both("-O2 -g -fopenmp ../fork.c -o x");
    let expected = case.must("clang", "./x", "");
    assert_eq!(expected, "child 77 7\nparent 1 3 5\nthen 0\n");
    assert_eq!(case.must("dsm", "./x", ""), expected);
    assert_eq!(case.must("dsm", &case.dsm.run, "-n 1 ./x"), expected);
    // Half of the array is in the other process when the second child wants it.
    let outcome = case.run("dsm", &case.dsm.run, "-n 2 ./x exec");
    assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
    assert_eq!(outcome.text(), "from exec\nparent 1 3 0\nthen 1\n", "{}", outcome.errors());
    let message = outcome.errors();
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(
        message.contains("the child of the fork at") && message.contains("fork.c:29 (main)"),
        "{message}"
    );
    let outcome = case.run("dsm", &case.dsm.run, "-n 2 ./x");
    assert_eq!(outcome.text(), expected.replace("then 0", "then 1"), "{}", outcome.errors());
}

#[test]
fn loading_instrumented_libraries_later() {
    let source = "#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library) {
        puts(dlerror());
        return 1;
    }
    int (*add)(int) = (int (*)(int))dlsym(library, \"add\");
    printf(\"%d\\n\", add(3));
    return 0;
}
";
    let library = "int sum = 4;
int *where(int *p) { return p; }
int add(int n) { int own = n; sum += *where(&own); return sum; }
";
    let Some(case) = Case::new("dlopen", &[("load.c", source), ("library.c", library)]) else { return };
    case.both("-O2 -g ../load.c -o x -ldl");
    case.both("-O2 -fPIC -shared ../library.c -o lib.so");
    assert_eq!(case.must("clang", "./x", "./lib.so"), "7\n");
    // Libraries of other compilers are as ever, missing ones, too.
    assert_eq!(case.must("dsm", &case.dsm.run, "-n 1 ./x ../clang/lib.so"), "7\n");
    let missing = case.run("dsm", &case.dsm.run, "-n 1 ./x ./none.so");
    assert_eq!(missing.text(), case.run("clang", "./x", "./none.so").text());
    for processes in ["1", "2"] {
        let outcome = case.run("dsm", &case.dsm.run, &format!("-n {processes} ./x ./lib.so"));
        let message = outcome.errors();
        assert_eq!(outcome.status, Some(1), "{message}");
        assert_eq!(message.matches("error:").count(), 1, "{message}");
        for part in ["dlopen at", "load.c:5 (main)", "lib.so", "link the program with it"] {
            assert!(message.contains(part), "not '{part}' in: {message}");
        }
    }
}

/// A full heap is told as the language has it, once more in words, and what the program frees can be had again.
#[test]
fn full_heaps() {
    let c = "#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    void *aligned = NULL;
    int code = posix_memalign(&aligned, 64, 100000000);
    /* Kept in memory: the compiler may leave out allocations that nobody uses. */
    void *volatile large = malloc(100000000);
    void *volatile old = malloc(1000);
    void *volatile larger = realloc(old, 100000000);
    void *volatile fits = calloc(1000, 1000);
    printf(\"%d %d %d %d\\n\", large == NULL, code == ENOMEM, larger == NULL, fits != NULL);
    return 0;
}
";
    let cxx = "#include <cstdio>
#include <new>
#include <vector>
static std::vector<char> *reserve;
// The compiler may leave out allocations that nobody uses.
static char *volatile seen;
struct Member {
    std::vector<char> bytes;
    explicit Member(std::size_t n) : bytes(n) { seen = bytes.data(); }
};
static int caught(std::size_t n)
{
    try {
        Member member(n);
        return (int)member.bytes.size();
    } catch (const std::bad_alloc &) {
        return -1;
    }
}
int main(int argc, char **)
{
    int all = 0;
#pragma omp parallel for reduction(+ : all) num_threads(2)
    for (int i = 0; i < 2; i++) all += caught(100000000);
    std::printf(\"%d %d %d\\n\", all, caught(1000), (seen = new (std::nothrow) char[100000000]) == nullptr);
    reserve = new std::vector<char>(40000000);
    std::set_new_handler([] {
        if (!reserve) throw 7;
        delete reserve;
        reserve = nullptr;
        std::puts(\"freed\");
    });
    char *volatile now = new char[40000000];
    int thrown = 0;
    try { now = new char[40000000]; } catch (int n) { thrown = n; }
    std::printf(\"%d %d\\n\", now != nullptr, thrown);
    std::fflush(stdout);
    std::set_new_handler(nullptr);
    if (argc > 1) seen = new char[100000000];
    return 0;
}
";
    let fortran = "program full
  integer(8), allocatable :: a(:), b(:)
  integer :: status
  character(80) :: text
  allocate(a(20000000), stat=status)
  print *, status /= 0, allocated(a)
  allocate(b(1000), stat=status, errmsg=text)
  print *, status, allocated(b)
  flush(6)
  ! flang does not look whether an allocation without stat= has succeeded.
  allocate(a(30000000))
  a = status
  print *, a(30000000)
end program
";
    let Some(case) = Case::new("full", &[("c.c", c), ("cxx.cpp", cxx), ("fortran.f90", fortran)]) else {
        return;
    };
    case.compiled("-O2 ../c.c -o c");
    case.must("dsm", &case.dsm.cxx, "-O2 -fopenmp ../cxx.cpp -o cxx");
    case.must("dsm", &case.dsm.fc, "-O2 ../fortran.f90 -o fortran");
    let run = |arguments: &str| {
        let outcome = case.run("dsm", "env", &format!("DSM_HEAP=64M {} {arguments}", case.dsm.run.display()));
        let message = outcome.errors();
        let words = message.lines().filter(|l| l.contains("dsm: warning: process") && l.contains("DSM_HEAP"));
        (outcome.status, outcome.text(), words.count(), message)
    };
    for processes in [1, 2] {
        let (status, text, words, message) = run(&format!("-n {processes} ./c"));
        assert_eq!((status, &*text, words), (Some(0), "1 1 1 1\n", 1), "{message}");
        // Each process has a heap of its own that is full.
        let (status, text, words, message) = run(&format!("-n {processes} ./cxx"));
        assert_eq!((status, &*text), (Some(0), "-2 1000 1\nfreed\n1 7\n"), "{message}");
        assert_eq!((words, message.lines().count()), (processes, processes), "{message}");
    }
    let (status, text, words, message) = run("-n 1 ./cxx uncaught");
    assert_ne!(status, Some(0), "{message}");
    assert!(text.ends_with("1 7\n") && words == 1 && message.contains("std::bad_alloc"), "{message}");
    let (status, text, words, message) = run("-n 1 ./fortran");
    assert_ne!(status, Some(0), "{message}");
    assert!(text.contains("T F") && text.contains("0 T") && words == 1, "{text}{message}");
    assert!(message.contains("SIGSEGV"), "{message}");
}
