//! The optimising pass over whole programs: each optimisation can be left out, the output does not depend on the run, loops stay
//! vectorised, and builds that count do.

use dsm_abi::entries::replaced::GROUPS;
use dsm_abi::options::SWITCHES;
use dsm_tests::bench::Compilers;
use dsm_tests::bench::{Built, Kernel};
use dsm_tests::compile::{self, Target, shell_line};
use dsm_tests::differential::run_command;
use dsm_tests::execute;
use dsm_tests::matrix::{Build, Shape};
use dsm_tests::program::Program;
use dsm_tests::toolchain::{self, Dsm};
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Programs with all kinds of accesses, one of which each switch is tried on at each level.
const PROGRAMS: [&str; 8] =
    ["strided", "gather", "stencil", "short_neighbours", "hash_table", "f_loops", "f_walks", "overwrite"];

fn directory(name: &str) -> PathBuf {
    let directory = toolchain::scratch().join("pass").join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("scratch directory can be made");
    directory
}

fn succeed(command: &mut Command) -> execute::Outcome {
    execute::hide_own_variables(command);
    let outcome = execute::run(command, "", Duration::from_secs(120));
    assert_eq!(outcome.status, Some(0), "{}\n{}", shell_line(command), outcome.errors());
    outcome
}

/// Standard output of a program on a shape.
fn output(program: &Program, target: Target, shape: Shape) -> Vec<u8> {
    let built = compile::compile(program, target).unwrap_or_else(|failure| panic!("{failure}"));
    let mut command = run_command(&built, target, shape, program);
    let outcome = execute::run(&mut command, &program.input, execute::time_limit());
    let line = format!("{}\n{}", built.command, shell_line(&command));
    assert_eq!(outcome.status, Some(program.status), "{line}\n{}", outcome.errors());
    outcome.stdout
}

#[test]
fn every_switch_can_be_off() {
    let shape = Shape::new(2, 2);
    for (number, switch) in SWITCHES.iter().enumerate() {
        // Half of the switches at each level.
        for level in [number as u8 % 2, 2 + number as u8 % 2] {
            let turn = number + usize::from(level) / 2;
            let plain = Program::load(PROGRAMS[turn % PROGRAMS.len()]);
            let mut program = plain.clone();
            program.flags.push(format!("-fdsm-disable={switch}"));
            let line = if turn / 2 % 2 == 0 { 64 } else { 1024 };
            if toolchain::dsm().is_none() {
                return;
            }
            let got = output(&program, Target::Dsm(Build { level, line }), shape);
            let expected = output(&plain, Target::Native, Shape::alone(shape.total()));
            assert!(got == expected, "{} at -O{level} without {switch}", plain.name);
        }
    }
}

#[test]
fn what_is_overwritten_is_not_fetched() {
    let mut program = Program::load("overwrite");
    let target = Target::Dsm(Build { level: 2, line: 1024 });
    let mut bytes = |flag: Option<&str>| {
        program.flags = flag.map(str::to_owned).into_iter().collect();
        let built = compile::compile(&program, target).unwrap_or_else(|failure| panic!("{failure}"));
        let run = || {
            let mut command = run_command(&built, target, Shape::new(2, 1), &program);
            command.env("DSM_STATS", "1").env("DSM_BLOCK", "1024");
            let outcome = execute::run(&mut command, "", execute::time_limit());
            let sum = |name| outcome.counter(name).iter().sum::<u64>();
            (sum("bytes_moved"), sum("bytes_not_fetched"))
        };
        // Other contents may move more than once, as processes come to store side by side.
        let mut runs: [_; 7] = std::array::from_fn(|_| run());
        runs.sort_unstable();
        runs[3]
    };
    if toolchain::dsm().is_none() {
        return;
    }
    let ((moved, saved), (all, none)) = (bytes(None), bytes(Some("-fdsm-disable=overwrite")));
    assert!(none == 0 && saved > 1 << 20 && moved < all, "{saved} {moved}, {none} {all}");
}

/// Two threads in different processes that count.
const COUNTING: &str = "#include <stdio.h>
static int counted;
int main(void) {
    int seen;
#pragma omp parallel num_threads(2)
    for (int i = 0; i < 1000; i++) {
#pragma omp atomic update seq_cst
        counted += 1;
    }
#pragma omp atomic read seq_cst
    seen = counted;
    printf(\"%d\\n\", seen);
    return 0;
}
";

#[test]
fn an_atomic_update_releases_once() {
    if toolchain::dsm().is_none() {
        return;
    }
    let source = directory("flush").join("counting.c");
    std::fs::write(&source, COUNTING).expect("a file can be written");
    let mut program = Program::from_source("counting", &source);
    let mut releases = |flag: Option<&str>| {
        program.flags = flag.map(str::to_owned).into_iter().collect();
        let target = Target::Dsm(Build { level: 2, line: 1024 });
        let built = compile::compile(&program, target).unwrap_or_else(|failure| panic!("{failure}"));
        let mut command = run_command(&built, target, Shape::new(2, 1), &program);
        let outcome = execute::run(command.env("DSM_STATS", "1"), "", execute::time_limit());
        assert_eq!((outcome.status, outcome.text().as_str()), (Some(0), "2000\n"), "{}", outcome.errors());
        outcome.counter("releases").iter().sum::<u64>()
    };
    let (once, twice) = (releases(None), releases(Some("-fdsm-disable=flush")));
    assert!((2000..2100).contains(&once) && (4000..4100).contains(&twice), "{once} {twice}");
}

/// Two threads in different processes that add up.
const SUMMING: &str = "program summing
  implicit none
  integer :: round, i
  double precision :: total
  total = 0
!$omp parallel private(round) num_threads(2)
  do round = 1, 1000
!$omp do reduction(+:total)
    do i = 1, 2
      total = total + i
    end do
  end do
!$omp end parallel
  print '(f0.1)', total
end program
";

#[test]
fn a_reduction_has_one_barrier() {
    if toolchain::dsm().is_none() {
        return;
    }
    let source = directory("barrier").join("summing.f90");
    std::fs::write(&source, SUMMING).expect("a file can be written");
    let mut program = Program::from_source("summing", &source);
    let mut releases = |flag: Option<&str>, level| {
        program.flags = flag.map(str::to_owned).into_iter().collect();
        let target = Target::Dsm(Build { level, line: 1024 });
        let built = compile::compile(&program, target).unwrap_or_else(|failure| panic!("{failure}"));
        let mut command = run_command(&built, target, Shape::new(2, 1), &program);
        let outcome = execute::run(command.env("DSM_STATS", "1"), "", execute::time_limit());
        assert_eq!((outcome.status, outcome.text().as_str()), (Some(0), "3000.0\n"), "{}", outcome.errors());
        outcome.counter("releases").iter().sum::<u64>()
    };
    for level in [0, 2] {
        let (one, three) = (releases(None, level), releases(Some("-fdsm-disable=barrier"), level));
        assert!((2000..2100).contains(&one) && (6000..6100).contains(&three), "-O{level}: {one} {three}");
    }
}

#[test]
fn all_switches_are_tried() {
    let Some(dsm) = toolchain::dsm() else { return };
    let directory = directory("switches");
    std::fs::write(directory.join("x.c"), "int x;\n").expect("a file can be written");
    let mut command = Command::new(&dsm.cc);
    command.args(["-fdsm-disable=nothing", "-c", "x.c"]).current_dir(&directory);
    let outcome = execute::run(&mut command, "", Duration::from_secs(60));
    assert_ne!(outcome.status, Some(0));
    let known = format!("knows {};", SWITCHES.join(", "));
    assert!(outcome.errors().contains(&known), "{}", outcome.errors());
}

#[test]
fn the_pass_is_deterministic() {
    let Some(dsm) = toolchain::dsm() else { return };
    let directory = directory("deterministic");
    let npb = toolchain::workspace().join("npb");
    let object = |compiler: &Path, source: &Path, name: &str| {
        let mut command = Command::new(compiler);
        command.args(["-O3", "-fopenmp", "-w", "-DNPB_CLASS='S'", "-c", "-o", name]).arg(source);
        command.arg("-I").arg(npb.join("common")).current_dir(&directory);
        succeed(&mut command);
        std::fs::read(directory.join(name)).expect("the object is there")
    };
    let programs = dsm_tests::program::directory();
    let mut sources = vec![(&dsm.cc, npb.join("mg/operators.c")), (&dsm.cc, npb.join("cg/cg.c"))];
    sources.push((&dsm.fc, programs.join("f_loops.f90")));
    sources.push((&dsm.cc, programs.join("hash_table.c")));
    for (compiler, source) in sources {
        let first = object(compiler, &source, "x.o");
        for _ in 0..3 {
            assert!(
                first == object(compiler, &source, "x.o"),
                "{} differs from run to run",
                source.display()
            );
        }
    }
}

#[test]
fn kernels_stay_vectorised() {
    let Some(dsm) = toolchain::dsm() else { return };
    let directory = directory("vectorised");
    let plain = Compilers { c: toolchain::clang(), fortran: toolchain::flang() };
    let checked = Compilers { c: dsm.cc.display().to_string(), fortran: dsm.fc.display().to_string() };
    let flags = "-O3 -fopenmp";
    let mut total = 0;
    for kernel in Kernel::own() {
        let without = kernel.vectorised(&directory, "S", &plain, flags).unwrap_or_else(|e| panic!("{e}"));
        let with = kernel.vectorised(&directory, "S", &checked, flags).unwrap_or_else(|e| panic!("{e}"));
        assert!(with >= without, "{}: {with} of {without} loops are vectorised", kernel.name());
        total += without;
    }
    assert!(total >= 10, "plain clang reports only {total} vectorised loops");
}

#[test]
fn code_stays_small() {
    let Some(dsm) = toolchain::dsm() else { return };
    let directory = directory("code");
    let plain = Compilers { c: toolchain::clang(), fortran: toolchain::flang() };
    let checked = Compilers { c: dsm.cc.display().to_string(), fortran: dsm.fc.display().to_string() };
    let (mut without, mut with) = (0, 0);
    for kernel in Kernel::own() {
        let build = |compilers: &Compilers| {
            kernel.build(&directory, "S", compilers, "-O3 -fopenmp").unwrap_or_else(|e| panic!("{e}"))
        };
        let (reference, subject) = (build(&plain), build(&checked));
        let names = reference.functions().expect("nm lists the functions");
        let bytes = |built: &Built| built.code_bytes(&names).expect("nm lists the functions");
        let (least, most) = (bytes(&reference), bytes(&subject));
        assert!(most < 4 * least, "{}: {most} bytes of code instead of {least}", kernel.name());
        (without, with) = (without + least, with + most);
    }
    // Nests with checks of elements have a second version, for jobs of one process.
    assert!(2 * with < 5 * without, "{with} bytes of code instead of {without}");
}

#[test]
fn callers_check_for_functions() {
    let checks = |flag: Option<&str>| {
        let mut program = Program::load("callers");
        program.flags.push("-fdsm-count".to_owned());
        program.flags.extend(flag.map(str::to_owned));
        let target = Target::Dsm(Build { level: 2, line: 1024 });
        let built = compile::compile(&program, target).unwrap_or_else(|failure| panic!("{failure}"));
        let mut command = run_command(&built, target, Shape::alone(1), &program);
        let outcome = execute::run(&mut command, "", execute::time_limit());
        let expected = output(&Program::load("callers"), Target::Native, Shape::alone(1));
        assert!(outcome.stdout == expected, "with {flag:?}");
        executed(&outcome).expect("counts")[2]
    };
    if toolchain::dsm().is_none() {
        return;
    }
    let [all, no_callers, no_clone] =
        [None, Some("-fdsm-disable=callers"), Some("-fdsm-disable=clone")].map(checks);
    assert!(3 * all < 2 * no_callers, "{all} checks, {no_callers} without `callers`");
    assert!(all < no_clone, "{all} checks, {no_clone} without `clone`");
}

/// Lines of the loops that are vectorised.
fn vectorised_lines(directory: &Path, compiler: &str, source: &Path) -> BTreeSet<String> {
    let mut command = Command::new(compiler);
    command.args(["-O3", "-fopenmp", "-gline-tables-only", "-Rpass=loop-vectorize", "-c", "-o", "x.o"]);
    let outcome = succeed(command.arg(source).current_dir(directory));
    let errors = outcome.errors();
    let loops = errors.lines().filter_map(|l| l.split_once(": remark: vectorized loop"));
    loops.map(|(place, _)| place.rsplit_once('/').map_or(place, |(_, file)| file).to_owned()).collect()
}

#[test]
fn fortran_loops_stay_vectorised() {
    let Some(dsm) = toolchain::dsm() else { return };
    let directory = directory("vectorised-fortran");
    let source = dsm_tests::program::directory().join("f_walks.f90");
    let without = vectorised_lines(&directory, &toolchain::flang(), &source);
    let with = vectorised_lines(&directory, &dsm.fc.display().to_string(), &source);
    assert!(without.len() >= 5, "plain flang vectorises only {without:?}");
    let lost: Vec<&String> = without.difference(&with).collect();
    assert!(lost.is_empty(), "not vectorised with checks: {lost:?}");
}

const SUM: &str = "#include <stdio.h>
int data[1000], total;
int main(void)
{
    for (int i = 0; i < 1000; i++)
        total += data[(i * 7) % 1000] + i;
    printf(\"%d\\n\", total);
    return 0;
}
";

/// What a program says about itself: accesses, accesses that may be shared, checks.
fn counts(dsm: &Dsm, directory: &Path, flags: &[&str]) -> Option<[u64; 3]> {
    let mut compile = Command::new(&dsm.cc);
    compile.args(flags).args(["-o", "sum", "sum.c"]).current_dir(directory);
    succeed(&mut compile);
    let outcome = succeed(&mut Command::new(directory.join("sum")));
    assert_eq!(outcome.text(), "499500\n");
    executed(&outcome)
}

fn executed(outcome: &execute::Outcome) -> Option<[u64; 3]> {
    let errors = outcome.errors();
    let line = errors.lines().find(|l| l.starts_with("dsm: process 0 executed"))?;
    let numbers: Vec<u64> =
        line.split(|c: char| !c.is_ascii_digit()).skip(1).filter_map(|n| n.parse().ok()).collect();
    Some([numbers[1], numbers[2], numbers[3]])
}

#[test]
fn builds_that_count_count() {
    let Some(dsm) = toolchain::dsm() else { return };
    let directory = directory("count");
    std::fs::write(directory.join("sum.c"), SUM).expect("a file can be written");
    assert_eq!(counts(dsm, &directory, &["-O2"]), None, "other builds count nothing");
    let few = counts(dsm, &directory, &["-O2", "-fdsm-count"]).expect("counts");
    assert!(few[1] >= 1000 && few[1] < 1100 && few[2] < 20, "{few:?}");
    let off = ["-O0", "-fdsm-count", "-fdsm-disable=merge,available,hoist,version"];
    let [accesses, shared, checks] = counts(dsm, &directory, &off).expect("counts");
    // Two loads and a store of shared memory in an iteration, and as many checks.
    assert!(shared >= 3000 && accesses > shared && checks >= shared, "{accesses} {shared} {checks}");
}

#[test]
fn the_runtime_has_what_calls_are_redirected_to() {
    let Some(dsm) = toolchain::dsm() else { return };
    let library = dsm.cc.with_file_name("dsm-runtime/libdsm_rt.a");
    // GNU nm finds no symbols in what link-time optimisation has made.
    let mut names = Command::new("llvm-nm-22");
    let listed = names.args(["--defined-only", "--format=just-symbols"]).arg(&library).output();
    let listed = String::from_utf8(listed.expect("LLVM has llvm-nm").stdout).expect("names are ASCII");
    let defined: HashSet<&str> = listed.lines().collect();
    let own = |entry: &&str| entry.starts_with("__dsm_");
    let entries = GROUPS.iter().flat_map(|group| group.functions).map(|(_, entry, _)| *entry);
    let missing: Vec<_> = entries.filter(own).filter(|entry| !defined.contains(entry)).collect();
    assert!(missing.is_empty(), "the runtime has no {missing:?}");
}

/// Of loops with `schedule(static, CHUNK)`, by either compiler.
#[test]
fn loops_whose_chunks_any_thread_may_have_are_found() {
    let Some(dsm) = toolchain::dsm() else { return };
    let directory = directory("chunks");
    for (compiler, name, found) in [(&dsm.cc, "static_chunks.c", 4), (&dsm.fc, "f_chunks.f90", 2)] {
        let mut command = Command::new(compiler);
        command.args(["-O2", "-fopenmp", "-fdsm-stats", "-c"]);
        command.arg(toolchain::package().join("programs").join(name)).arg("-o").arg(directory.join("x.o"));
        let outcome = succeed(&mut command);
        assert!(outcome.errors().contains(&format!(" chunks {found}")), "{name}: {}", outcome.errors());
    }
}
