//! Peers that are lost: a result of every operation at a peer, and what becomes of the process at last.
//!
//! What notices that a peer is gone only says so: each operation that is under way at it, and each later one, ends in [`Lost`] with the first cause, and
//! operations at others go on. One place decides what that means: the handles of places ([`crate::transport`]), whose users have no use for a memory
//! that is only partly there. There the process ends.

use std::fmt::{self, Display, Formatter};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How long the launcher gets to end the job: it sees the same process die, and knows the cause.
const GRACE: Duration = if cfg!(test) { Duration::from_millis(100) } else { Duration::from_secs(10) };

/// A peer is lost: it has ended, cannot be reached any more, or has sent what is no message. What was under way at it may have been executed or not.
#[derive(Clone, Debug)]
pub struct Lost(Arc<Loss>);

#[derive(Debug)]
struct Loss {
    rank: u32,
    /// Who noticed it, and how long after it had begun to serve its peers; `None` while processes start.
    noticed: Option<(u32, Duration)>,
    why: String,
}

impl Lost {
    /// The peer.
    pub fn rank(&self) -> u32 {
        self.0.rank
    }

    /// Ends the process, with one message, unless the launcher does so before. Any number of threads may get here.
    #[cold]
    pub(crate) fn end_process(&self) -> ! {
        static IS_ENDING: AtomicBool = AtomicBool::new(false);
        std::thread::sleep(GRACE);
        if !IS_ENDING.swap(true, Ordering::SeqCst) {
            eprintln!("dsm: error: {self}");
            // SAFETY: ends the process without handlers, which would want the peer's memory; other threads may hold any lock.
            unsafe { libc::_exit(1) }
        }
        loop {
            std::thread::park();
        }
    }
}

impl Display for Lost {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Loss { rank, noticed, why } = &*self.0;
        if let Some((by, after)) = noticed {
            write!(f, "process {by}, after {:.1} s: ", after.as_secs_f64())?;
        }
        write!(f, "lost the connection to process {rank}: {why}")
    }
}

impl std::error::Error for Lost {}

/// Ends a process that loses a peer while it connects to it.
#[cold]
pub(crate) fn lost(rank: u32, why: &dyn Display) -> ! {
    Lost(Arc::new(Loss { rank, noticed: None, why: why.to_string() })).end_process()
}

/// Whether a peer is lost, for all threads of a process.
pub(crate) struct Liveness {
    own: u32,
    rank: u32,
    since: Instant,
    lost: OnceLock<Lost>,
}

impl Liveness {
    pub(crate) fn new(own: u32, rank: u32) -> Liveness {
        Liveness { own, rank, since: Instant::now(), lost: OnceLock::new() }
    }

    /// An error once it is lost.
    pub(crate) fn check(&self) -> Result<(), Lost> {
        self.lost.get().map_or(Ok(()), |lost| Err(lost.clone()))
    }

    /// It is lost from now on. Of several causes the first one counts.
    #[cold]
    pub(crate) fn lose(&self, why: &dyn Display) -> Lost {
        let loss = || {
            let noticed = Some((self.own, self.since.elapsed()));
            Lost(Arc::new(Loss { rank: self.rank, noticed, why: why.to_string() }))
        };
        self.lost.get_or_init(loss).clone()
    }

    /// The value; it is lost if there is none.
    pub(crate) fn or_lost<T>(&self, result: io::Result<T>) -> Result<T, Lost> {
        result.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.lose(&CLOSED),
            _ => self.lose(&error),
        })
    }
}

/// Why most peers are lost.
pub(crate) const CLOSED: &str = "it has closed the connection";
