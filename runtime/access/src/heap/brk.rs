//! `sbrk` and `brk`: one break for all processes, in a part of the shared heap that is set aside at the first call.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::job::library::set_errno;
use crate::memory::geometry::PAGE;
use crate::{memory, sync};
use dsm_comm::Word;

/// The break can grow over this part of an arena, in whole pages.
const SHARE: usize = 4;

crate::control::declare! {
    /// First address of what `sbrk` gives, and how much it has given, in process 0.
    static BREAK: u64, 2;
}

/// First address, 0 before the first call, and the break's distance from it.
fn words() -> [Word; 2] {
    static ALONE: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
    if sync::size() == 1 {
        return [Word::of(&ALONE[0]), Word::of(&ALONE[1])];
    }
    [BREAK.shared(0), BREAK.shared(1)]
}

fn space() -> usize {
    memory::arena(0).len() / SHARE / PAGE * PAGE
}

fn base() -> Option<u64> {
    let [base, _] = words();
    if base.load(Ordering::Acquire) == 0 {
        let (object, _) = super::allocate(space(), PAGE)?;
        if base.compare_exchange(0, object as u64, Ordering::AcqRel, Ordering::Acquire).is_err() {
            super::free(object);
        }
    }
    Some(base.load(Ordering::Acquire))
}

/// Moves the break by what `distance` makes of the present one; the one before.
fn change(distance: impl Fn(u64) -> Option<u64>) -> Option<u64> {
    let base = base()?;
    let [_, end] = words();
    let next = |now| distance(base + now)?.checked_sub(base).filter(|next| *next <= space() as u64);
    end.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).ok().map(|before| base + before)
}

/// `sbrk`.
#[unsafe(no_mangle)]
extern "C" fn __dsm_sbrk(increment: isize) -> *mut c_void {
    match change(|now| now.checked_add_signed(increment as i64)) {
        Some(before) => before as *mut c_void,
        None => {
            set_errno(libc::ENOMEM);
            usize::MAX as *mut c_void
        }
    }
}

/// `brk`.
#[unsafe(no_mangle)]
extern "C" fn __dsm_brk(address: *mut c_void) -> c_int {
    match change(|_| Some(address as u64)) {
        Some(_) => 0,
        None => {
            set_errno(libc::ENOMEM);
            -1
        }
    }
}
