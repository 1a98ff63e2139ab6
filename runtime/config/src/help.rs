//! What the table of variables says to people.

use std::fmt::Write as _;

use super::VARIABLES;

/// Complaint about a `DSM_*` name that is not in the table.
pub(super) fn unknown_name(name: &str) -> Option<String> {
    if !name.starts_with("DSM_") || VARIABLES.iter().any(|v| v.name == name) {
        return None;
    }
    let nearest = VARIABLES
        .iter()
        .map(|v| (edit_distance(name, v.name), v.name))
        .filter(|(distance, known)| known.starts_with("DSM_") && *distance <= 3)
        .min();
    Some(match nearest {
        Some((_, known)) => format!("unknown variable {name}; did you mean {known}?"),
        None => format!("unknown variable {name}; dsm-run --help-env lists them"),
    })
}

/// Levenshtein distance.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// The table as text, a paragraph per variable.
pub fn help() -> String {
    let mut out = String::new();
    for v in VARIABLES {
        let default = if v.default.is_empty() { String::new() } else { format!(" (default {})", v.default) };
        let _ = writeln!(out, "{}={}{default}\n    {}", v.name, v.values, v.help);
    }
    out
}

/// The table as a page of the book, which a test compares with `book/src/user/environment.md`.
pub fn page() -> String {
    let mut out = String::from(
        "# Environment variables\n\n\
         <!-- Made by `cargo run -q -p dsm-cc --example environment > book/src/user/environment.md` from runtime/config/src/table.rs. -->\n\n\
         What programs built by `dsm-cc` obey; `dsm-run --help-env` prints the same. A malformed value or an unknown name that starts with\n\
         `DSM_` gets one warning, and the default is used. Sizes take the suffixes `K`, `M`, `G` and `T`.\n",
    );
    for (title, prefix) in [("Of the runtime", "DSM_"), ("Of OpenMP", "OMP_")] {
        let _ = write!(
            out,
            "\n## {title}\n\n| variable | values | default | meaning |\n| --- | --- | --- | --- |\n"
        );
        for v in VARIABLES.iter().filter(|v| v.name.starts_with(prefix)) {
            let values = v.values.replace('|', "\\|");
            let _ = writeln!(out, "| `{}` | {values} | {} | {} |", v.name, v.default, v.help);
        }
    }
    out
}
