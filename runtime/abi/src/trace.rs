//! Buffers of trace events: a memory file that the processes of one host write and their launcher reads, while the job runs and after it was killed.
//!
//! ```text
//! header: see file_word
//! process 0 of the host: header (see process_word) | text | ring 0 (header: see ring_word | records) | ring 1 | ...
//! process 1 of the host: ...
//! ```
//!
//! A ring has one thread that writes. A record is in the ring from the moment on when the count of written ones is above its number, and its space may be
//! written again once the count of read ones is. Text is appended to and never changes: see [`Text`].

/// What the description of the job ([`crate::job`]) calls the file.
pub const TRACE_FILE: &str = "DSM_TRACE";
/// Words of a record.
pub const RECORD_WORDS: usize = 4;
/// Bytes of a record.
pub const RECORD_BYTES: usize = 8 * RECORD_WORDS;
/// Bytes of each header.
pub const HEADER_BYTES: usize = 4096;
/// The parts of processes begin at multiples of this: they are mapped one by one, with pages of any size.
const ALIGNMENT: usize = 64 << 10;
/// Most bytes of a process's text.
pub const TEXT_BYTES: usize = 256 << 10;
/// Most rings of a process: threads that are traced at a time.
pub const MAX_RINGS: usize = 1024;
/// Least and most records of a ring. Their number is a power of two.
pub const RING_RECORDS: core::ops::RangeInclusive<usize> = 128..=1 << 20;

/// Words of the file's header, which the launcher writes before it starts processes.
pub mod file_word {
    /// Records of a ring.
    pub const RING_RECORDS: usize = 0;
    /// Rank of the host's first process.
    pub const FIRST: usize = 1;
}

/// Words of a process's header.
pub mod process_word {
    /// Its number in the system; 0 until it writes.
    pub const PID: usize = 0;
    /// Rings that were begun.
    pub const RINGS: usize = 1;
    /// Bytes of text.
    pub const TEXT: usize = 2;
    /// Events of threads that have no ring, or none any more.
    pub const LOST: usize = 3;
    /// What the wall clock was ahead of the monotonic one, nanoseconds.
    pub const WALL: usize = 4;
    /// How many there are.
    pub const COUNT: usize = 5;
}

/// Words of a ring's header, apart as far as different processes write them.
pub mod ring_word {
    /// Records that were written.
    pub const WRITTEN: usize = 0;
    /// Events that found no space.
    pub const DROPPED: usize = 1;
    /// Records that were read.
    pub const READ: usize = 32;
}

/// Where things are in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Records of a ring.
    pub ring_records: usize,
}

impl Layout {
    /// Bytes of a ring.
    #[must_use]
    pub const fn ring_bytes(self) -> usize {
        HEADER_BYTES + self.ring_records * RECORD_BYTES
    }

    /// Bytes of a process.
    #[must_use]
    pub const fn process_bytes(self) -> usize {
        (HEADER_BYTES + TEXT_BYTES + MAX_RINGS * self.ring_bytes()).next_multiple_of(ALIGNMENT)
    }

    /// Offset of the host's process `index`.
    #[must_use]
    pub const fn process(self, index: usize) -> usize {
        ALIGNMENT + index * self.process_bytes()
    }

    /// Offset of its text.
    #[must_use]
    pub const fn text(self, index: usize) -> usize {
        self.process(index) + HEADER_BYTES
    }

    /// Offset of one of its rings.
    #[must_use]
    pub const fn ring(self, index: usize, ring: usize) -> usize {
        self.text(index) + TEXT_BYTES + ring * self.ring_bytes()
    }

    /// Bytes of the file for so many processes.
    #[must_use]
    pub const fn file_bytes(self, processes: usize) -> usize {
        self.process(processes)
    }
}

macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $number:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$of])* $variant = $number,)* }

        impl $name {
            /// The one with this number.
            #[must_use]
            pub const fn of(number: u8) -> Option<$name> {
                match number {
                    $($number => Some($name::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

numbered! {
    /// What an event is about; what `a` and `b` of its record are.
    Kind {
        /// The ring's thread from here on. `a`, `b`: its name, 16 bytes; the duration is its number in the system.
        Thread = 1,
        /// So many events, `a`, found no space in front of this one.
        Dropped = 2,
        /// A thread's part of a parallel region. `a`: the region's function; `b`: thread's number, team's size (upper half).
        Region = 3,
        /// A thread's part of a worksharing loop. `a`: position.
        Loop = 4,
        /// A barrier of a team. `a`: position.
        Barrier = 5,
        /// The end of a region in process 0. `a`: the region's function.
        Join = 6,
        /// Waiting for a lock. `a`: its variable.
        Lock = 7,
        /// Part of an explicit task. `a`: its function.
        Task = 8,
        /// A load refused by its check. `a`: address; `b`: blocks, state (uppermost byte).
        ReadMiss = 9,
        /// A store refused by its check. As a read miss.
        WriteMiss = 10,
        /// Contents copied from a peer. `a`: address; `b`: bytes.
        Fetch = 11,
        /// A call executed by the peer's agent. `a`: address, or 0; `b`: which ([`CALLS`]), bytes of the reply (upper half).
        Request = 12,
        /// Publishing what was written. `a`: write notices, blocks compared with their twins (upper half); `b`: homes taken, blocks merged at their home
        /// (upper half).
        Release = 13,
        /// Taking in what the peer has published. `a`: what it follows, see [`flow`]; `b`: write notices, blocks that they invalidated (upper half).
        Acquire = 14,
        /// Waiting for another thread or process.
        Wait = 15,
        /// The release or acquire in front of this comes before an acquire elsewhere. `a`: see [`flow`].
        Precedes = 16,
    }
}

numbered! {
    /// What part of an event a record is.
    Phase {
        /// It begins. The thread's events up to its end lie inside of it.
        Begin = 0,
        /// The innermost that has begun ends.
        End = 1,
        /// All of it, from the time on.
        Whole = 2,
        /// A moment.
        Instant = 3,
    }
}

/// Names of calls by number, the first for those that are not known.
pub const CALLS: [&str; 10] =
    ["call", "lend", "copy", "redirect", "signature", "take", "update", "read", "merge_diff", "batch"];

/// An event, or its begin or end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Nanoseconds of the host's monotonic clock; rises from record to record of a thread's begins and ends.
    pub time: u64,
    /// What.
    pub kind: Kind,
    /// What part of it.
    pub phase: Phase,
    /// The other process.
    pub peer: Option<u32>,
    /// Nanoseconds it took, of whole ones.
    pub duration: u64,
    /// See the kind.
    pub a: u64,
    /// See the kind.
    pub b: u64,
}

const PEER_SHIFT: u32 = 12;
const PEER_BITS: u64 = (1 << 12) - 1;
const DURATION_SHIFT: u32 = 24;
/// Longest duration that a record can tell: 18 minutes.
pub const LONGEST: u64 = (1 << (64 - DURATION_SHIFT)) - 1;

impl Record {
    /// As it lies in a ring.
    #[must_use]
    pub fn words(&self) -> [u64; RECORD_WORDS] {
        let peer = self.peer.map_or(0, |rank| (u64::from(rank) + 1) & PEER_BITS);
        let head = self.kind as u64
            | (self.phase as u64) << 8
            | peer << PEER_SHIFT
            | self.duration.min(LONGEST) << DURATION_SHIFT;
        [self.time, head, self.a, self.b]
    }

    /// Of what lies in a ring; `None` if that is no record.
    #[must_use]
    pub fn of([time, head, a, b]: [u64; RECORD_WORDS]) -> Option<Record> {
        let peer = (head >> PEER_SHIFT & PEER_BITS) as u32;
        Some(Record {
            time,
            kind: Kind::of(head as u8)?,
            phase: Phase::of((head >> 8) as u8 & 0xf)?,
            peer: peer.checked_sub(1),
            duration: head >> DURATION_SHIFT,
            a,
            b,
        })
    }
}

/// What names a release and the acquire that follows it: both sides make the same number of what they know.
pub mod flow {
    const KIND_SHIFT: u32 = 60;
    const LOCK: u64 = 1;
    const BARRIER: u64 = 2;
    const FORK: u64 = 3;
    const JOIN: u64 = 4;

    /// A lock's turn: slot of the table, ticket.
    #[must_use]
    pub const fn lock(slot: usize, ticket: u32) -> u64 {
        LOCK << KIND_SHIFT | (slot as u64) << 32 | ticket as u64
    }

    /// A signal of a round of a barrier: the receiver, its count of signals in this round.
    #[must_use]
    pub const fn barrier(to: u32, round: usize, count: u32) -> u64 {
        BARRIER << KIND_SHIFT | (round as u64) << 48 | (to as u64) << 32 | count as u64
    }

    /// The begin of a region in a process: the count of fork messages.
    #[must_use]
    pub const fn fork(to: u32, count: u32) -> u64 {
        FORK << KIND_SHIFT | (to as u64) << 32 | count as u64
    }

    /// The end of a region in a process.
    #[must_use]
    pub const fn join(from: u32, count: u32) -> u64 {
        JOIN << KIND_SHIFT | (from as u64) << 32 | count as u64
    }

    /// Whether it is a [`lock`].
    #[must_use]
    pub const fn is_lock(flow: u64) -> bool {
        flow >> KIND_SHIFT == LOCK
    }
}

/// A piece of a process's text: a key of 8 bytes, its kind and its length of 4 bytes each, the bytes, and padding up to a multiple of 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Text {
    /// What the compiler says of a construct, `;file;function;line;column;;`, by its address.
    Position = 1,
    /// Path of a file that is mapped as part of the program, by what its addresses are shifted by.
    Image = 2,
}

/// Bytes in front of a piece of text.
pub const TEXT_HEADER_BYTES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_what_was_written() {
        let record = Record {
            time: 1 << 60,
            kind: Kind::Acquire,
            phase: Phase::Whole,
            peer: Some(1023),
            duration: LONGEST,
            a: u64::MAX,
            b: 7,
        };
        assert_eq!(Record::of(record.words()), Some(record));
        let begun = Record { kind: Kind::Region, phase: Phase::Begin, peer: None, duration: 0, ..record };
        assert_eq!(Record::of(begun.words()), Some(begun));
        let longer = Record { duration: u64::MAX, ..record };
        assert_eq!(Record::of(longer.words()), Some(record));
        assert_eq!(Record::of([1, 0, 0, 0]), None);
    }

    #[test]
    fn parts_of_the_file_follow_each_other() {
        let layout = Layout { ring_records: 128 };
        assert!(layout.ring(0, MAX_RINGS) <= layout.process(1));
        assert_eq!(layout.process(3), layout.file_bytes(3));
        for offset in [layout.process(0), layout.process(1), layout.process(2)] {
            assert!(offset > 0 && offset.is_multiple_of(ALIGNMENT), "{offset}");
        }
    }

    #[test]
    fn flows_of_different_kinds_differ() {
        let all = [flow::lock(0, 1), flow::barrier(0, 0, 1), flow::fork(0, 1), flow::join(0, 1)];
        for (i, one) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|other| other != one));
        }
    }
}
