//! Whether a block file is better than the best uniform size: by pairs of runs, and by counts.

use serde::Serialize;

use super::plan::{Blocks, Purpose, Setting};
use super::store::Record;
use super::summary::{Spread, Summary};

/// How improbable it has to be that runs that do not differ come out so: the level of the sign test, on one side.
const LEVEL: f64 = 0.05;
/// Costs that differ by less than this part are called equal.
const EQUAL: f64 = 0.02;

/// What pairs of runs say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The block file is better.
    Better,
    /// It is worse.
    Worse,
    /// No difference can be seen.
    Equal,
    /// There are not enough pairs to see any.
    Unknown,
}

/// A block file against the uniform size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Line size, processes, threads.
    #[serde(flatten)]
    pub setting: Setting,
    /// Runs with the uniform size, and with the file.
    pub uniform: Summary,
    /// See there.
    pub file: Summary,
    /// Pairs of which both runs count, and those in which the file was faster.
    pub pairs: usize,
    /// See there.
    pub faster: usize,
    /// Time with the file over time with the uniform size, of the pairs.
    pub ratio: Option<Spread>,
    /// What times say.
    pub by_time: Verdict,
    /// What the cost of counts says.
    pub by_counts: Verdict,
}

/// The comparison of a setting whose best uniform size is `bytes`; `None` if there were no runs.
pub fn compare(
    setting: Setting,
    bytes: u32,
    records: &[Record],
    summaries: &[Summary],
) -> Option<Comparison> {
    let of = |blocks| summaries.iter().find(|s| (s.setting, s.blocks) == (setting, blocks)).cloned();
    let (uniform, file) = (of(Blocks::Uniform(bytes))?, of(Blocks::File(bytes))?);
    let seconds = |blocks, repetition| {
        let is_it = |r: &&Record| {
            r.run.purpose == Purpose::Comparison
                && (r.run.setting, r.run.blocks, r.run.repetition) == (setting, blocks, repetition)
        };
        records.iter().find(is_it).filter(|r| r.failure.is_none()).map(|r| r.seconds)
    };
    let most = records.iter().map(|r| r.run.repetition).max().unwrap_or(0);
    let ratios: Vec<f64> = (1..=most)
        .filter_map(|n| Some(seconds(Blocks::File(bytes), n)? / seconds(Blocks::Uniform(bytes), n)?))
        .collect();
    let faster = ratios.iter().filter(|ratio| **ratio < 1.0).count();
    let by_counts = match (uniform.cost_ms, file.cost_ms) {
        (Some(uniform), Some(file)) => by_counts(uniform, file),
        _ => Verdict::Unknown,
    };
    Some(Comparison {
        setting,
        pairs: ratios.len(),
        faster,
        by_time: by_time(ratios.len(), faster),
        ratio: Spread::of(ratios),
        by_counts,
        uniform,
        file,
    })
}

/// The sign test.
fn by_time(pairs: usize, faster: usize) -> Verdict {
    let pairs_needed = (1..).find(|n| at_least(*n, *n) <= LEVEL).unwrap_or(usize::MAX);
    if pairs < pairs_needed {
        Verdict::Unknown
    } else if at_least(pairs, faster) <= LEVEL {
        Verdict::Better
    } else if at_least(pairs, pairs - faster) <= LEVEL {
        Verdict::Worse
    } else {
        Verdict::Equal
    }
}

/// Probability that of so many throws of a coin at least `heads` show heads.
fn at_least(throws: usize, heads: usize) -> f64 {
    let (mut probability, mut sum) = (0.5f64.powi(throws as i32), 0.0);
    for shown in 0..=throws {
        if shown >= heads {
            sum += probability;
        }
        probability *= (throws - shown) as f64 / (shown + 1) as f64;
    }
    sum
}

fn by_counts(uniform: f64, file: f64) -> Verdict {
    match file {
        _ if file < uniform * (1.0 - EQUAL) => Verdict::Better,
        _ if file > uniform * (1.0 + EQUAL) => Verdict::Worse,
        _ => Verdict::Equal,
    }
}

impl Comparison {
    /// What came of it, in sentences.
    pub fn sentences(&self) -> Vec<String> {
        let times = match (self.ratio, self.by_time) {
            (None, _) => "by time: no pair of runs counts".into(),
            (Some(ratio), verdict) => format!(
                "by time: {:.2} of the time of the uniform size ({:.2} to {:.2}), faster in {} of {} pairs: {}",
                ratio.median,
                ratio.least,
                ratio.most,
                self.faster,
                self.pairs,
                match verdict {
                    Verdict::Better => "it beats the best uniform size",
                    Verdict::Worse => "it is slower than the best uniform size",
                    Verdict::Equal => "no difference that these runs show",
                    Verdict::Unknown => "too few pairs for a verdict; 5 that all agree are needed (--repeat)",
                }
            ),
        };
        let counts = match (self.uniform.cost_ms, self.file.cost_ms) {
            (Some(uniform), Some(file)) => format!(
                "by counts: {} misses instead of {}, {} bytes moved instead of {}, cost {file:.2} ms instead of {uniform:.2} ms: {}",
                self.file.misses(),
                self.uniform.misses(),
                self.file.counter("bytes_moved"),
                self.uniform.counter("bytes_moved"),
                match self.by_counts {
                    Verdict::Better => "it beats the best uniform size",
                    Verdict::Worse => "it is worse than the best uniform size",
                    Verdict::Equal | Verdict::Unknown => "no difference",
                }
            ),
            _ => "by counts: there is no profile of both".into(),
        };
        vec![times, counts]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_needs_pairs_that_agree() {
        assert_eq!((at_least(5, 5), at_least(2, 1), at_least(3, 0)), (1.0 / 32.0, 0.75, 1.0));
        let verdicts = [(4, 4), (5, 5), (5, 4), (5, 0), (8, 7), (8, 1), (8, 4)]
            .map(|(pairs, faster)| by_time(pairs, faster));
        use Verdict::{Better, Equal, Unknown, Worse};
        assert_eq!(verdicts, [Unknown, Better, Equal, Worse, Better, Worse, Equal]);
    }

    #[test]
    fn costs_that_hardly_differ_are_equal() {
        let verdicts =
            [(100.0, 97.0), (100.0, 99.0), (100.0, 103.0), (0.0, 0.0)].map(|(u, f)| by_counts(u, f));
        assert_eq!(verdicts, [Verdict::Better, Verdict::Equal, Verdict::Worse, Verdict::Equal]);
    }
}
