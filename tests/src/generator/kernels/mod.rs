//! Random programs of kernels in C, C++ and Fortran: loops of all shapes over windows of arrays, helpers, records, tasks, several files.
//!
//! [`mod@program`] says what a program is, [`draw`] and [`body`] draw one from a seed, [`cfamily`] and [`fortran`] write it. It prints a
//! hash of all arrays after each round; the plain compiler's executable says what it has to be. The output is the same for any team, and
//! programs are free of data races by construction ([`draw`]).

mod body;
pub mod cfamily;
pub mod draw;
pub mod fortran;
pub mod program;

use crate::program::Language;
use draw::Distributions;
use program::Program;

/// A source file: name and text.
pub type File = (String, String);

/// The program of `seed`; with a fault, its kernels lack their last store.
pub fn program(seed: u64, language: Language, distributions: Distributions, faulty: bool) -> Program {
    let mut program = draw::program(seed, language, distributions);
    if faulty {
        program.lose_writes();
    }
    program
}

/// The files of several programs and of the main program that runs them in turn, or the one that is named as its argument.
pub fn files(programs: &[Program], language: Language) -> Vec<File> {
    let mut files: Vec<File> = programs
        .iter()
        .flat_map(|program| match language {
            Language::C | Language::Cxx => cfamily::files(program),
            Language::Fortran => fortran::files(program),
        })
        .collect();
    let seeds: Vec<u64> = programs.iter().map(|p| p.seed).collect();
    files.push(match language {
        Language::C | Language::Cxx => cfamily::main_file(&seeds, language),
        Language::Fortran => fortran::main_file(&seeds),
    });
    files
}

/// Writes a line.
macro_rules! line {
    ($text:expr, $($format:tt)*) => {{
        let _ = writeln!($text, $($format)*);
    }};
}
use line;
