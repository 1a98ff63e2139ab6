//! Records by key, in the own segment, where process 0 reads them at the end.
//!
//! An index in private memory leads from a key to its record; records lie one behind the other and are never removed. Looking up takes no lock. Who adds a
//! record while another thread does, or when the table is full, gets none: what is counted here may have gaps.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use dsm_comm::Segments;
use parking_lot::Mutex;

/// Words of a key, in front of a record.
pub const KEY_WORDS: usize = 2;
/// Words in front of the records: the first is their number.
const HEADER_WORDS: usize = 8;
/// Places of the index that are looked at for a key.
const PROBES: usize = 16;

/// What names a record.
pub type Key = [u64; KEY_WORDS];

/// What a table takes in the segment.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Words of a record, key included.
    pub words: usize,
    /// Most records.
    pub records: usize,
}

impl Shape {
    /// Words of a table.
    pub const fn area_words(self) -> usize {
        HEADER_WORDS + self.words * self.records
    }
}

/// See the module.
#[derive(Debug)]
pub struct Table {
    shape: Shape,
    /// Numbers of records, from 1 on, by hash; 0 is free. Twice as many places as records.
    index: Box<[AtomicU32]>,
    area: &'static [AtomicU64],
    adding: Mutex<()>,
}

impl Table {
    /// An empty table in `area`, which holds zeros.
    pub fn new(shape: Shape, area: &'static [AtomicU64]) -> Table {
        assert_eq!(area.len(), shape.area_words());
        let places = (2 * shape.records).next_power_of_two();
        Table { shape, index: (0..places).map(|_| AtomicU32::new(0)).collect(), area, adding: Mutex::new(()) }
    }

    /// Number of records in relation to what there is space for, in 1/256.
    pub fn fill(&self) -> u64 {
        256 * self.area[0].load(Ordering::Relaxed) / self.shape.records as u64
    }

    /// What stands behind a key.
    pub fn find(&self, key: Key) -> Option<&'static [AtomicU64]> {
        self.look(key).ok()
    }

    /// The same; a new record of zeros is added if there is none, and handed to `begin`.
    pub fn find_or_add(&self, key: Key, begin: impl FnOnce(&[AtomicU64])) -> Option<&'static [AtomicU64]> {
        match self.look(key) {
            Ok(found) => Some(found),
            Err(_) => self.add(key, begin),
        }
    }

    /// The record, or the free place in the index where it belongs.
    fn look(&self, key: Key) -> Result<&'static [AtomicU64], Option<usize>> {
        let start = hash(key) as usize;
        for probe in 0..PROBES {
            let place = (start + probe) % self.index.len();
            match self.index[place].load(Ordering::Acquire) {
                0 => return Err(Some(place)),
                number => {
                    let record = self.record(number as usize - 1);
                    if (0..KEY_WORDS).all(|i| record[i].load(Ordering::Relaxed) == key[i]) {
                        return Ok(&record[KEY_WORDS..]);
                    }
                }
            }
        }
        Err(None)
    }

    #[cold]
    fn add(&self, key: Key, begin: impl FnOnce(&[AtomicU64])) -> Option<&'static [AtomicU64]> {
        // A signal handler may have interrupted who holds it.
        let _adding = self.adding.try_lock()?;
        let place = match self.look(key) {
            Ok(found) => return Some(found),
            Err(place) => place?,
        };
        let number = self.area[0].load(Ordering::Relaxed) as usize;
        if number == self.shape.records {
            return None;
        }
        let record = self.record(number);
        for (word, value) in record.iter().zip(key) {
            word.store(value, Ordering::Relaxed);
        }
        begin(&record[KEY_WORDS..]);
        self.area[0].store(number as u64 + 1, Ordering::Release);
        self.index[place].store(number as u32 + 1, Ordering::Release);
        Some(&record[KEY_WORDS..])
    }

    fn record(&self, number: usize) -> &'static [AtomicU64] {
        &self.area[HEADER_WORDS + number * self.shape.words..][..self.shape.words]
    }
}

/// The records of a process's table at an offset of its segment, keys included.
pub fn read(segments: &Segments, rank: u32, offset: usize, shape: Shape) -> Vec<Vec<u64>> {
    let mut count = [0];
    segments.read_words(rank, offset, &mut count);
    let count = (count[0] as usize).min(shape.records);
    let mut words = vec![0; count * shape.words];
    segments.read_words(rank, offset + 8 * HEADER_WORDS, &mut words);
    words.chunks_exact(shape.words).map(<[u64]>::to_vec).collect()
}

/// Spreads keys that differ in few bits (the finaliser of MurmurHash3).
pub fn hash([first, second]: Key) -> u64 {
    let mut h = first ^ second.rotate_left(32);
    h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ (h >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(records: usize) -> Table {
        let shape = Shape { words: 4, records };
        let area: Vec<AtomicU64> = (0..shape.area_words()).map(|_| AtomicU64::new(0)).collect();
        Table::new(shape, area.leak())
    }

    #[test]
    fn a_record_keeps_its_key_and_is_begun_once() {
        let table = table(100);
        for key in 0..100 {
            let added = table.find_or_add([key, 7], |words| words[0].store(key, Ordering::Relaxed));
            assert_eq!(added.expect("there is space").len(), 2);
        }
        assert_eq!((table.fill(), table.find([5, 8]).is_none()), (256, true));
        for key in 0..100 {
            let found = table.find_or_add([key, 7], |_| panic!("it is there")).expect("it is there");
            assert_eq!(found[0].load(Ordering::Relaxed), key);
        }
    }

    #[test]
    fn a_full_table_gives_no_record() {
        let table = table(2);
        let add = |key| table.find_or_add([key, 0], |_| ()).is_some();
        assert_eq!([add(1), add(2), add(3), add(2)], [true, true, false, true]);
    }

    #[test]
    fn threads_that_add_the_same_key_share_the_record() {
        let table = table(64);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for key in 0..64 {
                        while table.find_or_add([key, key], |_| ()).is_none() {}
                    }
                });
            }
        });
        assert_eq!(table.area[0].load(Ordering::Relaxed), 64);
    }
}
