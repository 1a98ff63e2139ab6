//! Which runs there are, and in which order.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::options::Options;

/// What the runs that are compared with each other have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Setting {
    /// Bytes of a line.
    pub line: u32,
    /// Processes.
    pub processes: u32,
    /// Threads of each.
    pub threads: u32,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}, line {}", self.processes, self.threads, self.line)
    }
}

/// Block sizes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocks {
    /// Whatever the program takes: there is one process.
    Unset,
    /// So many bytes.
    Uniform(u32),
    /// Those of the block file, and so many bytes for what it does not name.
    File(u32),
}

impl Blocks {
    /// The uniform size.
    pub fn uniform(self) -> Option<u32> {
        match self {
            Blocks::Uniform(bytes) => Some(bytes),
            Blocks::Unset | Blocks::File(_) => None,
        }
    }
}

impl fmt::Display for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Blocks::Unset => write!(f, "blocks unset"),
            Blocks::Uniform(bytes) => write!(f, "block {bytes}"),
            Blocks::File(bytes) => write!(f, "block file, else {bytes}"),
        }
    }
}

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The counts of each variable.
    Profile,
    /// Its time.
    Time,
    /// The time of the block file, or of the uniform size that it is compared with.
    Comparison,
}

/// A run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Run {
    /// Line size, processes, threads.
    #[serde(flatten)]
    pub setting: Setting,
    /// Block sizes.
    pub blocks: Blocks,
    /// What it is for.
    pub purpose: Purpose,
    /// Number of the repetition; 0 for profiles.
    pub repetition: u32,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, ", self.setting, self.blocks)?;
        match self.purpose {
            Purpose::Profile => write!(f, "profile"),
            Purpose::Time => write!(f, "repetition {}", self.repetition),
            Purpose::Comparison => write!(f, "comparison {}", self.repetition),
        }
    }
}

/// All settings, for programs with these line sizes.
pub fn settings(options: &Options, lines: &[u32]) -> Vec<Setting> {
    let mut all = Vec::new();
    for line in lines {
        for processes in &options.processes {
            for threads in &options.threads {
                all.push(Setting { line: *line, processes: *processes, threads: *threads });
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// The block sizes of a setting.
fn blocks(options: &Options, setting: Setting) -> Vec<Blocks> {
    match setting.processes {
        1 => vec![Blocks::Unset],
        _ => options.block.0.iter().filter(|b| **b >= setting.line).map(|b| Blocks::Uniform(*b)).collect(),
    }
}

/// The runs with uniform sizes: profiles first, then the repetitions, each in an order of its own, which is the same whenever the plan is made.
pub fn uniform(options: &Options, settings: &[Setting]) -> Vec<Run> {
    let mut all = Vec::new();
    for repetition in 0..=options.repeat {
        let purpose = if repetition == 0 { Purpose::Profile } else { Purpose::Time };
        let mut runs: Vec<Run> = settings
            .iter()
            .flat_map(|setting| blocks(options, *setting).into_iter().map(|blocks| (*setting, blocks)))
            .filter(|(setting, _)| purpose == Purpose::Time || setting.processes > 1)
            .map(|(setting, blocks)| Run { setting, blocks, purpose, repetition })
            .collect();
        fastrand::Rng::with_seed(repetition.into()).shuffle(&mut runs);
        all.extend(runs);
    }
    all
}

/// The runs that compare a block file with the best uniform size of its setting: pairs, of which each first run is the other one than in the pair before.
pub fn comparison(options: &Options, files: &[(Setting, u32)]) -> Vec<Run> {
    let profile = |(setting, bytes): &(Setting, u32)| Run {
        setting: *setting,
        blocks: Blocks::File(*bytes),
        purpose: Purpose::Profile,
        repetition: 0,
    };
    let mut all: Vec<Run> = files.iter().map(profile).collect();
    for repetition in 1..=options.repeat {
        for (setting, bytes) in files {
            let mut pair = [Blocks::Uniform(*bytes), Blocks::File(*bytes)];
            if repetition % 2 == 0 {
                pair.reverse();
            }
            let runs = pair.map(|blocks| Run {
                setting: *setting,
                blocks,
                purpose: Purpose::Comparison,
                repetition,
            });
            all.extend(runs);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn each_repetition_has_all_configurations_in_another_order() {
        let line = "dsm-sweep --block 64..4096 -n 1,2,4 -r 3 -- ./x";
        let options = Options::parse_from(line.split_whitespace());
        let settings = settings(&options, &[64, 1024]);
        assert_eq!(settings.len(), 6);
        let runs = uniform(&options, &settings);
        assert_eq!(runs, uniform(&options, &settings));
        let of = |repetition| {
            let runs = runs.iter().filter(|r| r.repetition == repetition);
            runs.map(|r| (r.setting, r.blocks)).collect::<Vec<_>>()
        };
        // Seven sizes with lines of 64 bytes, three with 1024, for two numbers of processes; one process has one.
        assert_eq!((of(0).len(), of(1).len()), (20, 22));
        assert_ne!(of(1), of(2));
        let sorted = |repetition| {
            let mut all = of(repetition);
            all.sort_unstable();
            all
        };
        assert_eq!(sorted(1), sorted(3));
        assert!(of(0).iter().all(|(setting, _)| setting.processes > 1));
    }

    #[test]
    fn pairs_begin_with_the_file_and_with_the_uniform_size_in_turn() {
        let options = Options::parse_from("dsm-sweep -r 2 -- ./x".split_whitespace());
        let setting = Setting { line: 64, processes: 2, threads: 1 };
        let all: Vec<Blocks> = comparison(&options, &[(setting, 256)]).iter().map(|r| r.blocks).collect();
        let (file, uniform) = (Blocks::File(256), Blocks::Uniform(256));
        assert_eq!(all, [file, uniform, file, file, uniform]);
    }
}
