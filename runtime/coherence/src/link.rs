//! The link word: probable owner and distributed queue lock in one word.
//!
//! ```text
//!   Home                contents here are current, and the block's lock is free; so says a bit in the header of the chunk's records, too
//!   Wait                the process queues for the lock or holds it; contents here are not valid yet
//!   Taking              the process is taking the home at a miss, which looks once; nobody can queue, and the word changes soon
//!   Link(p)             p took the home from here, or (not yet home ever) p is where to ask
//! ```
//! A word of 0 stands for the state at the start: home at the default home, elsewhere a link to it.
//! `pending` on a link means that `p` queues, or has been handed the block and has not fetched the contents and left a twin behind.
//!
//! Who may change a word: `Home` and `Wait` are changed under the lock of the chunk's records only, by the process or a peer; `Taking` by the process; a pending link by
//! the process that queues alone; any other link by the process, with the chunk locked, and by peers that exchange it for a shorter one, with the records locked (`probable_owner`).

use crate::types::Rank;

const TAG_HOME: u64 = 1;
const TAG_WAIT: u64 = 2;
const TAG_LINK: u64 = 3;
const TAG_TAKING: u64 = 4;
const TAG_MASK: u64 = 7;
const PENDING: u64 = 1 << 5;
const RANK_SHIFT: u32 = 16;

/// A decoded link word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// The home is here.
    Home,
    /// Queued for the lock, or holding it with contents not merged yet.
    Wait,
    /// Looking whether the home is free elsewhere, and fetching it if so.
    Taking,
    /// The home is probably there.
    Link {
        /// Whom to ask next.
        to: Rank,
        /// `to` queues for the home here, or has been handed it and may still read the data and write the twin here.
        pending: bool,
    },
}

impl Link {
    /// A link without obligations.
    pub fn to(to: Rank) -> Link {
        Link::Link { to, pending: false }
    }

    /// The word.
    pub fn encode(self) -> u64 {
        match self {
            Link::Home => TAG_HOME,
            Link::Wait => TAG_WAIT,
            Link::Taking => TAG_TAKING,
            Link::Link { to, pending } => {
                TAG_LINK | u64::from(to.0) << RANK_SHIFT | if pending { PENDING } else { 0 }
            }
        }
    }

    /// Reads the word of process `at` for a block whose default home is `default_home`.
    #[inline(always)]
    pub fn decode(word: u64, at: Rank, default_home: impl FnOnce() -> Rank) -> Link {
        match word & TAG_MASK {
            TAG_HOME => Link::Home,
            TAG_WAIT => Link::Wait,
            TAG_TAKING => Link::Taking,
            TAG_LINK => Link::Link { to: Rank((word >> RANK_SHIFT) as u32), pending: word & PENDING != 0 },
            _ => {
                assert_eq!(word, 0, "link word {word:#x} has no meaning");
                let default_home = default_home();
                if at == default_home { Link::Home } else { Link::to(default_home) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        let pending = Link::Link { to: Rank(1023), pending: true };
        for link in [Link::Home, Link::Wait, Link::Taking, Link::to(Rank(7)), pending] {
            assert_eq!(Link::decode(link.encode(), Rank(3), || Rank(0)), link);
        }
    }

    #[test]
    fn zero_is_the_start() {
        assert_eq!(Link::decode(0, Rank(2), || Rank(2)), Link::Home);
        assert_eq!(Link::decode(0, Rank(1), || Rank(2)), Link::to(Rank(2)));
    }
}
