//! Input and output statements. `c/fortran_io.c` stands between the program and flang's library; here is decided which process carries a
//! statement out: the one that the unit belongs to ([`units`]).
//!
//! What a process has written to its own standard output goes out before a parallel region begins, and inside regions at the end of each
//! statement, so lines stay whole and in order.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};

use super::remote::Remote;
use super::units::{self, STANDARD_ERROR, STANDARD_INPUT, STANDARD_OUTPUT};
use crate::job::die;
use crate::stdio::mailbox;
use crate::sync;
use crate::sync::regions;

unsafe extern "C" {
    fn dsm_rt_io_original_end(cookie: *mut c_void) -> i32;
    fn dsm_rt_fortran_flush(unit: i32);
}

/// Kinds of statements, in the order of `c/fortran_io.h`; values come from there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
#[allow(dead_code, reason = "the C half makes the values")]
pub enum Kind {
    ListOutput,
    ListInput,
    FormattedOutput,
    FormattedInput,
    UnformattedOutput,
    UnformattedInput,
    Wait,
    WaitAll,
    Close,
    Flush,
    Backspace,
    Endfile,
    Rewind,
    Open,
    Inquire,
    OpenNew,
    NoUnit,
}

impl Kind {
    /// True if the statement connects the unit where it is not connected.
    pub fn connects(self) -> bool {
        !matches!(self, Kind::Wait | Kind::WaitAll | Kind::Close | Kind::Flush | Kind::Inquire)
    }
}

/// `struct dsm_io_begin`.
#[repr(C)]
pub struct Begin {
    pub kind: Kind,
    pub unit: i32,
    pub format: *const u8,
    pub format_len: usize,
    pub format_descriptor: *const c_void,
    pub file: *const c_char,
    pub line: i32,
    pub id: i32,
}

/// A statement under way.
struct Statement {
    /// The standard unit of this process that it writes to.
    writes: Option<i32>,
    /// The unit of this process that it closes.
    closes: Option<i32>,
    /// What is known of it here if another process carries it out. Its address is the statement's cookie.
    remote: Option<Box<Remote>>,
}

thread_local! {
    /// Those of this thread, the innermost last.
    // Never dropped: the program's handlers at its end run behind the destructors of thread-local values.
    static STATEMENTS: RefCell<ManuallyDrop<Vec<Statement>>> = const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

/// Process 0 has written to a standard unit outside parallel regions since the last one.
static PENDING: AtomicBool = AtomicBool::new(false);

/// Whose the statement is, and the unit's number there. `nested`: inside another of the thread, for procedures of defined input and output
/// that get the unit's own number.
fn place(kind: Kind, unit: i32, nested: bool) -> (u32, i32) {
    let me = sync::rank();
    if unit < 0 {
        let (rank, own) = units::split(unit);
        return if rank >= sync::size() || nested && rank == 0 { (me, unit) } else { (rank, own) };
    }
    let standard = matches!(unit, STANDARD_OUTPUT | STANDARD_ERROR | STANDARD_INPUT);
    let rank = if kind == Kind::Open || kind.connects() && !standard {
        units::claim(unit)
    } else {
        let silent = if unit == STANDARD_INPUT && kind.connects() { 0 } else { me };
        units::owner(unit).unwrap_or(silent)
    };
    (rank, unit)
}

/// Begins a statement: null if it is to be carried out here.
#[unsafe(no_mangle)]
unsafe extern "C" fn dsm_rt_io_begin(begin: *mut Begin) -> *mut c_void {
    if sync::size() == 1 {
        return std::ptr::null_mut();
    }
    // SAFETY: the C half passes its own structure.
    let begin = unsafe { &mut *begin };
    let mut statement = Statement { writes: None, closes: None, remote: None };
    match begin.kind {
        Kind::NoUnit => {}
        Kind::OpenNew => mailbox::serve(),
        kind => {
            let (rank, unit) = place(kind, begin.unit, STATEMENTS.with_borrow(|s| !s.is_empty()));
            begin.unit = unit;
            if rank != sync::rank() {
                // SAFETY: the rest of the structure is the program's.
                statement.remote = Some(Box::new(unsafe { Remote::begin(rank, begin) }));
            } else if matches!(unit, STANDARD_OUTPUT | STANDARD_ERROR) {
                statement.writes = Some(unit);
            }
            statement.closes = (kind == Kind::Close && unit >= 0).then_some(unit);
        }
    }
    let cookie = statement.remote.as_deref_mut().map_or(std::ptr::null_mut(), |r| (&raw mut *r).cast());
    STATEMENTS.with_borrow_mut(|s| s.push(statement));
    cookie
}

/// Whether the statement is carried out by another process.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_io_is_remote(cookie: *mut c_void) -> u32 {
    let is = |s: &Statement| s.remote.as_deref().is_some_and(|r| std::ptr::from_ref(r).cast() == cookie);
    STATEMENTS.with_borrow(|all| all.iter().any(is)).into()
}

/// Ends a statement; its status.
#[unsafe(no_mangle)]
unsafe extern "C" fn dsm_rt_io_end(cookie: *mut c_void, remote: u32) -> i32 {
    if sync::size() == 1 {
        // SAFETY: the C half passes the statement that ends.
        return unsafe { dsm_rt_io_original_end(cookie) };
    }
    let (statement, outermost) = STATEMENTS.with_borrow_mut(|s| (s.pop(), s.is_empty()));
    let Some(statement) = statement else { die("a Fortran statement ends that has not begun") };
    if remote != 0 {
        return statement.remote.map_or(0, |r| r.end());
    }
    // SAFETY: as above.
    let status = unsafe { dsm_rt_io_original_end(cookie) };
    if let Some(unit) = statement.closes.filter(|_| status == 0) {
        units::release(unit);
    }
    if let Some(unit) = statement.writes {
        // A statement around this one may be using the unit still.
        if outermost && (regions::is_active() || sync::rank() != 0) {
            // SAFETY: no statement of this thread is under way.
            unsafe { dsm_rt_fortran_flush(unit) };
        } else {
            PENDING.store(true, Ordering::Relaxed);
        }
    }
    status
}

/// To be called before other processes may write: what was written so far goes out first.
pub fn before_fork() {
    let idle = STATEMENTS.with_borrow(|s| s.is_empty());
    if idle && PENDING.load(Ordering::Relaxed) && PENDING.swap(false, Ordering::Relaxed) {
        for unit in [STANDARD_OUTPUT, STANDARD_ERROR] {
            // SAFETY: no statement of this thread is under way.
            unsafe { dsm_rt_fortran_flush(unit) };
        }
    }
}

/// The number by which all processes know a unit that flang's library has just connected here.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_io_unit_for_all(own: i32) -> i32 {
    if sync::size() == 1 { own } else { units::for_all(own) }
}

/// This process's number of a unit, for functions that only its owner can call.
#[unsafe(no_mangle)]
unsafe extern "C" fn dsm_rt_io_own_unit(unit: i32, function: *const c_char) -> i32 {
    if sync::size() == 1 {
        return unit;
    }
    let (rank, own) = place(Kind::Inquire, unit, false);
    if rank != sync::rank() {
        // SAFETY: the C half passes a constant.
        let function = unsafe { CStr::from_ptr(function) }.to_string_lossy();
        die(&format!(
            "process {} calls {function} for Fortran unit {unit}, which process {rank} has connected; call it there, for example outside \
             parallel regions or in `omp master`",
            sync::rank()
        ));
    }
    own
}
