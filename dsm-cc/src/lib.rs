//! The compiler driver (`dsm-cc`), the launcher (`dsm-run`), the comparison with the plain compiler (`dsm-compare`), experiments with block sizes (`dsm-sweep`) and the view
//! of running jobs (`dsm-top`).
//!
//! [`driver`] turns a compiler's argument vector into clang's and becomes clang. [`compare`] builds and runs programs both ways. [`launch`] starts the processes
//! of a job and ends them together; [`top`] shows what they do. [`sweep`] runs a program with many block sizes. [`execute`] runs commands for the comparison and the sweep. [`elf`]
//! reads the note that objects and programs are judged by.

pub mod compare;
pub mod driver;
pub mod elf;
pub mod execute;
pub mod launch;
pub mod sweep;
pub mod top;

use std::io::{self, ErrorKind, Write as _};

/// Writes to standard output. A reader that has closed a pipe wants no more, which is no error.
///
/// # Errors
/// It cannot be written to.
pub fn say(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    written.or_else(|error| if error.kind() == ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
}
