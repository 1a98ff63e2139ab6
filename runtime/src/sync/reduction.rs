//! Reductions over processes: what each has goes up a binary tree to process 0, one message a process.

use std::sync::atomic::{AtomicU32, Ordering};

use super::cell::Cell;
use super::control::{read_words, write_words};
use super::{layout, rank};

/// Longest message, words.
pub const MESSAGE_WORDS: usize = 128;
/// Processes that send their messages to the same one.
const CHILDREN: u32 = 2;

/// A message, aligned for all numbers.
#[repr(align(16))]
pub struct Message(pub [u64; MESSAGE_WORDS]);

impl Message {
    /// Its alignment, bytes.
    pub const ALIGN: usize = align_of::<Message>();
}

impl Default for Message {
    fn default() -> Message {
        Message([0; MESSAGE_WORDS])
    }
}

/// Where the messages of child `number` of a process arrive there.
fn arrivals(number: u32) -> usize {
    layout::REDUCTION + number as usize * layout::REDUCTION_STRIDE
}

/// Takes the messages of `words` words of those processes of `participants` that send theirs to this one, in the order of their ranks. The thread is counted
/// as inside the runtime.
pub fn receive(participants: u32, words: usize, mut take: impl FnMut(&mut Message)) {
    static TAKEN: [AtomicU32; CHILDREN as usize] = [const { AtomicU32::new(0) }; CHILDREN as usize];
    let me = rank();
    for number in 0..CHILDREN {
        let child = CHILDREN * me + 1 + number;
        if child >= participants {
            return;
        }
        let offset = arrivals(number);
        let expected = TAKEN[number as usize].load(Ordering::Relaxed).wrapping_add(1);
        TAKEN[number as usize].store(expected, Ordering::Relaxed);
        Cell::at(me, offset).wait_reached(expected);
        let mut message = Message::default();
        read_words(me, offset + 64, &mut message.0[..words]);
        Cell::at(child, layout::REDUCTION_TAKEN).increment();
        take(&mut message);
    }
}

/// Sends this process's message, of `words` words. Not for process 0. The thread is counted as inside the runtime.
pub fn send(message: &Message, words: usize) {
    static SENT: AtomicU32 = AtomicU32::new(0);
    let me = rank();
    let (parent, number) = ((me - 1) / CHILDREN, (me - 1) % CHILDREN);
    let sent = SENT.load(Ordering::Relaxed);
    // The one before is in the same place.
    Cell::at(me, layout::REDUCTION_TAKEN).wait_reached(sent);
    SENT.store(sent.wrapping_add(1), Ordering::Relaxed);
    let offset = arrivals(number);
    write_words(parent, offset + 64, &message.0[..words]);
    Cell::at(parent, offset).increment();
}
