//! Control words: words of each process's segment that never migrate, what is built on them, and how threads wait for them.
//!
//! Whoever uses some declares them where they are used ([`Words`], [`declare`], [`Fixed`]); nobody else knows of them.

mod area;
pub mod cell;
pub mod watched;
mod words;

pub use area::{Line, area_bytes, bytes, init, is_mapped, line, post, read_words, send, word, write_words};
pub use cell::Cell;
pub use dsm_comm::Word;
pub use watched::Watched;
pub use words::{Declaration, Fixed, Kind, Words, digest, place, places};
