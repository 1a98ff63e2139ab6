//! Drawing a program from a seed. This file keeps the promise that programs are free of data races: a
//! phase is drawn against the set of arrays that it writes, and reads only what it does not write.

use super::model::{
    Array, Chain, Commutative, Expression, Guard, Index, Model, Owner, Phase, Place, Reduction, Sweep, TYPES,
    Term, Type, Update,
};
use crate::random::Random;

/// Records of a struct array: members are arrays of one length.
const MEMBERS: usize = 4;
/// Schedules of ordered loops.
const SCHEDULES: [&str; 4] = ["static", "static, 3", "dynamic", "dynamic, 5"];

/// The program of `seed`.
pub fn program(seed: u64) -> Model {
    let mut random = Random::new(seed);
    let arrays = arrays(&mut random);
    // The pointer table takes distinct elements of any array: it is no longer than the shortest.
    let shortest = arrays.iter().map(|a| a.len).min().expect("there are arrays");
    let pointers = random.between(3, shortest);
    let mut maker =
        Maker { random, pointed: 0, model: Model { seed, arrays, scalars: 4, pointers, phases: Vec::new() } };
    let count = maker.random.between(8, 18);
    for _ in 0..count {
        let phase = maker.phase();
        if let Phase::Repoint(array, _) = phase {
            maker.pointed = array;
        }
        maker.model.phases.push(phase);
    }
    for array in 0..maker.model.arrays.len() {
        maker.model.phases.push(Phase::Check(array));
    }
    maker.model
}

fn arrays(random: &mut Random) -> Vec<Array> {
    let mut arrays = Vec::new();
    let count = random.between(3, 6);
    for number in 0..count as u32 {
        let len = match random.below(4) {
            0 => random.between(8, 40),
            1 => random.between(600, 1500),
            _ => random.between(40, 400),
        };
        let place = match random.below(7) {
            0 | 1 => Place::Global,
            2 => Place::Heap(random.below(9) as u32),
            3 => Place::Stack,
            4 => Place::GlobalField(number),
            5 => Place::HeapField(number),
            _ => Place::Rows(random.between(2, 24) as u32),
        };
        let members = if matches!(place, Place::GlobalField(_) | Place::HeapField(_)) { MEMBERS } else { 1 };
        for _ in 0..members {
            arrays.push(Array { ty: *random.pick(&TYPES), len, place });
        }
    }
    // At least one integer array that atomics and additions may use.
    arrays.push(Array { ty: Type::U32, len: random.between(8, 200), place: Place::Global });
    arrays
}

struct Maker {
    random: Random,
    model: Model,
    /// The array that the pointer table points into.
    pointed: usize,
}

impl Maker {
    fn array(&mut self) -> usize {
        self.random.below(self.model.arrays.len() as u64) as usize
    }

    fn phase(&mut self) -> Phase {
        match self.random.below(20) {
            0..=7 => self.sweeps(),
            8 => self.sections(),
            9..=11 => self.guarded(),
            12..=13 => self.reduce(),
            14..=15 => self.recurrence(),
            16 => self.repoint(),
            17 => self.renew(),
            18 => Phase::Check(self.array()),
            _ => Phase::NewRegion,
        }
    }

    /// An expression that reads nothing of `written` and not scalar `result`.
    fn expression(&mut self, written: &[usize], result: Option<usize>) -> Expression {
        let mut terms =
            vec![Term::Constant(self.random.below(1 << 30)), Term::Iteration(self.random.between(1, 99))];
        for _ in 0..self.random.below(3) {
            let factor = self.random.between(1, 1000);
            match self.random.below(4) {
                0 => {
                    let scalar = self.random.below(self.model.scalars as u64) as usize;
                    if Some(scalar) != result {
                        terms.push(Term::Scalar(scalar, factor));
                    }
                }
                1 if !written.contains(&self.pointed) => terms.push(Term::Pointed(self.index(), factor)),
                _ => {
                    let array = self.array();
                    if !written.contains(&array) {
                        terms.push(Term::Element(array, self.index(), factor));
                    }
                }
            }
        }
        terms
    }

    fn index(&mut self) -> Index {
        Index { scale: self.random.between(1, 40), shift: self.random.below(500) }
    }

    fn owner(&mut self) -> Owner {
        let chunk = self.random.between(1, 20) as u32;
        match self.random.below(9) {
            0 | 1 => Owner::Schedule("static", 0),
            2 => Owner::Schedule("static", chunk),
            3 => Owner::Schedule("static", 1),
            4 => Owner::Schedule("dynamic", chunk),
            5 => Owner::Schedule("guided", 0),
            6 | 7 => Owner::Rotated(self.random.between(1, 9), self.random.below(5)),
            _ => Owner::BlocksReversed,
        }
    }

    fn sweep(&mut self, array: usize, part: (u64, u64), written: &[usize]) -> Sweep {
        let keep = self.random.below(4);
        let value = self.expression(written, None);
        Sweep { array, pointed: false, residue: part.0, stride: part.1, owner: self.owner(), keep, value }
    }

    /// Loops over different arrays, or over interleaved elements of one.
    fn sweeps(&mut self) -> Phase {
        if self.random.chance(1, 8) {
            let written = [self.pointed];
            let mut sweep = self.sweep(self.pointed, (0, 1), &written);
            sweep.pointed = true;
            return Phase::Sweeps(vec![sweep]);
        }
        if self.random.chance(1, 3) {
            let array = self.array();
            let stride = self.random.between(2, 4);
            let parts = (0..stride).map(|residue| self.sweep(array, (residue, stride), &[array])).collect();
            return Phase::Sweeps(parts);
        }
        let written = self.some_arrays();
        Phase::Sweeps(written.iter().map(|array| self.sweep(*array, (0, 1), &written)).collect())
    }

    fn some_arrays(&mut self) -> Vec<usize> {
        let wanted = self.random.between(1, 4);
        let mut chosen: Vec<usize> = (0..wanted).map(|_| self.array()).collect();
        chosen.sort_unstable();
        chosen.dedup();
        chosen
    }

    fn sections(&mut self) -> Phase {
        let written = self.some_arrays();
        Phase::Sections(written.iter().map(|array| self.sweep(*array, (0, 1), &written)).collect())
    }

    fn guarded(&mut self) -> Phase {
        let guard = match self.random.below(8) {
            0 => Guard::Critical(None),
            1 => Guard::Critical(Some(self.random.below(3) as u32)),
            2 | 3 => Guard::Lock(self.random.below(3) as u32),
            4 => Guard::NestLock,
            5 => Guard::Striped,
            _ => Guard::Atomic,
        };
        let arrays: Vec<usize> =
            self.some_arrays().into_iter().filter(|a| self.model.arrays[*a].ty.adds_freely()).collect();
        let written = if arrays.is_empty() { vec![self.model.arrays.len() - 1] } else { arrays };
        // Locks cost a hand-off each: fewer rounds than for atomics would need.
        let iterations = self.random.between(4, 120);
        let updates = written
            .iter()
            .map(|array| {
                let float = self.model.arrays[*array].ty.is_float();
                let xor = !float && self.random.chance(1, 3);
                let operation = if xor { Commutative::Xor } else { Commutative::Add };
                Update {
                    array: *array,
                    index: self.index(),
                    operation,
                    value: self.expression(&written, None),
                }
            })
            .collect();
        Phase::Guarded(guard, self.owner(), iterations, updates)
    }

    fn reduce(&mut self) -> Phase {
        let scalar = self.random.below(self.model.scalars as u64) as usize;
        let operators =
            [Reduction::Add, Reduction::Add, Reduction::Xor, Reduction::Or, Reduction::Max, Reduction::Min];
        let operator = *self.random.pick(&operators);
        let schedules =
            [Owner::Schedule("static", 0), Owner::Schedule("dynamic", 3), Owner::Schedule("static", 2)];
        let owner = *self.random.pick(&schedules);
        let value = self.expression(&[], Some(scalar));
        Phase::Reduce(scalar, operator, owner, self.random.between(1, 700), value)
    }

    fn recurrence(&mut self) -> Phase {
        let array = self.array();
        // Hand-offs from thread to thread at every element: short arrays only.
        let short = self.model.arrays[array].len <= 150;
        let chain = match self.random.below(if short { 5 } else { 2 }) {
            0 => Chain::Single,
            1 => Chain::Serial,
            2 => Chain::Ordered(SCHEDULES[self.random.below(SCHEDULES.len() as u64) as usize]),
            3 => Chain::Pipeline(true),
            _ => Chain::Pipeline(false),
        };
        Phase::Recurrence(array, chain, self.expression(&[array], None))
    }

    fn repoint(&mut self) -> Phase {
        let array = self.array();
        let len = self.model.arrays[array].len;
        let mut index = self.index();
        // A scale without a common divisor: the entries are distinct elements.
        while gcd(index.scale, len) != 1 {
            index.scale += 1;
        }
        Phase::Repoint(array, index)
    }

    /// A heap block that nobody points into moves.
    fn renew(&mut self) -> Phase {
        let heap = |a: &usize| matches!(self.model.arrays[*a].place, Place::Heap(_)) && *a != self.pointed;
        let candidates: Vec<usize> = (0..self.model.arrays.len()).filter(heap).collect();
        if candidates.is_empty() { self.sweeps() } else { Phase::Move(*self.random.pick(&candidates)) }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::{Phase, Term, program};

    #[test]
    fn a_phase_reads_nothing_that_it_writes() {
        for seed in 0..300 {
            let model = program(seed);
            let mut pointed = 0;
            for phase in &model.phases {
                let (written, values) = match phase {
                    Phase::Sweeps(s) | Phase::Sections(s) => (
                        s.iter().map(|s| if s.pointed { pointed } else { s.array }).collect::<Vec<_>>(),
                        s.iter().map(|s| s.value.clone()).collect::<Vec<_>>(),
                    ),
                    Phase::Guarded(_, _, _, u) => {
                        (u.iter().map(|u| u.array).collect(), u.iter().map(|u| u.value.clone()).collect())
                    }
                    Phase::Recurrence(array, _, value) => (vec![*array], vec![value.clone()]),
                    Phase::Repoint(array, _) => {
                        pointed = *array;
                        continue;
                    }
                    _ => continue,
                };
                for term in values.iter().flatten() {
                    let read = match term {
                        Term::Element(array, _, _) => *array,
                        Term::Pointed(..) => pointed,
                        _ => continue,
                    };
                    assert!(!written.contains(&read), "seed {seed}: array {read} is read and written");
                }
            }
        }
    }

    #[test]
    fn seeds_differ_and_repeat() {
        assert_eq!(format!("{:?}", program(5)), format!("{:?}", program(5)));
        assert_ne!(format!("{:?}", program(5)), format!("{:?}", program(6)));
    }
}
