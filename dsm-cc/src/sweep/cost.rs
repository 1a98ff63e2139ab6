//! What counts cost: a linear model, so that a few large transfers and many small ones can be compared without a clock.
//!
//! The defaults are what the steps take over shared memory (`cargo bench -p dsm-runtime --bench protocol`). A changed block at a release is copied to its twin,
//! compared with it and merged, which moves it three times.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Times that a changed block is copied or compared.
const COPIES_OF_CHANGED: f64 = 3.0;

/// Nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// A miss.
    pub miss: f64,
    /// Each of its blocks.
    pub block: f64,
    /// 1024 bytes that are copied.
    pub kib: f64,
    /// A block that a release finds changed.
    pub change: f64,
}

impl Default for Costs {
    fn default() -> Costs {
        Costs { miss: 700.0, block: 60.0, kib: 100.0, change: 200.0 }
    }
}

impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},{},{}", self.miss, self.block, self.kib, self.change)
    }
}

impl FromStr for Costs {
    type Err = String;

    fn from_str(text: &str) -> Result<Costs, String> {
        let all: Option<Vec<f64>> = text
            .split(',')
            .map(|number| number.trim().parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0))
            .collect();
        match all.as_deref() {
            Some([miss, block, kib, change]) => {
                Ok(Costs { miss: *miss, block: *block, kib: *kib, change: *change })
            }
            _ => Err(format!("write four numbers, such as {}", Costs::default())),
        }
    }
}

/// What a profile counts of an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// As a reader knows it.
    pub subject: String,
    /// What a rule of a block file calls it.
    pub rule: Option<String>,
    /// First address of a variable, and its bytes.
    pub address: Option<u64>,
    /// See there.
    pub bytes: u64,
    /// Size of its blocks.
    pub block: u32,
    /// Misses.
    pub misses: u64,
    /// Of these, the ones at the access's usual distance from the one before.
    pub strided: u64,
    /// Blocks that they were for.
    pub blocks: u64,
    /// Bytes that the accesses asked for.
    pub bytes_asked: u64,
    /// Bytes that came.
    pub bytes_fetched: u64,
    /// Blocks that were missed after they had been there and of which several processes wrote different bytes.
    pub falsely_shared: u64,
    /// Times that a release found a shared block changed.
    pub changes: u64,
}

impl Usage {
    /// What it costs, in nanoseconds over all processes.
    pub fn cost(&self, costs: &Costs) -> f64 {
        let copied =
            self.bytes_fetched as f64 + COPIES_OF_CHANGED * self.changes as f64 * f64::from(self.block);
        costs.miss * self.misses as f64
            + costs.block * self.blocks as f64
            + costs.change * self.changes as f64
            + costs.kib * copied / 1024.0
    }

    /// Both together; what they are called stays.
    pub fn add(&mut self, other: &Usage) {
        self.address = self.address.or(other.address);
        self.bytes = self.bytes.max(other.bytes);
        self.block = self.block.max(other.block);
        self.misses += other.misses;
        self.strided += other.strided;
        self.blocks += other.blocks;
        self.bytes_asked += other.bytes_asked;
        self.bytes_fetched += other.bytes_fetched;
        self.falsely_shared += other.falsely_shared;
        self.changes += other.changes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_add_up() {
        let costs: Costs = "100,10,1,1000".parse().expect("four numbers");
        let usage = Usage { misses: 2, blocks: 3, bytes_fetched: 2048, ..Usage::default() };
        assert_eq!(usage.cost(&costs), 232.0);
        let mut both = Usage { changes: 1, block: 1024, ..Usage::default() };
        assert_eq!(both.cost(&costs), 1003.0);
        both.add(&usage);
        assert_eq!(both.cost(&costs), 1235.0);
        assert_eq!(Costs::default().to_string().parse(), Ok(Costs::default()));
        for wrong in ["", "1,2,3", "1,2,3,-4", "1,2,3,x", "1,2,3,4,5", "1,2,3,inf"] {
            assert!(wrong.parse::<Costs>().is_err(), "{wrong}");
        }
    }
}
