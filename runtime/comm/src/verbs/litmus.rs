//! Litmus tests between adapter and processor: in which order does each see what the other one does? `ROUNDS` in the environment says how often (3000), and
//! `STEPS=litmus ROUNDS=10000000 tests/tools/soft-roce.sh` runs them in a virtual machine.
//!
//! What the transport relies on is asserted. What it does not, and what a specification does not promise, is counted and printed. Soft-RoCE, whose adapter is the processor, says nothing about hardware either way: run
//! these where the hardware is.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};

use super::adapter::{Adapter, CompletionQueue, Landing};
use super::ends::End;
use super::library::Library;
use super::queue_pair::{QueuePair, QueuePairAddress, ReadList, SEND_ENTRIES};
use super::sys::RemoteAddress;
use super::{device, part};
use crate::conformance::verbs::is_there;
use crate::memory::Memory;
use crate::requests::Random;

/// Words are in lines of their own.
const LINE: usize = 64;
const WORDS: usize = 4;

fn rounds() -> u64 {
    std::env::var("ROUNDS").map_or(3000, |rounds| rounds.parse().expect("a number"))
}

/// What an adapter is told to do with a word of the memory.
#[derive(Clone, Copy)]
enum Operation {
    Write(usize, u64),
    Read(usize),
}
use Operation::{Read, Write};

/// A queue pair to words that the processor uses, too.
struct Litmus {
    end: End,
    own: Landing,
    memory: Memory,
    key: u32,
    _sockets: (UnixStream, UnixStream),
}

impl Litmus {
    fn new() -> Litmus {
        let library = Library::get().unwrap();
        let port = device::choose(library, "", None).unwrap();
        let adapter = Adapter::open(library, port, 4096).unwrap();
        let memory = Memory::map(4096).unwrap();
        // SAFETY: it stays mapped.
        let key = unsafe { adapter.share(memory.place(&(0..4096)), 4096).unwrap() };
        let queues = [(); 2].map(|()| CompletionQueue::open(adapter, SEND_ENTRIES).unwrap());
        let pairs = queues.each_ref().map(|queue| QueuePair::open_for_all(queue).unwrap());
        let addresses = pairs.each_ref().map(|pair| QueuePairAddress { qpn: pair.qpn, psn: pair.psn });
        pairs[0].connect(addresses[1], &adapter.port.address, adapter.reads()).unwrap();
        pairs[1].connect(addresses[0], &adapter.port.address, adapter.reads()).unwrap();
        let ([pair, _], [queue, _]) = (pairs, queues);
        let sockets = UnixStream::pair().unwrap();
        let socket = Arc::new(OwnedFd::from(sockets.0.try_clone().unwrap()));
        let end = End::new(queue, pair, &socket);
        Litmus { end, own: adapter.landing(4096).unwrap(), memory, key, _sockets: sockets }
    }

    /// A word, as the processor sees it.
    fn word(&self, word: usize) -> &'static AtomicU64 {
        // SAFETY: the memory stays mapped; processors access it by atomics only.
        unsafe { AtomicU64::from_ptr(self.memory.place(&part(LINE * word, 8)).cast()) }
    }

    /// Posts operations at once, and waits until the last has ended; what the last READ found.
    fn execute(&mut self, operations: &[Operation]) -> [u64; 2] {
        let mut list = ReadList::new();
        let own = |number: usize| part(LINE * number, 8);
        let place = |number| self.own.memory.place(&own(number)).cast::<u64>();
        for (number, operation) in operations.iter().enumerate() {
            let (Read(word) | Write(word, _)) = *operation;
            let address = self.memory.place(&part(LINE * word, 8)).addr() as u64;
            let remote = RemoteAddress { address, key: self.key };
            let sge = self.own.sge(&own(number));
            match *operation {
                Read(_) => list.push(number as u32, remote, sge, false),
                Write(_, value) => {
                    // SAFETY: the memory stays mapped, and nothing is under way.
                    unsafe { place(number).write_volatile(value) };
                    list.push_write(number as u32, remote, sge);
                }
            }
        }
        list.signal_last();
        self.end.pair.read(&mut list).unwrap();
        let last = self.end.next().unwrap().id;
        assert_eq!(last as usize + 1, operations.len());
        // SAFETY: as above.
        [0, 1].map(|number| unsafe { place(number).read_volatile() })
    }
}

/// A thread that takes part in each round, some time after it has begun.
struct Rounds {
    begun: AtomicU64,
    ended: AtomicU64,
    /// What it found.
    found: AtomicU64,
}

impl Rounds {
    /// Runs `round` in each of so many rounds, at any time during what the other thread does meanwhile.
    fn take_part(&self, rounds: u64, round: impl Fn(u64) -> u64) {
        let mut random = Random::new(7, 1);
        let mut longest = Duration::from_micros(1);
        for number in 1..=rounds {
            spin_until(|| self.begun.load(Ordering::Acquire) == number);
            let start = Instant::now();
            let delay = Duration::from_nanos(random.below(longest.as_nanos() as usize) as u64);
            spin_until(|| start.elapsed() >= delay);
            self.found.store(round(number), Ordering::Relaxed);
            self.ended.store(number, Ordering::Release);
            // About as long as a round takes, to which the next delays go.
            longest = start.elapsed().clamp(Duration::from_micros(20), Duration::from_micros(200)) * 2;
        }
    }
}

fn spin_until(is_so: impl Fn() -> bool) {
    while !is_so() {
        std::hint::spin_loop();
        std::thread::yield_now();
    }
}

/// A reader's adapter sets a mark and reads data; the home's processor stores data and looks at the mark. One of the two sees what the other one has done. By the same queue pair a READ follows a WRITE.
#[test]
fn a_mark_is_set_before_the_read_behind_it() {
    const MARK: usize = 0;
    const DATA: usize = 1;
    if !is_there() {
        return;
    }
    let mut litmus = Litmus::new();
    let (mark, data) = (litmus.word(MARK), litmus.word(DATA));
    let home = Rounds { begun: AtomicU64::new(0), ended: AtomicU64::new(0), found: AtomicU64::new(0) };
    let mut outcomes = [0_u64; 3];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            home.take_part(rounds(), |round| {
                data.store(round, Ordering::Relaxed);
                fence(Ordering::SeqCst);
                mark.load(Ordering::Relaxed)
            });
        });
        for round in 1..=rounds() {
            home.begun.store(round, Ordering::Release);
            let [_, read] = litmus.execute(&[Write(MARK, round), Read(DATA)]);
            spin_until(|| home.ended.load(Ordering::Acquire) == round);
            let marked = home.found.load(Ordering::Relaxed);
            let sees = [read == round, marked == round];
            assert_ne!(sees, [false, false], "round {round}: read {read}, mark {marked}");
            outcomes[usize::from(sees[0]) + 2 * usize::from(sees[1]) - 1] += 1;
        }
    });
    let [reader, home, both] = outcomes;
    println!(
        "a mark before a read: {} rounds, {reader} seen by the reader only, {home} by the home only, {both} by both",
        rounds()
    );
}

/// A count with check bits, by which a word that was read in pieces shows.
fn checked(count: u64) -> u64 {
    count << 16 | count.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48
}

/// The count of a word, if that is one.
fn count_of(word: u64) -> Option<u64> {
    Some(word >> 16).filter(|count| checked(*count) == word)
}

/// A processor counts up two words, one after the other. What is read of the first after a READ of the second has ended is no older: this is how reads are validated. Two READs that are posted
/// together are counted: adapters may sample the second before the first. So are words that an adapter reads in pieces.
#[test]
fn a_read_behind_a_completion_is_no_older() {
    const FIRST: usize = 0;
    const SECOND: usize = 1;
    /// Before the other thread may have the processor.
    const COUNTS: usize = 256;
    if !is_there() {
        return;
    }
    let mut litmus = Litmus::new();
    let (first, second) = (litmus.word(FIRST), litmus.word(SECOND));
    let stop = AtomicU64::new(0);
    let (mut older, mut torn, mut violation) = (0_u64, 0_u64, None);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut value = 0;
            while stop.load(Ordering::Relaxed) == 0 {
                for _ in 0..COUNTS {
                    value += 1;
                    first.store(checked(value), Ordering::Release);
                    second.store(checked(value), Ordering::Release);
                }
                // Where there is one processor, the reader has it now.
                std::thread::yield_now();
            }
        });
        let mut last = 0;
        for round in 1..=rounds() {
            spin_until(|| second.load(Ordering::Relaxed) != last);
            let [behind, _] = litmus.execute(&[Read(SECOND)]);
            let [front, _] = litmus.execute(&[Read(FIRST)]);
            last = behind;
            match [front, behind].map(count_of) {
                [Some(front), Some(behind)] if front < behind => {
                    violation = Some(format!("round {round}: {front} after {behind}"));
                    break;
                }
                [Some(_), Some(_)] => {}
                _ => torn += 1,
            }
            let [behind, front] = litmus.execute(&[Read(SECOND), Read(FIRST)]).map(count_of);
            older += u64::from(front.zip(behind).is_some_and(|(front, behind)| front < behind));
        }
        stop.store(1, Ordering::Relaxed);
    });
    assert_eq!(violation, None);
    println!(
        "two reads: {} rounds, {older} out of order where both were posted together, {torn} with words in pieces",
        rounds()
    );
}

/// A READ behind a WRITE, of the same queue pair, ends when the WRITE is placed: the processor sees it. Whether it does at the completion of a WRITE alone is counted.
#[test]
fn a_write_is_placed_when_a_read_behind_it_has_ended() {
    const WORD: usize = 2;
    if !is_there() {
        return;
    }
    let mut litmus = Litmus::new();
    let word = litmus.word(WORD);
    let mut late = 0_u64;
    for round in 1..=rounds() {
        let [_, read] = litmus.execute(&[Write(WORD, 2 * round), Read(WORD)]);
        assert_eq!([read, word.load(Ordering::Acquire)], [2 * round; 2], "round {round}");
        litmus.execute(&[Write(WORD, 2 * round + 1)]);
        late += u64::from(word.load(Ordering::Acquire) != 2 * round + 1);
    }
    assert!(
        (0..WORDS)
            .filter(|other| *other != WORD)
            .all(|other| litmus.word(other).load(Ordering::Acquire) == 0)
    );
    println!("write and placement: {} rounds, {late} not placed at their completion", rounds());
}
