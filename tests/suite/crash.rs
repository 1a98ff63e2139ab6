//! A crash names signal, address, function, line, thread and process, and ends the program as ever.

use super::case::Case;

/// Crashes in thread `argv[1]` in the way `argv[2]`.
const CRASHES: &str = "#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static volatile int zero;
static int deep(int n) { volatile char space[4096]; space[0] = n; return deep(n + 1) + space[0]; }
__attribute__((noinline)) static void fault(const char *how)
{
    if (!strcmp(how, \"write\")) *(volatile int *)0xdead = 1;
    if (!strcmp(how, \"read\")) zero = *(volatile int *)8;
    if (!strcmp(how, \"call\")) ((void (*)(void))(long)zero)();
    if (!strcmp(how, \"divide\")) zero = 100 / zero;
    if (!strcmp(how, \"trap\")) __builtin_trap();
    if (!strcmp(how, \"abort\")) abort();
    if (!strcmp(how, \"overflow\")) zero = deep(1);
    if (!strcmp(how, \"raise\")) raise(SIGSEGV);
}
static void own(int number) { (void)number; _Exit(7); }
int main(int argc, char **argv)
{
    struct sigaction before;
    sigaction(SIGSEGV, 0, &before);
    if (before.sa_handler != SIG_DFL) puts(\"a handler\");
    if (argc > 3) signal(SIGSEGV, !strcmp(argv[3], \"own\") ? own : SIG_DFL);
#pragma omp parallel
    if (omp_get_thread_num() == atoi(argv[1])) fault(argv[2]);
    return 0;
}
";

fn case(name: &str, options: &str) -> Option<Case> {
    let case = Case::new(name, &[("crashes.c", CRASHES)])?;
    case.compiled(&format!("{options} -fno-optimize-sibling-calls -fopenmp ../crashes.c -o x"));
    Some(case)
}

/// Standard error of a run that ends with this status, without the launcher's line.
fn crash(case: &Case, arguments: &str, status: i32) -> Vec<String> {
    let outcome = case.run("dsm", &case.dsm.run, arguments);
    let errors = outcome.errors();
    assert_eq!((outcome.status, outcome.text().as_str()), (Some(status), ""), "{arguments}\n{errors}");
    errors.lines().filter(|line| !line.starts_with("dsm-run: ")).map(str::to_owned).collect()
}

#[test]
fn signal_address_function_line_thread_and_process_are_named() {
    let Some(case) = case("crash_lines", "-O1 -g") else { return };
    for (how, status, first, line) in [
        ("write", 139, "SIGSEGV (signal 11): writes address 0xdead, at instruction 0x", 10),
        ("read", 139, "SIGSEGV (signal 11): reads address 0x8 (a null pointer), at instruction 0x", 11),
        ("divide", 136, "SIGFPE (signal 8): division of an integer by zero, at instruction 0x", 13),
        (
            "trap",
            132,
            "SIGILL (signal 4): an instruction that the processor does not execute, at instruction 0x",
            14,
        ),
    ] {
        for (arguments, process, thread) in [("-n 2 -t 2 ./x 3", 1, 3), ("-n 1 -t 2 ./x 1", 0, 1)] {
            let lines = crash(&case, &format!("{arguments} {how}"), status);
            let begin = format!("dsm: process {process}, thread {thread} of its team: {first}");
            assert!(lines[0].starts_with(&begin), "{lines:?}");
            let places: Vec<_> = lines[1..]
                .iter()
                .map(|line| line.strip_prefix(&format!("dsm: process {process}:   ")).expect("its process"))
                .collect();
            assert!(
                places[0].starts_with("in fault at ") && places[0].ends_with(&format!("crashes.c:{line}")),
                "{lines:?}"
            );
            assert!(places[1].starts_with("called by ") && places[1].contains("crashes.c:"), "{lines:?}");
            assert!(
                lines.last().is_some_and(|last| last.contains("core file") && last.contains("gdb")),
                "{lines:?}"
            );
        }
    }
}

#[test]
fn a_call_of_no_function_an_abort_and_a_full_stack_are_named() {
    let Some(case) = case("crash_kinds", "-O1") else { return };
    for (how, status, first, functions) in [
        ("call", 139, "executes address 0x0 (a null pointer)", &["called by fault"][..]),
        ("abort", 134, "SIGABRT (signal 6): the program called abort", &["called by fault"]),
        ("overflow", 139, "its stack being full", &["in deep", "called by deep"]),
        ("raise", 139, "SIGSEGV (signal 11): the program sent it to itself", &["called by fault"]),
    ] {
        for thread in [0, 1] {
            let lines = crash(&case, &format!("-n 2 ./x {thread} {how}"), status);
            assert!(lines[0].starts_with(&format!("dsm: process {thread}, thread {thread}")), "{lines:?}");
            assert!(lines[0].contains(first), "{lines:?}");
            for function in functions {
                let prefix = format!("dsm: process {thread}:   {function} ");
                assert!(lines.iter().any(|line| line.starts_with(&prefix)), "not '{function}' in {lines:?}");
            }
        }
    }
}

/// The places have addresses of the file, which a copy with names can tell more about; lines of several processes that crash are not mixed.
#[test]
fn a_stripped_program_has_addresses_for_names() {
    let Some(case) = case("crash_stripped", "-O1 -s") else { return };
    let lines = crash(&case, "-n 2 ./x 1 write", 139);
    let places: Vec<_> = lines[1..lines.len() - 1]
        .iter()
        .map(|line| line.strip_prefix("dsm: process 1:   ").expect("its process"))
        .collect();
    assert!(
        places[0].starts_with("in /") && places[0].ends_with(", which has no name for the place"),
        "{lines:?}"
    );
    for (index, place) in places.iter().enumerate() {
        let (_, address) = place.split_once("/x+0x").expect("an address");
        let digits = address.split(',').next().expect("the address");
        assert!(
            u64::from_str_radix(digits, 16).is_ok() && (index == 0 || place.starts_with("called by /")),
            "{lines:?}"
        );
    }
}

/// Names are found though the C library's allocator, in which it crashed, cannot be used any more.
#[test]
fn a_broken_heap_is_reported() {
    let source = "#include <stdio.h>
#include <string.h>
extern void *__libc_malloc(unsigned long);
extern void __libc_free(void *);
int main(void)
{
    char *p = __libc_malloc(2000), *q = __libc_malloc(2000);
    memset(p, 0x7f, 2020);
    __libc_free(q);
    puts(\"not found\");
    return 0;
}
";
    let Some(case) = Case::new("crash_heap", &[("heap.c", source)]) else { return };
    let built = case.cc("-O1 -w ../heap.c -o x");
    assert_eq!(built.status, Some(0), "{}", built.errors());
    let outcome = case.run("dsm", &case.dsm.run, "./x");
    let errors = outcome.errors();
    assert_eq!((outcome.status, outcome.text().as_str()), (Some(134), ""), "{errors}");
    assert!(errors.contains("SIGABRT") && errors.contains("called by main "), "{errors}");
}

#[test]
fn the_programs_own_actions_take_the_place_of_the_report() {
    let Some(case) = case("crash_own", "-O1") else { return };
    for processes in [1, 2] {
        assert_eq!(crash(&case, &format!("-n {processes} ./x 0 write own"), 7), [""; 0]);
        assert_eq!(crash(&case, &format!("-n {processes} ./x 0 write default"), 139), [""; 0]);
    }
}

/// A core file has the process's own copy of shared memory, and takes no more space than that: terabytes of address space are reserved.
#[test]
fn a_core_file_has_shared_memory_and_is_small() {
    use std::os::unix::fs::MetadataExt;
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    if pattern.trim() != "core" {
        eprintln!("not tested: core files do not go to the directory of the program ({})", pattern.trim());
        return;
    }
    let source = "#include <stdlib.h>
#include <string.h>
#include <omp.h>
static char *heap;
int main(void)
{
    heap = malloc(1 << 20);
    for (int i = 0; i + 16 < 1 << 20; i += 16) memcpy(heap + i, \"core\" \"file\" \"has\" \"it\", 13);
#pragma omp parallel
    if (omp_get_thread_num() == 1 && heap[64]) *(volatile int *)8 = 1;
    return 0;
}
";
    let Some(case) = Case::new("crash_core", &[("core.c", source)]) else { return };
    case.compiled("-O1 -fopenmp ../core.c -o x");
    let script = format!("ulimit -c unlimited && {} -n 2 ./x", case.dsm.run.display());
    case.write("run.sh", &script);
    let outcome = case.run("dsm", "sh", "../run.sh");
    assert_eq!(outcome.status, Some(139), "{}", outcome.errors());
    let core = case.root.join("dsm/core");
    let state = core.metadata().expect("there is a core file");
    assert!(state.blocks() * 512 < 100 << 20 && state.len() < 4 << 30, "{} {}", state.blocks(), state.len());
    let found = case.must("dsm", "grep", "-c -a -m 1 corefilehasit core");
    std::fs::remove_file(&core).expect("the core file can be removed");
    assert_eq!(found, "1\n");
}
