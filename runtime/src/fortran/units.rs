//! Units of Fortran input and output. Each process has its own connections and buffers, as its copy of flang's library
//! keeps them in private memory.
//!
//! Standard output (6) and error (0) are connected everywhere. What a process has written to them goes out before a
//! parallel region begins, and inside regions at the end of each statement, so lines stay whole and in order. Any other
//! unit belongs to the process that connected it: a table in the control words keeps its owner, and a statement elsewhere
//! ends the job with a message, where the library would silently connect another file. Numbers from `newunit=` are
//! negative; the library itself refuses those it has not handed out.

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use dsm_abi::fortran::{UNIT_CLOSE, UNIT_NONE, UNIT_USE};

use crate::omp::frame;
use crate::omp::ring::control;
use crate::start::die;
use crate::sync;

unsafe extern "C" {
    fn dsm_rt_fortran_end_io(cookie: *mut c_void) -> i32;
    fn dsm_rt_fortran_flush(unit: i32);
}

const STANDARD_ERROR: i32 = 0;
const STANDARD_INPUT: i32 = 5;
const STANDARD_OUTPUT: i32 = 6;

/// Set in a word of the table that has served a unit; the owner's rank plus one, or 0, lies below, the unit above.
const IN_USE: u64 = 1 << 31;

thread_local! {
    /// The statements of this thread that are under way, the innermost last: the standard unit that each writes to.
    static STATEMENTS: RefCell<Vec<Option<i32>>> = const { RefCell::new(Vec::new()) };
}

/// Process 0 has written to a standard unit outside parallel regions since the last one.
static PENDING: AtomicBool = AtomicBool::new(false);

/// Entry point, see `dsm_abi::entries`.
#[unsafe(no_mangle)]
pub extern "C" fn __dsm_fortran_unit(unit: u32, role: u32) {
    if sync::size() == 1 {
        return;
    }
    let mut writes = None;
    match unit.cast_signed() {
        _ if role == UNIT_NONE => {}
        unit @ (STANDARD_OUTPUT | STANDARD_ERROR) => writes = Some(unit),
        STANDARD_INPUT if sync::rank() != 0 && role == UNIT_USE => die(&format!(
            "process {} reads standard input, which belongs to process 0; read it outside parallel regions or in `omp master`",
            sync::rank()
        )),
        unit if unit > 0 => claim(unit, role),
        _ => {}
    }
    STATEMENTS.with_borrow_mut(|s| s.push(writes));
}

/// Enters this process as owner of the unit, or takes it out when the unit is closed.
fn claim(unit: i32, role: u32) {
    let me = u64::from(sync::rank()) + 1;
    let key = (unit as u64) << 32 | IN_USE;
    let first = unit as usize % control::UNIT_WORDS;
    for step in 0..control::UNIT_WORDS {
        let word = control::UNITS + (first + step) % control::UNIT_WORDS;
        loop {
            let found = sync::control_load(word);
            if found != 0 && found & !(IN_USE - 1) != key {
                break;
            }
            let owner = found & (IN_USE - 1);
            if role == UNIT_CLOSE && owner != me {
                return;
            }
            if owner != 0 && owner != me {
                die(&format!(
                    "Fortran unit {unit} is connected in process {}, and process {} uses it too; use it in one process only, \
                     for example outside parallel regions or in `omp master`",
                    owner - 1,
                    me - 1
                ));
            }
            let new = key | if role == UNIT_CLOSE { 0 } else { me };
            if found == new || sync::control_cas(word, found, new).is_ok() {
                return;
            }
        }
    }
}

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// `cookie` is that of the statement under way.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fortran_end_io(cookie: *mut u8) -> u32 {
    // SAFETY: the caller's promise.
    let status = unsafe { dsm_rt_fortran_end_io(cookie.cast()) };
    if sync::size() > 1 {
        let (unit, outermost) = STATEMENTS.with_borrow_mut(|s| (s.pop().flatten(), s.is_empty()));
        if let Some(unit) = unit {
            // A statement around this one may be using the unit still.
            if outermost && (frame::current().active_level > 0 || sync::rank() != 0) {
                // SAFETY: no statement of this thread is under way.
                unsafe { dsm_rt_fortran_flush(unit) };
            } else {
                PENDING.store(true, Ordering::Relaxed);
            }
        }
    }
    status.cast_unsigned()
}

/// To be called before other processes may write: what was written so far goes out first.
pub fn before_fork() {
    let idle = STATEMENTS.with_borrow(Vec::is_empty);
    if idle && PENDING.load(Ordering::Relaxed) && PENDING.swap(false, Ordering::Relaxed) {
        for unit in [STANDARD_OUTPUT, STANDARD_ERROR] {
            // SAFETY: no statement of this thread is under way.
            unsafe { dsm_rt_fortran_flush(unit) };
        }
    }
}
