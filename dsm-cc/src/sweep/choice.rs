//! The block sizes of variables, from what the profiles with uniform sizes count of them.
//!
//! Blocks of different sizes have numbers of their own and do not touch each other, so what happens to a variable depends on the size of its own blocks alone:
//! its counts with a uniform size are those that it has when only its blocks have this size. Each variable's best size takes as many runs as there
//! are sizes, and not as many as there are combinations. Only variables that are neighbours in memory depend on each other: a rule takes along what lies in the
//! same pages. So the sizes of the file are chosen by descent over the variables, one at a time, by the cost that the file should have ([`Pages`]).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use serde::Serialize;

use super::cost::{Costs, Usage};
use super::options::By;
use super::pages::Pages;
use super::plan::Setting;
use super::summary::Summary;

/// A variable gets a rule if its part of all costs is at least this with some size, and it has so many blocks missed.
const LEAST_PART: f64 = 0.01;
const LEAST_BLOCKS: u64 = 16;
/// Sizes whose cost is by no more than this part above the lowest count as equally good.
const EQUAL: f64 = 0.02;
/// A size other than the uniform one has to save this part of all costs.
const LEAST_GAIN: f64 = 0.005;
/// Times that the descent looks at each variable.
const ROUNDS: usize = 4;

/// What was chosen for a setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// Line size, processes, threads.
    #[serde(flatten)]
    pub setting: Setting,
    /// The best uniform size.
    pub uniform: u32,
    /// The same by the median time and by counts.
    pub by_time: u32,
    /// See there.
    pub by_counts: u32,
    /// Variables that matter, those with the largest gain first.
    pub variables: Vec<Variable>,
    /// What is counted with the best uniform size costs so much, in milliseconds over all processes.
    pub uniform_cost_ms: f64,
    /// What it should cost with the sizes of the variables.
    pub expected_cost_ms: f64,
}

/// A variable or allocation and its size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Variable {
    /// As a reader knows it.
    pub subject: String,
    /// As the block file names it.
    pub rule: String,
    /// Its addresses, if it is a global variable.
    pub range: Option<Range<u64>>,
    /// Its best size, by itself.
    pub best: u32,
    /// Its size in the block file.
    pub size: u32,
    /// Cost with the best uniform size and with its best one, in milliseconds.
    pub uniform_cost_ms: f64,
    /// See there.
    pub best_cost_ms: f64,
    /// What was counted with the best uniform size, and with its best one.
    pub uniform_usage: Usage,
    /// See there.
    pub best_usage: Usage,
    /// Cost with each size, in milliseconds.
    pub costs_ms: BTreeMap<u32, f64>,
}

/// Chooses for a setting of several processes, by its summaries with uniform sizes; `None` if no size has both times and a profile.
pub fn choose(setting: Setting, summaries: &[Summary], by: By, costs: &Costs) -> Option<Choice> {
    let mut sizes: BTreeMap<u32, &Summary> = BTreeMap::new();
    for summary in summaries.iter().filter(|s| s.setting == setting) {
        if let (Some(bytes), Some(_), Some(_), 0) =
            (summary.blocks.uniform(), summary.seconds, summary.cost_ms, summary.failed)
        {
            sizes.insert(bytes, summary);
        }
    }
    let least = |of: &dyn Fn(&Summary) -> f64| {
        let best = sizes.iter().min_by(|a, b| of(a.1).total_cmp(&of(b.1)));
        best.map(|(bytes, _)| *bytes)
    };
    let by_time = least(&|s| s.seconds.map_or(f64::INFINITY, |seconds| seconds.median))?;
    let by_counts = least(&|s| s.cost_ms.unwrap_or(f64::INFINITY))?;
    let uniform = match by {
        By::Time => by_time,
        By::Counts => by_counts,
    };
    let mut variables = variables(&sizes, uniform, costs);
    let uniform_cost_ms = sizes[&uniform].cost_ms?;
    let before = expected_ms(&variables, setting.line, uniform);
    choose_sizes(&mut variables, setting.line, uniform, LEAST_GAIN * uniform_cost_ms);
    let expected_cost_ms = uniform_cost_ms - before + expected_ms(&variables, setting.line, uniform);
    Some(Choice { setting, uniform, by_time, by_counts, variables, uniform_cost_ms, expected_cost_ms })
}

fn variables(sizes: &BTreeMap<u32, &Summary>, uniform: u32, costs: &Costs) -> Vec<Variable> {
    let mut by_rule: BTreeMap<&str, BTreeMap<u32, Usage>> = BTreeMap::new();
    for (bytes, summary) in sizes {
        for usage in &summary.objects {
            let Some(rule) = usage.rule.as_deref().filter(|rule| is_writable(rule)) else { continue };
            let known = by_rule.entry(rule).or_default().entry(*bytes).or_default();
            known.add(usage);
            known.subject.clone_from(&usage.subject);
        }
    }
    let mut all: Vec<Variable> = by_rule
        .into_iter()
        .filter(|(_, usages)| matters(usages, sizes, costs))
        .map(|(rule, usages)| variable(rule, &usages, sizes, uniform, costs))
        .collect();
    all.sort_by(|a, b| b.gain_ms().total_cmp(&a.gain_ms()).then_with(|| a.rule.cmp(&b.rule)));
    all
}

/// Whether the file can have it: two words.
fn is_writable(rule: &str) -> bool {
    rule.split_whitespace().count() == 2 && !rule.contains('#')
}

fn matters(usages: &BTreeMap<u32, Usage>, sizes: &BTreeMap<u32, &Summary>, costs: &Costs) -> bool {
    usages.iter().any(|(bytes, usage)| {
        let all = 1e6 * sizes[bytes].cost_ms.unwrap_or(0.0);
        usage.blocks >= LEAST_BLOCKS && usage.cost(costs) >= LEAST_PART * all
    })
}

fn variable(
    rule: &str,
    usages: &BTreeMap<u32, Usage>,
    sizes: &BTreeMap<u32, &Summary>,
    uniform: u32,
    costs: &Costs,
) -> Variable {
    // A size with which nothing of it missed has no counts.
    let usage = |bytes: u32| usages.get(&bytes).cloned().unwrap_or_default();
    let costs_ms: BTreeMap<u32, f64> =
        sizes.keys().map(|bytes| (*bytes, usage(*bytes).cost(costs) / 1e6)).collect();
    let best = best_size(&costs_ms, uniform);
    Variable {
        subject: usages.values().next_back().map_or(String::new(), |u| u.subject.clone()),
        rule: rule.to_owned(),
        range: usages.values().find_map(|u| Some(u.address?..u.address? + u.bytes)).filter(|r| !r.is_empty()),
        best,
        size: uniform,
        uniform_cost_ms: costs_ms[&uniform],
        best_cost_ms: costs_ms[&best],
        uniform_usage: usage(uniform),
        best_usage: usage(best),
        costs_ms,
    }
}

/// Of the sizes that are as good as the best one, the uniform one, else the largest.
fn best_size(costs_ms: &BTreeMap<u32, f64>, uniform: u32) -> u32 {
    let least = costs_ms.values().copied().fold(f64::INFINITY, f64::min);
    let good = |bytes: &u32| costs_ms[bytes] <= least * (1.0 + EQUAL);
    if good(&uniform) {
        return uniform;
    }
    costs_ms.keys().copied().rev().find(good).unwrap_or(uniform)
}

/// What the variables should cost with a file that gives them their sizes.
fn expected_ms(variables: &[Variable], line: u32, uniform: u32) -> f64 {
    let mut pages = Pages::new(variables.iter().filter_map(|v| v.range.clone()), line, uniform);
    for v in in_order(variables) {
        if let Some(range) = &v.range {
            pages.set(range, v.size);
        }
    }
    let cost = |v: &Variable| match &v.range {
        Some(range) => pages.parts(range).iter().map(|(size, part)| part * v.costs_ms[size]).sum(),
        None => v.costs_ms[&v.size],
    };
    variables.iter().map(cost).sum()
}

/// Rules in the order of the file.
fn in_order(variables: &[Variable]) -> Vec<&Variable> {
    let mut all: Vec<&Variable> = variables.iter().collect();
    all.sort_by_key(|v| (Reverse(v.size), &v.rule));
    all
}

/// Gives the variables sizes, one after the other the one that is best with those of the others, until none saves more than `least_ms`.
fn choose_sizes(variables: &mut [Variable], line: u32, uniform: u32, least_ms: f64) {
    let mut known = expected_ms(variables, line, uniform);
    for _ in 0..ROUNDS {
        let before = known;
        for i in 0..variables.len() {
            // The best one by itself comes first, and stays if others are no better.
            let sizes: Vec<u32> =
                [variables[i].best].into_iter().chain(variables[i].costs_ms.keys().copied()).collect();
            let mut chosen = variables[i].size;
            for size in sizes {
                variables[i].size = size;
                let expected = expected_ms(variables, line, uniform);
                if expected < known - least_ms {
                    (known, chosen) = (expected, size);
                }
            }
            variables[i].size = chosen;
        }
        if known == before {
            break;
        }
    }
}

impl Variable {
    /// What its own size saves.
    pub fn gain_ms(&self) -> f64 {
        self.uniform_cost_ms - self.best_cost_ms
    }
}

impl Choice {
    /// Whether any variable wants another size than the best uniform one.
    pub fn has_other_sizes(&self) -> bool {
        self.variables.iter().any(|v| v.size != self.uniform)
    }

    /// The block file. Larger sizes come first: what lies in one page with a smaller one gets the smaller one.
    pub fn block_file(&self, program: &str) -> String {
        let mut text = format!(
            "# Block sizes for {program} ({}), chosen by dsm-sweep from the counts of profiles.\n\
             # What is not named: DSM_BLOCK={}, the best uniform size.\n",
            self.setting, self.uniform
        );
        for v in in_order(&self.variables) {
            let _ = writeln!(
                text,
                "{} {}\t# best by itself: {}, {:.2} ms instead of {:.2} ms",
                v.rule, v.size, v.best, v.best_cost_ms, v.uniform_cost_ms
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::plan::Blocks;
    use crate::sweep::summary::Spread;

    const SETTING: Setting = Setting { line: 64, processes: 2, threads: 1 };

    fn usage(rule: Option<&str>, block: u32, misses: u64, changes: u64) -> Usage {
        let subject = format!("variable {}", rule.unwrap_or("?"));
        let bytes_fetched = misses * u64::from(block);
        let rule = rule.map(|name| format!("symbol {name}"));
        Usage { subject, rule, block, misses, blocks: misses, bytes_fetched, changes, ..Usage::default() }
    }

    fn summary(block: u32, seconds: f64, objects: Vec<Usage>) -> Summary {
        let costs = Costs::default();
        Summary {
            setting: SETTING,
            blocks: Blocks::Uniform(block),
            runs: 1,
            failed: 0,
            seconds: Spread::of([seconds]),
            counters: BTreeMap::new(),
            falsely_shared: Some(0),
            cost_ms: Some(objects.iter().map(|o| o.cost(&costs)).sum::<f64>() / 1e6),
            objects,
        }
    }

    /// `bins` is falsely shared, `table` is read in bulk.
    fn summaries() -> Vec<Summary> {
        let of = |block: u32, seconds, bins, changes| {
            let table = (1 << 22) / u64::from(block);
            let unnamed = usage(None, block, 100, 0);
            summary(
                block,
                seconds,
                vec![
                    usage(Some("bins"), block, bins, changes),
                    usage(Some("table"), block, table, 0),
                    unnamed,
                ],
            )
        };
        vec![of(64, 2.0, 16, 0), of(1024, 1.0, 2000, 2000), of(65536, 3.0, 2000, 2000)]
    }

    #[test]
    fn each_variable_gets_its_own_size() {
        let choice = choose(SETTING, &summaries(), By::Time, &Costs::default()).expect("there are runs");
        assert_eq!((choice.uniform, choice.by_time), (1024, 1024));
        let sizes: Vec<(&str, u32, u32)> =
            choice.variables.iter().map(|v| (&*v.rule, v.best, v.size)).collect();
        assert_eq!(sizes, [("symbol table", 65536, 65536), ("symbol bins", 64, 64)]);
        assert!(choice.has_other_sizes() && choice.expected_cost_ms < choice.uniform_cost_ms);
        let file = choice.block_file("x");
        let rules: Vec<&str> = file
            .lines()
            .map(|line| line.split('#').next().unwrap_or("").trim())
            .filter(|l| !l.is_empty())
            .collect();
        assert_eq!(rules, ["symbol table 65536", "symbol bins 64"]);
    }

    #[test]
    fn a_variable_that_would_spoil_its_neighbours_keeps_their_size() {
        let sizes = |bins: u64, table: u64| {
            let placed = |mut summary: Summary| {
                for (usage, address) in summary.objects.iter_mut().zip([bins, table]) {
                    (usage.address, usage.bytes) = (Some(address), 1 << 13);
                }
                summary
            };
            let all: Vec<Summary> = summaries().into_iter().map(placed).collect();
            let choice = choose(SETTING, &all, By::Counts, &Costs::default()).expect("there are runs");
            choice.variables.iter().map(|v| (v.rule.clone(), v.size)).collect::<BTreeMap<String, u32>>()
        };
        let apart = sizes(0, 1 << 17);
        assert_eq!((apart["symbol bins"], apart["symbol table"]), (64, 65536));
        // In one block of 65536 bytes, whatever helps one of them is done to both.
        let together = sizes(0, 1 << 13);
        assert_ne!((together["symbol bins"], together["symbol table"]), (64, 65536));
    }

    #[test]
    fn the_best_uniform_size_is_chosen_by_what_was_asked_for() {
        let uniform = |by| choose(SETTING, &summaries(), by, &Costs::default()).map(|choice| choice.uniform);
        assert_eq!(uniform(By::Time), Some(1024));
        let cheapest = |all: &[Summary]| {
            let cost = |s: &&Summary| s.cost_ms.expect("it has a profile");
            all.iter().min_by(|a, b| cost(a).total_cmp(&cost(b))).and_then(|s| s.blocks.uniform())
        };
        assert_eq!(uniform(By::Counts), cheapest(&summaries()));
        let mut failed = summaries();
        failed[1].failed = 1;
        let choice = choose(SETTING, &failed, By::Time, &Costs::default());
        assert_eq!(choice.map(|choice| choice.uniform), Some(64));
        assert_eq!(choose(SETTING, &[], By::Time, &Costs::default()), None);
    }

    #[test]
    fn sizes_that_are_equally_good_stay_uniform() {
        let costs = |all: [f64; 3]| [64, 1024, 65536].into_iter().zip(all).collect::<BTreeMap<u32, f64>>();
        assert_eq!(best_size(&costs([1.0, 1.01, 1.5]), 1024), 1024);
        assert_eq!(best_size(&costs([1.0, 1.01, 1.5]), 65536), 1024);
        assert_eq!(best_size(&costs([0.0, 0.0, 1.5]), 64), 64);
        assert_eq!(best_size(&costs([1.0, 2.0, 1.5]), 1024), 64);
    }
}
