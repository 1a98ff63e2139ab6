//! Builds the kernels: those of this repository, BT, SP and LU of a checkout of NPB 3.0 in OpenMP C, and the Fortran programs of
//! one of NPB 3.4 in OpenMP.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use dsm_abi::layout::COPY_SUFFIX;

use super::Settings;
use crate::toolchain;

const OWN: [&str; 6] = ["ep", "cg", "is", "mg", "ft", "ua"];
const C_PROGRAMS: [&str; 3] = ["bt", "sp", "lu"];
const FORTRAN_PROGRAMS: [&str; 8] = ["bt", "sp", "lu", "ua", "cg", "mg", "ft", "ep"];

/// Compilers of a program.
#[derive(Clone, Debug)]
pub struct Compilers {
    /// For C.
    pub c: String,
    /// For Fortran.
    pub fortran: String,
}

/// Where a program's sources are.
#[derive(Clone, Debug)]
enum Source {
    /// In this repository.
    Own,
    /// In a checkout of NPB 3.0 in OpenMP C.
    C(PathBuf),
    /// In a checkout of NPB 3.4 in OpenMP Fortran.
    Fortran(PathBuf),
}

/// A program that can be built.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Name of the program's directory in lower case.
    program: &'static str,
    source: Source,
}

/// A program that was built.
#[derive(Clone, Debug)]
pub struct Built {
    /// The executable.
    pub program: PathBuf,
    /// Time of its compiler and linker.
    pub build_seconds: f64,
}

impl Kernel {
    /// The kernels of this repository.
    pub fn own() -> Vec<Kernel> {
        OWN.iter().map(|program| Kernel { program, source: Source::Own }).collect()
    }

    /// The kernels asked for.
    pub fn all(settings: &Settings) -> Result<Vec<Kernel>, String> {
        let of = |programs: &[&'static str], source: Source| -> Vec<Kernel> {
            programs.iter().map(|program| Kernel { program, source: source.clone() }).collect()
        };
        let mut all = Kernel::own();
        for checkout in &settings.npb {
            let openmp = checkout.join("NPB3.4-OMP");
            let checkout = if openmp.is_dir() { &openmp } else { checkout };
            if checkout.join("config").is_dir() && checkout.join("BT/bt.c").exists() {
                all.extend(of(&C_PROGRAMS, Source::C(checkout.clone())));
            } else if checkout.join("config").is_dir() && checkout.join("UA/ua.f").exists() {
                all.extend(of(&FORTRAN_PROGRAMS, Source::Fortran(checkout.clone())));
            } else {
                return Err(format!(
                    "{} is no checkout of NPB in OpenMP: of 3.0 in C it would have BT/bt.c, of 3.4 UA/ua.f, and both config/",
                    checkout.display()
                ));
            }
        }
        let Some(wanted) = &settings.kernels else { return Ok(all) };
        if let Some(unknown) = wanted.iter().find(|w| !all.iter().any(|k| k.name() == **w)) {
            let known: Vec<String> = all.iter().map(Kernel::name).collect();
            return Err(format!("no kernel {unknown} among {} (the others need --npb)", known.join(", ")));
        }
        all.retain(|k| wanted.iter().any(|w| *w == k.name()));
        Ok(all)
    }

    /// Its name; those in Fortran end in `-f`.
    pub fn name(&self) -> String {
        match self.source {
            Source::Own | Source::C(_) => self.program.to_owned(),
            Source::Fortran(_) => format!("{}-f", self.program),
        }
    }

    /// Builds it below `directory`.
    pub fn build(
        &self,
        directory: &Path,
        class: &str,
        with: &Compilers,
        flags: &str,
    ) -> Result<Built, String> {
        let place = self.place(directory, class, with, flags);
        let start = Instant::now();
        let program = self.make(&place, class, with, flags)?.0;
        Ok(Built { program, build_seconds: start.elapsed().as_secs_f64() })
    }

    /// Builds it for the compiler's remarks: the number of distinct loops that are vectorised.
    pub fn vectorised(
        &self,
        directory: &Path,
        class: &str,
        with: &Compilers,
        flags: &str,
    ) -> Result<usize, String> {
        let place = self.place(directory, class, with, flags).join("remarks");
        let noisy = format!("{flags} -gline-tables-only -Rpass=loop-vectorize");
        let output = self.make(&place, class, with, &noisy)?.1;
        let text = String::from_utf8_lossy(&output.stderr);
        let remarks = text.lines().filter(|l| l.contains("remark: vectorized loop"));
        Ok(remarks.filter_map(|l| l.split(" remark:").next()).collect::<HashSet<&str>>().len())
    }

    fn place(&self, directory: &Path, class: &str, with: &Compilers, flags: &str) -> PathBuf {
        let compiler = Path::new(&with.c).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let tag: String = flags.chars().filter(char::is_ascii_alphanumeric).collect();
        directory.join(format!("{}-{class}-{compiler}-{tag}", self.name()))
    }

    fn make(
        &self,
        place: &Path,
        class: &str,
        with: &Compilers,
        flags: &str,
    ) -> Result<(PathBuf, Output), String> {
        fs::create_dir_all(place).map_err(|e| format!("{}: {e}", place.display()))?;
        let mut command = Command::new("make");
        let checkout = match &self.source {
            Source::Own => {
                command.args(["-B", "-s", "-C"]).arg(toolchain::workspace().join("npb")).arg(self.program);
                command.arg(format!("CC={}", with.c)).arg(format!("CFLAGS={flags}"));
                command.arg(format!("BINDIR={}", place.display())).arg(format!("CLASS={class}"));
                let output = run(&mut command)?;
                return Ok((place.join(format!("{}.{class}", self.program)), output));
            }
            Source::C(checkout) | Source::Fortran(checkout) => checkout,
        };
        let copy = place.join("source");
        let _ = fs::remove_dir_all(&copy);
        fs::create_dir_all(&copy).map_err(|e| format!("{}: {e}", copy.display()))?;
        for part in ["common", "config", "sys", "Makefile", &self.program.to_uppercase()] {
            run(Command::new("cp").arg("-r").arg(checkout.join(part)).arg(&copy))?;
        }
        fs::create_dir_all(copy.join("bin")).map_err(|e| e.to_string())?;
        let settings = self.settings(with, flags);
        fs::write(copy.join("config/make.def"), settings).map_err(|e| e.to_string())?;
        // Makefiles of 3.4 use what only bash knows, and name /bin/sh.
        if matches!(self.source, Source::Fortran(_)) {
            command.arg("SHELL=/bin/bash");
        }
        command.args(["-s", "-C"]).arg(&copy).arg(self.program.to_uppercase()).arg(format!("CLASS={class}"));
        if matches!(self.source, Source::Fortran(_)) {
            // Its makefiles name /bin/sh and need bash.
            command.arg("SHELL=/bin/bash");
        }
        let output = run(&mut command)?;
        let names = [format!("{}.{class}", self.program), format!("{}.{class}.x", self.program)];
        let built = names.iter().map(|n| copy.join("bin").join(n)).find(|p| p.exists());
        Ok((built.ok_or(format!("{command:?} made no {} in bin", names[0]))?, output))
    }

    /// What the programs' own makefiles include.
    fn settings(&self, with: &Compilers, flags: &str) -> String {
        let Compilers { c, fortran } = with;
        let seeds = if matches!(self.source, Source::C(_)) { "randdp" } else { "randi8" };
        format!(
            "CC={c}\nCLINK={c}\nCFLAGS={flags} -w\nCLINKFLAGS={flags}\nC_LIB=-lm\nC_INC=-I../common\n\
             FC={fortran}\nFLINK={fortran}\nFFLAGS={flags}\nFLINKFLAGS={flags}\nF_LIB=\nF_INC=\n\
             UCC=cc\nBINDIR=../bin\nRAND={seeds}\nWTIME=wtime.c\n"
        )
    }
}

/// The name that a function has under plain clang: the pass renames `main`, and the numbers behind the names of outlined functions
/// depend on what else is in the module. A function that it copied is one with the copy.
pub fn source_name(name: &str) -> &str {
    match name {
        "__dsm_user_main" | "__dsm_program_main" => "main",
        _ => {
            let name = name.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix('.').unwrap_or(name);
            name.strip_suffix(COPY_SUFFIX).unwrap_or(name)
        }
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
            let name = source_name(name);
            let foreign = name.starts_with("__") || matches!(name, "_start" | "_init" | "_fini");
            let ours = matches!(kind, "T" | "t") && !foreign;
            ours.then(|| Some((name.to_owned(), u64::from_str_radix(size, 16).ok()?)))?
        });
        Ok(symbols.collect())
    }
}
