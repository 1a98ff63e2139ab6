//! Single steps of the protocol: `cargo bench -p dsm-runtime --bench protocol`, which alternates each with its reference itself.

use std::process::Command;

use dsm_tests::toolchain;

use super::row;
use crate::bench::{Bench, Contender, output, show};
use crate::report::Row;

pub const NAME: &str = "micro";
pub const ABOUT: &str = "Steps of the protocol on two processes, against what the machine needs for the same: copies, round trips of a flag.";

/// What a line of the program says: name, nanoseconds, and those of the reference.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    name: String,
    ns: f64,
    reference: f64,
}

pub fn run(bench: &Bench, rows: &mut Vec<Row>) -> Result<(), String> {
    let names: Vec<String> = match bench.only.iter().any(|o| o == NAME) || bench.only.is_empty() {
        true => vec![],
        false => bench.only.iter().filter_map(|o| Some(o.strip_prefix("micro/")?.to_owned())).collect(),
    };
    let first = lines(&names)?;
    let again = Contender {
        label: NAME.to_owned(),
        run: Box::new(|| {
            let lines = lines(&names)?;
            Ok(lines.iter().flat_map(|line| [line.ns, line.reference]).collect())
        }),
    };
    let samples = &bench.alternate(&[again])?[0];
    for (line, pair) in first.iter().zip(samples.chunks(2)) {
        let measured = row(NAME, &line.name, "", "ns", &pair[0], ("reference", &pair[1]));
        show(&measured);
        rows.push(measured);
    }
    Ok(())
}

/// Runs the program for all rows, or some.
fn lines(names: &[String]) -> Result<Vec<Line>, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let one = |name: Option<&String>| -> Result<Vec<Line>, String> {
        let mut command = Command::new(&cargo);
        command.current_dir(toolchain::workspace());
        command
            .args(["bench", "--quiet", "--locked", "-p", "dsm-runtime", "--bench", "protocol", "--"])
            .args(name);
        let lines = parse(&output(&mut command)?.0);
        if lines.is_empty() {
            let name = name.map_or(String::new(), |n| format!(" {n}"));
            return Err(format!(
                "the benchmark `protocol` has no row{name}; its table at runtime/benches/protocol/rows.rs has the names"
            ));
        }
        Ok(lines)
    };
    match names {
        [] => one(None),
        names => Ok(names.iter().map(|name| one(Some(name))).collect::<Result<Vec<_>, _>>()?.concat()),
    }
}

/// The rows of the program's table: a name and numbers behind it.
fn parse(text: &str) -> Vec<Line> {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?.to_owned();
        let mut number = || words.next()?.parse().ok();
        Some(Line { name, ns: number()?, reference: number()? })
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_told_from_the_heading() {
        let text = "row      ns   reference ns  ratio  bar\nbarrier   150   100    1.50  at most 3\n";
        assert_eq!(parse(text), [Line { name: "barrier".to_owned(), ns: 150.0, reference: 100.0 }]);
    }
}
