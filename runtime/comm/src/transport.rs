//! Reaching segments that are not mapped: what a transport other than shared memory does.
//!
//! The choice is made once, before the process starts threads, for each segment. Where all segments are mapped, no transport is installed, and all that is
//! left of the choice in each operation is a look at one word. Otherwise the address tells, as the mapped segments follow each other.

use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use dsm_threads::atomic::Atomic;
pub use dsm_threads::atomic::Width;

use crate::lost::Lost;

/// An atomic operation. All return the old value; numbers are unsigned and wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// Replaces the value.
    Swap,
    /// Adds.
    Add,
    /// Sets bits.
    Or,
    /// Keeps bits.
    And,
    /// Keeps the greater value.
    Max,
}

impl Update {
    pub(crate) const ALL: [Update; 5] = [Update::Swap, Update::Add, Update::Or, Update::And, Update::Max];

    /// Changes a word of this process; returns the old value.
    #[inline]
    pub(crate) fn apply<A: Atomic + ?Sized>(self, word: &A, operand: u64) -> u64 {
        match self {
            Update::Swap => word.swap(operand),
            Update::Add => word.fetch_add(operand),
            Update::Or => word.fetch_or(operand),
            Update::And => word.fetch_and(operand),
            Update::Max => word.fetch_max(operand),
        }
    }
}

/// Whom to wake, or how to be woken: see [`dsm_threads::wait`]. The word is the `u32` at the operation's offset, a multiple of four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// Offset of the `u32` that counts the sleepers.
    pub sleepers: usize,
    /// Wakes those whose mask shares a bit; not 0.
    pub mask: u32,
}

/// A call at a process, and the place for its reply.
#[derive(Debug)]
pub struct Ask<'a> {
    /// The process.
    pub rank: u32,
    /// At most [`CALL_BYTES`](crate::CALL_BYTES).
    pub request: &'a [u8],
    /// As long as the reply may be.
    pub reply: &'a mut [u8],
    /// Length of the reply.
    pub length: usize,
}

/// A part of a look at a peer's segment, see [`Transport::look`].
#[derive(Debug)]
pub struct Look<'a> {
    /// Offsets of words that only this process changes, and what they become: one after the other, before anything of this part is read.
    pub writes: &'a [(usize, u64)],
    /// Offsets of words, and what they were.
    pub words: &'a mut [(usize, u64)],
    /// An offset, and so many bytes from there on that are copied.
    pub bytes: Option<(usize, *mut u8, usize)>,
}

/// Operations on peers' segments. Each returns when its effect is placed; all atomics are sequentially consistent. Ranks and offsets are those
/// of [`crate::Segments`], never the own rank; words are aligned. Each ends in [`Lost`] if the peer is lost before it is known that it was executed.
pub trait Transport: Sync + Send {
    /// What the process said of itself when it started.
    fn identity(&self, rank: u32) -> Result<u64, Lost>;
    /// Waits until the process has ended. Nobody wants anything of it any more.
    fn wait_end(&self, rank: u32);
    /// Reads atomically.
    fn load(&self, rank: u32, offset: usize, width: Width) -> Result<u64, Lost>;
    /// Changes atomically; returns the old value. Wakes what `wake` names.
    fn update(
        &self,
        rank: u32,
        offset: usize,
        width: Width,
        update: Update,
        operand: u64,
        wake: Option<Wake>,
    ) -> Result<u64, Lost>;
    /// Puts `new` in the place of `expected`, and then wakes what `wake` names; returns the old value.
    fn compare_exchange(
        &self,
        rank: u32,
        offset: usize,
        width: Width,
        expected: u64,
        new: u64,
        wake: Option<Wake>,
    ) -> Result<u64, Lost>;
    /// Reads words in their order, each atomically.
    fn read_words(&self, rank: u32, offset: usize, into: &mut [u64]) -> Result<(), Lost>;
    /// Writes words in their order, each atomically.
    fn write_words(&self, rank: u32, offset: usize, words: &[u64]) -> Result<(), Lost>;
    /// Copies from the segment.
    ///
    /// # Safety
    /// `into` is writable for `bytes` bytes.
    unsafe fn read(&self, rank: u32, offset: usize, into: *mut u8, bytes: usize) -> Result<(), Lost>;
    /// Looks at the segment without the peer's processor, one part after the other; words and bytes of a part are read in any order. Whether that was possible: otherwise nothing was done.
    ///
    /// # Safety
    /// Where bytes go is writable, and nobody else uses it meanwhile.
    unsafe fn look(&self, rank: u32, parts: &mut [Look<'_>]) -> Result<bool, Lost>;
    /// Copies to the segment.
    ///
    /// # Safety
    /// `from` is readable for `bytes` bytes.
    unsafe fn write(&self, rank: u32, offset: usize, from: *const u8, bytes: usize) -> Result<(), Lost>;
    /// Writes the bytes in which `own` differs from `twin`, and makes them the twin's, as [`crate::diff::send`] does, which may write halves of words that race; by messages no others.
    ///
    /// # Safety
    /// `own` is readable and `twin` readable and writable for `bytes` bytes, a multiple of [`crate::diff::GROUP`], both aligned to 16 bytes. Other
    /// threads may write to `own`, nobody to `twin`.
    unsafe fn send_diff(
        &self,
        rank: u32,
        offset: usize,
        own: *const u8,
        twin: *mut u8,
        bytes: usize,
    ) -> Result<(), Lost>;
    /// Has the process execute a call on its segment, which transport and segments know nothing of. Returns the length of the reply, for which there is space for
    /// [`CALL_REPLY_BYTES`](crate::CALL_REPLY_BYTES).
    fn ask(&self, rank: u32, request: &[u8], reply: &mut [u8]) -> Result<usize, Lost>;
    /// Has processes execute calls, each its own in their order, and beside each other. Hands each reply to `arrived` as soon as it is here, with the place of the call among these; that
    /// calls nothing of this transport, and waits for nobody who does. Returns when all have been executed but those at peers that are lost, of which it names one.
    fn ask_all(&self, asks: &mut [Ask<'_>], arrived: &mut dyn FnMut(usize, &[u8])) -> Result<(), Lost>;
    /// Has the process execute a call of at most [`POST_BYTES`](crate::POST_BYTES) whose reply nobody wants, before what this thread has it do next. Need not be placed when this
    /// returns.
    fn post(&self, rank: u32, request: &[u8]) -> Result<(), Lost>;
    /// Sleeps until the `u32` differs from `seen`; returns it.
    fn wait_change(&self, rank: u32, offset: usize, seen: u32, wake: Wake) -> Result<u32, Lost>;
    /// Wakes sleepers on the `u32`.
    fn wake(&self, rank: u32, offset: usize, wake: Wake) -> Result<(), Lost>;
}

/// Runs something where no handler of a signal can interrupt it that might want the same connection.
pub type Section = fn(&mut dyn FnMut());

/// What is installed.
pub(crate) struct Installed {
    transport: Box<dyn Transport>,
    section: Section,
    /// Where the segments would be mapped: rank r's begins at `base + r * stride`.
    base: usize,
    stride: usize,
    end: usize,
    /// Where segments are mapped.
    mapped: Range<usize>,
}

static INSTALLED: AtomicPtr<Installed> = AtomicPtr::new(ptr::null_mut());

/// Segments from `base` on with a distance of `stride` are reached through `transport` from now on, but for those of the ranks `mapped`. To be called
/// once, by the only thread there is.
pub(crate) fn install(
    transport: Box<dyn Transport>,
    section: Section,
    (base, stride, count): (usize, usize, u32),
    mapped: Range<u32>,
) {
    let start = |rank: u32| base + rank as usize * stride;
    let installed = Installed {
        transport,
        section,
        base,
        stride,
        end: start(count),
        mapped: start(mapped.start)..start(mapped.end),
    };
    let before = INSTALLED.swap(Box::into_raw(Box::new(installed)), Ordering::Release);
    assert!(before.is_null(), "a process has one transport");
}

impl Installed {
    fn section<R>(&self, body: impl FnOnce() -> R) -> R {
        let (mut body, mut result) = (Some(body), None);
        (self.section)(&mut || result = body.take().map(|body| body()));
        result.expect("a section runs what it is given")
    }
}

/// Runs something in a [`Section`], as a transport has to if it locks what it also locks in its other operations.
pub(crate) fn section<R>(body: impl FnOnce() -> R) -> R {
    // SAFETY: it was made by `install` and is never freed.
    match unsafe { INSTALLED.load(Ordering::Acquire).as_ref() } {
        None => body(),
        Some(installed) => installed.section(body),
    }
}

/// A place that is reached through a transport.
pub(crate) struct Remote {
    installed: &'static Installed,
    /// Owner of the segment.
    pub rank: u32,
    /// Place in it.
    pub offset: usize,
}

impl Remote {
    /// Calls the transport. The process ends if a peer is lost: whoever uses handles needs the memory of all.
    pub fn call<R>(&self, operation: impl FnOnce(&dyn Transport) -> Result<R, Lost>) -> R {
        self.installed.section(|| self.wait(operation))
    }

    /// Calls the transport for something that takes as long as others want. It sees to its [`section`]s itself.
    pub fn wait<R>(&self, operation: impl FnOnce(&dyn Transport) -> Result<R, Lost>) -> R {
        operation(&*self.installed.transport).unwrap_or_else(|lost| lost.end_process())
    }

    /// Offset of a place in the same segment.
    pub fn offset_of(&self, address: usize) -> usize {
        let offset = address.wrapping_sub(self.installed.base + self.rank as usize * self.installed.stride);
        assert!(offset < self.installed.stride, "a word and the count of its sleepers lie in one segment");
        offset
    }
}

/// Whether the place at an address is not mapped here.
#[inline(always)]
pub(crate) fn is_far(address: usize) -> bool {
    let installed = INSTALLED.load(Ordering::Relaxed);
    !installed.is_null() && reaches(installed, address)
}

/// Whether a place is reached through the transport. Out of line, so that where there is no transport nothing is in the way.
#[cold]
#[inline(never)]
fn reaches(installed: *const Installed, address: usize) -> bool {
    // SAFETY: it was made by `install`, before there were other threads, and is never freed.
    let installed = unsafe { &*installed };
    !installed.mapped.contains(&address) && (installed.base..installed.end).contains(&address)
}

/// The place at an address, if it is not mapped here.
#[inline(always)]
pub(crate) fn remote(address: usize) -> Option<Remote> {
    is_far(address).then(|| find(address))
}

/// The place at an address that [`is_far`].
#[cold]
#[inline(never)]
pub(crate) fn find(address: usize) -> Remote {
    // SAFETY: as in `reaches`; where there is none, no place is far.
    let installed = unsafe { INSTALLED.load(Ordering::Relaxed).as_ref() }.expect("a transport is installed");
    let place = address - installed.base;
    Remote { installed, rank: (place / installed.stride) as u32, offset: place % installed.stride }
}
