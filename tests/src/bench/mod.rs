//! What the checks cost, against plain clang with the same flags: time, instructions, code size, build time, vectorised loops.

mod build;
mod report;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::toolchain;
use build::{Built, Kernel};
pub use report::{json, means, svg};

/// What is measured.
#[derive(Clone, Debug)]
pub struct Settings {
    /// NPB class of the timed runs.
    pub class: String,
    /// NPB class of the runs whose instructions are counted; `-` for none.
    pub count_class: String,
    /// Runs of each program; the shortest counts.
    pub runs: u64,
    /// Line sizes, bytes.
    pub lines: Vec<u32>,
    /// Kernels by name; all unless told.
    pub kernels: Option<Vec<String>>,
    /// Checkout of NPB 3.0 in OpenMP C.
    pub npb: Option<PathBuf>,
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

/// One kernel with one line size.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name and class.
    pub kernel: String,
    /// Line size, bytes.
    pub line: u32,
    /// As the program reports it, seconds.
    pub seconds: Pair,
    /// Executed instructions, of the smaller class.
    pub instructions: Option<Pair>,
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
        write!(
            f,
            "{:<6} line {:>5}: {:8.2} s {:8.2} s  time {:5.3}  instructions {}  code {:4.2}  build {:4.2}  vectorised {} of {}",
            self.kernel,
            self.line,
            self.seconds.plain,
            self.seconds.checked,
            self.seconds.ratio(),
            instructions,
            self.code_bytes.ratio(),
            self.build_seconds.ratio(),
            self.vectorised.checked,
            self.vectorised.plain
        )
    }
}

/// Measures all kernels; `each` sees a row when it is complete.
///
/// # Errors
/// A sentence about what cannot be built or run, or does not verify.
pub fn measure(settings: &Settings, mut each: impl FnMut(&Row)) -> Result<Vec<Row>, String> {
    let dsm = toolchain::dsm().ok_or("DSM_TEST_NATIVE leaves nothing to compare")?;
    let clang = toolchain::clang();
    let directory = toolchain::scratch().join("bench");
    std::fs::create_dir_all(&directory).map_err(|e| e.to_string())?;
    let mut rows = Vec::new();
    for kernel in Kernel::all(settings)? {
        let make = |class: &str, compiler: &str, flags: &str| {
            kernel.build(&directory, class, compiler, &format!("-O3 -march=native -fopenmp {flags}"))
        };
        let plain = make(&settings.class, &clang, "")?;
        for &line in &settings.lines {
            let flags = format!("-fdsm-line={line}");
            let cc = dsm.cc.display().to_string();
            let checked = make(&settings.class, &cc, &flags)?;
            let names = plain.functions()?;
            let row = Row {
                kernel: format!("{}.{}", kernel.name(), settings.class),
                line,
                seconds: times(&plain, &checked, settings.runs)?,
                instructions: count(settings, || {
                    let plain = make(&settings.count_class, &clang, "")?;
                    Ok((plain, make(&settings.count_class, &cc, &flags)?))
                })?,
                code_bytes: Pair {
                    plain: plain.code_bytes(&names)? as f64,
                    checked: checked.code_bytes(&names)? as f64,
                },
                build_seconds: Pair { plain: plain.build_seconds, checked: checked.build_seconds },
                vectorised: Pair { plain: plain.vectorised as f64, checked: checked.vectorised as f64 },
            };
            each(&row);
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Shortest times of alternating runs.
fn times(plain: &Built, checked: &Built, runs: u64) -> Result<Pair, String> {
    let mut best = Pair { plain: f64::INFINITY, checked: f64::INFINITY };
    for _ in 0..runs {
        best.plain = best.plain.min(seconds(&plain.program)?);
        best.checked = best.checked.min(seconds(&checked.program)?);
    }
    Ok(best)
}

fn one_thread(command: &mut Command) -> Result<String, String> {
    let output = command.env("OMP_NUM_THREADS", "1").output().map_err(|e| format!("{command:?}: {e}"))?;
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if !text.to_uppercase().contains("SUCCESSFUL") {
        return Err(format!("{command:?} does not verify:\n{text}"));
    }
    Ok(text)
}

fn seconds(program: &Path) -> Result<f64, String> {
    let text = one_thread(&mut Command::new(program))?;
    let line = text.lines().find(|l| l.contains("Time in seconds"));
    let value = line.and_then(|l| l.split_whitespace().last()).and_then(|v| v.parse().ok());
    value.ok_or_else(|| format!("{} reports no time", program.display()))
}

/// Instructions under callgrind.
fn count(
    settings: &Settings,
    build: impl FnOnce() -> Result<(Built, Built), String>,
) -> Result<Option<Pair>, String> {
    let installed = Command::new("valgrind").arg("--version").output().is_ok();
    if settings.count_class == "-" || !installed {
        return Ok(None);
    }
    let (plain, checked) = build()?;
    let count = |built: &Built| {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(&built.program);
        let text = one_thread(&mut command)?;
        let total = text.lines().find_map(|l| l.split("Collected : ").nth(1)?.trim().parse().ok());
        total.ok_or_else(|| format!("valgrind counted nothing:\n{text}"))
    };
    Ok(Some(Pair { plain: count(&plain)?, checked: count(&checked)? }))
}
