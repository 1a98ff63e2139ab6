//! Signals: functions of the program that run where the data is (`dsm_signal`), after the memory-based signals of T. Matsumoto's Memory-Based Communication Facilities.
//!
//! Each process has a queue of signals, and a thread that executes them one after the other; both begin when the first function is registered. Registration is a message to all processes in the
//! serial part, so that all know the functions by the same numbers. A signal is a release of its sender; the thread acquires from the sender before the function, and releases behind it, and
//! counts for the sender what was executed. Who waits for that acquires from the executing process.
//!
//! A function may not wait for other threads, which may wait for its end: [`assert_allowed`] is called by what may wait.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::pin::pin;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use dsm_abi::job::MAX_PROCESSES;
use parking_lot::{Mutex, RwLock};

use super::handle::Handle;
use super::{bundle, check_place, queue};
use crate::job::{child, die};
use crate::memory::fabric::run;
use crate::memory::threads;
use crate::posted::pending;
use crate::pthread::thread;
use crate::sync::regions;
use crate::{check, control, memory, sync};

/// First word of the message that registers a function, where a region has its function.
pub const MESSAGE: u64 = 2;
/// Greatest argument, bytes.
const MOST_BYTES: usize = 64;
/// Signals that wait for a process.
const CAPACITY: usize = 1024;
/// Signals that are executed between an acquire and a release.
const BATCH: usize = 64;
const HEAD_WORDS: usize = 3;
const ELEMENT_BYTES: usize = 8 * HEAD_WORDS + MOST_BYTES;

type Function = extern "C" fn(place: *mut u8, argument: *const u8, bytes: usize);

/// The functions, in the same order in all processes.
static FUNCTIONS: RwLock<Vec<usize>> = RwLock::new(Vec::new());
/// Whether there are any.
static ANY: AtomicBool = AtomicBool::new(false);
/// Signals that this process has sent to each.
static SENT: Mutex<Vec<u32>> = Mutex::new(Vec::new());

thread_local! {
    /// Whether the thread runs such a function.
    static RUNNING: Cell<bool> = const { Cell::new(false) };
    /// The last signal of the thread to each process that it has not waited for.
    static UNAWAITED: RefCell<Vec<Sent>> = const { RefCell::new(Vec::new()) };
}

crate::control::declare! {
    /// Number of signals for functions of the process.
    static ARRIVALS: control::Cell;
    /// The queue that these are in.
    static QUEUE: u64;
    /// Signals of the process that others have executed.
    static DONE: control::Cell, MAX_PROCESSES as usize;
}

/// A signal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// The process that executes it.
    pub(super) at: u32,
    /// Of this process's signals to that one.
    pub(super) number: u32,
}

impl Sent {
    /// Counts what `at` has executed, in this process.
    fn done(self) -> control::Cell {
        DONE.of(sync::rank(), self.at as usize)
    }

    pub(super) fn test(self) -> bool {
        let is_done = self.done().has_reached(self.number);
        if is_done {
            sync::acquire_from(self.at);
        }
        is_done
    }

    pub(super) fn wait(self) {
        assert_allowed("dsm_wait");
        self.done().wait_reached(self.number);
        sync::acquire_from(self.at);
    }
}

/// What travels.
struct Signal {
    function: u32,
    sender: u32,
    place: u64,
    bytes: usize,
    argument: [u8; MOST_BYTES],
}

impl Signal {
    fn encode(&self) -> [u8; ELEMENT_BYTES] {
        let mut element = [0; ELEMENT_BYTES];
        let head = [u64::from(self.function) << 32 | u64::from(self.sender), self.place, self.bytes as u64];
        element[..8 * HEAD_WORDS]
            .as_chunks_mut()
            .0
            .iter_mut()
            .zip(head)
            .for_each(|(to, word)| *to = word.to_le_bytes());
        element[8 * HEAD_WORDS..].copy_from_slice(&self.argument);
        element
    }

    fn decode(element: &[u8; ELEMENT_BYTES]) -> Signal {
        let (head, argument) = element.split_at(8 * HEAD_WORDS);
        let word = |i: usize| u64::from_le_bytes(head.as_chunks().0[i]);
        Signal {
            function: (word(0) >> 32) as u32,
            sender: word(0) as u32,
            place: word(1),
            bytes: word(2) as usize,
            argument: argument.try_into().expect("of this length"),
        }
    }

    fn run(&self) {
        let address = FUNCTIONS.read()[self.function as usize];
        // SAFETY: the address of a function of this type, by the promise of `dsm_register`; images lie at equal addresses.
        let function: Function = unsafe { std::mem::transmute::<usize, Function>(address) };
        RUNNING.set(true);
        function(self.place as *mut u8, self.argument.as_ptr(), self.bytes);
        pending::flush();
        RUNNING.set(false);
    }
}

/// Ends the job if the calling thread runs a function that a signal has called: `what` may wait for other threads.
#[inline]
pub fn assert_allowed(what: &str) {
    if ANY.load(Ordering::Relaxed) && RUNNING.get() {
        refuse_inside(what);
    }
}

#[cold]
fn refuse_inside(what: &str) -> ! {
    die(&format!(
        "process {}: a function that dsm_signal has called came to {what}: it may load, store and use memory-based operations, but nothing that waits for other threads (locks, barriers, \
         regions, tasks, further signals); leave that to who waits for the signal",
        sync::rank()
    ))
}

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_register(function: usize) {
    assert_allowed("dsm_register");
    let refuse = |why: &str| die(&format!("process {}: dsm_register: {why}", sync::rank()));
    if function == 0 {
        refuse("a null pointer is no function");
    }
    if sync::rank() != 0 || regions::is_active() || !threads::is_initial() {
        refuse(
            "it was called inside a parallel region, or by a thread that does not run main; register functions outside, before they are used",
        );
    }
    if FUNCTIONS.read().contains(&function) {
        return;
    }
    add(function);
    if memory::shared().is_some() {
        sync::tell_others(&[MESSAGE, function as u64]);
    }
}

/// The other processes' part.
pub fn follow(message: &[u64]) {
    let [_, function] = *message else { unreachable!("process 0 sends two words") };
    add(function as usize);
    sync::join(sync::size());
}

fn add(function: usize) {
    static STARTED: Once = Once::new();
    FUNCTIONS.write().push(function);
    ANY.store(true, Ordering::Relaxed);
    if memory::shared().is_some() {
        STARTED.call_once(|| {
            let queue = queue::dsm_fifo_create(CAPACITY, ELEMENT_BYTES);
            if queue.is_null() {
                die(&format!("process {}: dsm_register: no memory for a queue of signals", sync::rank()));
            }
            QUEUE.of(sync::rank(), 0).store(queue as u64, Ordering::SeqCst);
            thread::spawn_worker("functions that signals call", serve);
        });
    }
}

/// The number of a function.
fn number_of(function: usize) -> u32 {
    let position = FUNCTIONS.read().iter().position(|known| *known == function);
    let Some(number) = position else {
        die(&format!(
            "process {}: dsm_signal: {function:#x} is no function that was registered; call dsm_register with it outside of parallel regions first",
            sync::rank()
        ));
    };
    number as u32
}

/// The program's argument.
///
/// # Safety
/// It has so many bytes.
unsafe fn argument_of(argument: *const u8, bytes: usize) -> [u8; MOST_BYTES] {
    if bytes > MOST_BYTES {
        die(&format!(
            "process {}: dsm_signal: an argument of {bytes} bytes; it has {MOST_BYTES} at most: pass the address of shared memory that has more",
            sync::rank()
        ));
    }
    let mut out = [0; MOST_BYTES];
    if bytes > 0 {
        check::readable(argument as usize, bytes);
        // SAFETY: the caller's promise, readable now.
        out[..bytes].copy_from_slice(unsafe { std::slice::from_raw_parts(argument, bytes) });
    }
    out
}

/// See `dsm.h`.
///
/// # Safety
/// `argument` is the program's, of so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dsm_signal(
    place: *mut u8,
    function: usize,
    argument: *const u8,
    bytes: usize,
) -> Handle {
    check_place("dsm_signal", place as usize, 1);
    let at = memory::shared().map_or(0, |shared| {
        run(pin!(shared.coherence.find_home(memory::get().geometry().block(place as usize)))).0
    });
    // SAFETY: the caller's promise.
    unsafe { send(at, place, function, argument, bytes) }
}

/// See `dsm.h`.
///
/// # Safety
/// As for [`dsm_signal`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dsm_signal_process(
    at: i32,
    function: usize,
    argument: *const u8,
    bytes: usize,
) -> Handle {
    let size = sync::size();
    let Some(at) = u32::try_from(at).ok().filter(|at| *at < size) else {
        die(&format!(
            "process {}: dsm_signal_process: there is no process {at}; processes are 0 to {}",
            sync::rank(),
            size - 1
        ));
    };
    // SAFETY: the caller's promise.
    unsafe { send(at, std::ptr::null_mut(), function, argument, bytes) }
}

/// # Safety
/// As for [`dsm_signal`].
unsafe fn send(at: u32, place: *mut u8, function: usize, argument: *const u8, bytes: usize) -> Handle {
    child::assert_of_job();
    assert_allowed("dsm_signal");
    bundle::assert_none("dsm_signal");
    // SAFETY: the caller's promise.
    let argument = unsafe { argument_of(argument, bytes) };
    let signal =
        Signal { function: number_of(function), sender: sync::rank(), place: place as u64, bytes, argument };
    if memory::shared().is_none() {
        static ONE: Mutex<()> = Mutex::new(());
        let _one = ONE.lock();
        signal.run();
        return Handle::default();
    }
    sync::release();
    let sent = Sent { at, number: push(at, &signal.encode()) };
    ARRIVALS.of(at, 0).increment();
    UNAWAITED.with_borrow_mut(|unawaited| {
        unawaited.retain(|other| other.at != at);
        unawaited.push(sent);
    });
    Handle::of_signal(sent)
}

/// Puts a signal into a process's queue as soon as there is space; its number.
fn push(at: u32, element: &[u8]) -> u32 {
    let queue = QUEUE.of(at, 0).load(Ordering::SeqCst) as *mut u8;
    loop {
        {
            let mut sent = SENT.lock();
            sent.resize(sync::size() as usize, 0);
            if queue::push("dsm_signal", queue, element) {
                let count = &mut sent[at as usize];
                *count = count.wrapping_add(1);
                return *count;
            }
        }
        let _quiescent = memory::threads::Quiescent::begin();
        control::cell::pass_core();
    }
}

/// Waits until all signals of the calling thread have been executed.
pub fn wait_all() {
    UNAWAITED.take().into_iter().for_each(Sent::wait);
}

/// The thread that executes signals.
extern "C" fn serve(_: *mut c_void) -> *mut c_void {
    let arrivals = ARRIVALS.of(sync::rank(), 0);
    let queue = QUEUE.of(sync::rank(), 0).load(Ordering::SeqCst) as *mut u8;
    let mut seen = 0;
    loop {
        sync::user_threads_leave();
        seen = arrivals.sleep_until(|now| now != seen);
        sync::user_threads_enter();
        while execute(&receive(queue)) {}
    }
}

fn receive(queue: *mut u8) -> Vec<Signal> {
    let next = || {
        let mut element = [0; ELEMENT_BYTES];
        queue::pop("dsm_signal", queue, &mut element).then(|| Signal::decode(&element))
    };
    std::iter::from_fn(next).take(BATCH).collect()
}

/// Executes signals; whether there are any.
fn execute(signals: &[Signal]) -> bool {
    let mut senders: Vec<(u32, u32)> = Vec::new();
    for signal in signals {
        match senders.iter_mut().find(|(sender, _)| *sender == signal.sender) {
            Some((_, count)) => *count += 1,
            None => senders.push((signal.sender, 1)),
        }
    }
    if senders.is_empty() {
        return false;
    }
    senders.iter().for_each(|(sender, _)| sync::acquire_from(*sender));
    signals.iter().for_each(Signal::run);
    sync::release();
    for (sender, count) in senders {
        DONE.of(sender, sync::rank() as usize).increase(count);
    }
    true
}
