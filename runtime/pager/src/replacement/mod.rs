//! Which page goes when there is no space.
//!
//! Nobody tells a pager that a page is used while it is mapped. So a queue has two parts (*segmented FIFO*, R. Turner and H. Levy 1981): pages come into the *mapped* part; the oldest of them
//! are taken out of the program mapping, into the *unmapped* part, and a page that is touched there was in use.

mod s3_fifo;
mod second_chance;
mod segmented;
mod table;

pub use s3_fifo::S3Fifo;
pub use second_chance::SecondChance;

use crate::page::Page;

/// A policy.
pub trait Replacement {
    /// A page came in that was not there.
    fn insert(&mut self, page: Page);

    /// A page that [`Replacement::unmap`] returned was touched. Returns whether it was still waiting for that.
    fn touched(&mut self, page: Page) -> bool;

    /// A page to take out of the program mapping, if one is due: it was in the mapped part.
    fn unmap(&mut self) -> Option<Page>;

    /// The page that goes.
    fn evict(&mut self) -> Option<Page>;

    /// A page that [`Replacement::evict`] has just returned, or one of some that it has, stays.
    fn keep(&mut self, page: Page);

    /// Number of pages.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
