//! Waiting where there are more threads than cores.

use crate::case::Case;
use dsm_tests::execute::{self, Outcome};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

const PROGRAM: &str = "
#include <omp.h>
#include <stdio.h>
static volatile double sink;
int main(void) {
    enum { ROUNDS = 300 };
    double start = omp_get_wtime();
#pragma omp parallel
    for (int i = 0; i < ROUNDS; i++) {
        double sum = 0;
        for (int k = 0; k < 2000; k++) sum += k * 0.5;
        sink = sum;
#pragma omp barrier
    }
    printf(\"%.1f\\n\", (omp_get_wtime() - start) / ROUNDS * 1e6);
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

/// Three processes share a core with somebody who computes. If whoever waits yielded, each wait would cost a time slice (what it does when asked to
/// spin); asleep, it has the core as soon as it is woken.
#[test]
fn who_waits_beside_a_computing_program_does_not_give_its_turns_away() {
    let Some(case) = Case::new("waiting", &[("rounds.c", PROGRAM)]) else { return };
    case.compiled("-O2 -fopenmp ../rounds.c -o rounds");
    // SAFETY: no pointers.
    let core = unsafe { libc::sched_getcpu() }.max(0) as usize;
    let round = |spin: Option<&str>| -> f64 {
        let mut command = Command::new(&case.dsm.run);
        command.args(["-n", "3"]).arg(case.root.join("dsm/rounds")).env_remove("OMP_NUM_THREADS");
        command.envs(spin.map(|us| ("DSM_SPIN", us)));
        execute::hide_own_variables(&mut command);
        // SAFETY: between fork and exec there is only a system call.
        unsafe { command.pre_exec(move || bind(core)) };
        let Outcome { status, stdout, stderr } = execute::run(&mut command, "", execute::time_limit());
        assert_eq!(status, Some(0), "{}", String::from_utf8_lossy(&stderr));
        String::from_utf8_lossy(&stdout).trim().parse().expect("the program prints a number")
    };
    let ended = AtomicBool::new(false);
    let (left_alone, spinning) = std::thread::scope(|scope| {
        scope.spawn(|| {
            bind(core).expect("a core that this process runs on");
            while !ended.load(Ordering::Relaxed) {
                std::hint::black_box(());
            }
        });
        // A panic must not leave the other thread computing.
        let measured = std::panic::catch_unwind(|| (round(None), round(Some("100000"))));
        ended.store(true, Ordering::Relaxed);
        measured.unwrap_or_else(|cause| std::panic::resume_unwind(cause))
    });
    println!("{left_alone} us a round, {spinning} us if it spins");
    assert!(4.0 * left_alone < spinning, "{left_alone} us a round, {spinning} us if it spins");
}
