//! The suite over shared memory: the handles, where the segments that they refer to are mapped.
//!
//! Each simulated process has mappings of its own of all segments, as a real one has. An adapter makes a transport of the handles.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::SeqCst;

use dsm_threads::wait::Waitable;

use super::{Access, Job, Process, Subject, calls};
use crate::segment::{self, MemoryFile};
use crate::transport::{Ask, Update, Wake, Width};
use crate::{Half, Segments, Word};

struct Handles;

impl Subject for Handles {
    /// No handle updates 8 or 16 bits.
    const UPDATED: &'static [Width] = &[Width::Bits32, Width::Bits64];
    /// Of copies.
    const BOUNDARIES: &'static [usize] = &[16, 64, 256];
    const SEEDS: &'static [Option<u64>] = &[None];
    const ROUNDS: u32 = 5000;

    fn start(processes: usize, bytes: usize, _: Option<u64>) -> Vec<Process> {
        map(processes, bytes)
            .into_iter()
            .map(|segments| Process {
                connections: Vec::new(),
                peers: Box::new(Adapter(segments)),
                memory: segments.own().words(0, bytes / 8),
            })
            .collect()
    }
}

/// The segments, as each process has them mapped.
pub(super) fn map(processes: usize, bytes: usize) -> Vec<Segments> {
    let files = files(processes, bytes);
    // At least the distance of the mappings.
    let stride = bytes.next_multiple_of(segment::HUGE_PAGE);
    (0..processes as u32)
        .map(|rank| {
            let base = segment::reserve(processes * stride).unwrap() as usize;
            // SAFETY: the range has just been reserved for them; nobody changes the size of a file.
            unsafe { Segments::map(&files, rank, base, bytes).unwrap() }
        })
        .collect()
}

/// Memory files of the size.
pub(super) fn files(processes: usize, bytes: usize) -> Vec<Option<MemoryFile>> {
    let sized = |_| {
        let file = MemoryFile::create("dsm-conformance").unwrap();
        file.set_size(bytes as u64).unwrap();
        Some(file)
    };
    (0..processes).map(sized).collect()
}

/// The handles as a transport.
pub(super) struct Adapter(pub(super) Segments);

impl Adapter {
    fn word(&self, rank: u32, offset: usize) -> Word {
        self.0.word(rank, offset)
    }

    fn half(&self, rank: u32, offset: usize) -> Half {
        self.0.half(rank, offset)
    }

    fn wake_if(&self, rank: u32, offset: usize, wake: Option<Wake>) {
        if let Some(wake) = wake {
            self.wake(rank, offset, wake);
        }
    }
}

/// An update by a [`Word`] or a [`Half`]. Adding a number with the highest bit is subtracting its negative.
macro_rules! update {
    ($word:expr, $update:expr, $operand:expr) => {{
        let (word, operand) = ($word, $operand);
        match $update {
            Update::Swap => word.swap(operand, SeqCst),
            Update::Add if operand.leading_zeros() == 0 => word.fetch_sub(operand.wrapping_neg(), SeqCst),
            Update::Add => word.fetch_add(operand, SeqCst),
            Update::Or => word.fetch_or(operand, SeqCst),
            Update::And => word.fetch_and(operand, SeqCst),
            Update::Max => word.fetch_max(operand, SeqCst),
        }
    }};
}

fn lacks(width: Width) -> ! {
    panic!("no handle updates {} bytes", width.bytes())
}

impl Access for Adapter {
    fn identity(&self, rank: u32) -> u64 {
        self.0.identity(rank).expect("only processes that are not mapped say who they are")
    }

    fn ask(&self, _rank: u32, request: &[u8], reply: &mut [u8]) -> usize {
        // Whoever makes a call executes it.
        calls(request, reply).expect("a call of the suite")
    }

    fn ask_all(&self, asks: &mut [Ask<'_>], arrived: &mut dyn FnMut(usize, &[u8])) {
        for (number, ask) in asks.iter_mut().enumerate() {
            ask.length = self.ask(ask.rank, ask.request, ask.reply);
            arrived(number, &ask.reply[..ask.length]);
        }
    }

    fn post(&self, rank: u32, request: &[u8]) {
        self.ask(rank, request, &mut []);
    }

    fn load(&self, rank: u32, offset: usize, width: Width) -> u64 {
        match width {
            // SAFETY: the tests' places lie inside, aligned.
            Width::Bits8 | Width::Bits16 => unsafe { self.0.bytes(rank, offset).load(width.bytes()) },
            Width::Bits32 => self.half(rank, offset).load(SeqCst).into(),
            Width::Bits64 => self.word(rank, offset).load(SeqCst),
        }
    }

    fn update(
        &self,
        rank: u32,
        offset: usize,
        width: Width,
        update: Update,
        operand: u64,
        wake: Option<Wake>,
    ) -> u64 {
        let old = match (width, update, wake) {
            (Width::Bits32, Update::Add, Some(Wake { sleepers, mask })) => {
                let sleepers = self.half(rank, sleepers);
                return self.half(rank, offset).add_and_wake(operand as u32, sleepers, mask).into();
            }
            (Width::Bits32, ..) => update!(self.half(rank, offset), update, operand as u32).into(),
            (Width::Bits64, ..) => update!(self.word(rank, offset), update, operand),
            _ => lacks(width),
        };
        self.wake_if(rank, offset, wake);
        old
    }

    fn compare_exchange(
        &self,
        rank: u32,
        offset: usize,
        width: Width,
        expected: u64,
        new: u64,
        wake: Option<Wake>,
    ) -> u64 {
        let result = match width {
            Width::Bits32 => self
                .half(rank, offset)
                .compare_exchange(expected as u32, new as u32, SeqCst, SeqCst)
                .map(u64::from)
                .map_err(u64::from),
            Width::Bits64 => self.word(rank, offset).compare_exchange(expected, new, SeqCst, SeqCst),
            _ => lacks(width),
        };
        if result.is_ok() {
            self.wake_if(rank, offset, wake);
        }
        result.unwrap_or_else(|found| found)
    }

    fn read_words(&self, rank: u32, offset: usize, into: &mut [u64]) {
        self.0.read_words(rank, offset, into);
    }

    fn write_words(&self, rank: u32, offset: usize, words: &[u64]) {
        self.0.write_words(rank, offset, words);
    }

    unsafe fn read(&self, rank: u32, offset: usize, into: *mut u8, bytes: usize) {
        // SAFETY: the caller's promise; the tests' places lie inside.
        unsafe { self.0.bytes(rank, offset).read(into, bytes) }
    }

    unsafe fn write(&self, rank: u32, offset: usize, from: *const u8, bytes: usize) {
        // SAFETY: as above.
        unsafe { self.0.bytes(rank, offset).write(from, bytes) }
    }

    unsafe fn send_diff(&self, rank: u32, offset: usize, own: *const u8, twin: *mut u8, bytes: usize) {
        // SAFETY: as above.
        unsafe { self.0.bytes(rank, offset).send_diff(own, twin, bytes) }
    }

    fn wait_change(&self, rank: u32, offset: usize, seen: u32, wake: Wake) -> u32 {
        let sleepers = self.half(rank, wake.sleepers);
        self.half(rank, offset).sleep(sleepers, wake.mask, |value| value != seen)
    }

    fn wake(&self, rank: u32, offset: usize, wake: Wake) {
        self.half(rank, offset).wake(self.half(rank, wake.sleepers), wake.mask);
    }

    fn store(&self, rank: u32, offset: usize, width: Width, value: u64) {
        match width {
            Width::Bits32 => self.half(rank, offset).store(value as u32, SeqCst),
            Width::Bits64 => self.word(rank, offset).store(value, SeqCst),
            _ => lacks(width),
        }
    }

    fn store_and_wake(&self, rank: u32, offset: usize, value: u32, wake: Wake) {
        let sleepers = self.half(rank, wake.sleepers);
        let fence = || std::sync::atomic::fence(SeqCst);
        self.half(rank, offset).store_and_wake(value, sleepers, wake.mask, fence);
    }
}

super::conformance!(Handles);

/// What the suite takes from the list is what there is.
#[test]
fn updates_have_the_listed_widths() {
    let job = Job::start::<Handles>(2, 4096, None);
    for width in Width::ALL {
        let update = || job[0].peers.update(1, 8, width, Update::Or, 0, None);
        let works = catch_unwind(AssertUnwindSafe(update)).is_ok();
        assert_eq!(works, Handles::UPDATED.contains(&width), "{width:?}");
    }
}

#[test]
fn nobody_asks_mapped_processes() {
    let all = map(3, 4096);
    assert!(all[0].are_mapped());
    assert_eq!(all[0].identity(2), None);
    // Returns at once: nobody has ended.
    all[0].wait_end(2);
}

#[test]
fn handles_of_one_place_agree() {
    let all = map(2, 4096);
    let (bytes, word) = (all[0].bytes(1, 512), all[0].word(1, 1024));
    word.store(0x8877_6655_4433_2211, SeqCst);
    assert_eq!(all[1].own().word(1024).load(SeqCst), 0x8877_6655_4433_2211);
    // SAFETY: inside the segment and aligned.
    unsafe {
        assert_eq!(bytes.word(512).load(SeqCst), 0x8877_6655_4433_2211);
        assert_eq!(bytes.skip(512).load(8), 0x8877_6655_4433_2211);
        assert_eq!(bytes.skip(516).load(4), 0x8877_6655);
        assert_eq!(bytes.skip(512).half(4).load(SeqCst), 0x8877_6655);
    }
    assert_eq!((word.low().load(SeqCst), all[0].half(1, 1028).load(SeqCst)), (0x4433_2211, 0x8877_6655));
}

#[test]
fn an_update_by_a_function_takes_place_or_not() {
    let all = map(2, 4096);
    let (word, own) = (all[0].word(1, 8), all[1].own().word(8));
    own.store(5, SeqCst);
    assert_eq!(word.fetch_update(SeqCst, SeqCst, |seen| (seen != 5).then_some(6)), Err(5));
    assert_eq!(own.load(SeqCst), 5);
    // Whoever comes in between is not overwritten.
    let mut offered = Vec::new();
    let updated = word.fetch_update(SeqCst, SeqCst, |seen| {
        offered.push(seen);
        if seen == 5 {
            own.store(10, SeqCst);
        }
        Some(seen + 1)
    });
    assert_eq!((updated, offered, own.load(SeqCst)), (Ok(10), vec![5, 10], 11));
}

/// Groups of words in order: the closures see what has been read or written before, and only that.
#[test]
fn groups_are_read_and_written_one_after_the_other() {
    fn groups<const N: usize>() {
        const COUNT: usize = 5;
        let all = map(2, 4096);
        let own = all[1].own().words(64, N * COUNT);
        all[0].store_groups::<N>(1, 64, COUNT, |i| {
            for (at, word) in own.iter().enumerate() {
                let expected = if at < N * i { 100 + at as u64 } else { 0 };
                assert_eq!(word.load(SeqCst), expected, "word {at} before group {i} of {N}");
            }
            std::array::from_fn(|j| 100 + (N * i + j) as u64)
        });
        let mut taken = 0;
        all[0].load_groups::<N>(1, 64, COUNT, |i, group| {
            let round = if i == 0 { 100 } else { 1000 * i as u64 };
            assert_eq!((i, group), (taken, std::array::from_fn(|j| round + (N * i + j) as u64)));
            taken += 1;
            for (at, word) in own.iter().enumerate() {
                word.store(1000 * taken as u64 + at as u64, SeqCst);
            }
        });
        assert_eq!(taken, COUNT);
        // The words around them are nobody's.
        let (before, behind) = (all[1].own().words(0, 8), all[1].own().words(64 + 8 * N * COUNT, 8));
        assert!(before.iter().chain(behind).all(|word| word.load(SeqCst) == 0));
    }
    groups::<1>();
    groups::<2>();
    groups::<3>();
}

#[test]
fn memory_that_is_given_back_is_zero_for_all() {
    const PAGE: usize = 4096;
    let all = map(2, 3 * PAGE);
    for page in 0..3 {
        all[0].word(1, page * PAGE).store(7, SeqCst);
        all[0].word(0, page * PAGE).store(8, SeqCst);
    }
    // SAFETY: a page of the segment, of which nobody needs the contents.
    assert!(unsafe { all[0].bytes(1, PAGE).give_back(PAGE) });
    for segments in &all {
        let page = |rank, page| segments.word(rank, page * PAGE).load(SeqCst);
        assert_eq!([0, 1, 2].map(|number| page(1, number)), [7, 0, 7]);
        assert_eq!([0, 1, 2].map(|number| page(0, number)), [8, 8, 8], "the other segment's");
    }
}
