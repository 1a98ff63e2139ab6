//! What was measured, and the table of it.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{SIZES, THREADS};

/// Microseconds of each round, by operation, bytes, threads and system.
#[derive(Default)]
pub struct Cells(BTreeMap<(String, usize, usize, String), Vec<f64>>);

impl Cells {
    /// Adds what a client has said.
    pub fn add(&mut self, system: &str, output: &str) {
        for line in output.lines() {
            let words: Vec<_> = line.split(' ').collect();
            let [operation, bytes, threads, micros] = words[..] else { panic!("{line}") };
            let number = |word: &str| word.parse().unwrap_or_else(|error| panic!("{line}: {error}"));
            let key = (operation.to_owned(), number(bytes), number(threads), system.to_owned());
            self.0.entry(key).or_default().push(micros.parse().expect("a time"));
        }
    }

    /// Medians: microseconds of an operation, and the bytes that all threads together move, of the larger ones. In Markdown, as the book has it.
    pub fn table(&self, systems: &[String]) -> String {
        let mut text = String::new();
        for operation in ["Read", "Write"] {
            for is_rate in [false, true] {
                let unit = if is_rate { "MB/s" } else { "us" };
                let heads = THREADS.map(|threads| {
                    let names = systems.iter().map(|system| format!(" {threads} {system} |"));
                    names.collect::<String>()
                });
                let _ = writeln!(
                    text,
                    "\n| {operation}, {unit} |{}\n| ---: |{}",
                    heads.concat(),
                    " ---: |".repeat(systems.len() * THREADS.len())
                );
                for bytes in SIZES.into_iter().filter(|bytes| !is_rate || *bytes >= 4096) {
                    let cells = THREADS.map(|threads| {
                        let cells = systems
                            .iter()
                            .map(|system| self.cell(operation, bytes, threads, system, is_rate));
                        cells.collect::<String>()
                    });
                    let _ = writeln!(text, "| {bytes} |{}", cells.concat());
                }
            }
        }
        text
    }

    fn cell(&self, operation: &str, bytes: usize, threads: usize, system: &str, is_rate: bool) -> String {
        let micros = self.0.get(&(operation.to_owned(), bytes, threads, system.to_owned()));
        let Some(mut micros) = micros.cloned() else { return " |".into() };
        micros.sort_by(f64::total_cmp);
        let micros = micros[micros.len() / 2];
        match is_rate {
            true => format!(" {:.0} |", bytes as f64 * threads as f64 / micros),
            false if micros < 100.0 => format!(" {micros:.1} |"),
            false => format!(" {micros:.0} |"),
        }
    }
}
