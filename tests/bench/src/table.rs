//! A report as text in Markdown.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::report::{Report, Row, Summary};
use crate::suites;

/// The whole report.
pub fn markdown(report: &Report) -> String {
    let mut out = format!("Machine: {}\n", report.machine.sentence());
    let _ = writeln!(
        out,
        "\nKernels are of class {}; {} runs of each program, in turns with its reference. Ratios are time over the reference's time, run by run: median, and first and third \
         quartile.",
        report.class, report.runs
    );
    for suite in report.suites() {
        let rows: Vec<&Row> = report.of(suite).collect();
        let _ = writeln!(out, "\n**{suite}.** {}\n", suites::about(suite));
        out += &table(&rows);
    }
    for left_out in &report.left_out {
        let _ = writeln!(out, "\nNot run: {left_out}.");
    }
    out
}

/// Rows of a suite. Columns that say nothing in any of them are left out.
fn table(rows: &[&Row]) -> String {
    let layouts = rows.iter().any(|row| !row.layout.is_empty());
    let counters: BTreeSet<&str> =
        rows.iter().flat_map(|row| row.counters.keys()).map(String::as_str).collect();
    let mut head = vec!["row"];
    if layouts {
        head.push("layout");
    }
    head.extend(["measured", "reference", "ratio", "quartiles"]);
    head.extend(&counters);
    let mut out = line(head.iter().map(|h| (*h).to_owned()));
    out += &line(head.iter().map(|_| "---".to_owned()));
    for row in rows {
        let mut cells = vec![row.name.clone()];
        if layouts {
            cells.push(row.layout.clone());
        }
        let ratio = row.ratio();
        cells.extend([
            time(&row.measured, &row.unit),
            time(&row.reference, &row.unit),
            ratio.map_or("-".to_owned(), |r| format!("{:.2}", r.median)),
            ratio.map_or("-".to_owned(), |r| format!("{:.2} to {:.2}", r.low, r.high)),
        ]);
        cells.extend(
            counters
                .iter()
                .map(|name| row.counters.get(*name).map_or("-".to_owned(), |value| format!("{value:.0}"))),
        );
        out += &line(cells.into_iter());
    }
    out
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

/// The median of a sample with its unit, in a unit of its magnitude.
fn time(sample: &[f64], unit: &str) -> String {
    let Some(Summary { median, .. }) = Summary::of(sample) else { return "-".to_owned() };
    let (value, unit) = match unit {
        "ns" if median.abs() >= 1e6 => (median / 1e6, "ms"),
        "ns" if median.abs() >= 1e3 => (median / 1e3, "us"),
        _ => (median, unit),
    };
    let digits = if value.abs() >= 100.0 {
        0
    } else if value.abs() >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{report, row};

    #[test]
    fn a_table_has_a_line_a_row_and_the_columns_that_say_something() {
        let mut counted = row("b", &[2.0, 4.0, 6.0]);
        counted.counters.insert("messages".to_owned(), 7.0);
        let text = markdown(&report(vec![row("a", &[-1.0]), counted]));
        assert!(
            text.contains("| row | layout | measured | reference | ratio | quartiles | messages |"),
            "{text}"
        );
        assert!(text.contains("| a | 2x1 | -1.00 s | 1.00 s | - | - | - |"), "{text}");
        assert!(text.contains("| b | 2x1 | 4.00 s | 1.00 s | 4.00 | 3.00 to 5.00 | 7 |"), "{text}");
    }

    #[test]
    fn times_are_shown_in_a_unit_of_their_magnitude() {
        assert_eq!([1.5, 1234.0, 5e6].map(|ns| time(&[ns], "ns")), ["1.50 ns", "1.23 us", "5.00 ms"]);
        assert_eq!(time(&[123.4], "s"), "123 s");
    }
}
