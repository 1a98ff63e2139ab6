//! The figures as a line of means, as JSON and as a picture.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::{Executed, Pair, Row};

fn geometric_mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len().max(1) as f64).exp()
}

/// Geometric means and worst of the ratios, for each line size.
pub fn means(rows: &[Row]) -> String {
    let lines: BTreeSet<u32> = rows.iter().map(|r| r.line).collect();
    let one = |line: &u32| {
        let of: Vec<&Row> = rows.iter().filter(|r| r.line == *line).collect();
        let times: Vec<f64> = of.iter().map(|r| r.seconds.ratio()).collect();
        let counts: Vec<f64> = of.iter().filter_map(|r| r.instructions.map(Pair::ratio)).collect();
        let worst = |ratios: &[f64]| ratios.iter().copied().fold(0.0, f64::max);
        let mut text = format!(
            "line {line:>5}: geometric mean of time {:.3}, worst {:.3}",
            geometric_mean(&times),
            worst(&times)
        );
        if !counts.is_empty() {
            let _ =
                write!(text, "; of instructions {:.3}, worst {:.3}", geometric_mean(&counts), worst(&counts));
        }
        text
    };
    lines.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// The table for the book, in Markdown: a line a program, its line sizes side by side. What was not measured is left out.
pub fn table(rows: &[Row]) -> String {
    type Cell = fn(&Row) -> Option<String>;
    let columns: [(&str, Cell); 6] = [
        ("time", |r| Some(format!("{:.3}", r.seconds.ratio()))),
        ("instructions", |r| Some(format!("{:.3}", r.instructions?.ratio()))),
        ("checks per access", |r| Some(format!("{:.4}", r.executed?.per_access()))),
        ("code", |r| Some(format!("{:.2}", r.code_bytes.ratio()))),
        ("build", |r| Some(format!("{:.2}", r.build_seconds.ratio()))),
        ("vectorised", |r| Some(format!("{} of {}", r.vectorised.checked, r.vectorised.plain))),
    ];
    let (mut kernels, mut lines): (Vec<&str>, Vec<u32>) = (vec![], vec![]);
    for row in rows {
        if !kernels.contains(&row.kernel.as_str()) {
            kernels.push(&row.kernel);
        }
        if !lines.contains(&row.line) {
            lines.push(row.line);
        }
    }
    let measured = columns.iter().filter(|(_, cell)| rows.iter().any(|r| cell(r).is_some()));
    let shown: Vec<(&str, u32, Cell)> =
        measured.flat_map(|&(name, cell)| lines.iter().map(move |&line| (name, line, cell))).collect();
    let mut out = String::from("| program | plain, s |");
    for (name, line, _) in &shown {
        let _ = write!(out, " {name} ({line}) |");
    }
    let _ = writeln!(out, "\n|{}", " --- |".repeat(shown.len() + 2));
    for kernel in kernels {
        let of = |line: u32| rows.iter().find(|r| r.kernel == kernel && r.line == line);
        let own = rows.iter().filter(|r| r.kernel == kernel);
        let plain = own.clone().map(|r| r.seconds.plain).fold(f64::INFINITY, f64::min);
        let whole = if own.clone().any(|r| r.whole) { "*" } else { "" };
        let _ = write!(out, "| {kernel} | {plain:.2}{whole} |");
        for (_, line, cell) in &shown {
            let _ = write!(out, " {} |", of(*line).and_then(cell).unwrap_or("-".to_owned()));
        }
        out.push('\n');
    }
    out
}

/// An array of objects, one a row.
pub fn json(rows: &[Row]) -> String {
    let pair = |p: Pair| format!("{{\"plain\": {}, \"checked\": {}}}", p.plain, p.checked);
    let executed = |e: Executed| {
        format!(
            "{{\"accesses\": {}, \"shared\": {}, \"checks\": {}, \"checks_per_access\": {}}}",
            e.accesses,
            e.shared,
            e.checks,
            e.per_access()
        )
    };
    let one = |row: &Row| {
        format!(
            "  {{\"kernel\": \"{}\", \"line\": {}, \"seconds\": {}, \"ratio\": {}, \"whole_run\": {}, \"instructions\": {}, \
             \"process_instructions\": {}, \"executed\": {}, \"code_bytes\": {}, \"build_seconds\": {}, \"vectorised\": {}}}",
            row.kernel,
            row.line,
            pair(row.seconds),
            row.seconds.ratio(),
            row.whole,
            row.instructions.map_or("null".to_owned(), pair),
            row.process_instructions.map_or("null".to_owned(), pair),
            row.executed.map_or("null".to_owned(), executed),
            pair(row.code_bytes),
            pair(row.build_seconds),
            pair(row.vectorised)
        )
    };
    format!("[\n{}\n]\n", rows.iter().map(one).collect::<Vec<_>>().join(",\n"))
}

/// Bars of the time ratios; the line is at 1.
pub fn svg(rows: &[Row]) -> String {
    const BAR: usize = 26;
    const HEIGHT: f64 = 160.0;
    let most = rows.iter().map(|r| r.seconds.ratio()).fold(1.2, f64::max);
    let y = |ratio: f64| 20.0 + HEIGHT * (1.0 - ratio / most);
    let width = 60 + rows.len() * (BAR + 10);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"230\" font-family=\"sans-serif\" \
         font-size=\"10\">\n<title>Time with checks over time without</title>\n"
    );
    for (number, row) in rows.iter().enumerate() {
        let (x, ratio) = (40 + number * (BAR + 10), row.seconds.ratio());
        let colour = if row.line >= 1024 { "#4477aa" } else { "#cc6677" };
        let middle = x + BAR / 2;
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{:.1}\" width=\"{BAR}\" height=\"{:.1}\" fill=\"{colour}\"/>\n\
             <text x=\"{middle}\" y=\"{:.1}\" text-anchor=\"middle\">{ratio:.2}</text>\n\
             <text x=\"{middle}\" y=\"194\" text-anchor=\"middle\">{}</text>\n\
             <text x=\"{middle}\" y=\"208\" text-anchor=\"middle\">{}</text>",
            y(ratio),
            20.0 + HEIGHT - y(ratio),
            y(ratio) - 3.0,
            row.kernel,
            row.line
        );
    }
    let _ = writeln!(
        out,
        "<line x1=\"30\" x2=\"{width}\" y1=\"{0:.1}\" y2=\"{0:.1}\" stroke=\"black\"/>\n\
         <text x=\"8\" y=\"{0:.1}\">1.00</text>\n<text x=\"40\" y=\"224\">line size in bytes below the kernel</text>\n</svg>",
        y(1.0)
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kernel: &str, line: u32, plain: f64, checked: f64) -> Row {
        let pair = Pair { plain, checked };
        let one = Pair { plain: 1.0, checked: 1.0 };
        Row {
            kernel: kernel.to_owned(),
            line,
            seconds: pair,
            whole: false,
            instructions: None,
            process_instructions: None,
            executed: Some(Executed { accesses: 10, shared: 8, checks: 2 }),
            code_bytes: one,
            build_seconds: one,
            vectorised: one,
        }
    }

    #[test]
    fn means_are_geometric_and_by_line_size() {
        let rows = [row("a", 64, 1.0, 2.0), row("b", 64, 2.0, 1.0), row("a", 1024, 1.0, 1.1)];
        let expected = "line    64: geometric mean of time 1.000, worst 2.000\n\
                        line  1024: geometric mean of time 1.100, worst 1.100";
        assert_eq!(means(&rows), expected);
    }

    #[test]
    fn the_table_has_line_sizes_side_by_side() {
        let text = table(&[row("a", 1024, 1.0, 1.5), row("a", 64, 2.0, 4.0), row("b", 64, 3.0, 3.0)]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[0].starts_with("| program | plain, s | time (1024) | time (64) | checks"), "{text}");
        assert!(lines[2].starts_with("| a | 1.00 | 1.500 | 2.000 | 0.2500 |"), "{text}");
        assert!(lines[3].starts_with("| b | 3.00 | - | 1.000 | - |"), "{text}");
        assert!(lines.iter().all(|l| l.matches('|').count() == lines[0].matches('|').count()), "{text}");
    }

    #[test]
    fn json_has_an_object_a_row() {
        let text = json(&[row("a", 64, 1.0, 2.0), row("b", 64, 1.0, 2.0)]);
        assert_eq!(text.matches("\"kernel\"").count(), 2);
        assert!(text.starts_with("[\n") && text.ends_with("\n]\n") && text.contains("}},\n"), "{text}");
        assert!(text.contains("\"checks_per_access\": 0.25"), "{text}");
        assert!(svg(&[row("a", 64, 1.0, 2.0)]).ends_with("</svg>\n"));
    }
}
