//! Where what is written at a program's end goes: to standard error, or to a file that is opened before the program runs.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::OnceLock;

use dsm_config::STANDARD_ERROR;

use crate::{Job, die};

/// A place for one report of process 0.
#[derive(Debug)]
pub struct Destination {
    /// The variable that names the file.
    variable: &'static str,
    /// What is written, as messages call it.
    what: &'static str,
    file: OnceLock<File>,
}

impl Destination {
    /// For what messages call `what`, which goes to the file that a variable names.
    pub const fn new(variable: &'static str, what: &'static str) -> Destination {
        Destination { variable, what, file: OnceLock::new() }
    }

    /// At the start: opens the file, so that a name that cannot be written to ends the job before it has worked for nothing. An empty name: nothing is wanted.
    pub fn prepare(&self, job: &Job, path: &str) {
        if path.is_empty() || path == STANDARD_ERROR {
            return;
        }
        match job.create(self.variable, path) {
            Ok(file) => _ = self.file.set(file),
            Err(error) => {
                die(&format!("the {} cannot be written to {path}: {error}; name another file", self.what))
            }
        }
    }

    /// At the end: writes the text.
    pub fn put(&self, path: &str, text: &str) {
        let result = match self.file.get() {
            Some(mut file) => file.write_all(text.as_bytes()),
            None => std::io::stderr().lock().write_all(text.as_bytes()),
        };
        if let Err(error) = result {
            eprintln!("dsm: warning: the {} could not be written to {path}: {error}", self.what);
        }
    }
}

/// Whether the file's name asks for JSON.
pub fn is_json(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|e| e == "json")
}
