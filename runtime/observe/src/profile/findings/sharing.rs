//! What processes do to the blocks that go back and forth between them.

use std::collections::{BTreeMap, HashMap};

use crate::profile::collect::BlockUse;
use crate::profile::names::{self, Objects};
use crate::profile::offsets::Offsets;

/// How the processes use a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sharing {
    /// Several write, each other bytes.
    False,
    /// Several write the same bytes.
    Written,
    /// At most one writes.
    HandedOver,
}

/// How often the blocks of an object are used in which way.
#[derive(Debug, Default)]
pub struct Shares {
    seconds: BTreeMap<Sharing, f64>,
    released: BTreeMap<Sharing, f64>,
    misses: BTreeMap<Sharing, u64>,
    changes: BTreeMap<Sharing, u64>,
    /// The most expensive block of each kind, with everybody's use.
    worst: BTreeMap<Sharing, (f64, Vec<BlockUse>)>,
}

/// Looks at all blocks; by object.
pub fn shares(uses: &[BlockUse], objects: &mut Objects) -> HashMap<usize, Shares> {
    let mut by_block: BTreeMap<usize, Vec<&BlockUse>> = BTreeMap::new();
    for block in uses {
        by_block.entry(block.address).or_default().push(block);
    }
    let mut found: HashMap<usize, Shares> = HashMap::new();
    for uses in by_block.values() {
        let sharing = classify(uses);
        let all: f64 = uses.iter().map(|u| u.seconds + u.released).sum();
        for block in uses {
            // Each use belongs to the object that it is about.
            let touched = if block.written.is_empty() { block.read } else { block.written };
            let shares =
                found.entry(objects.at(block.address + touched.bounds().0 as usize).key).or_default();
            *shares.seconds.entry(sharing).or_default() += block.seconds;
            *shares.released.entry(sharing).or_default() += block.released;
            *shares.misses.entry(sharing).or_default() += block.misses;
            *shares.changes.entry(sharing).or_default() += block.changes;
            let worst = shares.worst.entry(sharing).or_default();
            if all > worst.0 {
                *worst = (all, uses.iter().map(|u| (*u).clone()).collect());
            }
        }
    }
    found
}

fn classify(uses: &[&BlockUse]) -> Sharing {
    let writers: Vec<Offsets> = uses.iter().map(|u| u.written).filter(|w| !w.is_empty()).collect();
    let are_apart =
        |(i, one): (usize, &Offsets)| writers[i + 1..].iter().all(|other| one.are_disjoint(*other));
    match writers.len() {
        0 | 1 => Sharing::HandedOver,
        _ if writers.iter().enumerate().all(are_apart) => Sharing::False,
        _ => Sharing::Written,
    }
}

impl Shares {
    /// The part of the time that goes to blocks that are used in this way.
    pub fn part(&self, sharing: Sharing) -> f64 {
        let all: f64 = self.seconds.values().sum();
        if all > 0.0 { self.seconds.get(&sharing).copied().unwrap_or(0.0) / all } else { 0.0 }
    }

    /// Misses of blocks that are used in this way, each counted for each of its blocks. Not all blocks are looked at.
    pub fn misses(&self, sharing: Sharing) -> u64 {
        self.misses.get(&sharing).copied().unwrap_or(0)
    }

    /// How often releases found such a block changed.
    pub fn changes(&self, sharing: Sharing) -> u64 {
        self.changes.get(&sharing).copied().unwrap_or(0)
    }

    /// What releases took that published such blocks.
    pub fn released(&self, sharing: Sharing) -> f64 {
        self.released.get(&sharing).copied().unwrap_or(0.0)
    }

    /// The largest block size that would keep the writers of the most expensive falsely shared block apart.
    pub fn separating_bytes(&self) -> Option<usize> {
        let (_, uses) = self.worst.get(&Sharing::False)?;
        let mut written: Vec<(u64, u64)> =
            uses.iter().map(|u| u.written).filter(|w| !w.is_empty()).map(Offsets::bounds).collect();
        written.sort_unstable();
        let are_apart = |bytes: u64| written.windows(2).all(|pair| pair[0].1 / bytes < pair[1].0 / bytes);
        let smaller = (6..uses.first()?.bytes.ilog2()).rev().map(|shift| 1 << shift);
        smaller.into_iter().find(|bytes| are_apart(*bytes as u64))
    }

    /// Sentences about the most expensive block.
    pub fn describe(&self, sharing: Sharing, objects: &mut Objects) -> Vec<String> {
        let Some((_, uses)) = self.worst.get(&sharing) else { return Vec::new() };
        let bytes = uses.first().map_or(0, |u| u.bytes);
        let mut all = vec![match sharing {
            Sharing::False => format!("processes write different bytes of the same block of {bytes} bytes:"),
            Sharing::Written => {
                format!("several processes write the same bytes of a block of {bytes} bytes in turn:")
            }
            Sharing::HandedOver => {
                format!("what is new in a block of {bytes} bytes is fetched after each synchronisation:")
            }
        }];
        for block in uses {
            let (verb, touched, pc) = match block.written.is_empty() {
                true => ("reads", block.read, block.last_read),
                false => ("writes", block.written, block.last_write),
            };
            let bytes = place(block.address, touched, objects);
            let line = if pc == 0 { String::new() } else { format!(" at {}", names::line(pc).place) };
            all.push(format!("process {} {verb} {bytes}{line}", block.rank));
        }
        all
    }
}

/// Bytes of a block as bytes of what they belong to.
fn place(block: usize, touched: Offsets, objects: &mut Objects) -> String {
    let (first, last) = touched.bounds();
    let (first, last) = (block + first as usize, block + last as usize);
    let found = objects.at(first);
    let name = &objects.get(found.key).name;
    match found.start {
        Some(start) => format!(
            "{}bytes {} to {} of {name}",
            if touched.is_dense() { "" } else { "some of " },
            first - start.min(first),
            last - start.min(last)
        ),
        None => format!("{} of {name}", names::text_of_bytes((last - first + 1) as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes(rank: u32, bytes: std::ops::RangeInclusive<usize>) -> BlockUse {
        let written = Offsets::of(*bytes.start(), *bytes.end(), 4096);
        let none = Offsets::default();
        BlockUse {
            rank,
            address: 0,
            bytes: 4096,
            seconds: 1.0,
            released: 0.0,
            misses: 3,
            changes: 2,
            read: none,
            written,
            last_write: 0,
            last_read: 0,
        }
    }

    fn reads(rank: u32) -> BlockUse {
        let used = writes(rank, 0..=7);
        BlockUse { read: used.written, written: Offsets::default(), ..used }
    }

    #[test]
    fn smaller_blocks_are_named_if_they_help() {
        let separating = |uses: Vec<BlockUse>| {
            let worst = [(Sharing::False, (1.0, uses))].into();
            Shares { worst, ..Shares::default() }.separating_bytes()
        };
        assert_eq!(separating(vec![writes(0, 0..=1000), writes(1, 2048..=2100)]), Some(2048));
        assert_eq!(separating(vec![writes(1, 1024..=1100), writes(0, 0..=1000)]), Some(1024));
        assert_eq!(separating(vec![writes(0, 0..=7), writes(1, 8..=15)]), None);
    }

    #[test]
    fn sharing_is_false_if_nobody_writes_the_same_bytes() {
        let kind = |uses: &[BlockUse]| classify(&uses.iter().collect::<Vec<_>>());
        assert_eq!(kind(&[writes(0, 0..=7), writes(1, 8..=15)]), Sharing::False);
        assert_eq!(kind(&[writes(0, 0..=7), writes(1, 8..=15), writes(2, 100..=200)]), Sharing::False);
        assert_eq!(kind(&[writes(0, 0..=7), writes(1, 8..=15), writes(2, 0..=20)]), Sharing::Written);
        assert_eq!(kind(&[writes(0, 0..=7), reads(1)]), Sharing::HandedOver);
        assert_eq!(kind(&[reads(0), reads(1)]), Sharing::HandedOver);
    }
}
