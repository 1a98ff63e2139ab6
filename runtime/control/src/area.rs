//! The control areas of the segments.

use std::cell::RefCell;
use std::sync::OnceLock;

use dsm_comm::{Bytes, CALL_REPLY_BYTES, Half, POST_BYTES, Segments, Word};

use dsm_geometry::CONTROL_BYTES;
use dsm_threads::handler::Deferred;

/// Control areas of all processes.
struct Areas {
    segments: Segments,
    /// Where they begin in their segments.
    offset: usize,
    /// Whether there are several processes.
    is_job: bool,
}

static AREAS: OnceLock<Areas> = OnceLock::new();

/// Says where the control areas begin in the segments of a job of several processes; before any control word is used.
pub fn init(segments: Segments, offset: usize) {
    assert!(AREAS.set(Areas { segments, offset, is_job: true }).is_ok(), "no control word was used before");
}

#[inline]
fn areas() -> &'static Areas {
    AREAS.get_or_init(|| {
        // A single process has no segment.
        let segments = Segments::single(CONTROL_BYTES)
            .unwrap_or_else(|error| panic!("no memory for control words: {error}"));
        Areas { segments, offset: 0, is_job: false }
    })
}

/// Whether there are several processes.
pub(crate) fn is_job() -> bool {
    areas().is_job
}

#[inline]
fn place(offset: usize, bytes: usize) -> (Segments, usize) {
    assert!(offset.is_multiple_of(bytes) && offset < CONTROL_BYTES);
    let areas = areas();
    (areas.segments, areas.offset + offset)
}

/// Bytes of a control area.
pub const fn area_bytes() -> usize {
    CONTROL_BYTES
}

/// Whether the control area of a process is mapped.
#[inline(always)]
pub fn is_mapped(rank: u32) -> bool {
    areas().segments.is_mapped(rank)
}

/// Has a process whose control area is not mapped execute a request whose reply nobody wants, before what this thread has it do next.
pub fn post(rank: u32, request: &[u8]) {
    if request.len() > POST_BYTES {
        send(rank, request, &mut []);
        return;
    }
    // A handler that interrupts the thread may want to send something, too.
    let _deferred = Deferred::begin();
    areas().segments.post(rank, request);
}

/// Has a process whose control area is not mapped execute a request; the length of the reply, for which `reply` has space.
pub fn send(rank: u32, request: &[u8], reply: &mut [u8]) -> usize {
    thread_local! {
        static REPLY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    // A handler that interrupts the thread may want to send something, too.
    let _deferred = Deferred::begin();
    let mut ask = |buffer: &mut Vec<u8>| {
        buffer.resize(CALL_REPLY_BYTES, 0);
        let length = areas().segments.ask(rank, request, buffer).min(reply.len());
        reply[..length].copy_from_slice(&buffer[..length]);
        length
    };
    // The last regions of a thread run when its variables have been destroyed.
    let mut own = REPLY.try_with(RefCell::take).unwrap_or_default();
    let length = ask(&mut own);
    _ = REPLY.try_with(|buffer| buffer.replace(own));
    length
}

/// A cache line of a process's control area.
#[derive(Clone, Copy, Debug)]
pub struct Line(Bytes);

/// The line of a process at `offset`, a multiple of its size.
#[inline(always)]
pub fn line(rank: u32, offset: usize) -> Line {
    let (segments, offset) = place(offset, Line::BYTES);
    Line(segments.bytes(rank, offset))
}

impl Line {
    pub(crate) const BYTES: usize = 64;

    /// The word at byte `at`.
    #[inline(always)]
    pub fn word(self, at: usize) -> Word {
        assert!(at.is_multiple_of(8) && at < Line::BYTES);
        // SAFETY: inside the line, aligned; the words of control areas are only accessed atomically.
        unsafe { self.0.word(at) }
    }

    /// The half word at byte `at`.
    #[inline(always)]
    pub fn half(self, at: usize) -> Half {
        assert!(at.is_multiple_of(4) && at < Line::BYTES);
        // SAFETY: as for `word`.
        unsafe { self.0.half(at) }
    }
}

/// A word of a process's control area, by its offset there.
#[inline]
pub fn word(rank: u32, offset: usize) -> Word {
    let (segments, offset) = place(offset, 8);
    segments.word(rank, offset)
}

/// Half a word of a process's control area: for futexes.
#[inline]
pub(crate) fn half(rank: u32, offset: usize) -> Half {
    let (segments, offset) = place(offset, 4);
    segments.half(rank, offset)
}

/// The bytes of a process's control area from `offset` on.
pub fn bytes(rank: u32, offset: usize) -> Bytes {
    let (segments, offset) = place(offset, 1);
    segments.bytes(rank, offset)
}

/// Address of a byte of the own control area.
pub(crate) fn own_address(offset: usize) -> *mut u8 {
    let (segments, offset) = place(offset, 1);
    segments.own().address(offset)
}

/// Reads words of a process's control area one after the other.
pub fn read_words(rank: u32, offset: usize, into: &mut [u64]) {
    let (segments, offset) = place(offset, 8);
    segments.read_words(rank, offset, into);
}

/// Writes words of a process's control area one after the other.
pub fn write_words(rank: u32, offset: usize, words: &[u64]) {
    let (segments, offset) = place(offset, 8);
    segments.write_words(rank, offset, words);
}
