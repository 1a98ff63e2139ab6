//! Reaching segments that are not mapped: what a transport other than shared memory does.
//!
//! The choice is made once, before the process starts threads. Over shared memory no transport is installed, and all that is left of the choice in
//! each operation is a look at one word.

use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Bytes of an atomic access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 8 bits.
    W8,
    /// 16 bits.
    W16,
    /// 32 bits.
    W32,
    /// 64 bits.
    W64,
}

impl Width {
    /// The width of so many bytes.
    ///
    /// # Panics
    /// If there is no atomic access of that many.
    pub fn of(bytes: usize) -> Width {
        match bytes {
            1 => Width::W8,
            2 => Width::W16,
            4 => Width::W32,
            8 => Width::W64,
            _ => panic!("no atomic access has {bytes} bytes"),
        }
    }

    /// Its bytes.
    pub fn bytes(self) -> usize {
        1 << self as usize
    }
}

/// An atomic change of a word; all give the old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// The operand takes its place.
    Swap,
    /// The sum with the operand, with wrap-around.
    Add,
    /// The bits of both.
    Or,
    /// The bits that both have.
    And,
    /// The greater one, unsigned.
    Max,
}

/// Whom a change wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// Offset of the count of sleepers on the word, a `u32` of the same segment.
    pub sleepers: usize,
    /// Those whose mask shares a bit with this one.
    pub mask: u32,
}

/// Operations on peers' segments. Each returns when its effect is placed; all atomics are sequentially consistent. Ranks and offsets are those
/// of [`crate::Segments`], never the own rank; words are aligned.
pub trait Transport: Sync + Send {
    /// Reads atomically.
    fn load(&self, rank: u32, offset: usize, width: Width) -> u64;
    /// Changes atomically; returns the old value. Wakes if told to.
    fn update(
        &self,
        rank: u32,
        offset: usize,
        width: Width,
        update: Update,
        operand: u64,
        wake: Option<Wake>,
    ) -> u64;
    /// Puts `new` in the place of `expected`; returns the old value.
    fn compare_exchange(&self, rank: u32, offset: usize, width: Width, expected: u64, new: u64) -> u64;
    /// Reads words in their order, each atomically.
    fn read_words(&self, rank: u32, offset: usize, into: &mut [u64]);
    /// Writes words in their order, each atomically.
    fn write_words(&self, rank: u32, offset: usize, words: &[u64]);
    /// Copies from the segment.
    ///
    /// # Safety
    /// `into` is writable for `bytes` bytes.
    unsafe fn read(&self, rank: u32, offset: usize, into: *mut u8, bytes: usize);
    /// Copies to the segment.
    ///
    /// # Safety
    /// `from` is readable for `bytes` bytes.
    unsafe fn write(&self, rank: u32, offset: usize, from: *const u8, bytes: usize);
    /// Writes the bytes in which `own` differs from `twin`, and no others.
    ///
    /// # Safety
    /// Both are readable for `bytes` bytes, a multiple of [`crate::diff::GROUP`].
    unsafe fn send_diff(&self, rank: u32, offset: usize, own: *const u8, twin: *const u8, bytes: usize);
    /// Sleeps until the `u32` differs from `seen`; returns it.
    fn wait_change(&self, rank: u32, offset: usize, seen: u32, wake: Wake) -> u32;
    /// Wakes sleepers on the `u32`.
    fn wake(&self, rank: u32, offset: usize, wake: Wake);
}

/// What is installed.
pub(crate) struct Installed {
    transport: Box<dyn Transport>,
    /// Runs an operation where no handler of a signal can interrupt it, which might want the same connection.
    section: fn(&mut dyn FnMut()),
    /// Where the segments would be mapped: rank r's begins at `base + r * stride`.
    base: usize,
    stride: usize,
    end: usize,
    own: Range<usize>,
}

static INSTALLED: AtomicPtr<Installed> = AtomicPtr::new(ptr::null_mut());

/// Segments from `base` on with a distance of `stride` are reached through `transport` from now on, but for the mapped one of rank `own`. To be called
/// once, by the only thread there is.
pub(crate) fn install(
    transport: Box<dyn Transport>,
    section: fn(&mut dyn FnMut()),
    (base, stride, count): (usize, usize, u32),
    own: u32,
) {
    let start = base + own as usize * stride;
    let installed = Installed {
        transport,
        section,
        base,
        stride,
        end: base + count as usize * stride,
        own: start..start + stride,
    };
    let before = INSTALLED.swap(Box::into_raw(Box::new(installed)), Ordering::Release);
    assert!(before.is_null(), "a process has one transport");
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
    /// Calls the transport.
    pub fn call<R>(&self, operation: impl FnOnce(&dyn Transport) -> R) -> R {
        let (mut operation, mut result) = (Some(operation), None);
        (self.installed.section)(&mut || {
            if let Some(operation) = operation.take() {
                result = Some(operation(&*self.installed.transport));
            }
        });
        result.expect("a section runs what it is given")
    }

    /// Calls the transport for something that takes as long as others want.
    pub fn wait<R>(&self, operation: impl FnOnce(&dyn Transport) -> R) -> R {
        operation(&*self.installed.transport)
    }

    /// Offset of a place in the same segment.
    pub fn offset_of(&self, address: usize) -> usize {
        let offset = address.wrapping_sub(self.installed.base + self.rank as usize * self.installed.stride);
        assert!(offset < self.installed.stride, "a word and the count of its sleepers lie in one segment");
        offset
    }
}

/// The place at an address, if it is not mapped here.
#[inline(always)]
pub(crate) fn remote(address: usize) -> Option<Remote> {
    let installed = INSTALLED.load(Ordering::Relaxed);
    if installed.is_null() { None } else { find(installed, address) }
}

#[cold]
fn find(installed: *mut Installed, address: usize) -> Option<Remote> {
    // SAFETY: it was made by `install`, before there were other threads, and is never freed.
    let installed = unsafe { &*installed };
    if !(installed.base..installed.end).contains(&address) || installed.own.contains(&address) {
        return None;
    }
    let place = address - installed.base;
    Some(Remote { installed, rank: (place / installed.stride) as u32, offset: place % installed.stride })
}
