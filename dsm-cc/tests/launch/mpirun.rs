//! Processes that Open MPI's mpirun has started, each of which has a launcher of its own (`--pmix`).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::unistd::geteuid;

use crate::victim::{Victim, launcher, send, text};

/// Longest wait for what happens at once on a machine that does nothing else.
const PATIENCE: Duration = Duration::from_secs(60);

/// mpirun for launchers of `--pmix`, on this host unless `options` say otherwise.
fn mpirun(options: &[&str]) -> Command {
    let mut command = Command::new("mpirun");
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.args(["--oversubscribe", "--bind-to", "none"]);
    if options.iter().all(|option| *option != "rsh") {
        // Another host would be reached by ssh, which need not be there.
        command.args(["--mca", "plm", "isolated"]);
    }
    command.args(options).arg(launcher().get_program()).arg("--pmix");
    command.env_remove("OMP_NUM_THREADS");
    command
}

fn run(victim: &Victim, command: &mut Command, arguments: &[&str]) -> Output {
    let output = command.arg(&victim.path).args(arguments).output().expect("mpirun is installed");
    victim.assert_gone(PATIENCE);
    output
}

fn lines(output: &[u8]) -> Vec<String> {
    let mut lines: Vec<_> = text(output).lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

/// What the launchers say, without what mpirun does.
fn said(output: &Output) -> Vec<String> {
    lines(&output.stderr).into_iter().filter(|line| line.contains("dsm-run")).collect()
}

#[test]
fn processes_of_mpirun_are_those_of_a_job() {
    let victim = Victim::new();
    for (processes, variable, option, threads) in [("4", "3", "", 3), ("2", "3,2", "-t5", 5)] {
        let mut command = mpirun(&["-n", processes]);
        command.args(option.split_whitespace()).env("OMP_NUM_THREADS", variable);
        let output = run(&victim, &mut command, &["look"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let lines = lines(&output.stdout);
        for (rank, line) in lines.iter().enumerate() {
            let own = format!("rank {rank} size {processes} threads {threads} blocked 0 fixed 1 input 0 ");
            assert!(line.starts_with(&own), "{line}");
        }
        assert_eq!(lines.len().to_string(), processes);
    }
}

#[test]
fn arguments_and_the_exit_status_pass_through() {
    let victim = Victim::new();
    let output = run(&victim, &mut mpirun(&["-n", "2"]), &["args", "0", "-n", "a b", "--pmix"]);
    let words = text(&output.stdout);
    assert_eq!(words.lines().skip(1).collect::<Vec<_>>(), ["args", "0", "-n", "a b", "--pmix"]);
    let output = run(&victim, &mut mpirun(&["-n", "3"]), &["late", "0", "7"]);
    assert_eq!((output.status.code(), said(&output)), (Some(7), vec![]));
}

#[test]
fn a_process_that_dies_ends_the_job_with_one_message() {
    let victim = Victim::new();
    for (arguments, status, cause) in [
        (["raise", "2", "9"], 137, "dsm-run: process 2 (pid "),
        (["raise", "0", "11"], 139, "dsm-run: process 0 (pid "),
    ] {
        let output = run(&victim, &mut mpirun(&["-n", "4"]), &arguments);
        let said = said(&output);
        assert_eq!((output.status.code(), said.len()), (Some(status), 1), "{}", text(&output.stderr));
        assert!(said[0].starts_with(cause) && said[0].ends_with("; the job was ended"), "{said:?}");
    }
}

#[test]
fn nothing_outlives_mpirun_or_a_launcher() {
    let victim = Victim::new();
    // A launcher that is killed ends its process, but not what that has started.
    for (kill_all, mode, processes) in [(true, "stray", 6), (false, "run", 4)] {
        let mut command = mpirun(&["-n", "4"]);
        command.arg(&victim.path).arg(mode).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("mpirun is installed");
        let since = Instant::now();
        while victim.processes().len() < processes {
            assert!(since.elapsed() < PATIENCE, "the processes do not start");
            std::thread::sleep(Duration::from_millis(5));
        }
        let killed = if kill_all { child.id() as i32 } else { launcher_of(&victim) };
        send(killed, Signal::SIGKILL as i32);
        let status = child.wait().unwrap();
        assert!(!status.success());
        victim.assert_gone(PATIENCE);
    }
}

/// The launcher of one of the processes.
fn launcher_of(victim: &Victim) -> i32 {
    let parent = |pid: i32| -> Option<i32> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
    };
    let is_launcher = |pid: &i32| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "dsm-run")
    };
    victim.processes().into_iter().filter_map(parent).find(is_launcher).expect("a process with a launcher")
}

#[test]
fn without_a_process_manager_there_is_nothing_to_join() {
    let output = launcher().args(["--pmix", "./x"]).env_remove("PMIX_NAMESPACE").output().unwrap();
    assert_eq!((output.status.code(), lines(&output.stderr).len()), (Some(2), 1), "{}", text(&output.stderr));
}

#[test]
fn a_program_that_is_none_is_refused_once() {
    let victim = Victim::with_version(None);
    let output = run(&victim, &mut mpirun(&["-n", "1"]), &["look"]);
    let said = said(&output);
    assert_eq!((output.status.code(), said.len()), (Some(126), 1), "{}", text(&output.stderr));
}

/// A remote shell for mpirun that gives the command another host's name.
fn other_name(directory: &Path) -> PathBuf {
    let shell = directory.join("other-name");
    let script = "#!/bin/sh\nhost=$1\nshift\nexec unshare -u sh -c \"hostname $host; $*\"\n";
    fs::write(&shell, script).unwrap();
    fs::set_permissions(&shell, fs::Permissions::from_mode(0o755)).unwrap();
    shell
}

/// On hosts `a` and `b`, which are this one by other names; needs the right to give those.
#[test]
fn hosts_are_connected_whatever_the_order_of_ranks() {
    if !geteuid().is_root() {
        eprintln!("skipped: only root can give hosts names");
        return;
    }
    let victim = Victim::new();
    let shell = other_name(victim.path.parent().unwrap());
    let agent = shell.to_str().unwrap();
    for order in ["node", "slot"] {
        let options = [
            "--mca",
            "plm",
            "rsh",
            "--mca",
            "plm_rsh_agent",
            agent,
            "-H",
            "dsma:2,dsmb:2",
            "--map-by",
            order,
        ];
        let mut command = mpirun(&options);
        command.arg("-v");
        let output = run(&victim, &mut command, &["meet", "2"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let expected = [
            "rank 0 is connected to 2 3",
            "rank 1 is connected to 2 3",
            "rank 2 is connected to 0 1",
            "rank 3 is connected to 0 1",
        ];
        assert_eq!(lines(&output.stdout), expected, "{order}");
        let said = said(&output);
        assert!(
            said[0].starts_with("dsm-run: dsma: processes 0 to 1 of ") && said[0].contains(" port "),
            "{said:?}"
        );
        assert!(said[1].starts_with("dsm-run: dsmb: processes 2 to 3 of "), "{said:?}");
    }
}
