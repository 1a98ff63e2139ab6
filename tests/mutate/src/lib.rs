//! Fuzzing in a bounded loop: damaged forms of valid messages, by seed, for tests of what decodes bytes from outside.
//!
//! The mutations are those of AFL and libFuzzer: bits and bytes that change, numbers at the ends of their ranges, pieces that are left out, doubled,
//! inserted or taken from another message, and messages that end early. There is no feedback by coverage: the valid messages have to lead everywhere.

use std::thread;

use fastrand::Rng;

/// Most mutations of an input.
const MOST: usize = 4;
/// Most bytes that are inserted at once.
const LONGEST: usize = 64;
/// Numbers at which lengths and offsets go wrong.
const NUMBERS: [u64; 14] =
    [0, 1, 2, 7, 8, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, i64::MAX as u64, u64::MAX];

/// Tells which input a check has failed for.
struct Reporter<'a>(u64, &'a [u8]);

impl Drop for Reporter<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("input {}: {:?}", self.0, String::from_utf8_lossy(self.1));
            eprintln!("its bytes: {:?}", self.1);
        }
    }
}

/// Checks `count` damaged forms of the valid messages, always the same ones. A check that panics has its input printed.
///
/// # Panics
/// There is no valid message, and as the check.
pub fn each(valid: &[impl AsRef<[u8]>], count: u64, mut check: impl FnMut(&[u8])) {
    for number in 0..count {
        let mut random = Rng::with_seed(number);
        let input = damaged(valid, &mut random);
        let _reporter = Reporter(number, &input);
        check(&input);
    }
}

fn damaged(valid: &[impl AsRef<[u8]>], random: &mut Rng) -> Vec<u8> {
    let mut input = valid[random.usize(..valid.len())].as_ref().to_vec();
    for _ in 0..random.usize(1..=MOST) {
        let other = valid[random.usize(..valid.len())].as_ref();
        mutate(&mut input, other, random);
    }
    input
}

/// A place and a length of a piece that begins there, which may be empty.
fn piece(length: usize, random: &mut Rng) -> (usize, usize) {
    let at = random.usize(..=length);
    // Short ones are more likely: they leave the rest in order.
    let most = if random.bool() { 8 } else { length };
    (at, random.usize(..=most.min(length - at)))
}

fn mutate(input: &mut Vec<u8>, other: &[u8], random: &mut Rng) {
    let (at, count) = piece(input.len(), random);
    match random.u8(..8) {
        0 if at < input.len() => input[at] ^= 1 << random.u8(..8),
        1 if at < input.len() => input[at] = random.u8(..),
        2 | 3 => {
            let number = NUMBERS[random.usize(..NUMBERS.len())].wrapping_sub(random.u64(..2));
            let bytes = [1, 2, 4, 8][random.usize(..4)].min(input.len() - at);
            input[at..at + bytes].copy_from_slice(&number.to_le_bytes()[..bytes]);
        }
        4 => drop(input.drain(at..at + count)),
        5 => {
            let doubled = input[at..at + count].to_vec();
            input.splice(at..at, doubled);
        }
        6 => {
            let (from, taken) = piece(other.len(), random);
            let bytes = match random.bool() {
                true => other[from..from + taken].to_vec(),
                false => (0..random.usize(..=LONGEST)).map(|_| random.u8(..)).collect(),
            };
            input.splice(at..at + count, bytes);
        }
        _ => input.truncate(at),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn inputs_are_the_same_each_time_and_of_many_kinds() {
        let valid = [&b"host slots=3"[..], b"another"];
        let all = || {
            let mut all = Vec::new();
            each(&valid, 2000, |input| all.push(input.to_vec()));
            all
        };
        assert_eq!(all(), all());
        let different: BTreeSet<_> = all().into_iter().collect();
        assert!(different.len() > 1500, "{}", different.len());
        for (what, is) in [
            ("empty", (|i: &[u8]| i.is_empty()) as fn(&[u8]) -> bool),
            ("longer", |i| i.len() > 20),
            ("as long", |i| i.len() == 12),
            ("of both", |i| i.starts_with(b"host") && i.windows(3).any(|w| w == b"oth")),
            ("with the greatest number", |i| i.windows(4).any(|w| w == [0xff; 4])),
        ] {
            assert!(different.iter().any(|input| is(input)), "none is {what}");
        }
    }

    #[test]
    #[should_panic = "found"]
    fn checks_fail() {
        each(&[b"abc"], 1000, |input| assert_ne!(input.len(), 2, "found"));
    }
}
