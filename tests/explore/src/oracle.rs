//! The judge: vector clocks give the happens-before order of a run, and every read must return the last write that happens before it.
//!
//! Programs are free of data races by construction; a race that shows up is a failure of the generator and reported as such.

use crate::hash::Digest;

/// A vector clock: for each thread, up to which of its epochs one knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clocks(Vec<u32>);

impl Clocks {
    /// Knows nothing.
    pub fn new(threads: usize) -> Self {
        Clocks(vec![0; threads])
    }

    /// Number of threads.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no threads.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Learns what another knows. Whether that is news.
    pub fn join(&mut self, other: &Clocks) -> bool {
        let mut news = false;
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            news |= *a < *b;
            *a = (*a).max(*b);
        }
        news
    }

    /// As one word of a byte for each thread, of which there are eight at most.
    pub fn word(&self) -> u64 {
        assert!(self.0.len() <= 8 && self.0.iter().all(|c| *c < 1 << 8), "{self:?} does not fit a word");
        self.0.iter().fold(0, |word, c| word << 8 | u64::from(*c))
    }

    /// Whether who knows what is in the second word learns something from the first one.
    pub fn news(word: u64, known: u64) -> bool {
        (0..8).any(|at| (word >> (8 * at)) as u8 > (known >> (8 * at)) as u8)
    }

    /// Digest.
    pub fn digest(&self, d: &mut Digest) {
        for c in &self.0 {
            d.add(u64::from(*c));
        }
    }
}

/// How a byte is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Ordinary accesses, ordered by synchronisation.
    Plain,
    /// Written once by one thread and polled by another.
    Flag,
    /// Changed by atomic additions only, until the final barrier.
    Atomic,
}

#[derive(Clone, Debug)]
struct Byte {
    role: Use,
    value: u8,
    /// Last write: thread and its epoch; epoch 0 is before everything.
    writer: usize,
    epoch: u32,
    /// Epoch of each thread's last read.
    reads: Vec<u32>,
    /// Values that atomic additions found.
    found: Vec<u8>,
    /// Thread and epoch of each atomic addition, from when it was asked for.
    additions: Vec<(usize, u32)>,
    /// Additions of each thread that it keeps.
    kept: Vec<u32>,
    /// What each thread last saw by atomic operations.
    seen: Vec<u8>,
    /// What each thread's last addition left in the byte, or its last comparison or atomic load found there.
    left: Vec<u8>,
}

/// See the module documentation.
#[derive(Clone, Debug)]
pub struct Oracle {
    clocks: Vec<Clocks>,
    /// Whether each thread did anything in its epoch.
    used: Vec<bool>,
    bytes: Vec<Byte>,
}

impl Oracle {
    /// All bytes zero.
    pub fn new(threads: usize, roles: &[Use]) -> Self {
        let clocks = (0..threads)
            .map(|t| {
                let mut c = Clocks::new(threads);
                c.0[t] = 1;
                c
            })
            .collect();
        let byte = |role: &Use| Byte {
            role: *role,
            value: 0,
            writer: 0,
            epoch: 0,
            reads: vec![0; threads],
            found: Vec::new(),
            additions: Vec::new(),
            kept: vec![0; threads],
            seen: vec![0; threads],
            left: vec![0; threads],
        };
        Oracle { clocks, used: vec![false; threads], bytes: roles.iter().map(byte).collect() }
    }

    /// What a thread knows, and has done.
    pub fn clocks(&self, thread: usize) -> Clocks {
        let mut clocks = self.clocks[thread].clone();
        clocks.0[thread] -= u32::from(!self.used[thread]);
        clocks
    }

    /// What a thread knows.
    pub fn knowledge(&self, thread: usize) -> &Clocks {
        &self.clocks[thread]
    }

    /// A thread learns.
    pub fn join(&mut self, thread: usize, other: &Clocks) {
        self.clocks[thread].join(other);
    }

    /// A thread begins an epoch: what it does from now on is not in what it has given away.
    pub fn tick(&mut self, thread: usize) {
        self.clocks[thread].0[thread] += u32::from(std::mem::take(&mut self.used[thread]));
    }

    /// The epoch in which a thread does something.
    fn epoch(&mut self, thread: usize) -> u32 {
        self.used[thread] = true;
        self.clocks[thread].0[thread]
    }

    fn knows(&self, thread: usize, writer: usize, epoch: u32) -> bool {
        self.clocks[thread].0[writer] >= epoch
    }

    /// A thread stores.
    pub fn write(&mut self, thread: usize, addr: usize, value: u8) -> Result<(), String> {
        let byte = &self.bytes[addr];
        if byte.role == Use::Plain {
            let ordered = self.knows(thread, byte.writer, byte.epoch)
                && byte.reads.iter().enumerate().all(|(r, e)| self.knows(thread, r, *e));
            if !ordered {
                return Err(format!("the program has a data race: thread {thread} writes byte {addr}"));
            }
        }
        let epoch = self.epoch(thread);
        let byte = &mut self.bytes[addr];
        (byte.value, byte.writer, byte.epoch) = (value, thread, epoch);
        Ok(())
    }

    /// A thread has read `value`.
    pub fn read(&mut self, thread: usize, addr: usize, value: u8) -> Result<(), String> {
        let byte = &self.bytes[addr];
        let known = self.knows(thread, byte.writer, byte.epoch);
        match byte.role {
            Use::Plain | Use::Flag if known && value != byte.value => {
                return Err(format!(
                    "thread {thread} read {value:#04x} from byte {addr}; the last write that happens before it \
                     is {:#04x} by thread {}",
                    byte.value, byte.writer
                ));
            }
            Use::Plain if !known => {
                return Err(format!("the program has a data race: thread {thread} reads byte {addr}"));
            }
            Use::Flag if value != 0 && value != byte.value => {
                return Err(format!("thread {thread} read {value:#04x} from flag {addr}, never written"));
            }
            // What the thread keeps may be in its copy.
            Use::Atomic
                if !(self.known_additions(thread, addr).max(byte.left[thread])
                    ..=byte.value + byte.kept[thread] as u8)
                    .contains(&value) =>
            {
                return Err(format!(
                    "thread {thread} read {value} from byte {addr}; it knows of {} additions and has found {}, {} were made",
                    self.known_additions(thread, addr),
                    byte.left[thread],
                    byte.value
                ));
            }
            _ => {}
        }
        if byte.role == Use::Plain {
            self.bytes[addr].reads[thread] = self.epoch(thread);
        }
        Ok(())
    }

    /// A thread's atomic addition found `old`.
    pub fn add(&mut self, thread: usize, addr: usize, old: u8) -> Result<(), String> {
        let byte = &mut self.bytes[addr];
        byte.value = byte.value.wrapping_add(1);
        if old.wrapping_add(1) != byte.value || byte.found.contains(&old) {
            return Err(format!(
                "thread {thread}: atomic addition to byte {addr} found {old}, {} additions were before it",
                byte.value.wrapping_sub(1)
            ));
        }
        byte.found.push(old);
        byte.seen[thread] = byte.value;
        byte.left[thread] = byte.value;
        match byte.kept[thread].checked_sub(1) {
            Some(kept) => byte.kept[thread] = kept,
            None => {
                let epoch = self.epoch(thread);
                self.bytes[addr].additions.push((thread, epoch));
            }
        }
        Ok(())
    }

    /// A thread has found `value` by a comparison, or an atomic load: what it loads next is not older.
    pub fn find(&mut self, thread: usize, addr: usize, value: u8) -> Result<(), String> {
        self.look(thread, addr, value)?;
        self.bytes[addr].left[thread] = value;
        Ok(())
    }

    /// A thread has asked for an addition, and keeps it: who knows of what the thread does now is to find it.
    pub fn keep(&mut self, thread: usize, addr: usize) {
        let epoch = self.epoch(thread);
        self.bytes[addr].additions.push((thread, epoch));
        self.bytes[addr].kept[thread] += 1;
    }

    /// Additions to a byte that were asked for before what a thread does now.
    fn known_additions(&self, thread: usize, addr: usize) -> u8 {
        let is_known = |(by, epoch): &&(usize, u32)| self.knows(thread, *by, *epoch);
        self.bytes[addr].additions.iter().filter(is_known).count() as u8
    }

    /// A thread has read `value` from a byte that is added to: not more than there was, nor less than what the thread knows or saw before.
    pub fn look(&mut self, thread: usize, addr: usize, value: u8) -> Result<(), String> {
        let byte = &self.bytes[addr];
        let least = self.known_additions(thread, addr).max(byte.seen[thread]);
        if !(least..=byte.value).contains(&value) {
            return Err(format!(
                "thread {thread}: atomic read of byte {addr} gave {value}; it knows of {least} additions, {} were made",
                byte.value
            ));
        }
        self.bytes[addr].seen[thread] = value;
        Ok(())
    }

    /// Value that a byte must have after a barrier of all.
    pub fn last(&self, addr: usize) -> u8 {
        self.bytes[addr].value
    }

    /// Digest.
    pub fn digest(&self, d: &mut Digest) {
        for (c, used) in self.clocks.iter().zip(&self.used) {
            c.digest(d);
            d.add(u64::from(*used));
        }
        for b in &self.bytes {
            d.add(u64::from(b.value) | (b.writer as u64) << 8 | u64::from(b.epoch) << 16);
            for (t, epoch) in &b.additions {
                d.add((*t as u64) << 32 | u64::from(*epoch));
            }
            b.kept.iter().for_each(|kept| d.add(u64::from(*kept)));
            for (seen, left) in b.seen.iter().zip(&b.left) {
                d.add(u64::from(*seen) | u64::from(*left) << 8);
            }
            for r in &b.reads {
                d.add(u64::from(*r));
            }
        }
    }
}
