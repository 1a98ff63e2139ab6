//! Relocatable global arrays: elements that any process gets and puts, in pages that move to whoever says so.
//!
//! After MassiveThreads/GAS with metadata caching (S. Akiyama, K. Taura): a requester remembers where a page is, and the protocol makes a wrong memory harmless, so that
//! nobody has to be notified when a page moves.
//!
//! # What is where
//! Every process has an *area* of the same layout. An array takes the same range of offsets in each of them, with space for all its pages, so a page has the same offset wherever it is; what is
//! not there takes no memory ([`Array`]). In the area of a process are
//! - the *entries* of some pages, page modulo processes: the [`Place`] of a page, process and version. This is the truth about where the page is;
//! - a *header* for each page ([`Header`]): whether the page is here, in which version, and how many puts are under way;
//! - the *cache*: places that this process has read from entries. Only its own threads look at it;
//! - the contents of the pages that are here.
//!
//! A page has no place before the first put or own; it reads as zeros until then.
//!
//! # Operations
//! - *get*: looks at the header at the cached place, copies, looks at the header again. If it said the cached version both times, the page was there all the time. Else the
//!   place is forgotten and read from the entry.
//! - *put*: counts itself in the header if that says the cached version and lets puts in, copies, counts itself out.
//! - *own*: moves a page. At the old process the header is marked as leaving, which ends the admission of puts, and those under way are waited for. The contents are copied; the own
//!   header says *arriving*, with the next version; the entry gets the new place; the old header is cleared, and then the memory there; at last the own header lets puts in.
//!
//! # Why this is right
//! - The header that is not clear is the lock of the page: only who has marked it as leaving moves the page on, and nobody marks one that is arriving. So entries are written by one process at a time, in the
//!   order of the versions.
//! - A put needs a header that is neither leaving nor arriving. There is at most one, as the old one is cleared before the new one lets puts in. So no put is lost, and none is
//!   made where a get may still find the contents from before: between the copy and the clearing both places have the same contents, and gets may use either.
//! - A version never comes twice for a page: a header that says the same version twice has not been cleared in between. So a get that copies while memory is given
//!   back, or while the page comes back, finds out.
//! - Nobody who gets or puts waits for a get, and a get waits for nobody. A put waits for the own that moves its page, and an own for the puts under way on it, which wait for nothing.
//!
//! [`Arrays`] has the operations, [`Segment`] what happens at one process, [`call`] the same as messages to a process whose memory is not mapped, [`table`] which arrays there
//! are.
#![forbid(unsafe_code)]

mod access;
mod array;
pub mod call;
mod fault;
mod memory;
mod own;
mod place;
mod segment;
pub mod table;

pub use access::{Arrays, Location};
pub use array::{Array, BadShape, Run, Span};
pub use fault::Fault;
pub use memory::{Memory, Rank};
pub use place::{Header, Place};
pub use segment::Segment;
