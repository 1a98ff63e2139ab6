//! The communication layer: the segments of all processes of a job, and operations on places in them.
//!
//! A *segment* is memory of one process that all processes may reach; a place in it is (rank, offset). Nobody outside of this crate gets the address
//! of a place in a peer's segment: [`Word`], [`Half`] and [`Bytes`] are handles, and what they refer to is reached by their methods only. What the
//! words mean is the caller's business.
//!
//! Over shared memory a peer's segment is mapped, and the requester itself does the loads, stores and atomics. Over another [`Transport`] nothing of a
//! peer is mapped; each operation is a request that the owner's process executes and answers.
//!
//! # Order and completion
//! An operation is placed when it returns, so nobody needs a *flush*, which would wait until operations are placed, nor a *fence*, which would order them. The exception is what is
//! posted ([`Segments::post`]): it is executed before what the same thread has the same process do next, which is a fence in front of each operation, and is placed when an operation behind it
//! returns, which is a flush. Nothing orders operations at different processes but that one has returned before the other begins. (What is called a fence in [`Half::store_and_wake`] is the processor's.)
//!
//! # Results
//! Below the handles, every operation of a [`Transport`] may end in [`Lost`]; the handles end the process then. Requests beyond a peer's credits are refused (`Full`), which only those see who put
//! requests together: see `requests::pipeline`.
//!
//! Memory that others write is reached through raw pointers, atomics and `copy` only, never through references to bytes.

#[cfg(test)]
mod conformance;
pub mod copy;
pub mod diff;
mod lost;
mod memory;
pub mod ofi;
mod pause;
mod place;
mod poll;
pub mod requests;
pub mod segment;
mod segments;
pub mod stream;
pub mod transport;
mod uncancelled;
pub mod verbs;

pub use lost::Lost;
pub use place::{Bytes, Half, MappedBytes, MappedWord, Word};
pub use segments::{Mapped, Own, Segments};
/// Most bytes of a call, see [`Segments::ask`].
pub const CALL_BYTES: usize = requests::MAX_PAYLOAD;
/// Most bytes of the reply to a call, see [`Segments::ask`].
pub const CALL_REPLY_BYTES: usize = requests::MAX_CALL_REPLY;

/// Most bytes of a call without a reply, see [`Segments::post`].
pub const POST_BYTES: usize = requests::MAX_POST;

pub use transport::{Ask, Look, Section, Transport, Update, Wake, Width};

/// Random bytes that nobody can guess; few enough to come at once.
fn random_bytes<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    // SAFETY: there is space for so many bytes.
    let count = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), N, 0) };
    if count == N as isize { Ok(bytes) } else { Err(std::io::Error::last_os_error()) }
}

/// That nobody outside gets the address of a place in a peer's segment. With one line more, what compiles here does not any more:
///
/// ```
/// use dsm_comm::{Bytes, Half, Segments, Word};
/// let segments = Segments::single(4096).unwrap();
/// let (word, half, bytes): (Word, Half, Bytes) = (segments.word(0, 8), segments.half(0, 8), segments.bytes(0, 8));
/// let address: *mut u8 = segments.own().address(8);
/// assert_eq!((address.addr() % 8, half.load(std::sync::atomic::Ordering::SeqCst)), (0, 0));
/// ```
/// ```compile_fail,E0616
/// use dsm_comm::{Bytes, Half, Segments, Word};
/// let segments = Segments::single(4096).unwrap();
/// let (word, half, bytes): (Word, Half, Bytes) = (segments.word(0, 8), segments.half(0, 8), segments.bytes(0, 8));
/// let address: *mut u8 = segments.own().address(8);
/// _ = word.0;
/// ```
/// ```compile_fail,E0616
/// use dsm_comm::{Bytes, Half, Segments, Word};
/// let segments = Segments::single(4096).unwrap();
/// let (word, half, bytes): (Word, Half, Bytes) = (segments.word(0, 8), segments.half(0, 8), segments.bytes(0, 8));
/// let address: *mut u8 = segments.own().address(8);
/// _ = half.0;
/// ```
/// ```compile_fail,E0616
/// use dsm_comm::{Bytes, Half, Segments, Word};
/// let segments = Segments::single(4096).unwrap();
/// let (word, half, bytes): (Word, Half, Bytes) = (segments.word(0, 8), segments.half(0, 8), segments.bytes(0, 8));
/// let address: *mut u8 = segments.own().address(8);
/// _ = bytes.0;
/// ```
/// ```compile_fail,E0616
/// use dsm_comm::{Bytes, Half, Segments, Word};
/// let segments = Segments::single(4096).unwrap();
/// let (word, half, bytes): (Word, Half, Bytes) = (segments.word(0, 8), segments.half(0, 8), segments.bytes(0, 8));
/// let address: *mut u8 = segments.own().address(8);
/// _ = segments.base;
/// ```
/// ```compile_fail,E0624
/// use dsm_comm::{Bytes, Half, Segments, Word};
/// let segments = Segments::single(4096).unwrap();
/// let (word, half, bytes): (Word, Half, Bytes) = (segments.word(0, 8), segments.half(0, 8), segments.bytes(0, 8));
/// let address: *mut u8 = segments.own().address(8);
/// _ = segments.address(0, 8);
/// ```
/// ```compile_fail,E0624
/// use dsm_comm::{Bytes, Half, Segments, Word};
/// let segments = Segments::single(4096).unwrap();
/// let (word, half, bytes): (Word, Half, Bytes) = (segments.word(0, 8), segments.half(0, 8), segments.bytes(0, 8));
/// let address: *mut u8 = segments.own().address(8);
/// _ = segments.start(0);
/// ```
/// ```compile_fail,E0624
/// use dsm_comm::{Bytes, Half, Segments, Word};
/// let segments = Segments::single(4096).unwrap();
/// let (word, half, bytes): (Word, Half, Bytes) = (segments.word(0, 8), segments.half(0, 8), segments.bytes(0, 8));
/// let address: *mut u8 = segments.own().address(8);
/// _ = unsafe { Word::at(address) };
/// ```
/// ```compile_fail,E0624
/// use dsm_comm::{Bytes, Half, Segments, Word};
/// let segments = Segments::single(4096).unwrap();
/// let (word, half, bytes): (Word, Half, Bytes) = (segments.word(0, 8), segments.half(0, 8), segments.bytes(0, 8));
/// let address: *mut u8 = segments.own().address(8);
/// _ = unsafe { Half::at(address) };
/// ```
/// ```compile_fail,E0624
/// use dsm_comm::{Bytes, Half, Segments, Word};
/// let segments = Segments::single(4096).unwrap();
/// let (word, half, bytes): (Word, Half, Bytes) = (segments.word(0, 8), segments.half(0, 8), segments.bytes(0, 8));
/// let address: *mut u8 = segments.own().address(8);
/// _ = Bytes::at(address);
/// ```
#[cfg(doctest)]
struct Addresses;
