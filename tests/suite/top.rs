//! `dsm-top` and SIGUSR1 to `dsm-run`: what a user sees of a job that runs.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use dsm_tests::execute::{self, Scratch};
use serde_json::Value;

use super::case::Case;
use super::hosts;

/// Thread 1 holds a lock until there is a file, and comes to a barrier when there is another one. The others wait for it.
const WAITS: &str = "
#include <omp.h>
#include <stdio.h>
#include <unistd.h>
static omp_lock_t passed;
static void wait_for(const char *name) {
    while (access(name, F_OK)) usleep(5000);
}
int main(void) {
    omp_init_lock(&passed);
#pragma omp parallel
    {
        if (omp_get_thread_num() == 1) omp_set_lock(&passed);
#pragma omp barrier
        if (omp_get_thread_num() == 1) wait_for(\"unlock\"); else omp_set_lock(&passed);
        omp_unset_lock(&passed);
        if (omp_get_thread_num() == 1) wait_for(\"arrive\");
#pragma omp barrier
    }
    puts(\"through\");
    return 0;
}
";

/// Threads take parts of an array from each other until there is a file.
const MISSES: &str = "
#include <omp.h>
#include <unistd.h>
enum { N = 1 << 14 };
static double shifted[N];
int main(void) {
    int rounds = 0;
    do {
#pragma omp parallel
        {
            int size = omp_get_num_threads(), thread = (omp_get_thread_num() + rounds) % size;
            for (int i = thread * (N / size); i < (thread + 1) * (N / size); i++) shifted[i] += 1;
        }
        rounds++;
    } while (access(\"unlock\", F_OK));
    return shifted[0] != rounds;
}
";

/// Longest wait for what happens at once on a machine that does nothing else.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running job.
struct Job {
    case: Case,
    launcher: Child,
}

impl Job {
    fn start(name: &str, source: &str, options: &[&str]) -> Option<Job> {
        let case = Case::new(name, &[("main.c", source)])?;
        case.compiled("-O2 -fopenmp ../main.c -o x");
        let mut command = Command::new(&case.dsm.run);
        command.args(options).arg("./x").current_dir(case.root.join("dsm"));
        execute::hide_own_variables(&mut command);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let launcher = execute::start(&mut command);
        Some(Job { case, launcher })
    }

    fn pid(&self) -> String {
        self.launcher.id().to_string()
    }

    /// What `dsm-top --once --json` says, as soon as it is what is looked for.
    fn look(&mut self, is_found: impl Fn(&Value) -> bool) -> Value {
        let since = Instant::now();
        loop {
            let output = top(&self.case, &[&self.pid(), "--once", "--json", "-i", "0.1"]);
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let state = self.launcher.try_wait().expect("a child");
            if String::from_utf8_lossy(&output.stderr).contains("has not started it yet")
                && since.elapsed() < PATIENCE
            {
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
            assert!(output.status.success(), "{output:?}\n{state:?}");
            let value: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            if is_found(&value) {
                return value;
            }
            assert!(since.elapsed() < PATIENCE, "{value:#}");
        }
    }

    /// Makes the file that the program waits for.
    fn go_on(&self, name: &str) {
        self.case.write(&format!("dsm/{name}"), "");
    }

    fn end(self) -> Output {
        self.launcher.wait_with_output().expect("a child")
    }
}

/// `dsm-top`, beside the launcher.
fn top_of(case: &Case) -> Command {
    let mut command = Command::new(case.dsm.run.with_file_name("dsm-top"));
    execute::hide_own_variables(&mut command);
    command
}

fn top(case: &Case, arguments: &[&str]) -> Output {
    top_of(case).args(arguments).output().expect("dsm-top can be started")
}

/// Ranks of a list of members, or of ranks.
fn ranks(list: &Value) -> Vec<u64> {
    let rank = |member: &Value| member.as_u64().or(member["rank"].as_u64());
    list.as_array().into_iter().flatten().filter_map(rank).collect()
}

fn wait<'a>(report: &'a Value, kind: &str) -> Option<&'a Value> {
    report["waits"].as_array()?.iter().find(|wait| wait["for"] == kind)
}

/// Looks at [`WAITS`] until it is through, run by three processes.
fn watch(mut job: Job, is_asked: bool) {
    let report =
        job.look(|report| wait(report, "lock").is_some_and(|lock| ranks(&lock["waiting"]) == [0, 2]));
    let lock = wait(&report, "lock").expect("it was found");
    assert_eq!((&lock["name"], &lock["holder"]["rank"]), (&"passed".into(), &1.into()), "{report:#}");
    let holder = &report["processes"][1]["threads"][0];
    assert_eq!(holder["holds"], Value::from(vec!["passed"]), "{holder:#}");
    assert!(
        holder["region"].as_str().is_some_and(|region| region.starts_with("main.omp_outlined")),
        "{holder:#}"
    );
    if is_asked {
        ask(&mut job);
    }
    job.go_on("unlock");
    let report = job.look(|report| wait(report, "barrier").is_some_and(|b| ranks(&b["waiting"]) == [0, 2]));
    assert_eq!(ranks(&wait(&report, "barrier").expect("it was found")["lacks"]), [1], "{report:#}");
    assert!(wait(&report, "lock").is_none(), "{report:#}");
    job.go_on("arrive");
    let output = job.end();
    assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b"through\n"[..]), "{output:?}");
}

/// SIGUSR1 has the launcher print a table.
fn ask(job: &mut Job) {
    // SAFETY: takes no pointers.
    assert_eq!(unsafe { libc::kill(job.launcher.id().cast_signed(), libc::SIGUSR1) }, 0);
    let errors = BufReader::new(job.launcher.stderr.take().expect("a pipe"));
    let lines: Vec<String> = errors.lines().map_while(Result::ok).take(8).collect();
    assert!(lines[0].starts_with(&format!("job {} (./x), ", job.pid())), "{lines:?}");
    assert!(lines.contains(&"lock passed: held by 1.0; wanted by 0.0, 2.0".to_owned()), "{lines:?}");
}

#[test]
fn who_waits_for_whom_is_said_and_the_job_goes_on() {
    let Some(job) = Job::start("top_waits", WAITS, &["-n", "3"]) else { return };
    watch(job, true);
}

#[test]
fn processes_of_several_hosts_are_shown() {
    let directory = Scratch::directory("top");
    let shell: PathBuf = hosts::shell(&directory, hosts::SHELL);
    let shell = shell.to_str().expect("a name of these tests");
    let options = ["--rsh", shell, "-H", "127.0.0.1:2,127.0.0.2:1"];
    let Some(job) = Job::start("top_hosts", WAITS, &options) else { return };
    watch(job, false);
}

#[test]
fn misses_are_counted_and_named_while_the_job_runs() {
    let Some(mut job) = Job::start("top_misses", MISSES, &["-n", "2"]) else { return };
    job.look(|report| report["hottest"]["name"] == "variable shifted");
    let mut shown = top_of(&job.case)
        .args([&job.pid(), "--json", "-i", "0.2"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("dsm-top can be started");
    let mut lines = BufReader::new(shown.stdout.take().expect("a pipe")).lines();
    let mut next = || -> Value {
        let line = lines.next().expect("another line").expect("text");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}\n{line}"))
    };
    let (first, second) = (next(), next());
    for rank in 0..2 {
        let of =
            |report: &Value, counter: &str| report["processes"][rank][counter].as_u64().expect("a number");
        for counter in ["misses", "bytes"] {
            assert!(of(&first, counter) < of(&second, counter), "{counter} of {rank}: {first:#} {second:#}");
        }
        assert!(second["processes"][rank]["misses_per_second"].as_f64().expect("a number") > 0.0);
        assert!(second["processes"][rank]["time"]["misses"].as_f64().expect("a number") > 0.0, "{second:#}");
    }
    job.go_on("unlock");
    let pid = job.pid();
    assert_eq!(job.end().status.code(), Some(0));
    // The rest of the lines does not matter.
    lines.for_each(drop);
    let output = shown.wait_with_output().expect("a child");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), message), (Some(0), format!("dsm-top: job {pid} (x) has ended\n")));
}

#[test]
fn what_is_no_job_gives_one_message() {
    let Some(case) = Case::new("top_none", &[]) else { return };
    let own = std::process::id().to_string();
    for (word, parts) in [
        ("no-such-program", ["no job of this user is called no-such-program", "lists the jobs"]),
        (&own, ["not dsm-run", "lists the jobs"]),
        ("2147483647", ["no process 2147483647", "has ended"]),
    ] {
        let output = top(&case, &[word, "--once"]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            (output.status.code(), output.stdout.len(), message.lines().count()),
            (Some(1), 0, 1),
            "{message}"
        );
        assert!(
            message.starts_with("dsm-top: ") && parts.iter().all(|part| message.contains(part)),
            "{message}"
        );
    }
}
