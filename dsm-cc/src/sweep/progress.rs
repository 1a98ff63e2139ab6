//! A line for each run on standard error, with the time left.

use std::collections::HashMap;
use std::time::Duration;

use super::plan::{Blocks, Run, Setting};
use super::store::Record;

/// What is known of how long runs take.
#[derive(Debug, Default)]
pub struct Progress {
    /// Sum and number, by what decides about the time.
    known: HashMap<(Setting, Blocks), (f64, u32)>,
    all: (f64, u32),
}

impl Progress {
    /// A run has ended.
    pub fn note(&mut self, record: &Record) {
        let known = self.known.entry((record.run.setting, record.run.blocks)).or_default();
        for sum in [known, &mut self.all] {
            *sum = (sum.0 + record.wall_seconds, sum.1 + 1);
        }
    }

    /// What the runs that are left will take: each as long as those like it took, or as all took on average.
    fn left(&self, runs: &[Run]) -> Duration {
        let mean = |(sum, count): (f64, u32)| sum / f64::from(count.max(1));
        let of = |run: &Run| mean(self.known.get(&(run.setting, run.blocks)).copied().unwrap_or(self.all));
        Duration::from_secs_f64(runs.iter().map(of).sum())
    }

    /// The line behind a run: it was number `done` of `all`, and `left` come.
    pub fn line(&self, record: &Record, done: usize, all: usize, left: &[Run]) -> String {
        let result = match &record.failure {
            None => format!("{:.3} s", record.seconds),
            Some(failure) => format!("FAILED: {} ({})", failure.reason, failure.output),
        };
        let width = all.to_string().len();
        format!("[{done:width$}/{all}] {}: {result}; {} left", record.run, in_words(self.left(left)))
    }
}

/// A duration as people say it.
fn in_words(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().round() as u64;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::plan::Purpose;

    #[test]
    fn what_is_left_is_told_by_runs_of_the_same_kind() {
        let setting = Setting { line: 64, processes: 2, threads: 1 };
        let run =
            |bytes| Run { setting, blocks: Blocks::Uniform(bytes), purpose: Purpose::Time, repetition: 1 };
        let record = |bytes, wall_seconds| Record {
            run: run(bytes),
            failure: None,
            wall_seconds,
            seconds: wall_seconds,
            counters: Default::default(),
            objects: Vec::new(),
        };
        let mut progress = Progress::default();
        progress.note(&record(64, 30.0));
        progress.note(&record(128, 10.0));
        assert_eq!(progress.left(&[run(64), run(128), run(256)]), Duration::from_secs(60));
        let line = progress.line(&record(128, 10.0), 2, 12, &[run(64), run(64), run(64), run(64), run(64)]);
        assert_eq!(line, "[ 2/12] 2x1, line 64, block 128, repetition 1: 10.000 s; 3 min left");
    }

    #[test]
    fn durations_are_rounded() {
        let texts = [3.4, 119.0, 121.0, 7300.0].map(|s| in_words(Duration::from_secs_f64(s)));
        assert_eq!(texts, ["3 s", "119 s", "3 min", "2 h 1 min"]);
    }
}
