//! The compiler driver (`dsm-cc`), the launcher (`dsm-run`), the comparison with the plain compiler (`dsm-compare`), experiments with block sizes (`dsm-sweep`) and the view
//! of running jobs (`dsm-top`).
//!
//! [`driver`] turns a compiler's argument vector into clang's and becomes clang. [`compare`] builds and runs programs both ways. [`launch`] starts the processes
//! of a job and ends them together; [`top`] shows what they do. [`sweep`] runs a program with many block sizes. [`execute`] runs commands for the comparison and the sweep, and [`tools`] finds them. [`elf`]
//! reads the note that objects and programs are judged by.

pub mod compare;
pub mod driver;
pub mod elf;
pub mod execute;
pub mod launch;
pub mod sweep;
pub mod tools;
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

/// Asserts that the book's page of options has each one of the command, in the command's section.
#[cfg(test)]
fn assert_documented(command: &clap::Command) {
    let page = include_str!("../../book/src/user/options.md");
    let heading = format!("\n## {}\n", command.get_name());
    let (_, section) = page.split_once(&heading).expect("the command has a section");
    let section = section.split("\n## ").next().unwrap_or(section);
    for option in command.get_arguments().filter(|option| !option.is_hide_set() && !option.is_positional()) {
        let long = option.get_long().map(|name| format!("--{name}"));
        let short = option.get_short().map(|name| format!("-{name}"));
        for name in [long, short].into_iter().flatten() {
            let is_there = [" ", "`", "["].iter().any(|end| section.contains(&format!("`{name}{end}")));
            assert!(is_there, "{}: {name} is not in book/src/user/options.md", command.get_name());
        }
    }
}
