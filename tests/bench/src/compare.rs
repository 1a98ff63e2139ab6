//! Two reports against each other.
//!
//! A row is compared by its ratio to its reference, which was measured at the same time, so that another machine or another load count less. It is worse, or
//! better, if the quartiles of the two samples leave a gap between them and the medians differ by more than [`LEAST`]; anything less is noise.

use std::fmt::Write;

use crate::report::{Report, Row, Summary};

/// Relative difference of medians that counts.
const LEAST: f64 = 0.05;

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing that can be told from noise.
    Same,
    /// It takes less.
    Better,
    /// It takes more.
    Worse,
}

/// A row of both reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Of the row.
    pub key: String,
    /// Its figure in the old report.
    pub old: Summary,
    /// And in the new one.
    pub new: Summary,
    /// The judgement.
    pub verdict: Verdict,
}

/// The comparison of two reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Rows of both, in the order of the new one.
    pub changes: Vec<Change>,
    /// Rows that cannot be compared, with the reason.
    pub others: Vec<String>,
}

/// Compares all rows.
pub fn compare(old: &Report, new: &Report) -> Comparison {
    let mut all = Comparison { changes: vec![], others: vec![] };
    for row in &new.rows {
        match old.rows.iter().find(|other| other.key() == row.key()) {
            None => all.others.push(format!("{}: only in the new report", row.key())),
            Some(before) => match change(before, row) {
                Some(change) => all.changes.push(change),
                None => all.others.push(format!("{}: no ratio, a time is not above 0", row.key())),
            },
        }
    }
    let gone = old.rows.iter().filter(|row| new.rows.iter().all(|other| other.key() != row.key()));
    all.others.extend(gone.map(|row| format!("{}: only in the old report", row.key())));
    all
}

fn change(before: &Row, after: &Row) -> Option<Change> {
    let (old, new) = (before.ratio()?, after.ratio()?);
    let verdict = if new.low > old.high && new.median > old.median * (1.0 + LEAST) {
        Verdict::Worse
    } else if new.high < old.low && new.median < old.median * (1.0 - LEAST) {
        Verdict::Better
    } else {
        Verdict::Same
    };
    Some(Change { key: after.key(), old, new, verdict })
}

impl Comparison {
    /// Whether a row takes more than it did.
    pub fn is_worse(&self) -> bool {
        self.changes.iter().any(|change| change.verdict == Verdict::Worse)
    }

    /// A table for people.
    pub fn table(&self) -> String {
        let width = self.changes.iter().map(|change| change.key.len()).max().unwrap_or(0).max(3);
        let mut out =
            format!("{:width$}  {:>24}  {:>24}  new/old\n", "row", "old, quartiles", "new, quartiles");
        let figure = |s: Summary| format!("{:.3} ({:.3} to {:.3})", s.median, s.low, s.high);
        for Change { key, old, new, verdict } in &self.changes {
            let mark = match verdict {
                Verdict::Same => "",
                Verdict::Better => "  better",
                Verdict::Worse => "  WORSE",
            };
            let quotient = new.median / old.median;
            let _ = writeln!(
                out,
                "{key:width$}  {:>24}  {:>24}  {quotient:7.3}{mark}",
                figure(*old),
                figure(*new)
            );
        }
        for other in &self.others {
            let _ = writeln!(out, "not compared: {other}");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{report, row};

    #[test]
    fn a_row_made_worse_is_marked_and_others_are_not() {
        let old = report(vec![row("a", &[1.0, 1.1, 1.2]), row("b", &[1.0, 1.1, 1.2])]);
        let new = report(vec![row("a", &[1.0, 1.1, 1.2]), row("b", &[1.5, 1.6, 1.7])]);
        let both = compare(&old, &new);
        let verdicts: Vec<Verdict> = both.changes.iter().map(|change| change.verdict).collect();
        assert_eq!(verdicts, [Verdict::Same, Verdict::Worse]);
        assert!(both.is_worse() && !compare(&old, &old).is_worse());
        let marked: Vec<bool> = both.table().lines().skip(1).map(|line| line.ends_with("WORSE")).collect();
        assert_eq!(marked, [false, true]);
        assert_eq!(compare(&new, &old).changes[1].verdict, Verdict::Better);
    }

    #[test]
    fn what_samples_that_overlap_say_is_noise() {
        let old = report(vec![row("a", &[1.0, 1.4, 3.0])]);
        let new = report(vec![row("a", &[1.5, 1.9, 2.0])]);
        assert_eq!(compare(&old, &new).changes[0].verdict, Verdict::Same);
        let little = report(vec![row("a", &[1.46])]);
        assert_eq!(
            compare(&report(vec![row("a", &[1.4])]), &little).changes[0].verdict,
            Verdict::Same,
            "less than {LEAST} apart"
        );
    }

    #[test]
    fn rows_of_one_report_and_rows_without_ratio_are_named() {
        let old = report(vec![row("a", &[1.0]), row("c", &[-1.0])]);
        let new = report(vec![row("b", &[1.0]), row("c", &[1.0])]);
        let both = compare(&old, &new);
        assert_eq!((both.changes.len(), both.others.len()), (0, 3), "{both:?}");
    }
}
