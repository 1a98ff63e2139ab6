//! The ring of a thread: it writes, the launcher reads.
//!
//! Begins and ends nest: an event begins only if there is space for its end as well, so what found no space is missing as a whole, and is counted.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use dsm_abi::trace::{HEADER_BYTES, Kind, Phase, RECORD_WORDS, Record, ring_word};

/// A ring with its header.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    header: &'static [AtomicU64],
    records: &'static [AtomicU64],
}

impl Ring {
    /// The ring in these words, whose records are a power of two.
    pub fn new(words: &'static [AtomicU64]) -> Ring {
        let (header, records) = words.split_at(HEADER_BYTES / 8);
        assert!((records.len() / RECORD_WORDS).is_power_of_two());
        Ring { header, records }
    }

    fn written(self) -> &'static AtomicU64 {
        &self.header[ring_word::WRITTEN]
    }

    /// Records that fit in.
    fn space(self) -> u64 {
        let read = self.header[ring_word::READ].load(Ordering::Acquire);
        let all = (self.records.len() / RECORD_WORDS) as u64;
        // What the launcher has written there is its own affair, but not that more was read than written.
        all.saturating_sub(self.written().load(Ordering::Relaxed).saturating_sub(read))
    }

    /// Whether all that was written was read.
    pub fn is_read(self) -> bool {
        self.space() == (self.records.len() / RECORD_WORDS) as u64
    }

    /// Appends a record, for which there is space.
    fn push(self, record: &Record) {
        let number = self.written().load(Ordering::Relaxed);
        let mask = self.records.len() / RECORD_WORDS - 1;
        let at = (number as usize & mask) * RECORD_WORDS;
        for (word, value) in self.records[at..][..RECORD_WORDS].iter().zip(record.words()) {
            word.store(value, Ordering::Relaxed);
        }
        self.written().store(number + 1, Ordering::Release);
    }

    fn drop_one(self) {
        let dropped = &self.header[ring_word::DROPPED];
        dropped.store(dropped.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// What a thread writes its events with.
#[derive(Debug)]
pub struct Writer {
    ring: Ring,
    /// Begins without an end.
    depth: Cell<u32>,
    /// Of the outermost 64 of these, the loops.
    loops: Cell<u64>,
    /// Events that found no space since the last one that did.
    dropped: Cell<u64>,
    /// The last time that was told.
    last: Cell<u64>,
    /// A record is being written: a signal handler that runs now writes none.
    busy: Cell<bool>,
}

impl Writer {
    /// A writer of a ring that no other one has.
    pub fn new(ring: Ring) -> Writer {
        Writer {
            ring,
            depth: Cell::new(0),
            loops: Cell::new(0),
            dropped: Cell::new(0),
            last: Cell::new(0),
            busy: Cell::new(false),
        }
    }

    /// The time `now`, or a little later: no two begins and ends of a thread are at the same time, so that their times alone tell how they nest.
    pub fn tick(&self, now: u64) -> u64 {
        let time = now.max(self.last.get() + 1);
        self.last.set(time);
        time
    }

    fn record(&self, now: u64, kind: Kind, phase: Phase, [a, b]: [u64; 2]) -> Record {
        Record { time: self.tick(now), kind, phase, peer: None, duration: 0, a, b }
    }

    /// Writes a record that leaves space for `ends` ends more than there are begins; whether there was space.
    fn write(&self, ends: u64, record: &Record) -> bool {
        if self.busy.replace(true) {
            self.ring.drop_one();
            return false;
        }
        let dropped = self.dropped.get();
        let needed = 1 + u64::from(dropped > 0) + u64::from(self.depth.get()) + ends;
        let has_space = self.ring.space() >= needed;
        if has_space {
            if dropped > 0 {
                self.ring.push(&Record {
                    kind: Kind::Dropped,
                    phase: Phase::Instant,
                    peer: None,
                    duration: 0,
                    a: dropped,
                    ..*record
                });
                self.dropped.set(0);
            }
            self.ring.push(record);
        } else {
            self.dropped.set(dropped + 1);
            self.ring.drop_one();
        }
        self.busy.set(false);
        has_space
    }

    /// Writes an event without an end of its own.
    pub fn whole(&self, record: &Record) {
        self.write(0, record);
    }

    /// Begins an event; returns what [`Writer::end`] is to be called with, 0 if there was no space.
    pub fn begin(&self, now: u64, kind: Kind, about: [u64; 2]) -> u32 {
        let record = self.record(now, kind, Phase::Begin, about);
        if !self.write(1, &record) {
            return 0;
        }
        let depth = self.depth.get();
        if depth < 64 {
            let others = self.loops.get() & !(1 << depth);
            self.loops.set(others | u64::from(kind == Kind::Loop) << depth);
        }
        self.depth.set(depth + 1);
        depth + 1
    }

    /// Ends the event that began at this depth, and those inside of it that were left without an end.
    pub fn end(&self, now: u64, depth: u32) {
        while self.depth.get() >= depth.max(1) {
            let record = self.record(now, Kind::Region, Phase::End, [0; 2]);
            // There is space: it was kept, and stays kept if a handler runs now.
            self.busy.set(true);
            self.depth.set(self.depth.get() - 1);
            self.ring.push(&record);
            self.busy.set(false);
        }
    }

    /// Ends the innermost event if it is a loop.
    pub fn end_loop(&self, now: u64) {
        let depth = self.depth.get();
        if (1..=64).contains(&depth) && self.loops.get() >> (depth - 1) & 1 == 1 {
            self.end(now, depth);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDS: usize = 16;

    struct Reader(Ring);

    impl Reader {
        fn new() -> (Reader, Writer) {
            let words: Vec<AtomicU64> =
                (0..HEADER_BYTES / 8 + RECORDS * RECORD_WORDS).map(|_| AtomicU64::new(0)).collect();
            let ring = Ring::new(words.leak());
            (Reader(ring), Writer::new(ring))
        }

        fn take(&self) -> Vec<Record> {
            let read = &self.0.header[ring_word::READ];
            let written = self.0.written().load(Ordering::Acquire);
            let all = (read.load(Ordering::Relaxed)..written).map(|number| {
                let at = number as usize % RECORDS * RECORD_WORDS;
                let words = std::array::from_fn(|i| self.0.records[at + i].load(Ordering::Relaxed));
                Record::of(words).expect("a record")
            });
            let all = all.collect();
            read.store(written, Ordering::Release);
            all
        }

        fn dropped(&self) -> u64 {
            self.0.header[ring_word::DROPPED].load(Ordering::Relaxed)
        }
    }

    fn phases(records: &[Record]) -> String {
        let letter = |record: &Record| match (record.kind, record.phase) {
            (Kind::Dropped, _) => 'd',
            (_, Phase::Begin) => '(',
            (_, Phase::End) => ')',
            (_, Phase::Whole) => 'w',
            (_, Phase::Instant) => 'i',
        };
        records.iter().map(letter).collect()
    }

    fn whole(writer: &Writer) {
        writer.whole(&Record {
            time: 5,
            kind: Kind::Fetch,
            phase: Phase::Whole,
            peer: None,
            duration: 1,
            a: 0,
            b: 0,
        });
    }

    #[test]
    fn what_began_has_space_to_end() {
        let (reader, writer) = Reader::new();
        let depths: Vec<u32> = (0..10).map(|i| writer.begin(i, Kind::Task, [0; 2])).collect();
        assert_eq!(depths, [1, 2, 3, 4, 5, 6, 7, 8, 0, 0]);
        whole(&writer);
        assert_eq!(reader.dropped(), 3);
        for depth in depths.into_iter().rev().filter(|depth| *depth > 0) {
            writer.end(20, depth);
        }
        let records = reader.take();
        assert_eq!(phases(&records), "(((((((())))))))");
        assert!(records.is_sorted_by_key(|r| r.time) && records.windows(2).all(|w| w[0].time < w[1].time));
    }

    #[test]
    fn what_found_no_space_is_counted_where_it_is_missing() {
        let (reader, writer) = Reader::new();
        (0..20).for_each(|_| whole(&writer));
        assert_eq!(phases(&reader.take()), "w".repeat(RECORDS));
        whole(&writer);
        whole(&writer);
        let records = reader.take();
        assert_eq!((phases(&records).as_str(), records[0].a, reader.dropped()), ("dww", 4, 4));
    }

    #[test]
    fn an_end_ends_what_is_inside() {
        let (reader, writer) = Reader::new();
        let region = writer.begin(1, Kind::Region, [0; 2]);
        writer.begin(2, Kind::Loop, [0; 2]);
        writer.end(3, region);
        writer.end_loop(4);
        assert_eq!(phases(&reader.take()), "(())");
        writer.begin(5, Kind::Loop, [0; 2]);
        let task = writer.begin(6, Kind::Task, [0; 2]);
        writer.end_loop(7);
        assert_eq!(phases(&reader.take()), "((");
        writer.end(8, task);
        writer.end_loop(9);
        assert_eq!(phases(&reader.take()), "))");
    }

    #[test]
    fn a_handler_in_the_middle_of_a_record_writes_none() {
        let (reader, writer) = Reader::new();
        writer.busy.set(true);
        whole(&writer);
        assert_eq!(writer.begin(1, Kind::Lock, [0; 2]), 0);
        writer.busy.set(false);
        assert_eq!((reader.take().len(), reader.dropped()), (0, 2));
    }
}
