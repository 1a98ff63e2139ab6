//! Executed instructions, counted by valgrind.
//!
//! Only the program's own functions and the checks that they call are compared. The rest is not what the compiler made: the start of a
//! process, the C library, and an OpenMP library that differs between the two. (Debian's libomp formats text at every parallel region
//! and loop, which is more than two thirds of all instructions of SP.S.)

use std::collections::{HashMap, HashSet};
use std::fs;
use std::process::Command;

use super::build::{Built, source_name};
use super::one_thread;

/// Prefix of the runtime's functions that compiled code calls for its accesses.
const ENTRY: &str = "__dsm_";

/// Counts of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// In the program's own functions, and below the entries that they call.
    pub own: f64,
    /// In the whole process.
    pub whole: f64,
}

/// Whether there is a valgrind to run.
pub fn installed() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|o| o.status.success())
}

/// Runs a program of functions with these names.
///
/// # Errors
/// A sentence about a program that does not run or does not verify.
pub fn count(built: &Built, names: &HashSet<String>) -> Result<Counted, String> {
    let file = built.program.with_extension("callgrind");
    let mut command = Command::new("valgrind");
    command
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(&built.program);
    one_thread(&mut command)?;
    let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let _ = fs::remove_file(&file);
    Ok(sum(&text, names))
}

/// Adds up a file in callgrind's format: costs by line below `fn=`, each `calls=` followed by a line with the callee's inclusive cost.
fn sum(text: &str, names: &HashSet<String>) -> Counted {
    let mut known: HashMap<String, String> = HashMap::new();
    let mut out = Counted { own: 0.0, whole: 0.0 };
    let (mut own, mut callee, mut call) = (false, String::new(), false);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            own = is_own(&full(&mut known, name), names);
        } else if let Some(name) = line.strip_prefix("cfn=") {
            callee = full(&mut known, name);
        } else if line.starts_with("calls=") {
            call = true;
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            let cost: f64 = line.split_whitespace().nth(1).and_then(|c| c.parse().ok()).unwrap_or(0.0);
            if !call {
                out.whole += cost;
            }
            if own && (!call || callee.starts_with(ENTRY) && source_name(&callee) == callee) {
                out.own += cost;
            }
            call = false;
        }
    }
    out
}

fn is_own(name: &str, names: &HashSet<String>) -> bool {
    // Recursive calls are told apart by a number.
    names.contains(source_name(name.split('\'').next().unwrap_or(name)))
}

/// `(number) name` defines a name, `(number)` uses it.
fn full(known: &mut HashMap<String, String>, text: &str) -> String {
    match text.split_once(' ') {
        Some((number, name)) => {
            known.insert(number.to_owned(), name.to_owned());
            name.to_owned()
        }
        None => known.get(text).cloned().unwrap_or_else(|| text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_functions_and_the_checks_below_them() {
        let text = "events: Ir\nfn=(1) solve\n10 5\n+2 3\ncfn=(2) __dsm_load_range\ncalls=2 0\n12 40\ncfn=(3) sin\ncalls=1 0\n13 100\n\
                    fn=(2)\n7 40\nfn=(3)\n1 100\nfn=(4) solve'2\n* 2\nfn=(5) __dsm_user_main\n1 7\ncfn=(6) __dsm_program_main\ncalls=1 0\n1 50\n";
        let names = HashSet::from(["solve".to_owned(), "main".to_owned()]);
        assert_eq!(sum(text, &names), Counted { own: 57.0, whole: 157.0 });
    }
}
