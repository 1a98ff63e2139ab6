//! Says what happened when the program crashes: signal, address, functions and lines, thread and process, and how to find out more.
//!
//! The handler stands in the place of the default action of the signals by which programs crash, unless something else does, and until the program sets an
//! action of its own, which finds the default one before it. It runs on an alternate stack ([`stack`]), since the thread's own may be full. When it has
//! reported, the default action ends the process as ever: by this signal, with a core file of the place itself.
//!
//! The thread may have crashed anywhere, in the allocator for example. The first line is made of numbers alone, and is written before the rest is tried. Names of functions
//! and lines are found without locks, with memory of their own ([`arena`], [`names`]). If that crashes as well, the process ends by the first signal.

pub mod arena;
mod line;
mod names;
pub mod stack;

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::job::child;
use crate::memory;
use crate::segv::Fault;
use crate::sync::regions;
use line::Line;

/// Signals by which programs crash.
const CRASHES: [(c_int, &str); 5] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGABRT, "SIGABRT"),
];

/// Frames that are named.
const FRAMES: usize = 8;
/// Frames of the handler that may lie in front of them.
const HANDLER_FRAMES: usize = 8;
/// How far from the stack pointer an access may be that finds the stack full.
const STACK_REACH: usize = 64 << 10;
/// Seconds that a thread waits for the report of another one, which ends the process.
const PATIENCE_S: u32 = 10;

/// Kernel's number of the thread that reports, and the signal by which it does; 0: none.
static REPORTER: AtomicI32 = AtomicI32::new(0);
static FIRST: AtomicI32 = AtomicI32::new(0);

/// Puts the handler in the place of default actions; before user code runs.
pub fn init() {
    load_unwinder();
    for (signal, _) in CRASHES {
        // SAFETY: the structures are filled in; the handler has the signature that SA_SIGINFO demands.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut before);
            if before.sa_sigaction != libc::SIG_DFL {
                continue;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_crash as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_ONSTACK;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// Whether this is the handler, which the program must not see: to it, the action is the default one.
pub fn is_handler(handler: usize) -> bool {
    handler == on_crash as *const () as usize
}

/// The first use of the unwinder loads a library.
fn load_unwinder() {
    let mut frames = [std::ptr::null_mut(); 2];
    // SAFETY: the array has as many elements.
    unsafe { libc::backtrace(frames.as_mut_ptr(), 2) };
}

/// What the kernel says of the crash.
struct Crash {
    signal: c_int,
    /// `si_code`: the kernel's reason, or how the signal was sent.
    code: c_int,
    fault: Fault,
}

impl Crash {
    /// # Safety
    /// The records are those that the kernel passes to a handler.
    unsafe fn new(signal: c_int, info: *const libc::siginfo_t, context: *const c_void) -> Crash {
        // SAFETY: as the caller promises.
        unsafe { Crash { signal, code: (*info).si_code, fault: Fault::of(info, context) } }
    }

    /// An instruction caused it, and does so again if it is tried again.
    fn is_of_instruction(&self) -> bool {
        self.code > 0
    }
}

extern "C" fn on_crash(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's records; a system call.
    let (crash, sender, thread) =
        unsafe { (Crash::new(signal, info, context), (*info).si_pid(), libc::gettid()) };
    let sent = matches!(crash.code, libc::SI_USER | libc::SI_QUEUE | libc::SI_TKILL);
    let from_elsewhere = sent && sender != std::process::id().cast_signed();
    if from_elsewhere || child::is_child() {
        return end(signal, true);
    }
    match REPORTER.compare_exchange(0, thread, Ordering::SeqCst, Ordering::SeqCst) {
        Ok(_) => {
            FIRST.store(signal, Ordering::SeqCst);
            report(&crash);
            end(signal, !crash.is_of_instruction());
        }
        // The report itself crashed.
        Err(reporter) if reporter == thread => end(FIRST.load(Ordering::SeqCst), true),
        Err(_) => {
            // SAFETY: waits.
            unsafe { libc::sleep(PATIENCE_S) };
            end(signal, !crash.is_of_instruction());
        }
    }
}

/// Brings the default action back. Who returns from the handler tries the instruction again; what was sent is sent again.
fn end(signal: c_int, again: bool) {
    // SAFETY: system calls.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        if again {
            libc::raise(signal);
        }
    }
}

fn report(crash: &Crash) {
    first_line(crash).write();
    let prefix = format_prefix();
    // Other processes may be writing such lines: these are one piece.
    let mut text = Line::default();
    arena::with(|| names::describe(&mut text, prefix.text(), crash.fault.pc, &callers(crash)));
    add_last_line(&mut text, prefix.text(), core_limit());
    text.write();
    if core_limit() != 0 {
        memory::dump::complete_core();
    }
}

fn rank() -> u32 {
    if memory::is_set_up() { memory::get().rank() } else { 0 }
}

/// What all lines but the first begin with.
fn format_prefix() -> Line {
    let mut prefix = Line::default();
    prefix.add(format_args!("dsm: process {}:   ", rank()));
    prefix
}

fn first_line(crash: &Crash) -> Line {
    let mut line = Line::default();
    let name = CRASHES.iter().find(|(signal, _)| *signal == crash.signal).map_or("", |(_, name)| name);
    line.add(format_args!("dsm: process {}, ", rank()));
    match regions::number() {
        Some(number) => line.add(format_args!("thread {number} of its team")),
        // SAFETY: a system call.
        None => line.add(format_args!("a thread outside of OpenMP ({})", unsafe { libc::gettid() })),
    }
    line.add(format_args!(": {name} (signal {}): ", crash.signal));
    describe(crash, &mut line);
    line.add(format_args!("\n"));
    line
}

/// What the instruction did.
fn describe(crash: &Crash, line: &mut Line) {
    /// `si_code` of a division of integers by zero.
    const DIVISION: c_int = 1;
    let &Crash { code, fault, .. } = crash;
    let Fault { address, pc, stack_pointer, .. } = fault;
    match crash.signal {
        libc::SIGABRT => return line.add(format_args!("the program called abort")),
        _ if code <= 0 => return line.add(format_args!("the program sent it to itself")),
        libc::SIGFPE if code == DIVISION => line.add(format_args!("division of an integer by zero")),
        libc::SIGFPE => line.add(format_args!("floating-point exception")),
        libc::SIGILL => line.add(format_args!("an instruction that the processor does not execute")),
        _ if code == libc::SI_KERNEL => line.add(format_args!("access to what is no address")),
        libc::SIGSEGV => {
            let verb = match fault {
                fault if fault.is_fetch() => "executes",
                fault if fault.is_write() => "writes",
                _ => "reads",
            };
            line.add(format_args!("{verb} address {address:#x}"));
            if address.abs_diff(stack_pointer) < STACK_REACH {
                line.add(format_args!(
                    ", its stack being full (ulimit -s; OMP_STACKSIZE for threads that regions start)"
                ));
            } else if address < 4096 {
                line.add(format_args!(" (a null pointer)"));
            }
        }
        _ => line.add(format_args!("access to address {address:#x}, where a file or the memory ends")),
    }
    line.add(format_args!(", at instruction {pc:#x}"));
}

/// Return addresses of the calls that led to the instruction, innermost first.
fn callers(crash: &Crash) -> Vec<usize> {
    const COUNT: usize = FRAMES + HANDLER_FRAMES;
    let mut frames = [std::ptr::null_mut(); COUNT];
    // SAFETY: the array has as many elements.
    let count = unsafe { libc::backtrace(frames.as_mut_ptr(), COUNT as c_int) };
    let frames: Vec<usize> = frames[..count.max(0) as usize].iter().map(|f| *f as usize).collect();
    match frames.iter().position(|frame| *frame == crash.fault.pc) {
        Some(at) => frames[at + 1..].iter().copied().take(FRAMES - 1).collect(),
        // A call of what is no function has only left the return address.
        None if crash.fault.address == crash.fault.pc => {
            // SAFETY: the top of the thread's stack; if it is none, this report ends here.
            vec![unsafe { *(crash.fault.stack_pointer as *const usize) }]
        }
        None => vec![],
    }
}

/// Most bytes of a core file.
fn core_limit() -> libc::rlim_t {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is written.
    unsafe { libc::getrlimit(libc::RLIMIT_CORE, &mut limit) };
    limit.rlim_cur
}

fn add_last_line(line: &mut Line, prefix: &str, core_limit: libc::rlim_t) {
    match core_limit {
        0 => line.add(format_args!(
            "{prefix}for a core file: ulimit -c unlimited, then run it again, then gdb PROGRAM CORE (compile with -g for lines and variables)\n"
        )),
        _ => line.add(format_args!(
            "{prefix}a core file goes where /proc/sys/kernel/core_pattern says: gdb PROGRAM CORE (compile with -g for lines and variables)\n"
        )),
    }
}
