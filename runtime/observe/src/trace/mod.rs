//! `dsm-run --trace`: what threads did when, for viewers of traces.
//!
//! Each thread writes records into a [`ring`] of its own in a memory file that the launcher has made (layout and meaning: [`dsm_abi::trace`]). The launcher reads the
//! rings while the job runs and after its processes have died, however they did, and writes the trace: nothing is written to files here. Events are noted in slow
//! paths only, mostly where times are taken anyway ([`crate::time`]).
//!
//! Off, it costs a look at a flag where a region, loop, barrier, task or wait for a lock begins and ends, and nothing where times are taken.

mod event;
mod ring;
mod text;

use std::cell::{Cell, OnceCell};
use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dsm_abi::trace::{
    Kind, Layout, MAX_RINGS, Phase, RING_RECORDS, Record, TRACE_FILE, file_word, process_word,
};
use parking_lot::Mutex;

use crate::job::Job;
use crate::job::die;
use crate::time;

pub use event::{Event, Open};
use ring::{Ring, Writer};

/// A position of the program, as the compiler passes it.
type Loc = *const c_void;

static ON: AtomicBool = AtomicBool::new(false);
static BUFFERS: OnceLock<Buffers> = OnceLock::new();

/// The process's part of the memory file.
struct Buffers {
    words: &'static [AtomicU64],
    layout: Layout,
    /// Rings whose threads have ended.
    free: Mutex<Vec<usize>>,
}

impl Buffers {
    fn header(&self, word: usize) -> &'static AtomicU64 {
        &self.words[word]
    }

    fn ring(&self, number: usize) -> Ring {
        let first = (self.layout.ring(0, number) - self.layout.process(0)) / 8;
        Ring::new(&self.words[first..][..self.layout.ring_bytes() / 8])
    }

    /// A ring that no thread has; its number comes with it.
    fn take_ring(&self) -> Option<(usize, Ring)> {
        // One that is not read yet might have no space for who has it now.
        let freed = self.free.try_lock().and_then(|mut free| {
            let at = free.iter().position(|number| self.ring(*number).is_read())?;
            Some(free.swap_remove(at))
        });
        let number = freed.or_else(|| {
            let next = |count| (count < MAX_RINGS as u64).then_some(count + 1);
            let rings = self.header(process_word::RINGS);
            rings.fetch_update(Ordering::AcqRel, Ordering::Relaxed, next).ok().map(|n| n as usize)
        })?;
        Some((number, self.ring(number)))
    }
}

/// Whether events are noted.
#[inline(always)]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Starts noting, if the launcher wants it.
pub fn init(job: &Job) {
    let Some((_, fd)) = job.files.iter().find(|(name, _)| name == TRACE_FILE) else { return };
    let fd = *fd;
    let mut header = [0_u64; 2];
    // SAFETY: reads at most the array's length into it.
    let read = unsafe { libc::pread(fd, header.as_mut_ptr().cast(), size_of_val(&header), 0) };
    let ring_records = header[file_word::RING_RECORDS] as usize;
    let is_sound = read == size_of_val(&header) as isize && RING_RECORDS.contains(&ring_records);
    if !is_sound || !ring_records.is_power_of_two() {
        die("the launcher's trace buffers are malformed; use the dsm-run that the program was built with");
    }
    let layout = Layout { ring_records };
    let index = job.rank.saturating_sub(header[file_word::FIRST] as u32) as usize;
    let words = map(fd, layout.process(index), layout.process_bytes()).unwrap_or_else(|error| {
        die(&format!("the trace buffers cannot be mapped: {error}; address space may be limited (ulimit -v)"))
    });
    let buffers = Buffers { words, layout, free: Mutex::default() };
    let wall = time_of(libc::CLOCK_REALTIME).wrapping_sub(now());
    buffers.header(process_word::WALL).store(wall, Ordering::Relaxed);
    buffers.header(process_word::PID).store(u64::from(std::process::id()), Ordering::Release);
    if BUFFERS.set(buffers).is_ok() {
        text::note_images();
        ON.store(true, Ordering::Relaxed);
        time::trace(true);
    }
}

/// Maps a part of a file as words.
fn map(fd: i32, offset: usize, bytes: usize) -> std::io::Result<&'static [AtomicU64]> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: maps fresh pages at an address of the kernel's choice; no existing mapping changes.
    let base = unsafe {
        libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, fd, offset as libc::off_t)
    };
    if base == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the mapping has this length, is page aligned, zeroed, never unmapped, and everyone accesses it by atomics, or by system calls.
    Ok(unsafe { std::slice::from_raw_parts(base.cast(), bytes / 8) })
}

/// In a child that `fork` made: it is no process of the job, and the rings are its parent's.
pub fn end_in_child() {
    ON.store(false, Ordering::Relaxed);
    time::trace(false);
}

/// The calling thread's writer, made at its first event.
struct Own {
    writer: Writer,
    number: usize,
}

impl Own {
    fn new() -> Option<Own> {
        let buffers = BUFFERS.get()?;
        let (number, ring) = buffers.take_ring()?;
        let writer = Writer::new(ring);
        let [a, b] = name_of_thread();
        // SAFETY: takes nothing, and touches no memory of this process.
        let id = unsafe { libc::syscall(libc::SYS_gettid) } as u64;
        let time = writer.tick(now());
        writer.whole(&Record {
            time,
            kind: Kind::Thread,
            phase: Phase::Instant,
            peer: None,
            duration: id,
            a,
            b,
        });
        Some(Own { writer, number })
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.writer.end(now(), 1);
        if let Some(mut free) = BUFFERS.get().and_then(|buffers| buffers.free.try_lock()) {
            free.push(self.number);
        }
    }
}

/// What the system calls the thread.
fn name_of_thread() -> [u64; 2] {
    let mut name = [0_u64; 2];
    // SAFETY: the system writes at most 16 bytes, the last of them 0.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}

thread_local! {
    static OWN: OnceCell<Option<Own>> = const { OnceCell::new() };
    /// The writer is being made: the events of that are not noted.
    static MAKING: Cell<bool> = const { Cell::new(false) };
}

/// Calls `write` with the thread's writer. At the end of the thread's life there is none, or if all rings are taken.
fn with<R>(write: impl FnOnce(&Writer) -> R) -> Option<R> {
    let mut write = Some(write);
    let written = OWN.try_with(|own| {
        if own.get().is_none() && MAKING.replace(true) {
            return None;
        }
        let made = own.get_or_init(Own::new);
        MAKING.set(false);
        made.as_ref().zip(write.take()).map(|(own, write)| write(&own.writer))
    });
    let written = written.ok().flatten();
    if let (None, Some(buffers)) = (&written, BUFFERS.get()) {
        buffers.header(process_word::LOST).fetch_add(1, Ordering::Relaxed);
    }
    written
}

/// The host's monotonic clock, nanoseconds.
fn now() -> u64 {
    time_of(libc::CLOCK_MONOTONIC)
}

fn time_of(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// An event that has begun and ends when this is dropped.
#[must_use]
pub struct Span(u32);

impl Drop for Span {
    #[inline(always)]
    fn drop(&mut self) {
        if self.0 != 0 {
            end(self.0);
        }
    }
}

#[cold]
fn end(depth: u32) {
    with(|writer| writer.end(now(), depth));
}

#[cold]
fn begin(kind: Kind, about: [u64; 2]) -> u32 {
    with(|writer| writer.begin(now(), kind, about)).unwrap_or(0)
}

#[inline(always)]
fn span(kind: Kind, about: impl FnOnce() -> [u64; 2]) -> Span {
    if !is_on() {
        return Span(0);
    }
    Span(begin(kind, about()))
}

/// A thread's part of a region.
#[inline(always)]
pub fn region(function: usize, thread: u32, threads: u32) -> Span {
    span(Kind::Region, || [function as u64, u64::from(thread) | u64::from(threads) << 32])
}

/// A barrier at a position of the program.
#[inline(always)]
pub fn barrier(loc: Loc) -> Span {
    span(Kind::Barrier, || [text::note_position(loc as usize), 0])
}

/// Process 0 waits for the others at the end of a region.
#[inline(always)]
pub fn join(function: u64) -> Span {
    span(Kind::Join, || [function, 0])
}

/// A lock is waited for.
#[inline(always)]
pub fn lock(name: u64) -> Span {
    span(Kind::Lock, || [name, 0])
}

/// Part of a task.
#[inline(always)]
pub fn task(function: usize) -> Span {
    span(Kind::Task, || [function as u64, 0])
}

/// A loop at a position of the program begins.
#[inline(always)]
pub fn begin_loop(loc: Loc) {
    if is_on() {
        begin(Kind::Loop, [text::note_position(loc as usize), 0]);
    }
}

/// The loop that the thread is in ends.
#[inline(always)]
pub fn end_loop() {
    if is_on() {
        end_innermost_loop();
    }
}

#[cold]
fn end_innermost_loop() {
    with(|writer| writer.end_loop(now()));
}

/// What was published up to here precedes acquires elsewhere, which have the same flows.
#[inline(always)]
pub fn precedes(flows: impl IntoIterator<Item = u64>) {
    if is_on() {
        flows.into_iter().for_each(note_flow);
    }
}

#[cold]
fn note_flow(flow: u64) {
    with(|writer| {
        writer.whole(&Record {
            time: now(),
            kind: Kind::Precedes,
            phase: Phase::Instant,
            peer: None,
            duration: 0,
            a: flow,
            b: 0,
        });
    });
}
