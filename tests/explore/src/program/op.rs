//! Operations of a thread.

use std::fmt;

/// One operation of a thread. Addresses are bytes of the shared data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Reads `len` bytes.
    Read {
        /// First byte.
        addr: usize,
        /// Number of bytes.
        len: usize,
    },
    /// Writes `len` bytes.
    Write {
        /// First byte.
        addr: usize,
        /// Number of bytes.
        len: usize,
        /// What each becomes.
        value: u8,
    },
    /// As `Write`, for code that is known to write all of the bytes before anything else happens.
    Overwrite {
        /// First byte.
        addr: usize,
        /// Number of bytes.
        len: usize,
        /// What each becomes.
        value: u8,
    },
    /// As `Write` of one byte, by code on whose check nothing else relies: at the home, if the block is elsewhere.
    Put {
        /// The byte.
        addr: usize,
        /// What it becomes.
        value: u8,
    },
    /// As `Read` of one byte, by code on whose check nothing else relies: at the home, if the block is invalid here.
    Get {
        /// The byte.
        addr: usize,
    },
    /// Checks before loads that do not happen, as of a range that is fetched at once.
    Fetch {
        /// First byte.
        addr: usize,
        /// Number of bytes.
        len: usize,
    },
    /// Checks before stores that do not happen, as of a buffer that is not filled.
    Permit {
        /// First byte.
        addr: usize,
        /// Number of bytes.
        len: usize,
    },
    /// Takes a lock.
    Lock(usize),
    /// Gives it back.
    Unlock(usize),
    /// Releases, and signals whoever waits for it, as a process does that begins something for another one. The signal is a lock that nobody gives back first.
    Post(usize),
    /// Waits for a signal, and acquires from the process that gave it.
    Await(usize),
    /// A barrier of all threads.
    Barrier,
    /// Adds one to each byte of a variable atomically.
    Atomic {
        /// First byte.
        addr: usize,
        /// Number of bytes.
        len: usize,
    },
    /// Adds one to a byte by an atomic operation that releases and acquires.
    Ordered {
        /// The byte.
        addr: usize,
    },
    /// Compares a byte atomically with what it never is, so that nothing is stored.
    Compare {
        /// The byte.
        addr: usize,
        /// Whether the operation releases and acquires.
        ordered: bool,
    },
    /// Reads a byte atomically, and acquires, until somebody has added to it.
    Reach {
        /// The byte.
        addr: usize,
    },
    /// Adds one to a byte atomically: at the next synchronisation, or when the process comes to its block, if that is elsewhere. With one thread a process.
    Keep {
        /// The byte.
        addr: usize,
    },
    /// Adds one to each of some bytes atomically, all of them in as few calls as may be.
    Batch {
        /// First byte.
        addr: usize,
        /// Number of bytes.
        len: usize,
    },
    /// Reads bytes that others add to atomically where they are, all of them in as few calls as may be.
    Gather {
        /// First byte.
        addr: usize,
        /// Number of bytes.
        len: usize,
    },
    /// Reads a variable that others add to atomically.
    Look {
        /// First byte.
        addr: usize,
        /// Number of bytes.
        len: usize,
    },
    /// Writes a flag and flushes.
    SetFlag {
        /// The flag.
        addr: usize,
        /// What it becomes.
        value: u8,
    },
    /// A barrier of all threads and begins to use all blocks anew, as after a change of the block size: with other sizes, if the program has some.
    Adopt,
    /// Gives the memory of twins back that the process does not need.
    Free,
    /// Flushes and reads until the flag is set.
    WaitFlag {
        /// The flag.
        addr: usize,
        /// What to wait for.
        value: u8,
    },
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Read { addr, len } => write!(f, "r{addr}+{len}"),
            Op::Write { addr, len, value } => write!(f, "w{addr}+{len}={value:#x}"),
            Op::Overwrite { addr, len, value } => write!(f, "o{addr}+{len}={value:#x}"),
            Op::Get { addr } => write!(f, "get{addr}"),
            Op::Put { addr, value } => write!(f, "put{addr}={value:#x}"),
            Op::Fetch { addr, len } => write!(f, "fetch{addr}+{len}"),
            Op::Permit { addr, len } => write!(f, "permit{addr}+{len}"),
            Op::Lock(l) => write!(f, "lock{l}"),
            Op::Unlock(l) => write!(f, "unlock{l}"),
            Op::Post(signal) => write!(f, "post{signal}"),
            Op::Await(signal) => write!(f, "await{signal}"),
            Op::Barrier => write!(f, "barrier"),
            Op::Atomic { addr, len } => write!(f, "a{addr}+{len}"),
            Op::Ordered { addr } => write!(f, "ordered{addr}"),
            Op::Compare { addr, ordered } => write!(f, "compare{addr}={}", u8::from(*ordered)),
            Op::Reach { addr } => write!(f, "reach{addr}"),
            Op::Keep { addr } => write!(f, "keep{addr}"),
            Op::Batch { addr, len } => write!(f, "batch{addr}+{len}"),
            Op::Gather { addr, len } => write!(f, "gather{addr}+{len}"),
            Op::Look { addr, len } => write!(f, "look{addr}+{len}"),
            Op::SetFlag { addr, value } => write!(f, "set{addr}={value:#x}"),
            Op::Adopt => write!(f, "adopt"),
            Op::Free => write!(f, "free"),
            Op::WaitFlag { addr, value } => write!(f, "wait{addr}={value:#x}"),
        }
    }
}
