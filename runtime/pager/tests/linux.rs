//! The pager on the system: threads that load and store through both mappings of a memory file that is larger than its memory.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dsm_pager::linux::{Copies, Digest, Disk, Mapping, Service, SingleProcess, SpillFile, View};
use dsm_pager::replacement::S3Fifo;
use dsm_pager::{PAGE_BYTES, Page, Statistics};

const BYTES: usize = 24 << 20;
const LIMIT: usize = 4 << 20;
const WORDS: usize = BYTES / 8;
/// Bytes in the middle that are not in the program mapping.
const GAP: usize = 10 * 4096;
/// Where they are.
const CUT: usize = BYTES / 2 - 4096;

/// A memory file, mapped twice.
struct Memory {
    program: usize,
    view: usize,
    file: i32,
}

impl Memory {
    fn new() -> Memory {
        // SAFETY: a new file, and two new mappings of it.
        unsafe {
            let file = libc::memfd_create(c"test".as_ptr(), 0);
            assert_eq!(libc::ftruncate(file, BYTES as i64), 0);
            let map = || {
                let access = libc::PROT_READ | libc::PROT_WRITE;
                libc::mmap(std::ptr::null_mut(), BYTES, access, libc::MAP_SHARED, file, 0) as usize
            };
            Memory { program: map(), view: map(), file }
        }
    }

    fn words(address: usize) -> &'static [AtomicU64] {
        // SAFETY: mapped for good, whole words, used atomically only.
        unsafe { std::slice::from_raw_parts(address as *const AtomicU64, WORDS) }
    }

    /// A word where the program has it, or in the view.
    fn word(&self, word: usize, in_view: bool) -> &'static AtomicU64 {
        let is_mapped = !(CUT / 8..(CUT + GAP) / 8).contains(&word);
        &Memory::words(if is_mapped && !in_view { self.program } else { self.view })[word]
    }

    fn resident(&self) -> usize {
        // SAFETY: plain data that the system fills in.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: an open file, and the place for the result.
        assert_eq!(unsafe { libc::fstat(self.file, &mut stat) }, 0);
        stat.st_blocks as usize * 512
    }

    /// Starts a pager; the program mapping is in two pieces, with pages between them that only the view has.
    fn page(
        &self,
        resident: Option<Range<usize>>,
        others: Option<Arc<dyn Copies>>,
    ) -> dsm_pager::linux::Handle {
        let mapping = |range: Range<usize>| Mapping {
            addresses: self.program + range.start..self.program + range.end,
            offset: range.start,
        };
        let mappings = vec![mapping(0..CUT), mapping(CUT + GAP..BYTES)];
        let file = SpillFile::create(Path::new(env!("CARGO_TARGET_TMPDIR")), BYTES).expect("a file on disk");
        let disk = Disk::new(file, others.map(|others| (others, BYTES))).expect("transfers");
        let view = View(self.view..self.view + BYTES);
        let service = Service::new(
            (mappings, view),
            Vec::new(),
            (disk, LIMIT),
            SingleProcess,
            S3Fifo::default(),
            resident.into_iter(),
        )
        .unwrap_or_else(|error| panic!("{error}"));
        let handle = service.handle();
        std::thread::spawn(move || panic!("{}", service.run().unwrap_err()));
        handle
    }
}

/// xorshift64*.
fn random(state: &mut u64) -> usize {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 20) as usize
}

/// Each thread has the words whose number is its own modulo the threads; they share pages.
fn store_and_check(memory: &Memory, thread: usize, threads: usize) {
    let mut state = 0x9e37_79b9 + thread as u64;
    let value = |word: usize, round: usize| (word * 7 + round) as u64;
    let own = |word: usize| word / threads * threads + thread;
    let mut rounds = std::collections::HashMap::new();
    for round in 1..4000 {
        let word = own(random(&mut state) % (WORDS - threads));
        let before = rounds.insert(word, round).map_or(0, |round| value(word, round));
        let place = memory.word(word, round % 5 == 0);
        assert_eq!(place.load(Ordering::Relaxed), before, "word {word}");
        place.store(value(word, round), Ordering::Relaxed);
        assert!(memory.resident() <= LIMIT + PAGE_BYTES);
    }
    for (word, round) in rounds {
        assert_eq!(
            memory.word(word, false).load(Ordering::Relaxed),
            value(word, round),
            "word {word} at the end"
        );
    }
}

#[test]
fn threads_find_what_they_stored() {
    let memory = Memory::new();
    // Part of a page has contents from before.
    Memory::words(memory.program)[3].store(77, Ordering::Relaxed);
    let handle = memory.page(Some(0..4096), None);
    assert_eq!(Memory::words(memory.view)[3].load(Ordering::Relaxed), 77);
    assert_eq!(Memory::words(memory.program)[2000].load(Ordering::Relaxed), 0);
    Memory::words(memory.program)[3].store(0, Ordering::Relaxed);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let memory = &memory;
            scope.spawn(move || store_and_check(memory, thread, 4));
        }
    });
    let Statistics { read, written, zeroed, .. } = handle.statistics();
    assert!(read > 0 && written > 0 && zeroed > 0, "{:?}", handle.statistics());
}

#[test]
fn a_scan_is_read_ahead() {
    let memory = Memory::new();
    let handle = memory.page(None, None);
    let step = 4096 / 8;
    for word in (0..WORDS).step_by(step) {
        memory.word(word, false).store(word as u64, Ordering::Relaxed);
    }
    for _ in 0..2 {
        for word in (0..WORDS).step_by(step) {
            assert_eq!(memory.word(word, false).load(Ordering::Relaxed), word as u64);
        }
    }
    // The thread tells what it has done behind the answer.
    let counted = |found: &dyn Fn(Statistics) -> bool| {
        let begun = std::time::Instant::now();
        while !found(handle.statistics()) {
            assert!(begun.elapsed().as_secs() < 60, "{:?}", handle.statistics());
            std::thread::yield_now();
        }
    };
    let pages = (BYTES / PAGE_BYTES) as u64;
    counted(&|s| s.read >= 2 * (pages - (LIMIT / PAGE_BYTES) as u64));
    counted(&|s| s.read_ahead * 10 > s.read * 9);
    counted(&|s| s.left_clean > pages / 2);
    // Pages that were written in order are read together.
    let Statistics { read, reads, .. } = handle.statistics();
    assert!(read > 8 * reads, "{:?}", handle.statistics());
    assert!(handle.statistics().written < 2 * pages, "{:?}", handle.statistics());
}

/// Pages that are stored to at random leave together, one behind the other on disk wherever they are in memory.
#[test]
fn pages_that_leave_together_are_one_write() {
    let memory = Memory::new();
    let handle = memory.page(None, None);
    let step = 4096 / 8;
    for word in (0..WORDS).step_by(step) {
        memory.word(word, false).store(1, Ordering::Relaxed);
    }
    let before = handle.statistics();
    let mut state = 12345;
    // Not more than the disk still has no page for.
    for _ in 0..LIMIT / PAGE_BYTES * 3 / 4 {
        memory.word(random(&mut state) % WORDS, false).fetch_add(1, Ordering::Relaxed);
    }
    let after = handle.statistics();
    let (pages, writes) = (after.written - before.written, after.writes - before.writes);
    assert!(pages > 200 && pages > 4 * writes, "{pages} pages in {writes} writes");
}

/// Another process, of this host or another one: it has each page with the contents that [`fill`] gives it in one round.
struct Other {
    is_near: bool,
    round: usize,
}

fn value(word: usize, round: usize) -> u64 {
    (word * 3 + round) as u64
}

impl Copies for Other {
    fn has_near(&self) -> bool {
        self.is_near
    }

    fn is_near(&self, page: Page) -> bool {
        self.is_near && page.0.is_multiple_of(2)
    }

    fn may_be_far(&self, _page: Page) -> bool {
        !self.is_near
    }

    fn copy(&self, first: Page, contents: &[Digest], far: bool, into: &mut [u8]) -> u64 {
        assert_eq!(far, !self.is_near);
        let pages = (first.0..).zip(contents).zip(into.chunks_mut(PAGE_BYTES)).zip(0..);
        // Some pages are elsewhere.
        let pages = pages.filter(|(((page, _), _), _)| page % 5 > 0);
        pages.fold(0, |found, (((page, contents), into), at)| {
            let first = page as usize * PAGE_BYTES / 8;
            for (i, bytes) in into.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                *bytes = value(first + i, self.round).to_le_bytes();
            }
            found | u64::from(Digest::of(into) == *contents) << at
        })
    }
}

#[test]
fn what_others_have_is_taken_if_it_is_the_same() {
    for is_near in [true, false] {
        let memory = Memory::new();
        let handle = memory.page(None, Some(Arc::new(Other { is_near, round: 2 })));
        for round in 1..4 {
            for word in 0..WORDS {
                memory.word(word, false).store(value(word, round), Ordering::Relaxed);
            }
            let before = handle.statistics().copied;
            for word in 0..WORDS {
                assert_eq!(memory.word(word, word % 7 == 0).load(Ordering::Relaxed), value(word, round));
            }
            let copied = handle.statistics().copied - before;
            assert_eq!(copied > 100, round == 2, "{copied} pages in round {round}, near: {is_near}");
        }
    }
}
