//! Litmus shapes as compiled C: small programs in which threads race through atomic operations, run many
//! times; the outcomes seen must be among those that the memory model allows.
//!
//! [`shapes`] is the one list of shapes with what each memory order allows; the sequentially consistent
//! outcomes are not written down but enumerated from the shape itself. [`emit`] writes the C.

pub mod emit;
mod machine;
pub mod shapes;

use crate::compile::{self, Target, shell_line};
use crate::differential::run_command;
use crate::evidence;
use crate::execute;
use crate::matrix::Shape as Layout;
use crate::program::Program;
use shapes::{Order, Shape};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a round may take on a loaded machine.
const PATIENCE: Duration = Duration::from_micros(500);

/// Outcomes of one variant of a shape, with how often each was seen.
pub type Histogram = BTreeMap<Vec<i64>, u64>;

/// The C program of all shapes in these memory orders and all placements.
///
/// # Panics
/// If the scratch directory cannot be written.
pub fn program(orders: &'static [Order]) -> Program {
    let is_strengthened = orders == shapes::STRENGTHENED;
    let name = if is_strengthened { "litmus-strengthened" } else { "litmus" };
    let path = crate::toolchain::scratch().join(name).with_extension("c");
    let text = emit::source(orders);
    if !std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
        let partial = execute::Scratch::new("litmus");
        std::fs::write(partial.path(), text).expect("scratch file can be written");
        std::fs::rename(partial.path(), &path).expect("scratch file can be renamed");
    }
    let flags = is_strengthened.then(|| "-fdsm-weakest-order=acq_rel".to_owned());
    Program { flags: flags.into_iter().collect(), ..Program::from_source(name, &path) }
}

/// How the shapes are run.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The compiler and its flags.
    pub target: Target,
    /// Processes and threads.
    pub layout: Layout,
    /// Bytes a block, if not the default.
    pub block: Option<u64>,
    /// Rounds of each variant.
    pub rounds: u64,
    /// Memory orders of the variants.
    pub orders: &'static [Order],
}

/// Runs every variant of a shape and judges what was seen; returns the number of outcomes judged.
///
/// # Errors
/// The forbidden outcomes, or what else went wrong, with the commands that repeat it.
pub fn check(shape: &Shape, setting: Setting) -> Result<u64, String> {
    let Setting { target, layout, block, rounds, orders } = setting;
    let mut program = program(orders);
    program.arguments = vec![rounds.to_string(), shape.name.into()];
    program.environment.extend(block.map(|bytes| ("DSM_BLOCK".into(), bytes.to_string())));
    let built = compile::compile(&program, target)?;
    let mut command = run_command(&built, target, layout, &program);
    let variants: Vec<_> = shape
        .orders(orders)
        .flat_map(|order| {
            emit::placements(shape).map(move |placement| (order, emit::name(shape, order, placement)))
        })
        .collect();
    let limit = execute::time_limit() + PATIENCE * (rounds as u32) * (variants.len() as u32);
    let outcome = execute::run(&mut command, "", limit);
    let mut problems = Vec::new();
    let mut judged = 0;
    if outcome.status == Some(0) {
        let seen = parse(&outcome.text())?;
        for (order, name) in variants {
            match seen.get(&name) {
                None => problems.push(format!("{name}: not run")),
                Some(histogram) => {
                    judged += histogram.values().sum::<u64>();
                    problems.extend(judge(shape, order, histogram, rounds).map(|p| format!("{name}: {p}")));
                }
            }
        }
    } else {
        let text = outcome.text();
        problems.push(format!(
            "status {:?} after {:?}",
            outcome.status,
            text.lines().next_back().unwrap_or_default()
        ));
    }
    if problems.is_empty() {
        return Ok(judged);
    }
    let kept = evidence::keep("litmus", &built, &command, &outcome, &program.sources);
    Err(format!(
        "litmus: {} {layout}: {}\n  {}\n  {}\n{kept}\n{}",
        shape.name,
        problems.join("\n"),
        built.command,
        shell_line(&command),
        outcome.errors()
    ))
}

/// What is wrong with the outcomes of one variant.
pub fn judge(shape: &Shape, order: Order, histogram: &Histogram, rounds: u64) -> Option<String> {
    let allowed = shape.allowed(order);
    let forbidden: Vec<String> = histogram
        .iter()
        .filter(|(outcome, _)| !allowed.contains(*outcome))
        .map(|(outcome, times)| format!("{outcome:?} {times} times"))
        .collect();
    let total: u64 = histogram.values().sum();
    if !forbidden.is_empty() {
        return Some(format!("forbidden {} of {total}; allowed are {allowed:?}", forbidden.join(", ")));
    }
    (total < rounds).then(|| format!("{total} outcomes of {rounds} rounds"))
}

/// Lines `name: v v v = count`.
fn parse(text: &str) -> Result<BTreeMap<String, Histogram>, String> {
    let mut all: BTreeMap<String, Histogram> = BTreeMap::new();
    for line in text.lines() {
        let bad = || format!("litmus: cannot read {line:?}");
        let (name, rest) = line.split_once(": ").ok_or_else(bad)?;
        let (outcome, count) = rest.split_once(" = ").ok_or_else(bad)?;
        let values: Result<Vec<i64>, _> = outcome.split_whitespace().map(str::parse).collect();
        let count: u64 = count.parse().map_err(|_| bad())?;
        *all.entry(name.into()).or_default().entry(values.map_err(|_| bad())?).or_default() += count;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::shapes::SHAPES;
    use super::{Histogram, Order, judge};

    #[test]
    fn a_forbidden_outcome_is_reported_and_a_weak_one_only_where_it_is() {
        let sb = SHAPES.iter().find(|s| s.name == "SB").expect("listed");
        let seen: Histogram = [(vec![1, 0], 5), (vec![0, 0], 1)].into();
        assert!(judge(sb, Order::SeqCst, &seen, 6).is_some_and(|m| m.contains("[0, 0] 1 times")));
        assert_eq!(judge(sb, Order::AcqRel, &seen, 6), None);
        assert!(judge(sb, Order::AcqRel, &seen, 7).is_some());
    }
}
