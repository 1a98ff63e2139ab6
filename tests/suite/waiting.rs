//! Waiting where there are more threads than cores.

use crate::case::Case;
use dsm_tests::execute::{self, Outcome};
use std::os::unix::process::CommandExt;
use std::panic::AssertUnwindSafe;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Prints how often a process went to sleep per round, on average over all processes. Yields and lost time slices are no such switches.
const PROGRAM: &str = "
#include <stdio.h>
#include <sys/resource.h>
static volatile double sink;
int main(void) {
    enum { ROUNDS = 300 };
    long sleeps = 0, processes = 0;
#pragma omp parallel reduction(+ : sleeps, processes)
    {
        struct rusage before, after;
        getrusage(RUSAGE_SELF, &before);
        for (int i = 0; i < ROUNDS; i++) {
            double sum = 0;
            for (int k = 0; k < 2000; k++) sum += k * 0.5;
            sink = sum;
#pragma omp barrier
        }
        getrusage(RUSAGE_SELF, &after);
        sleeps = after.ru_nvcsw - before.ru_nvcsw;
        processes = 1;
    }
    printf(\"%.2f\\n\", (double)sleeps / processes / ROUNDS);
    return 0;
}
";

/// Binds the calling thread, and what it starts, to one core.
fn bind(core: usize) -> std::io::Result<()> {
    // SAFETY: a set of cores is plain bits; the calls write and read no more than it.
    let failed = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set)
    };
    if failed == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Threads take turns: each polls until the one before it has set the number. Clang's program yields after every look.
const TURNS: &str = "
#include <omp.h>
#include <sched.h>
#include <stdio.h>
int main(void) {
    enum { ROUNDS = 60 };
    static long turn;
    int threads = omp_get_max_threads();
    double start = omp_get_wtime();
#pragma omp parallel
    for (long i = 0; i < ROUNDS; i++) {
        long wanted = i * threads + omp_get_thread_num(), seen;
        for (;;) {
#pragma omp atomic read acquire
            seen = turn;
            if (seen == wanted) break;
#ifndef __DSM__
            sched_yield();
#endif
        }
#pragma omp atomic write release
        turn = wanted + 1;
    }
    printf(\"%.1f\\n\", (omp_get_wtime() - start) / ROUNDS / threads * 1e6);
    return 0;
}
";

/// Runs `measure` with this core's number while somebody computes on it.
fn beside_a_loop<T>(measure: impl FnOnce(usize) -> T) -> T {
    static ONE: Mutex<()> = Mutex::new(());
    let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: no pointers.
    let core = unsafe { libc::sched_getcpu() }.max(0) as usize;
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            bind(core).expect("a core that this process runs on");
            while !ended.load(Ordering::Relaxed) {
                std::hint::black_box(());
            }
        });
        // A panic must not leave the other thread computing.
        let measured = std::panic::catch_unwind(AssertUnwindSafe(|| measure(core)));
        ended.store(true, Ordering::Relaxed);
        measured.unwrap_or_else(|cause| std::panic::resume_unwind(cause))
    })
}

/// Runs a command on one core; the number that it prints.
fn number(command: &mut Command, core: usize) -> f64 {
    execute::hide_own_variables(command);
    // SAFETY: between fork and exec there is only a system call.
    unsafe { command.pre_exec(move || bind(core)) };
    let Outcome { status, stdout, stderr } = execute::run(command, "", execute::time_limit());
    assert_eq!(status, Some(0), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8_lossy(&stdout).trim().parse().expect("the program prints a number")
}

fn job(case: &Case, program: &str) -> Command {
    let mut command = Command::new(&case.dsm.run);
    command.args(["-n", "3"]).arg(case.root.join("dsm").join(program)).env_remove("OMP_NUM_THREADS");
    command
}

/// Three processes share a core with somebody who computes. If whoever waits yielded, each wait would cost a time slice; asleep, it has the core
/// as soon as it is woken. In each round two of the three wait.
#[test]
fn who_waits_beside_a_computing_program_does_not_give_its_turns_away() {
    let Some(case) = Case::new("waiting", &[("rounds.c", PROGRAM)]) else { return };
    case.compiled("-O2 -fopenmp ../rounds.c -o rounds");
    let sleeps = beside_a_loop(|core| number(&mut job(&case, "rounds"), core));
    assert!(sleeps > 0.4, "{sleeps} sleeps a round and process");
}

/// The same for threads that poll a variable, which nobody would wake them for.
#[test]
fn nor_does_who_polls() {
    let Some(case) = Case::new("polling", &[("turns.c", TURNS)]) else { return };
    case.both("-O2 -fopenmp ../turns.c -o turns");
    let measure = |core| {
        let mut reference = Command::new(case.root.join("clang/turns"));
        let yielding = number(reference.env("OMP_NUM_THREADS", "3"), core);
        (number(&mut job(&case, "turns"), core), yielding)
    };
    // Others on the core may disturb a measurement; yields would fail all.
    let better = (0..3).any(|_| {
        let (ours, yielding) = beside_a_loop(measure);
        println!("{ours} us a turn, {yielding} us if everybody yields");
        1.5 * ours < yielding
    });
    assert!(better, "polling gives its turns away, see above");
}
