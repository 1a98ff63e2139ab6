//! Programs that a process manager has started: Open MPI's mpirun, and by hand Slurm's srun (`-- --ignored slurm`, with Debian's packages slurm-wlm and munge).

use std::path::Path;
use std::process::Command;

use dsm_tests::compile::shell_line;
use dsm_tests::execute::{self, Outcome};
use dsm_tests::toolchain;

use super::case::Case;
use super::npb;

/// Prints the size of a team, and how many processes it is in.
const PROGRAM: &str = "#include <omp.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/syscall.h>
static long processes[256];
int main(void)
{
    int team = 0, count = 0;
#pragma omp parallel
    {
        processes[omp_get_thread_num()] = syscall(SYS_getpid);
#pragma omp single
        team = omp_get_num_threads();
    }
    for (int i = 0; i < team; i++) {
        int known = 0;
        for (int j = 0; j < i; j++)
            known |= processes[i] == processes[j];
        count += !known;
    }
    printf(\"%d threads of %d processes\\n\", team, count);
    return 0;
}
";

/// What makes a program one of MPI.
const MPI: &str = "int MPI_Init(int *argc, char ***argv) { return !argc || !argv; }\n";

fn mpirun(processes: &str) -> Command {
    let mut command = Command::new("mpirun");
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    // Another host would be reached by ssh, which need not be there.
    command.args(["--oversubscribe", "--bind-to", "none", "--mca", "plm", "isolated", "-n", processes]);
    command.env_remove("OMP_NUM_THREADS").env_remove("DSM_TRANSPORT");
    execute::hide_own_variables(&mut command);
    command
}

fn run(command: &mut Command) -> Outcome {
    let outcome = execute::run(command, "", execute::time_limit());
    assert_eq!(outcome.status, Some(0), "{}\n{}", shell_line(command), outcome.errors());
    outcome
}

fn compile(case: &Case, arguments: &[&str]) {
    let mut command = Command::new(&case.dsm.cc);
    command.current_dir(&case.root).args(["-O1", "-fopenmp"]).args(arguments);
    run(&mut command);
}

#[test]
fn processes_of_mpirun_become_one_job() {
    let Some(case) = Case::new("managed", &[("x.c", PROGRAM), ("mpi.c", MPI)]) else { return };
    compile(&case, &["x.c", "-o", "x"]);
    let own = |processes: &str, environment: &[(&str, &str)], program: &str| {
        let mut command = mpirun(processes);
        let text = run(command.current_dir(&case.root).envs(environment.iter().copied()).arg(program)).text();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let threads = |n| ("OMP_NUM_THREADS", n);
    assert_eq!(own("4", &[threads("1")], "./x"), ["4 threads of 4 processes"]);
    assert_eq!(own("2", &[threads("2")], "./x"), ["4 threads of 2 processes"]);
    let apart = ["2 threads of 1 processes"; 2];
    assert_eq!(own("2", &[threads("2"), ("DSM_PMIX", "0")], "./x"), apart);
    // Started by the job's own launcher, a process of mpirun is its launcher's.
    let mut nested = mpirun("1");
    nested.current_dir(&case.root).arg(&case.dsm.run).args(["-n", "2", "./x"]);
    assert_eq!(run(&mut nested).text(), "2 threads of 2 processes\n");
    let mut library = Command::new(toolchain::clang());
    run(library.current_dir(&case.root).args(["-shared", "-fPIC", "mpi.c", "-o", "libmpi_alike.so"]));
    compile(&case, &["x.c", "-o", "y", "-Wl,--no-as-needed", "-L.", "-lmpi_alike", "-Wl,-rpath,$ORIGIN"]);
    assert_eq!(own("2", &[threads("2")], "./y"), apart);
}

/// `test` has executables of its own.
fn verify(launcher: &mut Command, kernel: &str, test: &str) {
    let built = npb::build(kernel, "S", test);
    let text = run(launcher.arg(&built.path)).text();
    assert!(
        text.lines().any(|l| l.contains("Verification") && l.contains(" SUCCESSFUL")),
        "{kernel}\n{text}"
    );
}

#[test]
fn a_kernel_verifies_under_mpirun() {
    if toolchain::dsm().is_some() {
        verify(mpirun("4").env("OMP_NUM_THREADS", "1"), "mg", "managed-one");
    }
}

const KERNELS: [&str; 5] = ["ep", "cg", "is", "mg", "ft"];

#[test]
#[ignore = "by hand: a minute"]
fn all_kernels_verify_under_mpirun() {
    for kernel in KERNELS {
        verify(mpirun("2").env("OMP_NUM_THREADS", "2"), kernel, "managed-all");
        verify(mpirun("4").env("OMP_NUM_THREADS", "1"), kernel, "managed-all");
    }
}

#[test]
#[ignore = "by hand: needs slurm-wlm and munge"]
fn slurm() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/slurm.sh");
    let srun = |processes: &str| {
        let mut command = Command::new(&script);
        command
            .args(["srun", "--overcommit", "--mpi=pmix", "--quiet", "-n", processes])
            .env("OMP_NUM_THREADS", "1");
        command
    };
    for kernel in KERNELS {
        verify(&mut srun("2"), kernel, "managed-slurm");
        verify(&mut srun("4"), kernel, "managed-slurm");
    }
}
