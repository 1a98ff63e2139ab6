//! Buffers that operations work with. Each thread keeps one of a kind for its next operation: clearing it for each of many small operations would cost as much as they
//! do, and nothing in the data path allocates.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::thread::LocalKey;

use crate::calls::{REQUEST_BYTES, RESULT_BYTES};
use crate::records::Records;
use crate::types::{Chunk, Notice};

/// Buffers of an operation: own records, those of a peer, and lists.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) own: Records,
    pub(crate) peer: Records,
    /// What a release looks at.
    pub(crate) chunks: Vec<Chunk>,
    /// What an acquire has read.
    pub(crate) fresh: Vec<Notice>,
    /// Snapshots.
    pub(crate) snapshot: Vec<u8>,
}

/// Buffers of a call that an agent executes.
#[derive(Debug)]
pub(crate) struct Message {
    /// At least [`REQUEST_BYTES`] bytes.
    pub(crate) request: Vec<u8>,
    pub(crate) reply: Vec<u8>,
}

impl Default for Message {
    fn default() -> Self {
        Message { request: vec![0; REQUEST_BYTES], reply: Vec::with_capacity(RESULT_BYTES) }
    }
}

/// Buffers of calls that are under way together.
#[derive(Debug, Default)]
pub(crate) struct Messages(pub(crate) Vec<Message>);

/// A kind of buffers.
pub(crate) trait Kept: Default + 'static {
    /// Those that no operation of this thread uses at present.
    fn spare() -> &'static LocalKey<Cell<Option<Box<Self>>>>;
}

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
    static MESSAGE: Cell<Option<Box<Message>>> = const { Cell::new(None) };
    static MESSAGES: Cell<Option<Box<Messages>>> = const { Cell::new(None) };
}

impl Kept for Scratch {
    #[inline]
    fn spare() -> &'static LocalKey<Cell<Option<Box<Self>>>> {
        &SCRATCH
    }
}

impl Kept for Message {
    #[inline]
    fn spare() -> &'static LocalKey<Cell<Option<Box<Self>>>> {
        &MESSAGE
    }
}

impl Kept for Messages {
    #[inline]
    fn spare() -> &'static LocalKey<Cell<Option<Box<Self>>>> {
        &MESSAGES
    }
}

impl Messages {
    /// Buffers number `i`, with space for a reply of so many bytes.
    pub(crate) fn at(&mut self, i: usize, reply_bytes: usize) -> &mut Message {
        if self.0.len() <= i {
            self.0.resize_with(i + 1, Message::default);
        }
        let message = &mut self.0[i];
        if message.reply.len() < reply_bytes {
            message.reply.resize(reply_bytes, 0);
        }
        message
    }
}

/// Buffers for one operation, with what the last user left in them.
#[derive(Debug)]
pub(crate) struct Guard<T: Kept>(Option<Box<T>>);

pub(crate) type ScratchGuard = Guard<Scratch>;
pub(crate) type MessageGuard = Guard<Message>;
pub(crate) type MessagesGuard = Guard<Messages>;

impl<T: Kept> Guard<T> {
    #[inline]
    pub(crate) fn new() -> Self {
        let spare = T::spare().try_with(Cell::take).ok().flatten();
        Guard(Some(spare.unwrap_or_default()))
    }
}

impl<T: Kept> Deref for Guard<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.as_ref().expect("given back only when dropped")
    }
}

impl<T: Kept> DerefMut for Guard<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("given back only when dropped")
    }
}

impl<T: Kept> Drop for Guard<T> {
    fn drop(&mut self) {
        // An ending thread keeps none.
        _ = T::spare().try_with(|spare| spare.set(self.0.take()));
    }
}
