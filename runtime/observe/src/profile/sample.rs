//! Which events of a thread are noted: all at first, then runs of them with gaps in between.
//!
//! Runs, because how events follow each other tells something; gaps of varying length, because programs repeat themselves.

/// Events of a run, and gaps in terms of it: the shortest, and how much longer they may be.
const RUN: u32 = 64;
const SHORTEST_GAP: u32 = 7 * RUN;
const LONGER: u32 = 16 * RUN;
/// What an event of a run stands for: itself and its part of a gap.
const WEIGHT: u64 = 16;

/// Chooses among the events of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Sampler {
    /// Events to be noted before the next gap.
    run: u32,
    /// Events to be left out before the next run.
    gap: u32,
    weight: u64,
    random: u32,
}

impl Sampler {
    /// Notes the first `all` events.
    pub const fn new(all: u32) -> Sampler {
        Sampler { run: all, gap: 0, weight: 1, random: 0x9e37_79b9 }
    }

    /// How many events the next one stands for: 0 if it is left out.
    pub fn next(&mut self) -> u64 {
        if self.gap > 0 {
            self.gap -= 1;
            return 0;
        }
        let weight = self.weight;
        self.run -= 1;
        if self.run == 0 {
            // Xorshift.
            self.random ^= self.random << 13;
            self.random ^= self.random >> 17;
            self.random ^= self.random << 5;
            self.gap = SHORTEST_GAP + self.random % (LONGER + 1);
            (self.run, self.weight) = (RUN, WEIGHT);
        }
        weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_events_are_all_noted_and_all_count_in_the_end() {
        let mut sampler = Sampler::new(100);
        assert!((0..100).all(|_| sampler.next() == 1));
        let events = 2_000_000;
        let (mut noted, mut total) = (0_u64, 0);
        for _ in 0..events {
            let weight = sampler.next();
            noted += u64::from(weight > 0);
            total += weight;
        }
        assert!(noted * 15 < events && events < noted * 17, "{noted}");
        assert!(total.abs_diff(events) < events / 50, "{total}");
    }
}
