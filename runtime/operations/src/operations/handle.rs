//! Handles (`dsm_handle` of `dsm.h`): what a thread has posted, or a signal that it has sent, to be tested or waited for.

use super::bundle;
use super::signal::{self, Sent};
use crate::job::die;
use crate::posted::pending::{self, Posted};
use crate::{check, memory, sync};

/// As `dsm.h` has it. Zeros: nothing that would have to be waited for.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handle {
    /// [`TAG`], the process, whether it is a signal, and the list of the thread or the process that executes the signal.
    what: u64,
    number: u64,
}

const TAG: u64 = 0xd5;
const TAG_SHIFT: u32 = 56;
const RANK_SHIFT: u32 = 40;
const SIGNAL: u64 = 1 << (RANK_SHIFT - 1);

enum Awaited {
    Posted(Posted),
    Signal(Sent),
}

impl Handle {
    fn new(what: u64, number: u64) -> Handle {
        Handle { what: TAG << TAG_SHIFT | u64::from(sync::rank()) << RANK_SHIFT | what, number }
    }

    pub(super) fn of_signal(sent: Sent) -> Handle {
        Handle::new(SIGNAL | u64::from(sent.at), sent.number.into())
    }

    /// What it stands for; `None` if that is nothing.
    fn awaited(self, function: &str) -> Option<Awaited> {
        if self == Handle::default() {
            return None;
        }
        let rank = (self.what ^ TAG << TAG_SHIFT) >> RANK_SHIFT;
        let rest = self.what % (1 << RANK_SHIFT);
        let at = (rest ^ SIGNAL) as u32;
        let found = match () {
            () if rank != u64::from(sync::rank()) => None,
            () if rest & SIGNAL == 0 => Posted::of_words([rest, self.number]).map(Awaited::Posted),
            () if at >= sync::size() => None,
            () => Some(Awaited::Signal(Sent { at, number: self.number as u32 })),
        };
        if found.is_none() {
            let why = match rank < u64::from(sync::size()) {
                true => format!("the handle is of process {rank}"),
                false => format!("{:#x}, {:#x} is no handle", self.what, self.number),
            };
            die(&format!(
                "process {}: {function}: {why}; pass what dsm_posted or dsm_signal returned, in the process that called it",
                sync::rank()
            ));
        }
        found
    }
}

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_posted() -> Handle {
    bundle::assert_none("dsm_posted");
    if memory::shared().is_none() || pending::is_nothing_kept() {
        return Handle::default();
    }
    let [list, end] = Posted::by_caller().words();
    Handle::new(list, end)
}

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_test(handle: Handle) -> u32 {
    let is_done = match handle.awaited("dsm_test") {
        None => true,
        Some(Awaited::Posted(posted)) => posted.complete(false),
        Some(Awaited::Signal(sent)) => sent.test(),
    };
    is_done.into()
}

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_wait(handle: Handle) {
    match handle.awaited("dsm_wait") {
        None => {}
        Some(Awaited::Posted(posted)) => {
            posted.complete(true);
        }
        Some(Awaited::Signal(sent)) => sent.wait(),
    }
}

/// Puts a handle where a Fortran program wants it.
///
/// # Safety
/// `to` is the program's variable.
unsafe fn put(to: *mut Handle, handle: Handle) {
    check::writable(to as usize, size_of::<Handle>());
    // SAFETY: the caller's promise, writable now.
    unsafe { to.write_unaligned(handle) };
}

/// The handle in a variable of a Fortran program.
///
/// # Safety
/// `from` is that variable.
unsafe fn get(from: *const Handle) -> Handle {
    check::readable(from as usize, size_of::<Handle>());
    // SAFETY: the caller's promise, readable now.
    unsafe { from.read_unaligned() }
}

/// `dsm_posted` of Fortran's module `dsm`.
///
/// # Safety
/// `handle` is the program's variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fortran_posted(handle: *mut Handle) {
    // SAFETY: the caller's promise.
    unsafe { put(handle, dsm_posted()) };
}

/// `dsm_test` of the module.
///
/// # Safety
/// As for [`__dsm_fortran_posted`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fortran_test(handle: *const Handle) -> u32 {
    // SAFETY: the caller's promise.
    dsm_test(unsafe { get(handle) })
}

/// `dsm_wait` of the module.
///
/// # Safety
/// As for [`__dsm_fortran_posted`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fortran_wait(handle: *const Handle) {
    // SAFETY: the caller's promise.
    dsm_wait(unsafe { get(handle) });
}

/// `dsm_signal` of the module.
///
/// # Safety
/// As for [`signal::dsm_signal`] and [`__dsm_fortran_posted`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fortran_signal(
    place: *mut u8,
    function: usize,
    argument: *const u8,
    bytes: usize,
    handle: *mut Handle,
) {
    // SAFETY: the caller's promise.
    unsafe { put(handle, signal::dsm_signal(place, function, argument, bytes)) };
}

/// `dsm_signal_process` of the module.
///
/// # Safety
/// As for [`__dsm_fortran_signal`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fortran_signal_process(
    process: i32,
    function: usize,
    argument: *const u8,
    bytes: usize,
    handle: *mut Handle,
) {
    // SAFETY: the caller's promise.
    unsafe { put(handle, signal::dsm_signal_process(process, function, argument, bytes)) };
}
