//! What the OpenMP runtime promises beyond results: how it waits, what it says about its settings.

use std::time::Duration;

use dsm_tests::compile::{self, Target};
use dsm_tests::differential::run_command;
use dsm_tests::execute::{self, Outcome};
use dsm_tests::matrix::{Build, Shape};
use dsm_tests::program::Program;
use dsm_tests::toolchain;

use super::case::Case;

const LIMIT: Duration = Duration::from_secs(20);

/// Runs C source text with these variables set; `None` if there is no toolchain.
pub(crate) fn run(
    name: &str,
    source: &str,
    processes: u32,
    threads: u32,
    variables: &[(&str, &str)],
) -> Option<Outcome> {
    toolchain::dsm()?;
    let path = toolchain::scratch().join(format!("{name}.c"));
    std::fs::write(&path, source).expect("the scratch directory is writable");
    let program = Program::from_source(name, &path);
    let target = Target::Dsm(Build { level: 2, line: 1024 });
    let built = compile::compile(&program, target).expect("the program compiles");
    let shape = Shape { processes, threads, launched: true };
    let mut command = run_command(&built, target, shape, &program);
    Some(execute::run(command.envs(variables.iter().copied()), &program.input, LIMIT))
}

/// Two threads of one process on one core pass a flag to and fro. Each pass would take the rest of a time slice, more than a
/// millisecond, if who waits kept the core; 20000 of them would not end in time.
const THREADS: &str = "#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    const char *variable = getenv(\"OMP_NUM_THREADS\");
    printf(\"%d %s\\n\", omp_get_max_threads(), variable ? variable : \"none\");
    return 0;
}
";

/// As for programs that look for the variable before they ask OpenMP.
#[test]
fn the_environment_says_how_many_threads_there_are() {
    let Some(case) = Case::new("threads_variable", &[("threads.c", THREADS)]) else { return };
    case.compiled("-O2 -fopenmp ../threads.c -o x");
    for (arguments, expected) in
        [("-n 2 -t 2 ./x", "4 4\n"), ("-t 3 ./x", "3 3\n"), ("-n 2 -x OMP_NUM_THREADS=2 ./x", "2 2\n")]
    {
        assert_eq!(case.must("dsm", &case.dsm.run, arguments), expected, "{arguments}");
    }
    assert!(case.must("dsm", case.root.join("dsm/x"), "").ends_with(" none\n"));
}

#[test]
fn who_waits_for_a_flag_lets_go_of_the_core() {
    let source = "#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
static int turn;
static long passes;
int main(void) {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &set)) cpu++;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
#pragma omp parallel num_threads(2)
    for (int i = 0; i < 10000; i++) {
        int me = omp_get_thread_num(), now;
        do {
#pragma omp atomic read acquire
            now = turn;
        } while (now != me);
        passes++;
#pragma omp atomic write release
        turn = 1 - me;
    }
    printf(\"%ld passes\\n\", passes);
    return 0;
}
";
    let Some(outcome) = run("handshake", source, 1, 2, &[]) else { return };
    assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
    assert_eq!(outcome.text(), "20000 passes\n");
}

/// Plain clang runs some of these iterations twice or not at all.
#[test]
fn chunks_of_simd_schedules_go_round() {
    let source = "#include <omp.h>
#include <stdio.h>
static int owner[19], runs[19];
int main(void) {
#pragma omp parallel for simd schedule(simd : static, 3) num_threads(2)
    for (int i = 0; i < 19; i++) { owner[i] = omp_get_thread_num(); runs[i]++; }
    for (int i = 0; i < 19; i++) putchar(runs[i] == 1 ? 'a' + owner[i] : '?');
}
";
    for (processes, threads) in [(1, 2), (2, 1)] {
        let Some(outcome) = run("simd_schedule", source, processes, threads, &[]) else { return };
        assert_eq!(outcome.text(), "aaabbbaaabbbaaabbba");
    }
}

/// Every kind of loop that is shared in chunks of fixed size, downwards and with iteration numbers at the end of their type as well.
#[test]
fn threads_of_several_processes_may_have_consecutive_chunks() {
    let source = "#include <omp.h>
#include <stdio.h>
static int owner[19], runs[19];
static void show(int last) {
    for (int i = 0; i < 19; i++) putchar(runs[i] == 1 ? 'a' + owner[i] : '?'), runs[i] = 0;
    printf(\" %d\\n\", last);
}
#define NOTE(i) owner[i] = omp_get_thread_num(), runs[i]++, last = i
int main(void) {
    int last = -1;
#pragma omp parallel for schedule(static, 3) lastprivate(last)
    for (int i = 0; i < 19; i++) NOTE(i);
    show(last);
#pragma omp parallel for schedule(static, 3) lastprivate(last)
    for (unsigned long i = -1; i > -20ul; i--) NOTE(-1ul - i);
    show(last);
#pragma omp parallel for schedule(static, 3) ordered lastprivate(last)
    for (int i = 0; i < 19; i++) {
#pragma omp ordered
        NOTE(i);
    }
    show(last);
#pragma omp parallel for schedule(runtime) lastprivate(last)
    for (int i = 0; i < 19; i++) NOTE(i);
    show(last);
#pragma omp parallel for schedule(static) lastprivate(last)
    for (int i = 0; i < 19; i++) NOTE(i);
    show(last);
}
";
    let dealt = "aaabbbaaabbbaaabbba 18\n";
    let consecutive = "aaaaaaaaaaaabbbbbbb 18\n";
    for (processes, threads, asked, chunks) in
        [(2, 1, "1", consecutive), (2, 1, "0", dealt), (1, 2, "1", dealt)]
    {
        let variables = [("DSM_STATIC_BLOCKS", asked), ("OMP_SCHEDULE", "static,3")];
        let Some(outcome) = run("static_blocks", source, processes, threads, &variables) else { return };
        let whole = "aaaaaaaaaabbbbbbbbb 18\n";
        assert_eq!(
            outcome.text(),
            chunks.repeat(4) + whole,
            "{processes}x{threads} {asked}: {}",
            outcome.errors()
        );
    }
}

/// Clang's code for `distribute parallel for schedule(static, 1)` looks at the first iteration and the stride of a thread, which may have no iterations.
#[test]
fn each_iteration_of_a_league_runs_once() {
    let source = "#include <stdio.h>
static int runs[19];
static void show(int n) {
    for (int i = 0; i < n; i++) putchar('0' + runs[i]), runs[i] = 0;
    putchar('\\n');
}
int main(void) {
    for (int n = 1; n <= 19; n += n < 5 ? 1 : 14) {
#pragma omp teams distribute parallel for schedule(static, 1)
        for (int i = 0; i < n; i++) {
#pragma omp atomic
            runs[i]++;
        }
        show(n);
#pragma omp teams distribute parallel for schedule(static, 1) num_teams(2)
        for (unsigned long i = -1ul; i > -1ul - n; i--) {
#pragma omp atomic
            runs[-1ul - i]++;
        }
        show(n);
#pragma omp teams distribute parallel for schedule(static, 2)
        for (unsigned char i = 255; i > 255 - n; i--) {
#pragma omp atomic
            runs[255 - i]++;
        }
        show(n);
    }
}
";
    let ones = |n: usize| format!("{}\n", "1".repeat(n)).repeat(3);
    let expected: String = [1, 2, 3, 4, 5, 19].map(ones).concat();
    for (processes, threads) in [(2, 2), (4, 1), (1, 4)] {
        for asked in ["0", "1"] {
            let variables = [("DSM_STATIC_BLOCKS", asked)];
            let Some(outcome) = run("league_loops", source, processes, threads, &variables) else { return };
            assert_eq!(outcome.text(), expected, "{processes}x{threads} {asked}: {}", outcome.errors());
        }
    }
}

#[test]
fn a_profile_names_consecutive_chunks_where_chunks_alternate() {
    let source = "#include <omp.h>
#include <stdio.h>
static int shared[40000];
int main(void) {
    for (int times = 0; times < 400; times++)
#pragma omp parallel for schedule(static SIZE)
        for (int i = 0; i < 40000; i++) shared[i] += i + omp_get_thread_num() / 2;
    printf(\"%d\", shared[3999]);
}
";
    for (size, is_named) in [(", 1", true), ("", false)] {
        let source = source.replace(" SIZE", size);
        // Where the processes run one after the other for a while, the profile may find something else.
        let named = || {
            let outcome = run(&format!("chunks{}", size.len()), &source, 2, 1, &[("DSM_PROFILE", "1")])?;
            assert_eq!(outcome.text(), "1599600");
            Some(outcome.errors().contains("DSM_STATIC_BLOCKS=1"))
        };
        let Some(first) = named() else { return };
        assert_eq!(first || (0..5).any(|_| named() == Some(true)), is_named);
    }
}

/// What the first thread stores to local variables of a region, whose addresses a function elsewhere gets, does not take the variables that the region shares away from other processes.
#[test]
fn local_variables_of_regions_are_apart_from_those_of_their_callers() {
    let source = "#include <stdio.h>
static void *volatile seen;
int main(void) {
    int rounds = 1000;
    long sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        int own[8] = {0};
        seen = own;
        for (int i = 0; i < rounds; i++) {
            ((volatile int *)own)[i % 8] += i;
#pragma omp barrier
        }
        for (int i = 0; i < 8; i++) sum += own[i];
    }
    printf(\"%ld\", sum);
}
";
    let Some(outcome) = run("apart", source, 2, 1, &[("DSM_STATS", "1")]) else { return };
    assert_eq!(outcome.text(), "999000");
    let [_, misses] = outcome.counter("read_misses")[..] else { panic!("{}", outcome.errors()) };
    assert!(misses < 100, "{}", outcome.errors());
}

/// `fork` in a program of one process copies the calling thread only; regions of the child need threads of their own, and none that
/// uses the stack of the thread that called.
#[test]
fn a_forked_child_has_regions() {
    let source = "#include <omp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static int count(void) {
    int threads = 0, sum = 0, local = 100;
#pragma omp parallel num_threads(4) reduction(+ : threads) firstprivate(local)
    {
        local += omp_get_thread_num();
#pragma omp barrier
        threads += local / 100;
#pragma omp for schedule(dynamic) reduction(+ : sum)
        for (int i = 0; i < 100; i++) sum += i;
    }
    return threads * 10000 + sum;
}
static int in_child(void) {
    int status, ends[2], result = 0;
    if (pipe(ends)) return 1;
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 3; i++) result = count();
        if (write(ends[1], &result, sizeof result) != sizeof result) _exit(1);
        _exit(0);
    }
    if (read(ends[0], &result, sizeof result) != sizeof result) result = 2;
    waitpid(child, &status, 0);
    close(ends[0]);
    close(ends[1]);
    return status ? status : result;
}
// The child goes on behind the region that the call was in.
static int leaves_region(void) {
    int status = 1;
    pid_t child = -1;
#pragma omp parallel num_threads(4)
    {
#pragma omp masked
        child = fork();
    }
    if (child == 0) _exit(count() != 44950);
    waitpid(child, &status, 0);
    return status;
}
int main(void) {
    int results[4] = {0};
    omp_set_max_active_levels(2);
    printf(\"%d %d %d\\n\", count(), in_child(), leaves_region());
#pragma omp parallel num_threads(4)
    for (int i = 0; i < 4; i++) {
#pragma omp barrier
        if (i == omp_get_thread_num()) results[i] = in_child();
    }
    for (int i = 0; i < 4; i++) printf(\"%d \", results[i]);
    printf(\"%d\\n\", count());
    return 0;
}
";
    let Some(outcome) = run("fork_regions", source, 1, 3, &[]) else { return };
    assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
    assert_eq!(outcome.text(), "44950 44950 0\n44950 44950 44950 44950 44950\n");
}

/// Processes that the environment leaves without work are named once; what the program itself asks for is not.
#[test]
fn teams_that_are_smaller_than_the_job_are_named() {
    let source = "#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    int threads = 0;
    if (getenv(\"CLAUSE\")) {
#pragma omp parallel num_threads(1)
        threads = omp_get_num_threads();
    } else
        for (int i = 0; i < 2; i++)
#pragma omp parallel
#pragma omp single
            threads = omp_get_num_threads();
    printf(\"%d\", threads);
}
";
    for (variables, threads, named) in [
        (&[][..], "3", None),
        (&[("OMP_NUM_THREADS", "3")], "3", None),
        (
            &[("OMP_NUM_THREADS", "1")],
            "1",
            Some("OMP_NUM_THREADS=1 gives teams of 1 to a job of 3 processes, 2 of which"),
        ),
        (
            &[("OMP_NUM_THREADS", "2")],
            "2",
            Some("OMP_NUM_THREADS=2 gives teams of 2 to a job of 3 processes, 1 of which"),
        ),
        (&[("OMP_THREAD_LIMIT", "1")], "1", Some("OMP_THREAD_LIMIT=1 gives")),
        (&[("CLAUSE", "1"), ("OMP_NUM_THREADS", "1")], "1", None),
    ] {
        let Some(outcome) = run("small_team", source, 3, 1, variables) else { return };
        let errors = outcome.errors();
        assert_eq!(outcome.text(), threads, "{variables:?} {errors}");
        assert_eq!(errors.lines().count(), usize::from(named.is_some()), "{variables:?} {errors}");
        assert!(named.is_none_or(|text| errors.starts_with(&format!("dsm: warning: {text}"))), "{errors}");
    }
}

/// Each team waits for all others: teams one after the other would never end.
const TEAMS_THAT_MEET: &str = "#include <omp.h>
#include <stdio.h>
int main(void)
{
    int arrived = 0, levels = 0, threads = 0;
#pragma omp teams num_teams(4) reduction(+ : levels, threads)
    {
        int all = 0;
#pragma omp atomic
        arrived++;
        while (all < omp_get_num_teams()) {
#pragma omp atomic read
            all = arrived;
        }
        levels += omp_get_level();
#pragma omp parallel num_threads(8)
#pragma omp single
        threads += omp_get_num_threads();
    }
    printf(\"%d %d %d\\n\", arrived, levels, threads);
    return 0;
}
";

#[test]
fn teams_of_a_league_run_at_the_same_time() {
    for (processes, threads, expected) in
        [(1, 4, "4 0 4\n"), (2, 2, "4 0 4\n"), (4, 1, "4 0 4\n"), (2, 4, "4 0 8\n")]
    {
        let Some(outcome) = run("teams_that_meet", TEAMS_THAT_MEET, processes, threads, &[]) else { return };
        assert_eq!((outcome.status, outcome.text()), (Some(0), expected.to_owned()), "{}", outcome.errors());
    }
}
