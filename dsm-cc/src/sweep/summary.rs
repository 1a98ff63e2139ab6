//! What the runs of each combination of setting and block size have in common.

use std::collections::BTreeMap;

use serde::Serialize;

use super::cost::{Costs, Usage};
use super::plan::{Blocks, Purpose, Setting};
use super::store::Record;

/// Lowest, middle and highest of some numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Lowest.
    pub least: f64,
    /// Median.
    pub median: f64,
    /// Highest.
    pub most: f64,
}

impl Spread {
    /// Of at least one number.
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut all: Vec<f64> = numbers.into_iter().collect();
        all.sort_by(f64::total_cmp);
        let (least, most) = (*all.first()?, *all.last()?);
        let median = (all[(all.len() - 1) / 2] + all[all.len() / 2]) / 2.0;
        Some(Spread { least, median, most })
    }
}

/// All runs of a setting with the same block sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Line size, processes, threads.
    #[serde(flatten)]
    pub setting: Setting,
    /// Block sizes.
    pub blocks: Blocks,
    /// Runs that count, without profiles.
    pub runs: usize,
    /// Runs that failed, with profiles.
    pub failed: usize,
    /// Of the runs that count.
    pub seconds: Option<Spread>,
    /// Medians of the counters, over all processes.
    pub counters: BTreeMap<String, u64>,
    /// Misses of blocks of which several processes write different bytes; known from a profile.
    pub falsely_shared: Option<u64>,
    /// What all counts of the profile cost, in milliseconds.
    pub cost_ms: Option<f64>,
    /// Counts of each object, from the profile.
    pub objects: Vec<Usage>,
}

impl Summary {
    /// Misses of loads and stores.
    pub fn misses(&self) -> u64 {
        self.counter("read_misses") + self.counter("write_misses")
    }

    /// A counter; 0 if there is none.
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }
}

/// Summaries of all runs for a purpose and of the profiles that belong to them, in the order of settings and sizes.
pub fn all(records: &[Record], purpose: Purpose, costs: &Costs) -> Vec<Summary> {
    let mut groups: BTreeMap<(Setting, Blocks), Vec<&Record>> = BTreeMap::new();
    for record in records.iter().filter(|r| r.run.purpose == purpose) {
        groups.entry((record.run.setting, record.run.blocks)).or_default().push(record);
    }
    let profile = |setting, blocks| {
        let is_it = |r: &&Record| {
            r.run.purpose == Purpose::Profile && (r.run.setting, r.run.blocks) == (setting, blocks)
        };
        records.iter().find(is_it)
    };
    groups
        .into_iter()
        .map(|((setting, blocks), group)| summary(setting, blocks, &group, profile(setting, blocks), costs))
        .collect()
}

fn summary(
    setting: Setting,
    blocks: Blocks,
    group: &[&Record],
    profile: Option<&Record>,
    costs: &Costs,
) -> Summary {
    let good: Vec<&&Record> = group.iter().filter(|r| r.failure.is_none()).collect();
    let names = good.iter().flat_map(|r| r.counters.keys().cloned());
    let median = |name: &String| {
        let values = good.iter().filter_map(|r| r.counters.get(name)).map(|value| *value as f64);
        Spread::of(values).map_or(0, |spread| spread.median.round() as u64)
    };
    let counters = names.map(|name| (name.clone(), median(&name))).collect();
    let failed = group.iter().copied().chain(profile).filter(|r| r.failure.is_some()).count();
    let profile = profile.filter(|r| r.failure.is_none());
    Summary {
        setting,
        blocks,
        runs: good.len(),
        failed,
        seconds: Spread::of(good.iter().map(|r| r.seconds)),
        counters,
        falsely_shared: profile.map(|r| r.objects.iter().map(|o| o.falsely_shared).sum()),
        cost_ms: profile.map(|r| r.objects.iter().map(|o| o.cost(costs)).sum::<f64>() / 1e6),
        objects: profile.map_or(Vec::new(), |r| r.objects.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_lies_in_the_middle() {
        let median = |all: &[f64]| Spread::of(all.iter().copied()).map(|s| s.median);
        assert_eq!(
            (median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0]), median(&[])),
            (Some(2.0), Some(2.5), None)
        );
    }
}
