//! All interleavings of a shape's steps, which are its sequentially consistent outcomes.

use super::shapes::{Shape, Step, VARIABLES};
use Step::{
    Announce, Await, Barrier, FetchAdd, Increment, Load, Obtain, Read, ReadByte, ReadIf, ReadSum, Store,
    StoreIf, Write, WriteByte, WriteBytes,
};
use std::collections::BTreeSet;

impl Shape {
    /// The outcomes of all interleavings.
    pub fn sequential(&self) -> BTreeSet<Vec<i64>> {
        let start = Machine {
            next: vec![0; self.threads.len()],
            memory: [0; VARIABLES.len()],
            registers: vec![0; self.registers],
        };
        let (mut seen, mut outcomes) = (BTreeSet::new(), BTreeSet::new());
        self.explore(start, &mut seen, &mut outcomes);
        outcomes
    }

    fn explore(&self, machine: Machine, seen: &mut BTreeSet<Machine>, outcomes: &mut BTreeSet<Vec<i64>>) {
        if !seen.insert(machine.clone()) {
            return;
        }
        let ended = |t: usize| machine.next[t] == self.threads[t].len();
        if (0..self.threads.len()).all(ended) {
            let finals = self.finals.iter().map(|v| machine.memory[*v]);
            outcomes.insert(machine.registers.iter().copied().chain(finals).collect());
            return;
        }
        let waits = |t: usize| !ended(t) && matches!(self.threads[t][machine.next[t]], Barrier);
        if (0..self.threads.len()).all(waits) {
            let mut after = machine.clone();
            after.next.iter_mut().for_each(|n| *n += 1);
            return self.explore(after, seen, outcomes);
        }
        for thread in (0..self.threads.len()).filter(|t| !ended(*t)) {
            let mut after = machine.clone();
            if after.step(self.threads[thread][machine.next[thread]]) {
                after.next[thread] += 1;
                self.explore(after, seen, outcomes);
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Machine {
    next: Vec<usize>,
    memory: [i64; VARIABLES.len()],
    registers: Vec<i64>,
}

impl Machine {
    /// Takes a step; false if it has to wait.
    fn step(&mut self, step: Step) -> bool {
        match step {
            Store(v, value) | Write(v, value) => self.memory[v] = value,
            Load(r, v) | Read(r, v) => self.registers[r] = self.memory[v],
            FetchAdd(r, v) | Increment(r, v) => {
                self.registers[r] = self.memory[v];
                self.memory[v] += 1;
            }
            StoreIf(r, v, value) => {
                if self.registers[r] != 0 {
                    self.memory[v] = value;
                }
            }
            ReadIf(r, condition, v) => {
                if self.registers[condition] != 0 {
                    self.registers[r] = self.memory[v];
                }
            }
            WriteByte(v, byte, value) => {
                self.memory[v] = self.memory[v] & !(0xff << (8 * byte)) | value << (8 * byte);
            }
            WriteBytes(v, value) => self.memory[v] = 0x0101_0101_0101_0101 * value,
            ReadByte(r, condition, v, byte) => {
                if condition.is_none_or(|c| self.registers[c] != 0) {
                    self.registers[r] = i64::from(self.memory[v].to_le_bytes()[byte as usize]);
                }
            }
            ReadSum(r, condition, v) => {
                if condition.is_none_or(|c| self.registers[c] != 0) {
                    self.registers[r] = self.memory[v].to_le_bytes().into_iter().map(i64::from).sum();
                }
            }
            Announce(_, v, value, flag) => {
                self.memory[v] = value;
                self.memory[flag] = 1;
            }
            Obtain(_, r, v, flag) => {
                if self.memory[flag] == 0 {
                    return false;
                }
                self.registers[r] = self.memory[v];
            }
            Await(v, value) => return self.memory[v] == value,
            Barrier => return false,
        }
        true
    }
}
