//! A job of which any process dies ends as a whole: soon, with one message that names the process, and
//! without leaving anything behind.

use dsm_tests::compile::Target;
use dsm_tests::execute;
use dsm_tests::kill::{END_LIMIT, End, Job, send};
use dsm_tests::matrix::Build;
use dsm_tests::random::Random;
use dsm_tests::toolchain::{self, Dsm};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::case::Case;

const TARGET: Target = Target::Dsm(Build { level: 2, line: 64 });

/// The launcher under test; plain clang has none, and `DSM_TEST_NATIVE=1` asked for that.
fn launcher() -> Option<&'static Dsm> {
    let dsm = toolchain::dsm();
    if dsm.is_none() {
        eprintln!("not tested: there is no launcher with DSM_TEST_NATIVE=1");
    }
    dsm
}

fn one_message(end: &End, expected: &str) {
    let lines: Vec<&str> = end.message.lines().filter(|l| l.starts_with("dsm-run:")).collect();
    assert_eq!(lines, [expected], "all of standard error: {}", end.message);
}

#[test]
fn killing_any_process_ends_the_job() {
    let Some(dsm) = launcher() else { return };
    let shapes = [(2, 1), (3, 1), (2, 2), (4, 1)];
    let mut random = Random::new(50);
    let mut slowest = Duration::ZERO;
    for round in 0..50 {
        let (processes, threads) = shapes[round % shapes.len()];
        let job = Job::start(dsm, TARGET, processes, threads, &["run"])
            .unwrap_or_else(|e| panic!("round {round}: {e}"));
        std::thread::sleep(Duration::from_millis(random.below(80)));
        let rank = (round / shapes.len()) % processes as usize;
        let pid = job.processes[rank];
        let since = Instant::now();
        send(pid, libc::SIGKILL);
        let end = job
            .finish(since)
            .unwrap_or_else(|e| panic!("round {round}, {processes}x{threads}, rank {rank}: {e}"));
        assert_eq!(end.status, 128 + 9, "round {round}");
        one_message(
            &end,
            &format!(
                "dsm-run: process {rank} (pid {pid}) was killed by signal 9 (SIGKILL); the job was ended"
            ),
        );
        slowest = slowest.max(end.elapsed);
    }
    println!("50 jobs, slowest end {slowest:?}");
    assert!(slowest < END_LIMIT);
}

/// A job in which thread `who` ends itself; the job's end.
fn self_inflicted(dsm: &Dsm, how: &str, who: usize) -> (End, u32) {
    let job = Job::start(dsm, TARGET, 3, 1, &[how, &who.to_string()])
        .unwrap_or_else(|e| panic!("{how} {who}: {e}"));
    let pid = job.processes[who];
    job.end().unwrap_or_else(|e| panic!("{how} {who}: {e}"));
    // The program takes a moment to get to the point, which the time limit must not count.
    let deadline = Instant::now() + Duration::from_secs(30);
    while !dead(pid) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    (job.finish(Instant::now()).unwrap_or_else(|e| panic!("{how} {who}: {e}")), pid)
}

/// Whether a process has ended, reaped or not.
fn dead(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_none_or(|rest| rest.is_empty() || rest.starts_with('Z'))
}

#[test]
fn a_crash_in_the_program_is_reported() {
    let Some(dsm) = launcher() else { return };
    for (how, status, signal) in [("segv", 139, "signal 11 (SIGSEGV)"), ("abort", 134, "signal 6 (SIGABRT)")]
    {
        for who in 0..3 {
            let (end, pid) = self_inflicted(dsm, how, who);
            assert_eq!(end.status, status, "{how} {who}: {}", end.message);
            one_message(
                &end,
                &format!("dsm-run: process {who} (pid {pid}) was killed by {signal}; the job was ended"),
            );
        }
    }
}

#[test]
fn the_job_ends_as_the_program_does() {
    let Some(dsm) = launcher() else { return };
    for (how, who, status) in [("return", 0, 3), ("exit", 0, 5), ("exit", 1, 5), ("exit", 2, 5)] {
        let (end, _) = self_inflicted(dsm, how, who);
        assert_eq!((end.status, &*end.message), (status, ""), "{how} {who}");
    }
}

/// Thread `argv[1]` ends the program, whose streams have not been flushed.
const EXITS: &str = "#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
static int cells[4];
static void handler(void) { printf(\"%d %d\\n\", cells[0], cells[3]); }
int main(int argc, char **argv)
{
    FILE *first = fopen(\"first\", \"w\");
    fprintf(first, \"written\");
    atexit(handler);
#pragma omp parallel
    {
        int thread = omp_get_thread_num();
        cells[thread] = 10 + thread;
        FILE *last = thread == 3 ? fopen(\"last\", \"w\") : 0;
        if (last) fprintf(last, \"written, too\");
        fprintf(first, \" once\");
#pragma omp barrier
        if (thread == atoi(argv[1])) exit(6);
#pragma omp barrier
    }
    return 0;
}
";

#[test]
fn exit_anywhere_runs_handlers_and_writes_streams() {
    let Some(case) = Case::new("exits", &[("exits.c", EXITS)]) else { return };
    case.compiled("-O2 -fopenmp ../exits.c -o x");
    for (layout, transport) in [("-n 1 -t 4", "shm"), ("-n 4", "shm"), ("-n 2 -t 2", "stream")] {
        for thread in [0, 3] {
            let arguments = format!("{layout} -x DSM_TRANSPORT={transport} ./x {thread}");
            let outcome = case.run("dsm", &case.dsm.run, &arguments);
            let seen = (outcome.status, outcome.text(), outcome.errors());
            assert_eq!(seen, (Some(6), "10 13\n".into(), String::new()), "{arguments}");
            let files = (case.read("dsm/first"), case.read("dsm/last"));
            assert_eq!(files, ("written once once once once".into(), "written, too".into()), "{arguments}");
        }
    }
}

#[test]
fn signals_to_the_launcher_end_the_job() {
    let Some(dsm) = launcher() else { return };
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        let job = Job::start(dsm, TARGET, 3, 1, &["run"]).unwrap_or_else(|e| panic!("{e}"));
        let since = Instant::now();
        send(job.launcher(), signal);
        let end = job.finish(since).unwrap_or_else(|e| panic!("signal {signal}: {e}"));
        assert_eq!(end.status, 128 + signal, "{}", end.message);
    }
}

#[test]
fn nothing_survives_the_launchers_own_death() {
    let Some(dsm) = launcher() else { return };
    let job = Job::start(dsm, TARGET, 3, 2, &["run"]).unwrap_or_else(|e| panic!("{e}"));
    let since = Instant::now();
    send(job.launcher(), libc::SIGKILL);
    job.gone(since).unwrap_or_else(|e| panic!("{e}"));
}

/// Counts SIGINT and SIGTERM in a handler and goes on, for ever or until it has had one.
const HANDLES: &str = "#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static volatile sig_atomic_t seen;
static void handler(int signal) { (void)signal; seen++; }
static void again(int number) { signal(number, SIG_DFL); raise(number); }
int main(int argc, char **argv) {
    const char *how = argv[argc - 1];
    void (*action)(int) = strcmp(how, \"ignore\") == 0 ? SIG_IGN : strcmp(how, \"again\") == 0 ? again : handler;
    signal(SIGINT, action);
    signal(SIGTERM, action);
    long sum = 0, rounds = 0;
    for (; strcmp(how, \"once\") != 0 || (!seen && rounds < 6000); rounds++) {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 100; i++) sum += i;
        if (rounds == 3) {
            puts(\"running\");
            fflush(stdout);
        }
        usleep(10000);
    }
    usleep(100000);
    printf(\"seen %d, %d\\n\", (int)seen, sum == 4950 * rounds);
}
";

/// A launcher of [`HANDLES`] that has said that it runs; what it says then.
struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    fn start(mut command: Command) -> Running {
        execute::hide_own_variables(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = execute::start(&mut command);
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        output.read_line(&mut line).expect("it says something");
        assert_eq!(line.trim(), "running");
        Running { child, output }
    }

    /// Status as a shell has it, standard output and standard error.
    fn end(mut self) -> (i32, String, String) {
        let (mut text, mut errors) = (String::new(), String::new());
        self.output.read_to_string(&mut text).expect("it is text");
        let mut stderr = self.child.stderr.take().expect("it is piped");
        stderr.read_to_string(&mut errors).expect("it is text");
        let status = self.child.wait().expect("it is a child");
        (execute::shell_status(status), text, errors)
    }
}

/// The processes of the others go on, and only process 0 sees the signal.
#[test]
fn signals_that_the_program_handles_do_not_end_the_job() {
    let Some(case) = Case::new("handled_signals", &[("handles.c", HANDLES)]) else { return };
    case.compiled("-O2 -fopenmp ../handles.c -o x");
    let job = |processes: &str, how: &str| {
        let mut command = Command::new(&case.dsm.run);
        command.args(["-n", processes, "./x", how]).current_dir(case.root.join("dsm"));
        Running::start(command)
    };
    for processes in ["1", "3"] {
        for signal in [libc::SIGTERM, libc::SIGINT] {
            let running = job(processes, "once");
            send(running.child.id(), signal);
            assert_eq!(
                running.end(),
                (0, "seen 1, 1\n".into(), String::new()),
                "{processes}, signal {signal}"
            );
        }
        // A second one soon afterwards ends it, and so does one that the handler does not keep to itself.
        for how in ["for ever", "ignore"] {
            let running = job(processes, how);
            send(running.child.id(), libc::SIGINT);
            std::thread::sleep(Duration::from_millis(400));
            send(running.child.id(), libc::SIGTERM);
            let (status, text, errors) = running.end();
            assert_eq!((status, &*text), (128 + libc::SIGTERM, ""), "{how}: {errors}");
            assert_eq!(errors.trim_end(), "dsm-run: signal 15 (SIGTERM) ended the job");
        }
        let running = job(processes, "again");
        send(running.child.id(), libc::SIGINT);
        let (status, _, errors) = running.end();
        assert_eq!(status, 128 + libc::SIGINT, "{errors}");
        assert_eq!(errors.trim_end(), "dsm-run: signal 2 (SIGINT) ended the job");
    }
}

/// A terminal sends Ctrl-C to all processes.
#[test]
fn the_program_handles_what_the_terminal_sends() {
    let Some(case) = Case::new("terminal_signals", &[("handles.c", HANDLES)]) else { return };
    case.compiled("-O2 -fopenmp ../handles.c -o x");
    for processes in ["1", "3"] {
        let mut command = Command::new("script");
        let line = format!("exec {} -n {processes} ./x once", case.dsm.run.display());
        command.args(["-q", "-e", "-c", &line, "/dev/null"]).current_dir(case.root.join("dsm"));
        let mut running = Running::start(command);
        let mut terminal = running.child.stdin.take().expect("it is piped");
        terminal.write_all(b"\x03").expect("the terminal is there");
        let (status, text, _) = running.end();
        assert_eq!(status, 0, "{text}");
        assert!(text.contains("seen 1, 1"), "{processes}: {text}");
    }
}
