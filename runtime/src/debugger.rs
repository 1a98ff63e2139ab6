//! What `gdb/dsm.py` has a stopped process say of itself and of shared memory.
//!
//! The debugger calls these functions on a thread that is stopped anywhere, also inside the runtime with its locks held, while the other threads of the
//! process, and maybe the other processes, are stopped as well. So they take no lock, wait for nobody, allocate nothing and change nothing that the protocol knows of:
//! they load words and copy bytes of segments that are mapped. What changes meanwhile may be seen half.

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_void};
use std::fmt::{self, Write};
use std::hint::black_box;

use dsm_abi::state;
use dsm_coherence::{Block, Inspection, Link, Rank, poll_once};

use crate::memory::{self, Memory, Shared};
use crate::omp;

/// Bytes that one call hands out at most.
const MAX_BYTES: usize = 1 << 16;

/// Memory for an answer.
#[repr(C, align(64))]
struct Answer<T>(UnsafeCell<T>);

// SAFETY: only a debugger uses it, from one call at a time, while it keeps the process's other threads stopped.
unsafe impl<T> Sync for Answer<T> {}

static TEXT: Answer<Text> = Answer(UnsafeCell::new(Text { bytes: [0; 8192], used: 0 }));
static CONTENTS: Answer<[u8; MAX_BYTES]> = Answer(UnsafeCell::new([0; MAX_BYTES]));
static RESULT: Answer<[u64; 4]> = Answer(UnsafeCell::new([0; 4]));

/// Text that ends with a NUL, and is cut where the memory ends.
struct Text {
    bytes: [u8; 8192],
    used: usize,
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let space = self.bytes.len() - 1 - self.used;
        let taken = text.len().min(space);
        self.bytes[self.used..self.used + taken].copy_from_slice(&text.as_bytes()[..taken]);
        self.used += taken;
        self.bytes[self.used] = 0;
        Ok(())
    }
}

/// Answers with a text.
fn answer(write: impl FnOnce(&mut Text) -> fmt::Result) -> *const c_char {
    // SAFETY: see `Answer`.
    let text = unsafe { &mut *TEXT.0.get() };
    text.used = 0;
    text.bytes[0] = 0;
    // The text never refuses.
    let _ = write(text);
    text.bytes.as_ptr().cast()
}

unsafe extern "C" {
    static dsm_rt_debugger_entries: [*const c_void; 3];
}

/// Keeps the functions below, and the commands of gdb, in the program that is linked.
pub fn keep() {
    black_box(&raw const dsm_rt_debugger_entries);
}

const NOT_YET: &str = "the process has not set up its memory yet: let it go on to main\n";
const NO_PEERS: &str = "one process: all of its memory is its own\n";

/// The process: its rank, its threads, what the protocol did so far.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_debug_job() -> *const c_char {
    answer(|out| {
        if !memory::is_set_up() {
            return out.write_str(NOT_YET);
        }
        let (memory, geometry) = (memory::get(), memory::get().geometry());
        let processes = geometry.processes();
        let threads = omp::threads_in_job() / processes;
        writeln!(out, "process {} of {processes}, threads of each {threads}", memory.rank())?;
        let block = crate::config::get().block_bytes.max(1 << geometry.line_shift());
        writeln!(
            out,
            "lines of {} bytes, blocks of {block} unless they have a rule",
            1 << geometry.line_shift()
        )?;
        let Some(shared) = memory::shared() else { return out.write_str(NO_PEERS) };
        writeln!(out, "greatest version heard of: {}", shared.coherence.clock())?;
        shared.coherence.stats().each(|name, value| {
            let _ = writeln!(out, "{name:24}{value:>16}");
        });
        Ok(())
    })
}

/// The block of an address: where it is, what this process may do with it, where its home is, versions.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_debug_block(address: usize) -> *const c_char {
    answer(|out| {
        if !memory::is_set_up() {
            return out.write_str(NOT_YET);
        }
        let (memory, geometry) = (memory::get(), memory::get().geometry());
        if !geometry.is_shared(address) {
            return writeln!(
                out,
                "{address:#x} is private memory of process {}: it has no block",
                memory.rank()
            );
        }
        let Some(shared) = memory::shared() else { return out.write_str(NO_PEERS) };
        let block = geometry.block(address);
        let (start, bytes) = (geometry.address(block), geometry.block_bytes(block));
        writeln!(
            out,
            "block {:#x} to {:#x}, {bytes} bytes, offset {}",
            start,
            start + bytes,
            address - start
        )?;
        describe(out, memory, shared, block)
    })
}

fn describe(out: &mut Text, memory: &Memory, shared: &Shared, block: Block) -> fmt::Result {
    let rank = memory.rank();
    let own = poll_once(shared.coherence.inspect(Rank(rank), block)).expect("own words are mapped");
    let state = memory.table().get(memory.geometry().address(block));
    writeln!(out, "state in process {rank}: {state} ({})", meaning(state))?;
    if own.dirty {
        writeln!(out, "written here since the last release: the next one publishes it")?;
    }
    if own.link != Link::Home {
        writeln!(out, "the copy here: version {}, lease {}", own.version, own.lease)?;
    }
    match find(shared, rank, block, own) {
        Home::At(home, there) => {
            writeln!(out, "home: process {home}; version {}, lease {}", there.version, there.lease)
        }
        Home::Moving(to) => writeln!(out, "home: on its way to process {to}"),
        Home::Far(to) => writeln!(out, "home: probably process {to}, whose memory is not mapped here"),
        Home::Unknown => writeln!(out, "home: it moves too fast to be found"),
    }
}

fn meaning(state: u8) -> &'static str {
    match state {
        state::WRITABLE => "loads and stores are allowed",
        state::READABLE => "loads are allowed, a store asks",
        state::COLD => "invalid: never fetched, or too long ago",
        state::EXPIRED => "invalid since its lease ended: the home says whether it has changed",
        state::NOTICED => "invalid by a write notice",
        state::INVALID_DIRTY => "invalid, with bytes written here that are not published yet",
        _ => "no state that there is",
    }
}

enum Home {
    At(u32, Inspection),
    /// A process is taking it.
    Moving(u32),
    /// A process that has to be asked knows more.
    Far(u32),
    Unknown,
}

/// Follows the links from this process on.
fn find(shared: &Shared, rank: u32, block: Block, own: Inspection) -> Home {
    let (mut at, mut seen) = (rank, own);
    // Links lead forward in time; what moves meanwhile makes the way longer.
    for _ in 0..4 * memory::get().geometry().processes() {
        match seen.link {
            Link::Home => return Home::At(at, seen),
            Link::Wait | Link::Taking => return Home::Moving(at),
            Link::Link { to, .. } if !shared.segments.is_mapped(to.0) => return Home::Far(to.0),
            Link::Link { to, .. } => at = to.0,
        }
        let Some(there) = poll_once(shared.coherence.inspect(Rank(at), block)) else { return Home::Far(at) };
        seen = there;
    }
    Home::Unknown
}

/// How much of `[address, address + bytes)` was read, and what became of it.
#[repr(u64)]
enum Read {
    /// Valid here, or private: as the program sees it.
    Local = 0,
    /// Not valid here: brought from its home.
    Brought = 1,
    /// As `Home::Moving`.
    Moving = 2,
    /// As `Home::Far`.
    Far = 3,
}

/// What shared memory at `address` holds, up to the end of the block: {a [`Read`], rank of the home, number of bytes, their address}. The bytes are those of the
/// process if they are valid there, else those at the home, under what the process itself has written since.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_debug_read(address: usize, bytes: usize) -> *const u64 {
    let (what, rank, count, at) = read(address, bytes);
    // SAFETY: see `Answer`.
    unsafe { *RESULT.0.get() = [what as u64, u64::from(rank), count as u64, at as u64] };
    RESULT.0.get().cast()
}

fn read(address: usize, bytes: usize) -> (Read, u32, usize, usize) {
    let local = (Read::Local, 0, bytes, address);
    if !memory::is_set_up() {
        return local;
    }
    let (memory, geometry) = (memory::get(), memory::get().geometry());
    let Some(shared) = memory::shared() else { return local };
    if !geometry.is_shared(address) {
        // Up to where shared memory begins.
        let next =
            geometry.parts().filter(|part| part.start > address).map(|part| part.start - address).min();
        return (Read::Local, 0, bytes.min(next.unwrap_or(bytes)), address);
    }
    let block = geometry.block(address);
    let offset = address - geometry.address(block);
    let count = bytes.min(geometry.block_bytes(block) - offset).min(MAX_BYTES);
    let (rank, state) = (memory.rank(), memory.table().get(address));
    if state < state::READ_LIMIT {
        return (Read::Local, rank, count, address);
    }
    let own = poll_once(shared.coherence.inspect(Rank(rank), block)).expect("own words are mapped");
    match find(shared, rank, block, own) {
        Home::At(home, _) => {
            let into = CONTENTS.0.get().cast::<u8>();
            let from = geometry.data_offset(block) + offset;
            // SAFETY: inside the block, whose segment is mapped; the buffer has space for as many bytes as a block.
            unsafe { shared.segments.bytes(home, from).read(into, count) };
            if state == state::INVALID_DIRTY {
                // SAFETY: as above, of the block's twin, which there is in this state.
                unsafe { put_own(shared, (block, offset), address, into, count) };
            }
            (Read::Brought, home, count, into as usize)
        }
        Home::Moving(to) => (Read::Moving, to, count, 0),
        Home::Far(to) => (Read::Far, to, count, 0),
        Home::Unknown => (Read::Moving, rank, count, 0),
    }
}

/// Puts what the process has written since it made the twin over the contents of the home.
///
/// # Safety
/// `count` bytes of a block, which has a twin, are at `address`, from the offset on, and `into` is writable for as many.
unsafe fn put_own(
    shared: &Shared,
    (block, offset): (Block, usize),
    address: usize,
    into: *mut u8,
    count: usize,
) {
    for at in 0..count {
        let twin = shared.twins.offset(memory::get().rank(), block, offset + at);
        let twin = shared.segments.own().address(twin);
        // SAFETY: the caller's promise; other threads, which may store here, are stopped.
        unsafe {
            let own = (address as *const u8).add(at).read_volatile();
            if own != twin.read_volatile() {
                *into.add(at) = own;
            }
        }
    }
}
