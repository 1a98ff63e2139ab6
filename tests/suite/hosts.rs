//! Programs on two hosts, which are two addresses of this machine: between processes of different hosts is TCP, as it is between machines, those of one host
//! share memory, and each host has its daemon. The remote shell is a script that runs the command here. `-- --ignored hosts` takes all programs.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use dsm_tests::compile::{self, Target, shell_line};
use dsm_tests::execute::{self, Scratch};
use dsm_tests::matrix::Build;
use dsm_tests::{differential, program, toolchain};
use serde_json::Value;

use super::case::Case;
use super::stream::TOO_MANY_MESSAGES;

/// Drops the host's name.
pub const SHELL: &str = "#!/bin/sh\nshift\nexec sh -c \"$*\"\n";
/// The same, and nobody may read files that a process makes.
const MASKED_SHELL: &str = "#!/bin/sh\nshift\numask 777\nexec sh -c \"$*\"\n";
/// Hosts, threads of each process, and of a team.
const LAYOUTS: [(&str, &str, u32); 3] = [
    ("127.0.0.1:2,127.0.0.2:2", "1", 4),
    ("127.0.0.1:2,127.0.0.2:2", "2", 8),
    ("127.0.0.1:1,127.0.0.2:1", "2", 4),
];

fn check(name: &str, layouts: &[(&str, &str, u32)]) {
    let Some(dsm) = toolchain::dsm() else { return };
    let program = program::Program::load(name);
    let built = compile::compile(&program, Target::Dsm(Build { level: 2, line: 64 }));
    let built = built.unwrap_or_else(|failure| panic!("{failure}"));
    let directory = Scratch::directory("hosts");
    let shell = shell(&directory, SHELL);
    for (hosts, threads, team) in layouts {
        let expected = differential::reference(&program, *team).unwrap_or_else(|failure| panic!("{failure}"));
        let mut command = Command::new(&dsm.run);
        command.arg("--rsh").arg(&shell).args(["-H", hosts, "-t", threads]).arg(&built.path);
        command.args(&program.arguments).envs(program.environment.iter().cloned());
        execute::hide_own_variables(&mut command);
        command.env_remove("OMP_NUM_THREADS").env_remove("DSM_TRANSPORT").current_dir(directory.path());
        let outcome = execute::run(&mut command, &program.input, execute::time_limit());
        let line = shell_line(&command);
        assert_eq!(outcome.status, expected.status, "{line}\n{}", outcome.errors());
        assert_eq!(sorted(&outcome.text()), sorted(&expected.text()), "{line}");
    }
}

/// The remote shell.
pub fn shell(directory: &Scratch, script: &str) -> PathBuf {
    let shell = directory.path().join("shell");
    std::fs::write(&shell, script).expect("a file in an own directory");
    std::fs::set_permissions(&shell, Permissions::from_mode(0o755)).expect("an own file");
    shell
}

/// Memory-based operations and relocatable arrays: programs of C with the arguments that they are given.
#[test]
fn operations_and_arrays() {
    let programs = [
        ("counts", include_str!("../operations/counts.c"), "500"),
        ("queues", include_str!("../operations/queues.c"), "50"),
        ("bundles", include_str!("../operations/bundles.c"), "20"),
        ("signals", include_str!("../operations/signals.c"), "100"),
        ("elements", include_str!("../arrays/elements.c"), ""),
    ];
    let directory = Scratch::directory("hosts-operations");
    for (program, text, arguments) in programs {
        let Some(case) = Case::new(program, &[(&format!("{program}.c"), text)]) else { return };
        case.compiled(&format!("-O2 -fopenmp ../{program}.c -o {program}"));
        for layout in ["127.0.0.1:1,127.0.0.2:1", "127.0.0.1:2,127.0.0.2:1"] {
            let (run, options) = (case.dsm.run.display(), options(&directory, layout));
            let line = format!("{run} {options} ./{program} {arguments}");
            assert_eq!(case.must("dsm", "env", &line), "verified\n", "{line}");
        }
    }
}

/// Options of the launcher for hosts, as `-H` has them, by way of a remote shell in the directory.
pub fn options(directory: &Scratch, hosts: &str) -> String {
    format!("--rsh {} -H {hosts}", shell(directory, SHELL).display())
}

/// What processes write comes through a pipe of each: its order among them is not kept.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn worksharing() {
    check("for_static", &LAYOUTS);
}

#[test]
fn tasks() {
    check("task_blocked", &LAYOUTS);
}

#[test]
fn locks_and_objects_of_cxx() {
    check("cxx_containers", &LAYOUTS);
}

#[test]
fn fortran() {
    check("f_tasks", &LAYOUTS);
}

#[test]
fn streams() {
    check("shared_streams", &LAYOUTS);
}

#[test]
fn descriptors() {
    check("shared_descriptors", &LAYOUTS);
}

/// What a descriptor of another host cannot do, each in a program of its own: its number is the argument.
const REFUSED: &str = "#include <omp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
static int file, ends[2];
int main(int argc, char **argv)
{
    char name[] = \"dsm-refused-XXXXXX\", byte;
    file = mkstemp(name);
    unlink(name);
    pipe(ends);
    if (atoi(argv[1]) == 6) dup2(file, 1);
#pragma omp parallel
    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
        struct pollfd polled = {.fd = ends[0], .events = POLLIN};
        struct iovec one = {&byte, 1};
        switch (atoi(argv[1])) {
        case 0: poll(&polled, 1, 0); break;
        case 1: mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0); break;
        case 2: readv(file, &one, 1); break;
        case 3: recv(ends[0], &byte, 1, 0); break;
        case 4: dprintf(file, \"text\"); break;
        case 5: lockf(file, F_LOCK, 0); break;
        }
    }
    puts(\"not refused\");
}
";

/// One message with the cause and the remedy.
#[test]
fn what_descriptors_of_another_host_cannot_do_is_said() {
    let Some(case) = Case::new("refused_descriptors", &[("x.c", REFUSED)]) else { return };
    let mut command = Command::new(&case.dsm.cc);
    command.current_dir(&case.root).args(["-O1", "-w", "-fopenmp", "x.c", "-o", "x"]);
    assert_eq!(execute::run(&mut command, "", execute::time_limit()).status, Some(0));
    let directory = Scratch::directory("hosts");
    let shell = shell(&directory, SHELL);
    for what in 0..6 {
        let mut command = Command::new(&case.dsm.run);
        command.arg("--rsh").arg(&shell).args(["-H", "127.0.0.1:1,127.0.0.2:1"]);
        command.arg(case.root.join("x")).arg(what.to_string()).current_dir(directory.path());
        execute::hide_own_variables(&mut command);
        let outcome = execute::run(&mut command, "", execute::time_limit());
        let errors = outcome.errors();
        let messages: Vec<_> = errors.lines().filter(|line| line.starts_with("dsm: ")).collect();
        assert_eq!((outcome.status, messages.len(), &*outcome.text()), (Some(1), 1, ""), "{what}: {errors}");
        assert!(
            messages[0].contains(" of process 0, which is on another host, in a call"),
            "{what}: {errors}"
        );
        assert!(messages[0].contains("open the file in each process"), "{what}: {errors}");
    }
    // Standard output that process 0 has put elsewhere: the others' stays.
    let mut command = Command::new(&case.dsm.run);
    command.arg("--rsh").arg(&shell).args(["-H", "127.0.0.1:1,127.0.0.2:1"]);
    command.arg(case.root.join("x")).arg("6").current_dir(directory.path());
    execute::hide_own_variables(&mut command);
    let outcome = execute::run(&mut command, "", execute::time_limit());
    let errors = outcome.errors();
    assert_eq!((outcome.status, errors.lines().count(), &*outcome.text()), (Some(0), 1, ""), "{errors}");
    assert!(
        errors.starts_with("dsm: warning: process 0, on another host, has put another file at descriptor 1")
    );
}

/// A remote shell that keeps what the launcher and its daemons say to each other, each host in files of its own.
const LISTENER: &str = "#!/bin/sh\nhost=$1\nshift\ntee orders.$host | sh -c \"$*\" | tee reports.$host\n";
/// One in whose place the first host's daemon has said what is in a file.
const PRETENDER: &str =
    "#!/bin/sh\nhost=$1\nshift\n[ $host != 127.0.0.1 ] || exec cat said\nexec sh -c \"$*\"\n";
/// Damaged conversations of each kind.
const DAMAGED: u64 = 40;

/// What a job's launcher and daemons said to each other, in that order of hosts.
fn conversations(directory: &Scratch, dsm: &toolchain::Dsm) -> [Vec<Vec<u8>>; 2] {
    let shell = shell(directory, LISTENER);
    let mut command = Command::new(&dsm.run);
    command.arg("--rsh").arg(shell).args(["-H", "127.0.0.1:1,127.0.0.2:1", "--unchecked", "sh", "-c"]);
    // Process 0 ends the job.
    command.arg("case $DSM_JOB in *:0:2:*) echo said; read line; sleep 0.3;; *) exec sleep 100;; esac");
    command.current_dir(directory.path());
    execute::hide_own_variables(&mut command);
    let outcome = execute::run(&mut command, "input\n", execute::time_limit());
    assert_eq!((outcome.status, &*outcome.text()), (Some(0), "said\n"), "{}", outcome.errors());
    ["orders", "reports"].map(|kind| {
        let read =
            |host| std::fs::read(directory.path().join(format!("{kind}.{host}"))).expect("it was kept");
        ["127.0.0.1", "127.0.0.2"].map(read).into()
    })
}

/// Daemons and launchers that are told something else than the protocol has end, with one message at most.
#[test]
fn damaged_conversations_end() {
    let Some(dsm) = toolchain::dsm() else { return };
    let directory = Scratch::directory("hosts");
    let [orders, reports] = conversations(&directory, dsm);
    let run = |command: &mut Command, input: &[u8]| {
        let said = directory.path().join("said");
        std::fs::write(&said, input).expect("a file in an own directory");
        command.current_dir(directory.path());
        execute::hide_own_variables(command);
        let outcome = execute::run_with_file(command, &said, execute::time_limit());
        let errors = outcome.errors();
        assert!(outcome.status.is_some(), "it does not end: {errors}");
        assert!(!errors.contains("panicked") && errors.lines().count() <= 1, "{errors}");
        outcome
    };
    dsm_mutate::each(&orders, DAMAGED, |bytes| {
        run(Command::new(&dsm.run).arg("--daemon"), bytes);
    });
    let shell = shell(&directory, PRETENDER);
    let mut failed = 0;
    dsm_mutate::each(&reports[..1], DAMAGED, |bytes| {
        let mut command = Command::new(&dsm.run);
        command.arg("--rsh").arg(&shell).args([
            "-H",
            "127.0.0.1:1,127.0.0.2:1",
            "--unchecked",
            "sleep",
            "100",
        ]);
        let outcome = run(&mut command, bytes);
        assert_eq!(outcome.status == Some(0), outcome.stderr.is_empty(), "{}", outcome.errors());
        failed += u64::from(outcome.status != Some(0));
    });
    assert!(failed > DAMAGED / 2, "{failed} of {DAMAGED} ended with a message");
}

/// Prints each thread's place, after the number of places.
const PLACES: &str = "#include <omp.h>
#include <stdio.h>
static int place[64], places[64];
int main(void)
{
#pragma omp parallel
    {
        place[omp_get_thread_num()] = omp_get_place_num();
        places[omp_get_thread_num()] = omp_get_num_places();
    }
    for (int i = 0; i < omp_get_max_threads(); i++) printf(\"%d %d\\n\", places[i], place[i]);
}
";

/// The policy places the threads of each host, of which there may be as many as places, not those of all hosts.
#[test]
fn threads_are_placed_on_each_host_by_itself() {
    let Some(case) = Case::new("places", &[("x.c", PLACES)]) else { return };
    let mut command = Command::new(&case.dsm.cc);
    command.current_dir(&case.root).args(["-O1", "-fopenmp", "x.c", "-o", "x"]);
    assert_eq!(execute::run(&mut command, "", execute::time_limit()).status, Some(0));
    let directory = Scratch::directory("hosts");
    let mut command = Command::new(&case.dsm.run);
    command.arg("--rsh").arg(shell(&directory, SHELL)).args(["-H", "127.0.0.1:1,127.0.0.2:1", "-t", "2"]);
    command.args(["--bind", "none"]).arg(case.root.join("x")).current_dir(directory.path());
    execute::hide_own_variables(&mut command);
    command.env("OMP_PLACES", "threads").env("OMP_PROC_BIND", "close").env_remove("OMP_NUM_THREADS");
    let outcome = execute::run(&mut command, "", execute::time_limit());
    let lines: Vec<Vec<u32>> =
        outcome.text().lines().map(|l| l.split(' ').map(|n| n.parse().unwrap()).collect()).collect();
    assert_eq!(lines.len(), 4, "{}{}", outcome.text(), outcome.errors());
    for (thread, line) in (0..).zip(lines) {
        assert_eq!(line[1], thread % 2 % line[0], "thread {thread} of {} places", line[0]);
    }
}

/// The profile is written where `dsm-run` is started, and is about the processes of all hosts.
#[test]
fn a_profile_comes_back_and_covers_all_hosts() {
    let Some(dsm) = toolchain::dsm() else { return };
    let source = toolchain::workspace().join("examples/slow_false_sharing.c");
    let mut program = program::Program::from_source("slow_false_sharing", &source);
    program.flags = vec!["-g".into()];
    let built = compile::compile(&program, Target::Dsm(Build { level: 2, line: 1024 }));
    let built = built.unwrap_or_else(|failure| panic!("{failure}"));
    let directory = Scratch::directory("hosts");
    let report = directory.path().join("report.json");
    let mut command = Command::new(&dsm.run);
    command.arg("--rsh").arg(shell(&directory, MASKED_SHELL)).args([
        "-H",
        "127.0.0.1:1,127.0.0.2:1",
        "--profile=report.json",
    ]);
    command.arg(&built.path).current_dir(directory.path());
    execute::hide_own_variables(&mut command);
    let outcome = execute::run(&mut command, "", execute::time_limit());
    assert_eq!((outcome.status, &*outcome.text()), (Some(0), "verified\n"), "{}", outcome.errors());
    let mode = std::fs::metadata(&report).expect("the profile was written").permissions().mode();
    assert_ne!(mode & 0o777, 0, "the head makes the file, not process 0");
    let text = std::fs::read_to_string(&report).expect("a text");
    let profile: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(profile["processes"], 2);
    for rank in 0..2 {
        assert!(text.contains(&format!("process {rank} writes ")), "{text}");
    }
}

/// Each program in one of the layouts of four processes, but those that are about locks in great number or the places of one host.
#[test]
#[ignore = "takes a quarter of an hour"]
fn all_programs() {
    let is_quick = |name: &String| {
        !TOO_MANY_MESSAGES.contains(&name.as_str()) && !["contended", "affinity"].contains(&name.as_str())
    };
    let names = program::all_names().into_iter().filter(is_quick).enumerate();
    let failed = names.filter(|(number, name)| {
        let layout = &LAYOUTS[number % 2..][..1];
        std::panic::catch_unwind(|| check(name, layout)).is_err()
    });
    let failed: Vec<_> = failed.map(|(_, name)| name).collect();
    assert!(failed.is_empty(), "{failed:?}");
}
