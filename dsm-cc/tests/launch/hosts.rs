//! Jobs over two hosts, which are two addresses of this machine: the remote shell is a script that runs the command here.

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::victim::{Victim, send, text};

/// Longest wait for what happens at once on a machine that does nothing else.
const PATIENCE: Duration = Duration::from_secs(30);
const FIRST: &str = "127.0.0.1";
const SECOND: &str = "127.0.0.2";

/// A victim, and a remote shell.
struct Hosts {
    victim: Victim,
    shell: PathBuf,
}

impl Hosts {
    fn new() -> Hosts {
        Hosts::with_shell("")
    }

    /// The remote shell does something before it runs the command; `$host` is the host.
    fn with_shell(before: &str) -> Hosts {
        let victim = Victim::new();
        let shell = victim.path.with_file_name("shell");
        let script = format!("#!/bin/sh\nhost=$1\nshift\n{before}\nexec sh -c \"$*\"\n");
        fs::write(&shell, script).unwrap();
        fs::set_permissions(&shell, fs::Permissions::from_mode(0o755)).unwrap();
        Hosts { victim, shell }
    }

    /// Options for two processes on each of two hosts.
    fn own(&self, more: &str) -> String {
        format!("--rsh {} -H {FIRST}:2,me@{SECOND}:2 {more}", self.shell.display())
    }

    fn run(&self, more: &str, arguments: &[&str]) -> Output {
        self.victim.run(&self.own(more), arguments)
    }

    /// A job of a shell script, which has its process's number in $rank.
    fn script(&self, more: &str, script: &str) -> Command {
        let script = format!("rank=${{DSM_JOB#*:}}; rank=${{rank%%:*}}; {script}");
        let mut command = crate::victim::launcher();
        command.args(self.own(more).split_whitespace()).args(["--unchecked", "sh", "-c", &script]);
        command
    }
}

fn sorted(output: &[u8]) -> Vec<String> {
    let mut lines: Vec<_> = text(output).lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

/// Memory of processes of the same host is shared, unless that is not wanted.
#[test]
fn processes_are_connected_to_those_of_other_hosts() {
    let hosts = Hosts::new();
    for (own, connected) in [
        ("", &["2 3", "2 3", "0 1", "0 1"][..]),
        ("-n 3", &["2", "2", "0 1"]),
        ("-x DSM_TRANSPORT=auto", &["2 3", "2 3", "0 1", "0 1"]),
        ("-x DSM_TRANSPORT=stream:7", &["1 2 3", "0 2 3", "0 1 3", "0 1 2"]),
    ] {
        let output = hosts.run(own, &["meet", "1"]);
        assert_eq!((output.status.code(), &*text(&output.stderr)), (Some(0), ""), "{own}");
        let expected = connected.iter().enumerate();
        let expected: Vec<_> =
            expected.map(|(rank, to)| format!("rank {rank} is connected to {to}")).collect();
        assert_eq!(sorted(&output.stdout), expected, "{own}");
    }
}

#[test]
fn a_file_names_hosts_and_one_of_them_may_be_this_one() {
    let victim = Victim::new();
    let file = victim.path.with_file_name("hosts");
    fs::write(&file, "localhost slots=3 # here\n").unwrap();
    for transport in ["stream", "shm"] {
        let own = format!("--hostfile {} -x DSM_TRANSPORT={transport} -l", file.display());
        let output = victim.run(&own, &["meet", "1"]);
        assert_eq!((output.status.code(), &*text(&output.stderr)), (Some(0), ""));
        let to = if transport == "stream" { " 1 2" } else { "" };
        assert_eq!(sorted(&output.stdout)[0], format!("[0] rank 0 is connected to{to}"));
    }
}

#[test]
fn processes_start_as_they_do_on_one_host() {
    let hosts = Hosts::new();
    let mut command = hosts.victim.command(&hosts.own("-t 4"), &["look"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"12345").unwrap();
    let lines = sorted(&child.wait_with_output().unwrap().stdout);
    let address = lines[0].rsplit(' ').next().unwrap();
    for (rank, line) in lines.iter().enumerate() {
        let input = if rank == 0 { 5 } else { 0 };
        let expected = format!("rank {rank} size 4 threads 4 blocked 0 fixed 1 input {input} at {address}");
        assert_eq!(*line, expected);
    }
    assert_eq!(lines.len(), 4);
}

#[test]
fn labels_keep_lines_whole() {
    let hosts = Hosts::new();
    let output = hosts.run("-l", &["talk"]);
    for (stream, parity) in [(text(&output.stdout), 0), (text(&output.stderr), 1)] {
        for rank in 0..4 {
            let own: Vec<_> = stream.lines().filter_map(|l| l.strip_prefix(&format!("[{rank}] "))).collect();
            let mut expected: Vec<_> =
                (0..2000).filter(|i| i % 2 == parity).map(|i| format!("line {i} of {rank}")).collect();
            expected.extend((parity == 0).then(|| "no newline".to_owned()));
            assert_eq!(own, expected);
        }
    }
}

#[test]
fn input_reaches_process_0_and_comes_back_whole() {
    let hosts = Hosts::new();
    let mut command = hosts.script("", "[ $rank = 0 ] || exec sleep 1000; cat");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let input: Vec<u8> = (0..3_000_000_u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
    let (mut stdin, sent) = (child.stdin.take().unwrap(), input.clone());
    let writer = std::thread::spawn(move || stdin.write_all(&sent).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.stdout == input, "{} bytes of {}", output.stdout.len(), input.len());
    assert_eq!(output.status.code(), Some(0));
}

/// All of it may come together with the order to start.
#[test]
fn input_that_is_there_before_the_job_reaches_process_0_with_its_end() {
    let hosts = Hosts::new();
    let file = hosts.shell.with_file_name("input");
    fs::write(&file, "a line\n").unwrap();
    for _ in 0..4 {
        let mut command = hosts.script("", "[ $rank = 0 ] || exec sleep 1000; cat");
        let output = command.stdin(fs::File::open(&file).unwrap()).output().unwrap();
        assert_eq!((output.status.code(), &*text(&output.stdout)), (Some(0), "a line\n"));
    }
}

#[test]
fn what_is_done_about_each_host_is_said_if_wanted() {
    let hosts = Hosts::new();
    let output = hosts.run("-v", &["exit", "0", "0"]);
    let messages = text(&output.stderr);
    for host in [FIRST, "me@127.0.0.2"] {
        let said: Vec<_> =
            messages.lines().filter_map(|l| l.strip_prefix(&format!("dsm-run: {host}: "))).collect();
        let words = ["; runs /", "listens at port", "reached at 127.0.0.", "connected to the other hosts"];
        assert_eq!(said.len(), words.len(), "{messages}");
        assert!(said.iter().zip(words).all(|(line, words)| line.contains(words)), "{messages}");
        assert!(said[0].contains("--daemon") && said[0].contains("/shell "), "{messages}");
    }
    assert_eq!(messages.lines().count(), 8, "{messages}");
}

#[test]
fn variables_and_the_directory_are_those_of_the_head() {
    let hosts = Hosts::with_shell("export OMP_PROC_BIND=true DSM_SPIN=7 HERE=$host; cd /");
    let directory = hosts.victim.path.parent().unwrap();
    let script = "echo \"$PWD $OMP_NUM_THREADS $A $B ${OMP_PROC_BIND-unset} ${DSM_SPIN-unset} $HERE\" > out$rank.new; \
                  mv out$rank.new out$rank; \
                  [ $rank = 0 ] || exec sleep 1000; until [ -f out1 -a -f out2 -a -f out3 ]; do sleep 0.01; done";
    let mut command = hosts.script("-x A -x B=b=c", script);
    command.current_dir(directory).env("OMP_NUM_THREADS", "3").env("A", "a a");
    let output = command.output().unwrap();
    assert_eq!((output.status.code(), &*text(&output.stderr)), (Some(0), ""));
    for rank in 0..4 {
        let host = if rank < 2 { FIRST.to_owned() } else { format!("me@{SECOND}") };
        let expected = format!("{} 3 a a b=c unset unset {host}\n", directory.display());
        assert_eq!(fs::read_to_string(directory.join(format!("out{rank}"))).unwrap(), expected);
    }
}

/// What process 0 appends to the file that an option names is there at once, and all of it whatever ends the process.
#[test]
fn files_of_process_0_come_back_while_they_grow() {
    let hosts = Hosts::new();
    let directory = hosts.victim.path.parent().unwrap();
    let (file, go) = (directory.join("profile"), directory.join("go"));
    let script = format!(
        "[ $rank = 0 ] || exec sleep 1000; fd=/proc/self/fd/${{DSM_JOB##*=}}; echo begun >> $fd; \
         until [ -f {} ]; do sleep 0.01; done; yes ended | head -n 100000 >> $fd; ",
        go.display()
    );
    for (end, status) in [("exit 0", 0), ("kill -9 $$", 137)] {
        fs::write(&file, "something else").unwrap();
        let option = format!("--profile={}", file.display());
        let mut command = hosts.script(&option, &format!("{script}{end}"));
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        while fs::read_to_string(&file).unwrap() != "begun\n" {
            assert!(child.try_wait().unwrap().is_none(), "the job goes on until it is told to end");
            std::thread::sleep(Duration::from_millis(2));
        }
        fs::write(&go, "").unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(status));
        assert!(fs::read_to_string(&file).unwrap() == format!("begun\n{}", "ended\n".repeat(100_000)));
        fs::remove_file(&go).unwrap();
    }
}

#[test]
fn the_status_is_that_of_process_0() {
    let hosts = Hosts::new();
    for code in [0, 7, 255] {
        let output = hosts.run("", &["exit", "0", &code.to_string()]);
        assert_eq!((output.status.code(), &*text(&output.stderr)), (Some(code), ""));
    }
    let output = hosts.run("", &["return", "0", "5"]);
    assert_eq!((output.status.code(), &*text(&output.stderr)), (Some(5), ""));
}

#[test]
fn a_process_that_ends_is_named_with_its_host() {
    let hosts = Hosts::new();
    for (rank, host) in [(0, FIRST), (1, FIRST), (2, "me@127.0.0.2"), (3, "me@127.0.0.2")] {
        let job = hosts.victim.start(&hosts.own(""), &["run"], 4);
        let pid = job.pids[rank];
        send(pid, Signal::SIGKILL as i32);
        let (status, messages) = job.end(PATIENCE);
        let expected = format!(
            "dsm-run: process {rank} (pid {pid}) on {host} was killed by signal 9 (SIGKILL); the job was ended\n"
        );
        assert_eq!((status, messages), (137, expected));
    }
    let output = hosts.run("", &["exit", "2", "5"]);
    let messages = text(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{messages}");
    let cause = "on me@127.0.0.2 exited with status 5 before the program ended; the job was ended\n";
    assert!(messages.starts_with("dsm-run: process 2 (pid ") && messages.ends_with(cause), "{messages}");
    assert_eq!(messages.lines().count(), 1);
}

#[test]
fn what_processes_leave_behind_goes_too() {
    let hosts = Hosts::new();
    let job = hosts.victim.start(&hosts.own(""), &["stray", "3"], 5);
    send(job.pids[1], Signal::SIGKILL as i32);
    assert_eq!(job.end(PATIENCE).0, 137);
}

/// The parent of a process.
fn parent(pid: i32) -> i32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn is_there(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.trim_start().starts_with('Z'))
}

#[test]
fn nothing_survives_the_head() {
    let hosts = Hosts::new();
    for mode in ["run", "stubborn", "stray"] {
        let lines = if mode == "stray" { 5 } else { 4 };
        let mut job = hosts.victim.start(&hosts.own(""), &[mode, "2"], lines);
        let daemons = [parent(job.pids[0]), parent(job.pids[2])];
        job.launcher.kill().unwrap();
        assert_eq!(job.launcher.wait().unwrap().signal(), Some(9));
        hosts.victim.assert_gone(PATIENCE);
        let since = std::time::Instant::now();
        while daemons.iter().any(|pid| is_there(*pid)) {
            assert!(since.elapsed() < PATIENCE, "daemons {daemons:?} are left");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

#[test]
fn a_daemon_that_is_lost_ends_the_job_and_is_named() {
    let hosts = Hosts::new();
    let job = hosts.victim.start(&hosts.own(""), &["run"], 4);
    send(parent(job.pids[2]), Signal::SIGKILL as i32);
    let (status, messages) = job.end(PATIENCE);
    assert_eq!(status, 1, "{messages}");
    assert!(messages.starts_with("dsm-run: me@127.0.0.2: its daemon was lost: "), "{messages}");
    assert!(messages.ends_with("; the job was ended\n") && messages.lines().count() == 1, "{messages}");
}

#[test]
fn signals_to_the_head_end_the_job() {
    let hosts = Hosts::new();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        for mode in ["run", "stubborn"] {
            let job = hosts.victim.start(&hosts.own(""), &[mode], 4);
            send(job.launcher(), signal as i32);
            let (status, messages) = job.end(PATIENCE);
            assert_eq!(status, 128 + signal as i32, "{messages}");
            assert_eq!(messages, format!("dsm-run: signal {} ({signal}) ended the job\n", signal as i32));
        }
    }
    let job = hosts.victim.start(&hosts.own(""), &["run"], 4);
    send(-job.launcher(), Signal::SIGINT as i32);
    assert_eq!(job.end(PATIENCE).0, 130);
}

#[test]
fn a_signal_ends_a_job_that_has_not_started() {
    let hosts = Hosts::with_shell("touch $(dirname $0)/started; exec sleep 1000");
    let mut command = hosts.victim.command(&hosts.own(""), &["run"]);
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    while !hosts.shell.with_file_name("started").exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
    send(child.id() as i32, Signal::SIGTERM as i32);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143));
    assert_eq!(text(&output.stderr), "dsm-run: signal 15 (SIGTERM) ended the job\n");
}

#[test]
fn a_reader_that_stops_does_not_keep_the_job_alive() {
    let hosts = Hosts::new();
    let mut command = hosts.victim.command(&hosts.own(""), &["flood", "3"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 100]).unwrap();
    send(child.id() as i32, Signal::SIGTERM as i32);
    hosts.victim.assert_gone(PATIENCE);
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn a_reader_that_leaves_ends_the_job() {
    let hosts = Hosts::new();
    let mut command = hosts.victim.command(&hosts.own(""), &["flood", "3"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 100]).unwrap();
    let output = child.wait_with_output().unwrap();
    hosts.victim.assert_gone(Duration::ZERO);
    assert_eq!(output.status.code(), Some(141));
    assert!(text(&output.stderr).contains("process 3 (pid "), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("on me@127.0.0.2 was killed by signal 13 (SIGPIPE)"));
}

/// Status and message of a job that does not start.
fn refusal(hosts: &Hosts, own: &str) -> (i32, String) {
    let output = hosts.victim.run(own, &["run"]);
    let message = text(&output.stderr);
    assert_eq!(text(&output.stdout), "");
    assert!(message.starts_with("dsm-run: ") && message.lines().count() == 1, "{message}");
    (output.status.code().unwrap(), message)
}

#[test]
fn what_cannot_be_started() {
    let hosts = Hosts::new();
    let shell = hosts.shell.display();
    for (own, status, words) in [
        (hosts.own("-n 5"), 2, "4 slots"),
        (hosts.own("--profile=/no/such/profile"), 1, "/no/such/profile cannot be written to"),
        (hosts.own("-x NO_SUCH_VARIABLE"), 2, "NO_SUCH_VARIABLE"),
        (hosts.own("-x DSM_TRANSPORT=shm"), 2, "memory of other hosts cannot be mapped"),
        ("-H 127.0.0.1:0".into(), 2, "number of slots"),
        ("--hostfile /no/such/file".into(), 2, "/no/such/file"),
        (format!("--rsh {shell} -H {FIRST},192.0.2.1"), 1, "192.0.2.1"),
        (format!("--rsh {shell} -H no.such.host.invalid,{FIRST}"), 1, "no.such.host.invalid has no address"),
        (format!("--rsh /no/such/shell -H {FIRST}"), 1, "--rsh names the command"),
        (format!("--rsh false -H {FIRST}"), 1, "its daemon was not started"),
    ] {
        let (found, message) = refusal(&hosts, &own);
        assert_eq!(found, status, "{own}: {message}");
        assert!(message.contains(words), "{own}: {message}");
    }
}

#[test]
fn hosts_without_the_directory_or_the_program_are_named() {
    let hosts = Hosts::with_shell("rmdir $(dirname $0)/gone; true");
    let gone = hosts.shell.with_file_name("gone");
    fs::create_dir(&gone).unwrap();
    let mut command = hosts.victim.command(&hosts.own(""), &["run"]);
    let output = command.current_dir(&gone).output().unwrap();
    let message = text(&output.stderr);
    // The second of the two scripts may complain that the directory is gone already.
    let own: Vec<_> = message.lines().filter(|line| line.starts_with("dsm-run: ")).collect();
    assert_eq!((output.status.code(), own.len()), (Some(1), 1), "{message}");
    assert!(own[0].contains(gone.to_str().unwrap()) && own[0].contains("127.0.0."), "{message}");
    hosts.victim.assert_gone(Duration::ZERO);

    let hosts = Hosts::new();
    let mut command = crate::victim::launcher();
    command.args(hosts.own("").split_whitespace()).arg(OsString::from("./missing"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    let message = text(&output.stderr);
    assert!(message.contains("127.0.0.") && message.ends_with("./missing: no such file\n"), "{message}");
}

#[test]
fn shells_that_print_and_other_versions_are_named() {
    for (before, words) in [
        ("echo Welcome", "Welcome"),
        (
            "[ $host = 127.0.0.1 ] || { echo dsm-run 0.0.0 abi 0 job 0 frames 0; exec sleep 1000; }",
            "another dsm-run",
        ),
    ] {
        let hosts = Hosts::with_shell(before);
        let (status, message) = refusal(&hosts, &hosts.own(""));
        assert!(status == 1 && message.contains(words), "{message}");
    }
}
