//! What was measured: rows of samples, and what they amount to.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::machine::Machine;

/// A file of results.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Where it was measured.
    pub machine: Machine,
    /// NPB class of the kernels.
    pub class: String,
    /// Runs of each program.
    pub runs: usize,
    /// Suites that could not be run, and why.
    pub left_out: Vec<String>,
    /// One a figure.
    pub rows: Vec<Row>,
}

/// One figure, measured several times in turns with its reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Group of rows that belong together.
    pub suite: String,
    /// What was measured.
    pub name: String,
    /// Processes and threads of each, and what else tells rows of one name apart.
    pub layout: String,
    /// Unit of the samples: `s` or `ns`.
    pub unit: String,
    /// A sample a run.
    pub measured: Vec<f64>,
    /// What it is compared with.
    pub against: String,
    /// A sample of that a run, next to the one of `measured` with the same number.
    pub reference: Vec<f64>,
    /// What the program counted, medians over the runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, f64>,
}

/// Median and quartiles of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// First quartile.
    pub low: f64,
    /// Second.
    pub median: f64,
    /// Third.
    pub high: f64,
}

impl Summary {
    /// Of a sample; `None` of an empty one. Quartiles between two values are interpolated.
    pub fn of(sample: &[f64]) -> Option<Summary> {
        let mut sorted = sample.to_vec();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let quantile = |part: f64| {
            let place = part * last as f64;
            let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        Some(Summary { low: quantile(0.25), median: quantile(0.5), high: quantile(0.75) })
    }
}

impl Row {
    /// What names the row in its report.
    pub fn key(&self) -> String {
        format!("{}/{} {}", self.suite, self.name, self.layout)
    }

    /// Sample over reference, run by run; `None` if a sample is not above 0, as the difference of two times may be.
    pub fn ratios(&self) -> Option<Vec<f64>> {
        let positive = |sample: &[f64]| sample.iter().all(|value| *value > 0.0);
        let both = positive(&self.measured) && positive(&self.reference) && !self.reference.is_empty();
        both.then(|| self.measured.iter().zip(&self.reference).map(|(a, b)| a / b).collect())
    }

    /// Median and quartiles of the ratios.
    pub fn ratio(&self) -> Option<Summary> {
        Summary::of(&self.ratios()?)
    }
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a report is plain data")
}

impl Report {
    /// Reads a file.
    ///
    /// # Errors
    /// A sentence about a file that is not there or is no report.
    pub fn read(path: &Path) -> Result<Report, String> {
        let text =
            std::fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        serde_json::from_str(&text).map_err(|e| format!("{} is no report of dsm-bench: {e}", path.display()))
    }

    /// As JSON, a row a line.
    pub fn json(&self) -> String {
        let rows: Vec<String> = self.rows.iter().map(|row| format!("    {}", text(row))).collect();
        format!(
            "{{\n  \"machine\": {},\n  \"class\": {},\n  \"runs\": {},\n  \"left_out\": {},\n  \"rows\": [\n{}\n  ]\n}}\n",
            text(&self.machine),
            text(&self.class),
            self.runs,
            text(&self.left_out),
            rows.join(",\n")
        )
    }

    /// Names of the suites, in the order of their first rows.
    pub fn suites(&self) -> Vec<&str> {
        let mut suites: Vec<&str> = vec![];
        for row in &self.rows {
            if !suites.contains(&row.suite.as_str()) {
                suites.push(&row.suite);
            }
        }
        suites
    }

    /// The rows of a suite.
    pub fn of<'a>(&'a self, suite: &'a str) -> impl Iterator<Item = &'a Row> + Clone {
        self.rows.iter().filter(move |row| row.suite == suite)
    }
}
