//! What builds with `-fdsm-verify` assert: each access of instrumented code is allowed at the moment at which it is made.
//!
//! Two things are asserted of every line that an access touches. First, the thread has checked the line for this kind of access since it last
//! synchronised: that is what makes an access right, whatever the data and the timing happen to be, in a single process as well. Each
//! thread has a table with the interval in which it last checked a line; checks enter themselves, inline ones just before they look
//! at the states. Second, the state table allows the access. Other threads of the process may take that away after the check, by an acquire or a
//! release of theirs, and rightly so; hence it is only asserted if none of them has synchronised since this thread did last.
//!
//! Of calls that the pass takes not to synchronise it is asserted that the thread's interval is the same before and behind them.
//!
//! Builds without the option never come here: whoever makes memory valid looks at one word, on its slow path.

use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicU64, Ordering};

use dsm_abi::state;
use dsm_observe::checked::{self, Known};

use crate::check::Access;
use crate::job::die;
use crate::memory::{self, Memory};
use crate::race::{self, sites};
use crate::sync::regions;
use crate::{image, sync};
use dsm_comm::Word;

/// Entry point, see `dsm_abi::entries`.
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_verify_begin() {
    checked::begin();
}

/// Entry point, see `dsm_abi::entries`.
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_verify_checked(addr: *mut u8, len: u64, store: u32) {
    if memory::is_set_up() {
        checked::note(memory::get().geometry(), addr as usize, len as usize, wanted(store));
    }
}

/// Entry point, see `dsm_abi::entries`.
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_verify_interval() -> u32 {
    checked::interval()
}

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// `place` is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_verify_same_interval(interval: u32, place: *mut u8) {
    if checked::interval() != interval && memory::is_set_up() {
        // SAFETY: the caller's promise.
        let place = unsafe { CStr::from_ptr(place.cast::<c_char>()) }.to_string_lossy();
        let (place, called) = place.split_once('\n').unwrap_or((&place, "a function"));
        fail_once();
        die(&format!(
            "verify: process {}, thread {}: the call of {called} at {place} has synchronised, which it is taken not to do; checks made before it \
             are relied on behind it",
            sync::rank(),
            regions::number().unwrap_or(0),
        ))
    }
}

fn wanted(store: u32) -> Access {
    if store != 0 { Access::Write } else { Access::Read }
}

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// `place` is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_verify_access(addr: *mut u8, len: u64, store: u32, place: *mut u8) {
    let Some(memory) = memory::is_set_up().then(memory::get) else { return };
    let (address, geometry) = (addr as usize, memory.geometry());
    let line = 1usize << geometry.line_shift();
    let end = address.saturating_add(len as usize);
    let mut at = address;
    while at < end {
        if geometry.is_shared(at)
            && let Some(why) = refused(memory, at, wanted(store))
        {
            // SAFETY: the caller's promise.
            let place = unsafe { CStr::from_ptr(place.cast::<c_char>()) }.to_string_lossy();
            fail(memory, at, (address, len as usize), wanted(store), &place, why);
        }
        at = (at & !(line - 1)) + line;
    }
}

/// Why an access is not allowed.
#[derive(Clone, Copy)]
enum Refused {
    /// The thread has not checked the line in its present interval.
    Unchecked,
    /// It has checked it for loads only.
    CheckedForLoad,
    /// It has, but the state does not allow the access.
    State,
}

fn refused(memory: &Memory, address: usize, access: Access) -> Option<Refused> {
    let geometry = memory.geometry();
    let offset = geometry.offset(address);
    match checked::known(geometry, offset, access)? {
        Known::Nothing => return Some(Refused::Unchecked),
        Known::Loads => return Some(Refused::CheckedForLoad),
        Known::Enough => {}
    }
    let undisturbed = checked::is_undisturbed;
    let bad = undisturbed() && memory.table().get(address) >= access.limit() && undisturbed();
    bad.then_some(Refused::State)
}

crate::control::declare! {
    /// 1 once an assertion has failed, in process 0.
    static JOB_FAILED: u64;
}

/// Others may fail at the same time; the first one ends the job, and only that one returns.
fn fail_once() {
    static FAILED: AtomicU64 = AtomicU64::new(0);
    let failed = memory::shared().map_or(Word::of(&FAILED), |_| JOB_FAILED.shared(0));
    while failed.swap(1, Ordering::SeqCst) != 0 {
        std::thread::park();
    }
}

/// Ends the job with the one message; `at` is in the line that refuses.
#[cold]
fn fail(
    memory: &Memory,
    at: usize,
    (address, len): (usize, usize),
    access: Access,
    place: &str,
    why: Refused,
) -> ! {
    fail_once();
    let (verb, needed) = match access {
        Access::Read => ("load", "readable"),
        _ => ("store", "writable"),
    };
    let why = match why {
        Refused::Unchecked => "without a check since the thread last synchronised",
        Refused::CheckedForLoad => "that was only checked for loads since the thread last synchronised",
        Refused::State => "that was checked, but whose line does not allow it",
    };
    let (place, relied) = place.split_once('\n').unwrap_or((place, "unknown"));
    die(&format!(
        "verify: process {}, thread {}: {verb} of {len} bytes at {address:#x} ({}) {why}, at {place}; the state of the line at {:#x} is {}, needed is \
         {needed}; what the access relied on: {relied}",
        sync::rank(),
        regions::number().unwrap_or(0),
        object(memory, at.max(address)),
        at & !((1 << memory.geometry().line_shift()) - 1),
        name(memory.table().get(at)),
    ))
}

fn name(state: u8) -> &'static str {
    match state {
        state::WRITABLE => "0 (writable)",
        state::READABLE => "1 (readable)",
        state::COLD => "2 (cold)",
        state::EXPIRED => "3 (expired)",
        state::NOTICED => "4 (invalidated by a notice)",
        state::INVALID_DIRTY => "5 (invalid, with own bytes)",
        _ => "unknown",
    }
}

/// What a shared address belongs to.
fn object(memory: &Memory, address: usize) -> String {
    if let Some(v) = image::variable_at(address) {
        return format!("{}+{}", v.name, address - v.address);
    }
    let geometry = memory.geometry();
    if let Some((rank, thread)) = geometry.stack_of(address) {
        return format!("a local variable in the shared stack of thread {thread} of process {rank}");
    }
    let home = geometry.default_home(geometry.block(address)).0;
    let shared = memory::shared().filter(|_| race::is_on());
    let found = shared.and_then(|shared| sites::find(&shared.segments, geometry, home, address));
    match found {
        Some(found) => format!(
            "byte {} of {} that process {home} allocated at {}",
            address - found.address,
            found.bytes,
            image::call_site(found.site)
        ),
        None => format!("memory that process {home} allocated"),
    }
}
