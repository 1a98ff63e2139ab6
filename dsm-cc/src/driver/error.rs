//! What the driver refuses, each with its cause and its remedy.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use super::components::Language;

/// Why the driver did not hand over to the compiler.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the variants and fields are")]
pub enum Error {
    #[error("unknown option '{option}'; the driver's own options are: {valid}")]
    UnknownOwn { option: String, valid: String },
    #[error("option '{option}': {reason}")]
    BadOwn { option: String, reason: String },
    #[error("{option} is not supported: {reason}")]
    Refused { option: String, reason: Cow<'static, str> },
    #[error("cannot read response file '{}': {source}", path.display())]
    ResponseFile { path: PathBuf, source: io::Error },
    #[error("cannot find the compiler {name}: install the package {name}, or set {variable} to its path")]
    NoCompiler { name: &'static str, variable: &'static str },
    #[error("cannot find {name} beside '{}', which the linker's option --wrap needs: install the package llvm-22", compiler.display())]
    NoTool { name: &'static str, compiler: PathBuf },
    #[error("cannot copy the runtime for the linker's option --wrap: {problem}")]
    WrapCopy { problem: String },
    #[error("{variable} names '{}', which does not exist or is not executable; correct or unset it", path.display())]
    BadCompiler { variable: &'static str, path: PathBuf },
    #[error(
        "cannot find {file} (looked in {}); build it with 'make build' or install with 'make install'",
        looked.join(", ")
    )]
    NoComponent { file: &'static str, looked: Vec<String> },
    #[error("'{}' is older than '{}'; run 'make build'", found.display(), built.display())]
    StaleRuntime { found: PathBuf, built: PathBuf },
    #[error("{object}: {problem}")]
    Object { object: String, problem: String },
    #[error("cannot inspect '{}': {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("--dsm-check needs the names of files to look at")]
    NothingToCheck,
    #[error("cannot create a memory file for {purpose}: {source}")]
    MemoryFile { purpose: &'static str, source: io::Error },
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
    #[error("{}: {} compiles {}; use {} for it", path.display(), language.driver(), language.takes(), language.counterpart())]
    ForeignSource { path: PathBuf, language: Language },
    #[error("cannot start '{}': {source}", path.display())]
    Exec { path: PathBuf, source: io::Error },
}
