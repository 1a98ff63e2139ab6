//! Doacross loops: iterations that wait for named earlier ones.
//!
//! One flag per iteration of the flattened loop nest. Inside a process the first thread allocates them; over
//! processes they are control words of process 0, one such loop at a time.

use std::sync::atomic::{AtomicU64, Ordering};

use super::event::blocked;
use super::frame::{self, Frame};
use super::ompt::work;
use super::ring::{Ring, word};
use super::{Loc, get};
use crate::control::Watched;
use crate::sync;

/// Bounds of one loop of the nest, as the compiler lays them out.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Dimension {
    lower: i64,
    upper: i64,
    stride: i64,
}

impl Dimension {
    fn trip(self) -> u64 {
        self.position(self.upper).map_or(0, |p| p + 1)
    }

    /// Iteration number of the loop variable's value; `None` outside the bounds.
    fn position(self, value: i64) -> Option<u64> {
        let (low, high) = if self.stride > 0 { (self.lower, self.upper) } else { (self.upper, self.lower) };
        let inside = self.stride != 0 && (low..=high).contains(&value);
        inside.then(|| value.abs_diff(self.lower) / self.stride.unsigned_abs())
    }
}

/// A thread's place in such a loop.
pub struct Doacross {
    number: u64,
    dimensions: Vec<Dimension>,
    shared: *const Vec<AtomicU64>,
    count: u64,
}

/// Iteration number in the flattened nest.
fn flatten(dimensions: &[Dimension], values: impl Iterator<Item = i64>) -> Option<u64> {
    dimensions
        .iter()
        .zip(values)
        .try_fold(0_u64, |flat, (d, value)| Some(flat * d.trip() + d.position(value)?))
}

/// Most iterations of a nest over several processes: a flag for each, 32 to a word, as waiting notices changes of the lower halves.
const FLAGS: u64 = 32 << 16;

crate::control::declare! {
    /// Number of the construct that owns the flags, plus one; 0 while they are free. In process 0.
    static OWNER: Watched;
    /// Flags of iterations, in process 0.
    static FLAG_WORDS: Watched, FLAGS as usize / 32;
}

/// The word of an iteration's flag, and its bit there.
fn flag(flat: u64) -> (Watched, u64) {
    (FLAG_WORDS.shared((flat / 32) as usize), 1 << (flat % 32))
}

fn set_up(frame: &Frame, dimensions: Vec<Dimension>) -> Doacross {
    let team = frame.team();
    let count = dimensions.iter().map(|d| d.trip()).product::<u64>();
    let number = frame.next_construct();
    let slot = frame.enter_construct(number);
    if matches!(team.ring, Ring::Control) {
        if count > FLAGS {
            crate::job::die(&format!(
                "an ordered loop nest with dependences has {count} iterations; over several processes at most {} are possible",
                FLAGS
            ));
        }
        let owner = number + 1;
        blocked(|| {
            OWNER
                .shared(0)
                .wait(|now| now == owner || (now == 0 && OWNER.shared(0).compare_exchange(0, owner).is_ok()))
        });
        return Doacross { number, dimensions, shared: std::ptr::null(), count };
    }
    if slot.cas(word::SETUP, 0, 1).is_ok() {
        let flags: Vec<AtomicU64> = (0..count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        slot.store(word::FLAGS, Box::into_raw(Box::new(flags)) as u64);
        slot.store(word::SETUP, 2);
    }
    slot.wait(word::SETUP, |state| state == 2);
    let shared = slot.load(word::FLAGS) as *const Vec<AtomicU64>;
    Doacross { number, dimensions, shared, count }
}

impl Doacross {
    fn flags(&self) -> &[AtomicU64] {
        // SAFETY: null or the vector that the team allocated; freed by the last thread to leave.
        unsafe { self.shared.as_ref() }.map_or(&[], Vec::as_slice)
    }

    fn post(&self, frame: &Frame, flat: u64) {
        let team = frame.team();
        if team.distributed() {
            sync::release();
            let (flags, bit) = flag(flat);
            flags.fetch_or(bit);
            return;
        }
        self.flags()[(flat / 64) as usize].fetch_or(1 << (flat % 64), Ordering::SeqCst);
        team.ring.slot(self.number).store(word::SETUP, 2);
    }

    fn wait(&self, frame: &Frame, flat: u64) {
        let team = frame.team();
        if team.distributed() {
            let (flags, bit) = flag(flat);
            let is_set = |flags: u64| flags & bit != 0;
            let seen = flags.load();
            if !is_set(seen) {
                blocked(|| flags.wait_from(seen, is_set));
            }
            // The flag does not say who set it.
            (0..team.participants).filter(|&p| p != sync::rank()).for_each(sync::acquire_from);
            return;
        }
        let flag = &self.flags()[(flat / 64) as usize];
        team.ring.slot(self.number).wait_for(|| flag.load(Ordering::SeqCst) >> (flat % 64) & 1 != 0);
    }

    fn leave(self, frame: &Frame) {
        let team = frame.team();
        team.ring.slot(self.number).leave(self.number, team.size, || {
            if team.distributed() {
                (0..self.count.div_ceil(32)).for_each(|i| FLAG_WORDS.shared(i as usize).store(0));
                OWNER.shared(0).store(0);
            } else {
                // SAFETY: allocated in `set_up`; every other thread has left.
                drop(unsafe { Box::from_raw(self.shared.cast_mut()) });
            }
        });
    }
}

/// Begin of a doacross loop nest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_doacross_init(
    _loc: Loc,
    _gtid: i32,
    count: i32,
    dimensions: *const Dimension,
) {
    let frame = frame::current();
    if frame.team().size == 1 {
        return;
    }
    // SAFETY: the compiler passes `count` dimensions.
    let dimensions = (0..count as usize).map(|i| unsafe { get(dimensions.add(i)) }).collect();
    let doacross = set_up(frame, dimensions);
    *frame.doacross.borrow_mut() = Some(doacross);
}

/// `depend(source)`: this iteration's results are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_doacross_post(_loc: Loc, _gtid: i32, values: *const i64) {
    let frame = frame::current();
    if let Some(doacross) = &*frame.doacross.borrow() {
        // SAFETY: the compiler passes a value per dimension.
        let values = (0..doacross.dimensions.len()).map(|i| unsafe { get(values.add(i)) });
        if let Some(flat) = flatten(&doacross.dimensions, values.clone()) {
            doacross.post(frame, flat);
            work::doacross(frame, true, values);
        }
    }
}

/// `depend(sink)`: waits for an earlier iteration; one outside the bounds is no dependence.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_doacross_wait(_loc: Loc, _gtid: i32, values: *const i64) {
    let frame = frame::current();
    if let Some(doacross) = &*frame.doacross.borrow() {
        // SAFETY: the compiler passes a value per dimension.
        let values = (0..doacross.dimensions.len()).map(|i| unsafe { get(values.add(i)) });
        if let Some(flat) = flatten(&doacross.dimensions, values.clone()) {
            doacross.wait(frame, flat);
            work::doacross(frame, false, values);
        }
    }
}

/// End of a doacross loop nest.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_doacross_fini(_loc: Loc, _gtid: i32) {
    let frame = frame::current();
    let doacross = frame.doacross.borrow_mut().take();
    if let Some(doacross) = doacross {
        doacross.leave(frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flattens_in_execution_order() {
        let nest =
            [Dimension { lower: 1, upper: 7, stride: 2 }, Dimension { lower: 5, upper: 3, stride: -1 }];
        let all = [1, 3, 5, 7].iter().flat_map(|&i| [5, 4, 3].map(|j| flatten(&nest, [i, j].into_iter())));
        assert!(all.eq((0..12).map(Some)));
        assert_eq!(flatten(&nest, [-1, 5].into_iter()), None);
        assert_eq!(flatten(&nest, [1, 6].into_iter()), None);
    }
}
