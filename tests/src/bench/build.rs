//! Builds the kernels: those of this repository, and BT, SP and LU of a checkout of NPB 3.0 in OpenMP C.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use super::Settings;
use crate::toolchain;

const OWN: [&str; 5] = ["ep", "cg", "is", "mg", "ft"];
const FOREIGN: [&str; 3] = ["bt", "sp", "lu"];

/// A program that can be built.
#[derive(Clone, Debug)]
pub enum Kernel {
    /// Of this repository.
    Own(String),
    /// Of a checkout.
    Foreign(String, PathBuf),
}

/// A program that was built.
#[derive(Clone, Debug)]
pub struct Built {
    /// The executable.
    pub program: PathBuf,
    /// Time of its compiler and linker.
    pub build_seconds: f64,
    /// Distinct loops that the compiler vectorised.
    pub vectorised: usize,
}

impl Kernel {
    /// The kernels asked for.
    pub fn all(settings: &Settings) -> Result<Vec<Kernel>, String> {
        let mut all: Vec<Kernel> = OWN.iter().map(|k| Kernel::Own((*k).to_owned())).collect();
        if let Some(checkout) = &settings.npb {
            if !checkout.join("config").is_dir() || !checkout.join("BT/bt.c").exists() {
                return Err(format!(
                    "{} is no checkout of NPB 3.0 in OpenMP C: no config/ or BT/bt.c",
                    checkout.display()
                ));
            }
            all.extend(FOREIGN.iter().map(|k| Kernel::Foreign((*k).to_owned(), checkout.clone())));
        }
        let Some(wanted) = &settings.kernels else { return Ok(all) };
        if let Some(unknown) = wanted.iter().find(|w| !all.iter().any(|k| k.name() == w.as_str())) {
            return Err(format!("no kernel {unknown} (bt, sp and lu need --npb)"));
        }
        all.retain(|k| wanted.iter().any(|w| w == k.name()));
        Ok(all)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Kernel::Own(name) | Kernel::Foreign(name, _) => name,
        }
    }

    /// Builds it, and once more for the compiler's remarks.
    pub fn build(&self, directory: &Path, class: &str, compiler: &str, flags: &str) -> Result<Built, String> {
        let tag: String = flags.chars().chain(compiler.chars()).filter(char::is_ascii_alphanumeric).collect();
        let place = directory.join(format!("{}-{class}-{tag}", self.name()));
        let start = Instant::now();
        let program = self.make(&place, class, compiler, flags)?.0;
        let build_seconds = start.elapsed().as_secs_f64();
        let remarks = place.join("remarks");
        let noisy = format!("{flags} -gline-tables-only -Rpass=loop-vectorize");
        let output = self.make(&remarks, class, compiler, &noisy)?.1;
        let text = String::from_utf8_lossy(&output.stderr);
        let loops: HashSet<&str> = text
            .lines()
            .filter(|l| l.contains("remark: vectorized loop"))
            .filter_map(|l| l.split(" remark:").next())
            .collect();
        Ok(Built { program, build_seconds, vectorised: loops.len() })
    }

    fn make(
        &self,
        place: &Path,
        class: &str,
        compiler: &str,
        flags: &str,
    ) -> Result<(PathBuf, Output), String> {
        fs::create_dir_all(place).map_err(|e| e.to_string())?;
        let mut command = Command::new("make");
        let program = match self {
            Kernel::Own(name) => {
                command.args(["-s", "-C"]).arg(toolchain::workspace().join("npb")).arg(name);
                command.arg(format!("CC={compiler}")).arg(format!("CFLAGS={flags}"));
                command.arg(format!("BINDIR={}", place.display()));
                place.join(format!("{name}.{class}"))
            }
            Kernel::Foreign(name, checkout) => {
                let copy = place.join("source");
                let _ = fs::remove_dir_all(&copy);
                run(Command::new("cp").arg("-r").arg(checkout).arg(&copy))?;
                fs::create_dir_all(copy.join("bin")).map_err(|e| e.to_string())?;
                let settings = format!(
                    "CC={compiler}\nCLINK={compiler}\nCFLAGS={flags} -w\nCLINKFLAGS={flags}\nC_LIB=-lm\nC_INC=-I../common\n\
                     UCC=cc\nBINDIR=../bin\nRAND=randdp\nWTIME=wtime.c\n"
                );
                fs::write(copy.join("config/make.def"), settings).map_err(|e| e.to_string())?;
                command.args(["-s", "-C"]).arg(&copy).arg(name.to_uppercase());
                copy.join(format!("bin/{name}.{class}"))
            }
        };
        let output = run(command.arg(format!("CLASS={class}")))?;
        Ok((program, output))
    }
}

fn run(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if output.status.success() {
        return Ok(output);
    }
    Err(format!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr)))
}

impl Built {
    /// Names of the functions that the program has itself.
    pub fn functions(&self) -> Result<HashSet<String>, String> {
        Ok(self.symbols()?.into_iter().map(|(name, _)| name).collect())
    }

    /// Bytes of the functions of these names.
    pub fn code_bytes(&self, names: &HashSet<String>) -> Result<u64, String> {
        Ok(self.symbols()?.into_iter().filter(|(name, _)| names.contains(name)).map(|(_, bytes)| bytes).sum())
    }

    fn symbols(&self) -> Result<Vec<(String, u64)>, String> {
        let output = run(Command::new("nm").args(["-S", "--defined-only"]).arg(&self.program))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let symbols = text.lines().filter_map(|line| {
            let [_, size, kind, name] = line.split_whitespace().collect::<Vec<_>>()[..] else { return None };
            // The pass renames `main`.
            let name = if name == "__dsm_user_main" { "main" } else { name };
            let ours = matches!(kind, "T" | "t") && !name.starts_with('_');
            ours.then(|| Some((name.to_owned(), u64::from_str_radix(size, 16).ok()?)))?
        });
        Ok(symbols.collect())
    }
}
