//! What the program wants to happen at a signal: `signal`, `sigaction` and their relatives.
//!
//! The kernel has the runtime's handler in the place of each handler of the program; here is which one it stands for. Actions that process 0 sets hold in
//! the others from the next fork on.
//!
//! Signals that end jobs ([`ENDING`]) are for process 0 where the program handles them: the launcher sends them there alone, and what the terminal
//! sends to the other processes as well does nothing there.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};

use super::{all_but_synchronous, interrupt};
use crate::job::JobPage;
use crate::job::child;
use crate::{check, checked, crash, fault, memory, pages, sync};

/// Signals of Linux, and 0.
pub const SIGNALS: usize = 65;

/// Flags that are the runtime's affair.
const OWN_FLAGS: c_int = libc::SA_SIGINFO | libc::SA_NODEFER;
/// The C library's, of the kernel's structure only.
const RESTORER: c_int = 0x0400_0000;

/// Signals that end a job unless the program handles them.
const ENDING: [c_int; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

/// What the program asked for.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Action {
    handler: usize,
    flags: u64,
    mask: u64,
}

struct Entry {
    handler: AtomicUsize,
    flags: AtomicI32,
    /// Signals that are blocked while the handler runs, bit 0 for signal 1.
    mask: AtomicU64,
}

/// What the runtime's handler stands for, by signal.
static ACTIONS: [Entry; SIGNALS] =
    [const { Entry { handler: AtomicUsize::new(0), flags: AtomicI32::new(0), mask: AtomicU64::new(0) } };
        SIGNALS];
/// The actions that the program has set, a bit for each signal; the handlers that are `SIG_DFL` or `SIG_IGN` are among them.
static SET: AtomicU64 = AtomicU64::new(0);
/// Signals that interrupt system calls for good, by `siginterrupt`.
static INTERRUPTING: AtomicU64 = AtomicU64::new(0);

fn bit(signal: c_int) -> u64 {
    1u64.wrapping_shl(signal as u32 - 1)
}

fn word_of(set: &libc::sigset_t) -> u64 {
    // SAFETY: a set begins with the word that the kernel takes.
    unsafe { (&raw const *set).cast::<u64>().read() }
}

fn set_of(word: u64) -> libc::sigset_t {
    // SAFETY: an empty set is all zero; it begins with the word that the kernel takes.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        (&raw mut set).cast::<u64>().write(word);
        set
    }
}

/// The handler that the program has for the signal.
pub fn action(signal: c_int) -> Option<Action> {
    let entry = ACTIONS.get(signal as usize)?;
    let handler = entry.handler.load(Ordering::Acquire);
    (handler > libc::SIG_IGN).then(|| Action {
        handler,
        flags: entry.flags.load(Ordering::Relaxed) as u32 as u64,
        mask: entry.mask.load(Ordering::Relaxed),
    })
}

impl Action {
    fn flags(&self) -> c_int {
        self.flags as u32 as c_int
    }

    /// Adds to `mask` what is blocked while the handler runs.
    pub fn block(&self, signal: c_int, mask: &mut libc::sigset_t) {
        let own = if self.flags() & libc::SA_NODEFER == 0 { bit(signal) } else { 0 };
        *mask = set_of(word_of(mask) | self.mask | own);
    }

    /// Calls the handler.
    ///
    /// # Safety
    /// It is a function of the program; the records are those of the signal.
    pub unsafe fn call(&self, signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
        // SAFETY: the program says by the flag which of the two types its handler has.
        unsafe {
            if self.flags() & libc::SA_SIGINFO != 0 {
                let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                    std::mem::transmute(self.handler);
                handler(signal, info, context.cast());
            } else {
                let handler: extern "C" fn(c_int) = std::mem::transmute(self.handler);
                handler(signal);
            }
        }
    }
}

/// The action in force.
fn current(signal: c_int) -> Option<Action> {
    // SAFETY: a local variable for the result.
    let kernel = unsafe {
        let mut kernel: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &mut kernel) != 0 {
            return None;
        }
        kernel
    };
    if kernel.sa_sigaction == interrupt as *const () as usize {
        return action(signal);
    }
    if kernel.sa_sigaction == bystander as *const () as usize {
        return Some(Action::default());
    }
    let kernel = pages::hidden_action(kernel.sa_sigaction).unwrap_or(kernel);
    let kernel = fault::hidden_action(kernel.sa_sigaction).unwrap_or(kernel);
    if crash::is_handler(kernel.sa_sigaction) {
        return Some(Action::default());
    }
    let flags = (kernel.sa_flags & !RESTORER) as u32 as u64;
    Some(Action { handler: kernel.sa_sigaction, flags, mask: word_of(&kernel.sa_mask) })
}

/// Puts an action in force; the result is that of the system call.
fn install(signal: c_int, new: Action) -> c_int {
    let alone = sync::size() == 1 && !checked::is_on();
    let direct = new.handler <= libc::SIG_IGN || alone;
    // SAFETY: all zero is a valid structure.
    let mut kernel: libc::sigaction = unsafe { std::mem::zeroed() };
    if new.handler == libc::SIG_DFL && ENDING.contains(&signal) && sync::rank() != 0 {
        kernel.sa_sigaction = bystander as *const () as usize;
        kernel.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    } else if direct {
        kernel.sa_sigaction = new.handler;
        kernel.sa_flags = new.flags();
        kernel.sa_mask = set_of(new.mask);
    } else {
        kernel.sa_sigaction = interrupt as *const () as usize;
        kernel.sa_flags = new.flags() & !OWN_FLAGS | libc::SA_SIGINFO;
        kernel.sa_mask = all_but_synchronous();
        if let Some(entry) = ACTIONS.get(signal as usize) {
            entry.flags.store(new.flags(), Ordering::Relaxed);
            entry.mask.store(new.mask, Ordering::Relaxed);
            entry.handler.store(new.handler, Ordering::Release);
        }
    }
    // SAFETY: a filled-in structure.
    let result = unsafe { libc::sigaction(signal, &kernel, std::ptr::null_mut()) };
    if result == 0
        && sync::rank() == 0
        && !child::is_child()
        && let Some(page) = JobPage::mapped()
    {
        page.set_handled(signal, new.handler != libc::SIG_DFL);
    }
    result
}

/// In a process other than 0: from now on, signals that end jobs do so only if the program does not handle them.
pub fn stand_by() {
    for signal in ENDING {
        if current(signal).is_some_and(|a| a.handler == libc::SIG_DFL) {
            install(signal, Action::default());
        }
    }
}

/// Whether a signal is for process 0 and not for this one: it ends jobs, and came from outside of the process.
pub fn is_for_process_0(signal: c_int, info: &libc::siginfo_t) -> bool {
    if sync::rank() == 0 || !ENDING.contains(&signal) || child::is_child() {
        return false;
    }
    let other = || {
        // SAFETY: signals by `kill` and `sigqueue` have a sender.
        (unsafe { info.si_pid() }) != std::process::id().cast_signed()
    };
    info.si_code == libc::SI_KERNEL || matches!(info.si_code, libc::SI_USER | libc::SI_QUEUE) && other()
}

/// The action of a process other than 0 for a signal that ends jobs, where the program has set none.
extern "C" fn bystander(signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel's record.
    let outside = is_for_process_0(signal, unsafe { &*info });
    if outside && JobPage::mapped().is_some_and(|page| page.is_handled(signal)) {
        return;
    }
    // SAFETY: the default action; the signal is blocked until this function returns, and then ends the process.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// What is to be done when the program has changed an action.
static CHANGED: OnceLock<fn()> = OnceLock::new();

/// Says what is to be done when the program has changed an action. Before user code runs.
pub fn on_change(changed: fn()) {
    let _ = CHANGED.set(changed);
}

/// Does what the program asks for; gives the action before.
fn set(signal: c_int, new: Action) -> Option<Action> {
    let before = current(signal)?;
    if install(signal, new) != 0 {
        return None;
    }
    if sync::size() > 1 && before != new {
        SET.fetch_or(bit(signal), Ordering::Relaxed);
        if let Some(changed) = CHANGED.get() {
            changed();
        }
    }
    Some(before)
}

/// `sigaction`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    let wanted = (!new.is_null()).then(|| {
        check::readable(new as usize, size_of::<libc::sigaction>());
        // SAFETY: the program's structure, made readable.
        let new = unsafe { new.read() };
        Action { handler: new.sa_sigaction, flags: new.sa_flags as u32 as u64, mask: word_of(&new.sa_mask) }
    });
    let before = match wanted {
        Some(new) => set(signal, new),
        None => current(signal),
    };
    let Some(before) = before else { return -1 };
    if !old.is_null() {
        check::writable(old as usize, size_of::<libc::sigaction>());
        // SAFETY: the program's structure, writable now.
        unsafe {
            let mut result: libc::sigaction = std::mem::zeroed();
            result.sa_sigaction = before.handler;
            result.sa_flags = before.flags();
            result.sa_mask = set_of(before.mask);
            old.write(result);
        }
    }
    0
}

fn simple(signal: c_int, handler: usize, flags: c_int) -> usize {
    let mask = if flags & libc::SA_NODEFER == 0 && (1..SIGNALS as c_int).contains(&signal) {
        bit(signal)
    } else {
        0
    };
    set(signal, Action { handler, flags: flags as u32 as u64, mask })
        .map_or(libc::SIG_ERR, |before| before.handler)
}

/// `signal`, as the GNU C library has it by default: the handler stays, system calls go on.
#[unsafe(no_mangle)]
extern "C" fn __dsm_signal(signal: c_int, handler: usize) -> usize {
    let interrupts =
        (1..SIGNALS as c_int).contains(&signal) && INTERRUPTING.load(Ordering::Relaxed) & bit(signal) != 0;
    simple(signal, handler, if interrupts { 0 } else { libc::SA_RESTART })
}

/// `signal` of System V: the handler serves once, and system calls end.
#[unsafe(no_mangle)]
extern "C" fn __dsm_sysv_signal(signal: c_int, handler: usize) -> usize {
    simple(signal, handler, libc::SA_RESETHAND | libc::SA_NODEFER)
}

/// `siginterrupt`.
#[unsafe(no_mangle)]
extern "C" fn __dsm_siginterrupt(signal: c_int, interrupts: c_int) -> c_int {
    let Some(mut action) = current(signal) else { return -1 };
    if interrupts != 0 {
        INTERRUPTING.fetch_or(bit(signal), Ordering::Relaxed);
        action.flags &= !(libc::SA_RESTART as u64);
    } else {
        INTERRUPTING.fetch_and(!bit(signal), Ordering::Relaxed);
        action.flags |= libc::SA_RESTART as u64;
    }
    if set(signal, action).is_some() { 0 } else { -1 }
}

/// `sigaltstack`: the kernel and the handler's frames write to it without checks, so a stack in shared memory gives way to private memory of its size.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    use std::cell::Cell;
    thread_local!(static GIVEN: Cell<(usize, usize)> = const { Cell::new((0, 0)) });
    let mut before = std::mem::MaybeUninit::<libc::stack_t>::uninit();
    let mut wanted = None;
    if !new.is_null() {
        check::readable(new as usize, size_of::<libc::stack_t>());
        // SAFETY: the program's structure, made readable.
        wanted = Some(unsafe { new.read() });
    }
    let given = GIVEN.get();
    let mut replaced = None;
    if let Some(stack) = &mut wanted
        && stack.ss_flags & libc::SS_DISABLE == 0
        && sync::size() > 1
        && memory::is_shared(stack.ss_sp as usize)
    {
        let theirs = stack.ss_sp as usize;
        // SAFETY: new memory, which stays: signals may come at any time.
        let own = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), stack.ss_size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        if own == libc::MAP_FAILED {
            return -1;
        }
        stack.ss_sp = own;
        replaced = Some((own as usize, theirs));
    }
    let argument = wanted.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: structures of this function.
    if unsafe { libc::sigaltstack(argument, before.as_mut_ptr()) } != 0 {
        if let (Some((own, _)), Some(stack)) = (replaced, wanted) {
            // SAFETY: the memory that was mapped above, which nothing uses; `errno` stays if the call succeeds.
            unsafe { libc::munmap(own as *mut c_void, stack.ss_size) };
        }
        return -1;
    }
    GIVEN.set(replaced.unwrap_or(given));
    if !old.is_null() {
        check::writable(old as usize, size_of::<libc::stack_t>());
        // SAFETY: filled in by the kernel; the program's structure is writable now.
        unsafe {
            let mut before = before.assume_init();
            if crash::stack::is_own(&before) {
                before =
                    libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
            }
            if before.ss_sp as usize == given.0 && given.0 != 0 {
                before.ss_sp = given.1 as *mut c_void;
            }
            old.write(before);
        }
    }
    0
}

/// The actions that the program has set in this process, with the mask of the calling thread in the place of signal 0.
pub fn snapshot() -> (u64, [Action; SIGNALS]) {
    let set = SET.load(Ordering::Relaxed);
    let mut actions = [Action::default(); SIGNALS];
    for signal in (1..SIGNALS).filter(|i| set & bit(*i as c_int) != 0) {
        actions[signal] = current(signal as c_int).unwrap_or_default();
    }
    // SAFETY: a null pointer asks for the mask.
    unsafe {
        let mut mask: libc::sigset_t = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut mask);
        actions[0].mask = word_of(&mask);
    }
    (set, actions)
}

/// Takes over the actions of process 0 that differ from those before. Its mask counts the first time, when natively the threads of a team are made.
pub fn follow((set, actions): &(u64, [Action; SIGNALS]), before: Option<&(u64, [Action; SIGNALS])>) {
    for signal in (1..SIGNALS).filter(|i| set & bit(*i as c_int) != 0) {
        if before.is_none_or(|(seen, old)| seen & bit(signal as c_int) == 0 || old[signal] != actions[signal])
        {
            install(signal as c_int, actions[signal]);
        }
    }
    if before.is_none() {
        super::set_mask(&set_of(actions[0].mask));
    }
}
