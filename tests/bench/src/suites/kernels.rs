//! Whole programs against libomp with as many threads: the kernels and applications of `npb`, and Jacobi's method of `examples`.

use std::path::PathBuf;
use std::process::Command;

use dsm_tests::toolchain;

use super::row;
use crate::bench::{
    ALONE, Bench, Contender, FLAGS, Layout, PROCESSES, THREADS, last_number, output, plain, show,
};
use crate::report::Row;

pub const NAME: &str = "kernels";
pub const ABOUT: &str = "Whole programs: the time that they report, against the same source under plain clang with libomp and as many threads.";

pub const ALL: [&str; 10] = ["ep", "cg", "is", "mg", "ft", "bt", "sp", "lu", "ua", JACOBI];
const JACOBI: &str = "jacobi";

/// A program as it was built, and how its result is read.
#[derive(Clone, Debug)]
pub struct Kernel {
    name: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
}

impl Kernel {
    /// Builds one of [`ALL`].
    pub fn build(bench: &Bench, name: &'static str, compiler: &str, flags: &str) -> Result<Kernel, String> {
        if name != JACOBI {
            return Ok(Kernel { name, program: bench.make(name, compiler, flags)?, arguments: vec![] });
        }
        let source = toolchain::workspace().join("examples/jacobi.c");
        let program = bench.compile(&source, compiler, flags)?;
        let [size, sweeps] = match bench.class.as_str() {
            "S" => ["256", "20"],
            "W" => ["1024", "100"],
            "A" => ["2048", "200"],
            "B" => ["4096", "400"],
            _ => ["8192", "800"],
        };
        Ok(Kernel { name, program, arguments: [size, sweeps].map(str::to_owned).to_vec() })
    }

    /// How it is shown.
    pub fn title(&self, class: &str) -> String {
        format!("{}.{class}", self.name)
    }

    /// Under plain clang's library.
    pub fn plain(&self, threads: u32) -> Command {
        let mut command = plain(&self.program, threads);
        command.args(&self.arguments);
        command
    }

    /// Under the launcher.
    pub fn launch(&self, bench: &Bench, layout: Layout) -> Command {
        let mut command = bench.launch(&self.program, layout);
        command.args(&self.arguments);
        command
    }

    /// Runs a command of it. The seconds that it reports, and what it writes to standard error.
    ///
    /// # Errors
    /// A sentence about a run that fails or does not verify.
    pub fn time(&self, command: &mut Command) -> Result<(f64, String), String> {
        let (text, errors) = output(command)?;
        let upper = text.to_uppercase();
        let verified = match self.name == JACOBI {
            true => text.lines().any(|line| line == "verified"),
            false => upper.contains("SUCCESSFUL") && !upper.contains("UNSUCCESSFUL"),
        };
        let label = if self.name == JACOBI { "seconds" } else { "Time in seconds" };
        match last_number(&text, label) {
            Some(seconds) if verified => Ok((seconds, errors)),
            _ => Err(format!("{command:?} does not verify:\n{text}{errors}")),
        }
    }
}

pub fn run(bench: &Bench, rows: &mut Vec<Row>) -> Result<(), String> {
    for name in bench.wanted(NAME, &ALL)? {
        let theirs = Kernel::build(bench, name, &toolchain::clang(), FLAGS)?;
        let ours = Kernel::build(bench, name, &bench.compiler(), FLAGS)?;
        let title = ours.title(&bench.class);
        let libomp = |threads: u32| Contender {
            label: format!("{title} libomp, {threads}"),
            run: Box::new({
                let theirs = &theirs;
                move || Ok(vec![theirs.time(&mut theirs.plain(threads))?.0])
            }),
        };
        let dsm = |layout: Layout| Contender {
            label: format!("{title} {}", layout.name()),
            run: Box::new({
                let ours = &ours;
                move || Ok(vec![ours.time(&mut ours.launch(bench, layout))?.0])
            }),
        };
        let samples = bench.alternate(&[libomp(1), dsm(ALONE), libomp(2), dsm(THREADS), dsm(PROCESSES)])?;
        for (layout, measured, reference) in [(ALONE, 1, 0), (THREADS, 3, 2), (PROCESSES, 4, 2)] {
            let reference = ("libomp", &samples[reference][0][..]);
            let row = row(NAME, &title, &layout.name(), "s", &samples[measured][0], reference);
            show(&row);
            rows.push(row);
        }
    }
    Ok(())
}
