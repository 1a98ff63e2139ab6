//! Binding processes to parts of their host. Pure but for what it is told about the machine.
//!
//! Each process of a host gets processors of its own, or shares those of a NUMA node. The runtime places threads inside ([`part_of`] says for both what a core and a node are). No two processes of a job get the same core, unless by a node that has cores for all of them; where there are too few, nothing is bound.

use std::fmt;
use std::ops::Range;

use clap::ValueEnum;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::environment::{Part, part_of};

/// What `--bind` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Target {
    /// Nothing is bound
    None,
    /// Each process to as many cores as it has threads
    Core,
    /// Each process to a NUMA node
    Numa,
}

/// What the processes of a host are bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The processes.
    ranks: Range<u32>,
    /// The processors of each process; empty if nothing is bound.
    sets: Vec<Vec<usize>>,
    /// In words.
    text: String,
    /// Whether the user wanted something else.
    pub is_short: bool,
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Binding {
    /// That of processes which may use whatever their launcher may.
    pub fn none(ranks: Range<u32>, text: &str) -> Binding {
        Binding { ranks, sets: Vec::new(), text: text.into(), is_short: false }
    }

    /// For this host's processes with so many threads each.
    pub fn here(wish: Option<Target>, ranks: Range<u32>, threads: u32) -> Binding {
        bind(wish, ranks, threads as usize, &allowed(), part_of)
    }

    /// The processors of a process, if it is bound.
    pub fn of(&self, rank: u32) -> Option<&[usize]> {
        self.sets.get((rank - self.ranks.start) as usize).map(Vec::as_slice)
    }

    /// The processes that have the same processors as this one.
    pub fn sharers(&self, rank: u32) -> Range<u32> {
        let Some(own) = self.of(rank) else { return self.ranks.clone() };
        let is_shared = |other: &u32| self.of(*other) == Some(own);
        let first = self.ranks.clone().find(is_shared).unwrap_or(rank);
        first..self.ranks.clone().rfind(is_shared).unwrap_or(rank) + 1
    }
}

/// The processors that this launcher may use.
pub fn allowed() -> Vec<usize> {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
    (0..CpuSet::count()).filter(|processor| set.is_set(*processor).unwrap_or(false)).collect()
}

/// As the system wants it.
pub fn cpu_set(processors: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    // Those that the system knows are in range.
    for processor in processors {
        let _ = set.set(*processor);
    }
    set
}

fn bind(
    wish: Option<Target>,
    ranks: Range<u32>,
    threads: usize,
    allowed: &[usize],
    part_of: impl Fn(Part, usize) -> Vec<usize>,
) -> Binding {
    let processes = ranks.len();
    let none = |text: &str| Binding::none(ranks.clone(), text);
    let bound = |what, sets: Vec<Vec<usize>>| Binding { text: describe(what, &sets), sets, ..none("") };
    let parts = |part| parts(part, allowed, &part_of);
    let (cores, nodes) = (parts(Part::Cores), parts(Part::NumaDomains));
    let short =
        |what: String| Binding { is_short: wish.is_some(), ..none(&format!("{what}: nothing is bound")) };
    match wish {
        Some(Target::None) => none("nothing is bound"),
        None if processes < 2 => none("one process: nothing is bound"),
        None if nodes.len() < 2 => none("one NUMA node: nothing is bound"),
        _ if processes * threads > cores.len() => {
            short(format!("{} cores for {} threads", cores.len(), processes * threads))
        }
        Some(Target::Core) => bound("cores", pack(&cores, &nodes, processes, threads)),
        None | Some(Target::Numa) => match spread(&cores, &nodes, processes, threads) {
            Ok(sets) => bound("NUMA nodes", sets),
            Err(node) => short(format!("NUMA node {node} has too few cores for its processes' threads")),
        },
    }
}

/// The parts that have allowed processors, with those only, in the order of their first one.
fn parts(part: Part, allowed: &[usize], part_of: impl Fn(Part, usize) -> Vec<usize>) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = Vec::new();
    for processor in allowed {
        if !all.iter().any(|part| part.contains(processor)) {
            let mut own = part_of(part, *processor);
            own.retain(|processor| allowed.contains(processor));
            own.sort_unstable();
            all.push(own);
        }
    }
    all
}

/// The cores of each node.
fn by_node<'a>(cores: &'a [Vec<usize>], nodes: &[Vec<usize>]) -> Vec<Vec<&'a Vec<usize>>> {
    let of = |node: &Vec<usize>| {
        cores.iter().filter(|core| core.first().is_some_and(|p| node.contains(p))).collect()
    };
    nodes.iter().map(of).collect()
}

/// Cores for each process, one after the other: of one node, if all processes find one.
fn pack(cores: &[Vec<usize>], nodes: &[Vec<usize>], processes: usize, threads: usize) -> Vec<Vec<usize>> {
    let within = by_node(cores, nodes);
    let whole: Vec<_> =
        within.iter().flat_map(|node| node.chunks_exact(threads)).map(|own| own.to_vec()).collect();
    let in_order: Vec<_> = within.into_iter().flatten().collect();
    let chosen =
        if whole.len() < processes { in_order.chunks(threads).map(<[_]>::to_vec).collect() } else { whole };
    let join = |own: Vec<&Vec<usize>>| {
        let mut set: Vec<usize> = own.into_iter().flatten().copied().collect();
        set.sort_unstable();
        set
    };
    chosen.into_iter().take(processes).map(join).collect()
}

/// Nodes for the processes, neighbours beside each other.
///
/// # Errors
/// The index of a node that has fewer cores than threads.
fn spread(
    cores: &[Vec<usize>],
    nodes: &[Vec<usize>],
    processes: usize,
    threads: usize,
) -> Result<Vec<Vec<usize>>, usize> {
    let within = by_node(cores, nodes);
    let node_of = |process: usize| process * nodes.len() / processes;
    let count = |node: usize| (0..processes).filter(|process| node_of(*process) == node).count();
    match (0..nodes.len()).find(|node| count(*node) * threads > within[*node].len()) {
        Some(node) => Err(node),
        None => Ok((0..processes).map(|process| nodes[node_of(process)].clone()).collect()),
    }
}

fn describe(what: &str, sets: &[Vec<usize>]) -> String {
    let sets: Vec<_> = sets.iter().map(|set| format!("{{{}}}", ranges(set))).collect();
    format!("processes are bound to {what}: processors {}", sets.join(" "))
}

/// As the kernel writes lists: `0-3,8`.
fn ranges(set: &[usize]) -> String {
    let runs = set.chunk_by(|a, b| a + 1 == *b);
    let run = |run: &[usize]| match run {
        [one] => one.to_string(),
        _ => format!("{}-{}", run[0], run[run.len() - 1]),
    };
    runs.map(run).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of two threads a core and four cores a node, whose second threads come behind all first ones; 16 processors.
    fn machine(part: Part, p: usize) -> Vec<usize> {
        let core = p % 8;
        match part {
            Part::Threads => vec![p],
            Part::Cores => vec![core, core + 8],
            _ => (core / 4 * 4..core / 4 * 4 + 4).flat_map(|c| [c, c + 8]).collect(),
        }
    }

    fn sets(wish: Option<Target>, processes: u32, threads: usize, allowed: &[usize]) -> Vec<String> {
        let binding = bind(wish, 3..3 + processes, threads, allowed, machine);
        assert_eq!(
            binding.is_short,
            wish.is_some_and(|w| w != Target::None) && binding.sets.is_empty(),
            "{binding}"
        );
        binding.sets.iter().map(|set| ranges(set)).collect()
    }

    #[test]
    fn processes_get_cores_of_their_own() {
        let all: Vec<usize> = (0..16).collect();
        let core = |processes, threads| sets(Some(Target::Core), processes, threads, &all);
        assert_eq!(core(2, 1), ["0,8", "1,9"]);
        assert_eq!(core(2, 2), ["0-1,8-9", "2-3,10-11"]);
        // Three threads leave a core of each node alone.
        assert_eq!(core(2, 3), ["0-2,8-10", "4-6,12-14"]);
        // No node has five cores: in the order of the cores.
        assert_eq!(core(1, 5), ["0-4,8-12"]);
        assert_eq!(core(8, 1).len(), 8);
        // Nine threads, eight cores.
        assert_eq!(core(9, 1), [""; 0]);
        assert_eq!(core(3, 3), [""; 0]);
    }

    #[test]
    fn only_allowed_processors_count() {
        let core = |allowed: &[usize]| sets(Some(Target::Core), 2, 1, allowed);
        assert_eq!(core(&[2, 3]), ["2", "3"]);
        // One core.
        assert_eq!(core(&[2, 10]), [""; 0]);
    }

    #[test]
    fn nodes_are_shared_by_neighbours() {
        let all: Vec<usize> = (0..16).collect();
        let numa = |processes, threads| sets(Some(Target::Numa), processes, threads, &all);
        let (first, second) = ("0-3,8-11", "4-7,12-15");
        assert_eq!(numa(2, 4), [first, second]);
        assert_eq!(numa(4, 2), [first, first, second, second]);
        assert_eq!(numa(1, 1), [first]);
        assert_eq!(numa(2, 5), [""; 0]);
        // Two on the first node would need six cores.
        assert_eq!(numa(3, 3), [""; 0]);
    }

    #[test]
    fn unasked_only_what_cannot_hurt_is_bound() {
        let all: Vec<usize> = (0..16).collect();
        assert_eq!(sets(None, 2, 4, &all).len(), 2);
        for (processes, threads, allowed) in [(1, 4, &all[..]), (2, 1, &[0, 1, 2, 3]), (4, 4, &all)] {
            assert_eq!(sets(None, processes, threads, allowed), [""; 0], "{processes} of {threads}");
        }
        assert_eq!(sets(Some(Target::None), 2, 1, &all), [""; 0]);
    }

    #[test]
    fn sharers_are_those_with_the_same_processors() {
        let all: Vec<usize> = (0..16).collect();
        let numa = bind(Some(Target::Numa), 5..9, 2, &all, machine);
        assert_eq!([5, 6, 7, 8].map(|rank| numa.sharers(rank)), [5..7, 5..7, 7..9, 7..9]);
        assert_eq!(numa.of(8).unwrap(), [4, 5, 6, 7, 12, 13, 14, 15]);
        assert_eq!(Binding::none(5..9, "").sharers(6), 5..9);
        let text =
            "processes are bound to NUMA nodes: processors {0-3,8-11} {0-3,8-11} {4-7,12-15} {4-7,12-15}";
        assert_eq!(numa.to_string(), text);
    }
}
