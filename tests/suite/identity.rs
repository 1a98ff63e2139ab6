//! Each process has addresses of its own for what is private to it; what another process's address leads to is said.

use dsm_tests::toolchain;

use super::case::{Case, Language};

/// Each thread shows another one where its `errno` is, which no process but its own has.
const FOREIGN: &str = "#include <errno.h>
#include <omp.h>
#include <stdio.h>
static int *where[2];
static int look(int *there) { return *there; }
int main(void)
{
#pragma omp parallel num_threads(2)
    where[omp_get_thread_num()] = &errno;
    printf(\"%d\\n\", look(where[1]));
    return 0;
}
";

#[test]
fn foreign_private_memory_is_named() {
    let Some(case) = Case::new("foreign_private", &[("foreign.c", FOREIGN)]) else { return };
    for options in ["-O0 -g", "-O2 -g"] {
        case.compiled(&format!("{options} -fopenmp ../foreign.c -o x"));
        assert_eq!(case.must("dsm", &case.dsm.run, "-n 1 -t 2 ./x"), "0\n");
        let outcome = case.run("dsm", &case.dsm.run, "-n 2 ./x");
        let message = outcome.errors();
        assert_eq!(outcome.status, Some(1), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        for part in ["dsm: error: process 0: ", "foreign.c:5 (", "reads 0x", "private to process 1"] {
            assert!(message.contains(part), "not '{part}' in: {message}");
        }
    }
}

/// A library of another compiler, whose objects of all sizes lie in the C library's heap.
const OBJECTS: &str = "#include <stdlib.h>
int *make(int bytes) { int *object = malloc(bytes); *object = bytes; return object; }
int value(int *object) { return *object; }
";

/// The initial thread has them made; all use one.
const USES_OBJECTS: &str = "#include <stdio.h>
#include <stdlib.h>
int *make(int bytes);
int value(int *object);
int main(int argc, char **argv)
{
    int sum = 0;
    int *object = make(atoi(argv[1]));
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += value(object);
    printf(\"%d\\n\", sum);
    return 0;
}
";

#[test]
fn what_libraries_allocate_is_private() {
    let Some(case) = Case::new("objects", &[("use.c", USES_OBJECTS), ("objects.c", OBJECTS)]) else { return };
    case.must("dsm", toolchain::clang(), "-O2 -shared -fPIC ../objects.c -o libobjects.so");
    case.compiled("-w -O2 -g -fopenmp ../use.c libobjects.so -Wl,-rpath,$ORIGIN -o x");
    for bytes in [16, 40, 1000, 20000, 100_000, 1 << 20] {
        let sum = format!("{}\n", 2 * bytes);
        assert_eq!(case.must("dsm", &case.dsm.run, &format!("-n 1 -t 2 ./x {bytes}")), sum);
        let outcome = case.run("dsm", &case.dsm.run, &format!("-n 2 ./x {bytes}"));
        let message = outcome.errors();
        assert_eq!(outcome.status, Some(1), "{bytes} bytes: {message}");
        for part in
            ["dsm: error: process 1: value, called at ", "private to process 0", "a library allocated"]
        {
            assert!(message.contains(part), "not '{part}' in: {message}");
        }
    }
}

/// A fault of the program's own ends it as ever.
#[test]
fn other_faults_are_the_program_s() {
    let source = "int main(void) { *(volatile int *)8 = 1; return 0; }\n";
    let Some(case) = Case::new("own_fault", &[("fault.c", source)]) else { return };
    case.compiled("-O2 ../fault.c -o x");
    let message = case.run("dsm", &case.dsm.run, "-n 2 ./x").errors();
    assert!(message.contains("SIGSEGV") && !message.contains("private"), "{message}");
}

/// Without a limit of the stack the system would place threads' stacks at the same addresses in all processes.
#[test]
fn an_unlimited_stack_stays_unlimited() {
    let source = "#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
int main(void)
{
    pthread_t ids[4];
    int equal = 0;
#pragma omp parallel num_threads(4)
    {
        extern int omp_get_thread_num(void);
        ids[omp_get_thread_num()] = pthread_self();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++) equal += pthread_equal(ids[i], ids[j]) != 0;
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    printf(\"%d %d\\n\", equal, limit.rlim_cur == limit.rlim_max);
    return 0;
}
";
    let Some(case) = Case::new("unlimited_stack", &[("unlimited.c", source)]) else { return };
    case.both_as(Language::C, "-O2 -fopenmp ../unlimited.c -o x");
    let script = "#!/bin/sh\nulimit -Ss $(ulimit -Hs)\nexec \"$@\"\n";
    case.write("unlimited.sh", script);
    for layout in ["-n 1 -t 4", "-n 2 -t 2", "-n 4"] {
        let line = format!("../unlimited.sh {} {layout} ./x", case.dsm.run.display());
        assert_eq!(case.must("dsm", "sh", &line), "0 1\n", "{layout}");
    }
}
