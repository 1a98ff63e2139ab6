//! Reductions over processes, see [`dsm_sync::Process::send_reduction`].

use dsm_abi::reduction::{ALIGN, MOST_WORDS};

use crate::words::process;

/// A message, aligned for all numbers.
#[repr(align(16))]
pub struct Message(pub [u64; MOST_WORDS]);

const _: () = assert!(align_of::<Message>() == ALIGN);

impl Default for Message {
    fn default() -> Message {
        Message([0; MOST_WORDS])
    }
}

/// Takes the messages of `words` words of those processes of `participants` that send theirs to this one, in the order of their ranks. The thread is counted
/// as inside the runtime.
pub fn receive(participants: u32, words: usize, mut take: impl FnMut(&mut Message)) {
    let process = process();
    for child in process.reduction_children(participants) {
        let mut message = Message::default();
        process.receive_reduction(child, &mut message.0[..words]);
        take(&mut message);
    }
}

/// Sends this process's message, of `words` words. Not for process 0. The thread is counted as inside the runtime.
pub fn send(message: &Message, words: usize) {
    process().send_reduction(&message.0[..words]);
}
