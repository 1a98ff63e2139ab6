//! What the checks cost, against plain clang and flang with the same flags: time, instructions, executed checks, code size, build time,
//! vectorised loops.

mod build;
mod callgrind;
mod report;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::toolchain;
pub use build::{Built, Compilers, Kernel};
use callgrind::Counted;
pub use report::{json, means, svg, table};

/// What is measured.
#[derive(Clone, Debug)]
pub struct Settings {
    /// NPB class of the timed runs.
    pub class: String,
    /// NPB class of the runs whose instructions and checks are counted; `-` for none.
    pub count_class: String,
    /// Runs of each program; the shortest counts.
    pub runs: u64,
    /// Line sizes, bytes.
    pub lines: Vec<u32>,
    /// Kernels by name; all unless told.
    pub kernels: Option<Vec<String>>,
    /// Checkouts of NPB 3.0 in OpenMP C and of NPB 3.4 in OpenMP Fortran.
    pub npb: Vec<PathBuf>,
}

/// A figure without and with checks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Under plain clang.
    pub plain: f64,
    /// Under `dsm-cc`.
    pub checked: f64,
}

impl Pair {
    /// With checks over without.
    pub fn ratio(self) -> f64 {
        self.checked / self.plain
    }
}

/// What a build that counts has counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Executed {
    /// Accesses to memory.
    pub accesses: u64,
    /// Of these, to memory that may be shared.
    pub shared: u64,
    /// Checks, range checks and tests in front of loops included.
    pub checks: u64,
}

impl Executed {
    /// Checks for each access that may be to shared memory.
    pub fn per_access(self) -> f64 {
        self.checks as f64 / self.shared.max(1) as f64
    }
}

/// One kernel with one line size.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name and class.
    pub kernel: String,
    /// Line size, bytes.
    pub line: u32,
    /// Of the whole program or of the part that it measures itself, see [`Row::whole`].
    pub seconds: Pair,
    /// True if the program's own measurement is too short to be used.
    pub whole: bool,
    /// Instructions executed in the program's own functions and their checks, of the smaller class.
    pub instructions: Option<Pair>,
    /// The same of the whole process, OpenMP library and start included.
    pub process_instructions: Option<Pair>,
    /// Executed accesses and checks, of the smaller class.
    pub executed: Option<Executed>,
    /// Bytes of the program's own functions.
    pub code_bytes: Pair,
    /// Compiling and linking, seconds.
    pub build_seconds: Pair,
    /// Loops that the compiler reports as vectorised.
    pub vectorised: Pair,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instructions = self.instructions.map_or("     -".to_owned(), |p| format!("{:6.3}", p.ratio()));
        let checks = self.executed.map_or("      -".to_owned(), |e| format!("{:7.4}", e.per_access()));
        write!(
            f,
            "{:<7} line {:>5}: {:8.2} s {:8.2} s{} time {:5.3}  instructions {}  checks/access {}  code {:4.2}  build {:4.2}  \
             vectorised {} of {}",
            self.kernel,
            self.line,
            self.seconds.plain,
            self.seconds.checked,
            if self.whole { "*" } else { " " },
            self.seconds.ratio(),
            instructions,
            checks,
            self.code_bytes.ratio(),
            self.build_seconds.ratio(),
            self.vectorised.checked,
            self.vectorised.plain
        )
    }
}

/// Flags of the timed programs.
const TIMED: &str = "-O3 -march=native -fopenmp";

/// Flags of the programs that run under valgrind, which knows no AVX-512 and places position-independent programs where ours cannot run.
const COUNTED: &str = if cfg!(target_arch = "x86_64") {
    "-O3 -march=x86-64-v3 -fopenmp -no-pie"
} else {
    "-O3 -fopenmp -no-pie"
};

/// Measures all kernels; `each` sees a row when it is complete.
///
/// # Errors
/// A sentence about what cannot be built or run, or does not verify.
pub fn measure(settings: &Settings, mut each: impl FnMut(&Row)) -> Result<Vec<Row>, String> {
    let dsm = toolchain::dsm().ok_or("DSM_TEST_NATIVE leaves nothing to compare")?;
    let plain = Compilers { c: toolchain::clang(), fortran: toolchain::flang() };
    let checked = Compilers { c: dsm.cc.display().to_string(), fortran: dsm.fc.display().to_string() };
    let directory = toolchain::scratch().join("bench");
    std::fs::create_dir_all(&directory).map_err(|e| e.to_string())?;
    let counting = settings.count_class != "-";
    let valgrind = counting && callgrind::installed();
    let (class, small) = (&settings.class, &settings.count_class);
    let mut rows = Vec::new();
    for kernel in Kernel::all(settings)? {
        let build = |class: &str, with: &Compilers, flags: &str| kernel.build(&directory, class, with, flags);
        let reference = build(class, &plain, TIMED)?;
        let names = reference.functions()?;
        let vectorised = kernel.vectorised(&directory, class, &plain, TIMED)?;
        let least = match valgrind {
            true => Some(callgrind::count(&build(small, &plain, COUNTED)?, &names)?),
            false => None,
        };
        for &line in &settings.lines {
            let timed = format!("{TIMED} -fdsm-line={line}");
            let subject = build(class, &checked, &timed)?;
            let counted = match least {
                Some(least) => {
                    let built = build(small, &checked, &format!("{COUNTED} -fdsm-line={line}"))?;
                    Some((least, callgrind::count(&built, &names)?))
                }
                None => None,
            };
            let pair =
                |of: fn(&Counted) -> f64| counted.map(|(p, c)| Pair { plain: of(&p), checked: of(&c) });
            let executed = match counting {
                true => Some(executed(&build(small, &checked, &format!("{timed} -fdsm-count"))?)?),
                false => None,
            };
            let (seconds, whole) = times(&reference, &subject, settings.runs)?;
            let row = Row {
                kernel: format!("{}.{class}", kernel.name()),
                line,
                seconds,
                whole,
                instructions: pair(|c| c.own),
                process_instructions: pair(|c| c.whole),
                executed,
                code_bytes: Pair {
                    plain: reference.code_bytes(&names)? as f64,
                    checked: subject.code_bytes(&names)? as f64,
                },
                build_seconds: Pair { plain: reference.build_seconds, checked: subject.build_seconds },
                vectorised: Pair {
                    plain: vectorised as f64,
                    checked: kernel.vectorised(&directory, class, &checked, &timed)? as f64,
                },
            };
            each(&row);
            rows.push(row);
        }
    }
    Ok(rows)
}

/// What a run takes, seconds.
#[derive(Clone, Copy)]
struct Seconds {
    /// By the program's own account, which has two decimals.
    reported: f64,
    /// From start to end.
    whole: f64,
    /// Whether the run had a processor for itself.
    undisturbed: bool,
}

/// Reported times below this many seconds say too little.
const SHORTEST: f64 = 0.1;

/// A run that waited longer than this for its processor, seconds, or longer than this share of its time, is made again.
const MOST_WAITED: f64 = 0.005;
const MOST_WAITED_SHARE: f64 = 0.03;

/// Most runs for one that counts.
const TRIES: u64 = 5;

/// Shortest times of alternating runs; true if they are of the whole program.
fn times(plain: &Built, checked: &Built, runs: u64) -> Result<(Pair, bool), String> {
    let worst = Seconds { reported: f64::INFINITY, whole: f64::INFINITY, undisturbed: true };
    let (mut best, mut good) = ([worst; 2], [0; 2]);
    for _ in 0..runs * TRIES {
        if good.iter().all(|&g| g >= runs) {
            break;
        }
        for ((best, good), built) in best.iter_mut().zip(&mut good).zip([plain, checked]) {
            let now = seconds(&built.program)?;
            best.reported = best.reported.min(now.reported);
            best.whole = best.whole.min(now.whole);
            *good += u64::from(now.undisturbed);
        }
    }
    let [plain, checked] = best;
    let whole = plain.reported.min(checked.reported) < SHORTEST;
    let pair = match whole {
        true => Pair { plain: plain.whole, checked: checked.whole },
        false => Pair { plain: plain.reported, checked: checked.reported },
    };
    Ok((pair, whole))
}

fn one_thread(command: &mut Command) -> Result<String, String> {
    let output = command.env("OMP_NUM_THREADS", "1").output().map_err(|e| format!("{command:?}: {e}"))?;
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || !text.to_uppercase().contains("SUCCESSFUL") {
        return Err(format!("{command:?} does not verify ({}):\n{text}", output.status));
    }
    Ok(text)
}

fn seconds(program: &Path) -> Result<Seconds, String> {
    let (start, used) = (Instant::now(), processor_seconds());
    let text = one_thread(&mut Command::new(program))?;
    let (whole, used) = (start.elapsed().as_secs_f64(), processor_seconds() - used);
    let undisturbed = whole - used < MOST_WAITED.max(whole * MOST_WAITED_SHARE);
    let line = text.lines().find(|l| l.contains("Time in seconds"));
    let value: Option<f64> = line.and_then(|l| l.split_whitespace().last()).and_then(|v| v.parse().ok());
    let reported = value.ok_or_else(|| format!("{} reports no time", program.display()))?;
    Ok(Seconds { reported, whole, undisturbed })
}

/// Processor time of all programs that were run so far, seconds.
fn processor_seconds() -> f64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the structure is as large as the call expects, and valid as zeros.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// What a build that counts says at its end.
fn executed(built: &Built) -> Result<Executed, String> {
    let text = one_thread(&mut Command::new(&built.program))?;
    let line = text.lines().find(|l| l.starts_with("dsm: process 0 executed")).unwrap_or("");
    let numbers: Vec<u64> =
        line.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
    let [_, accesses, shared, checks] = numbers[..] else {
        return Err(format!("{} counted nothing:\n{text}", built.program.display()));
    };
    Ok(Executed { accesses, shared, checks })
}
