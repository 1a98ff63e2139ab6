//! Critical sections, locks and the atomic bracket. A lock's name is the address of its variable, whose contents
//! are not used; nest locks keep their depth with the thread that owns them. Initialising and destroying a lock begin and end its entry in
//! the table of locks.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::mem::ManuallyDrop;

use super::Loc;
use crate::sync;

/// A nest lock that the thread holds.
struct Nest {
    depth: u32,
    /// What tells this holding from one of another thread after the lock was initialised anew.
    holding: Option<(usize, u32)>,
}

thread_local! {
    // Never dropped: the program's handlers at its end run behind the destructors of thread-local values.
    static NESTS: RefCell<ManuallyDrop<HashMap<u64, Nest>>> = RefCell::default();
}

/// Takes a lock that the thread may hold already; returns how often it holds it now.
pub(crate) fn nest_set(name: u64) -> u32 {
    if let Some(depth) = nest_again(name) {
        return depth;
    }
    sync::lock(name);
    nest_begin(name)
}

fn nest_begin(name: u64) -> u32 {
    let nest = Nest { depth: 1, holding: sync::lock_holding(name) };
    NESTS.with_borrow_mut(|held| held.insert(name, nest));
    1
}

fn nest_again(name: u64) -> Option<u32> {
    NESTS.with_borrow_mut(|held| {
        let nest = held.get_mut(&name)?;
        if nest.holding != sync::lock_holding(name) {
            held.remove(&name);
            return None;
        }
        nest.depth += 1;
        Some(nest.depth)
    })
}

/// As [`nest_set`], but 0 if another thread holds the lock.
pub(crate) fn nest_test(name: u64) -> u32 {
    if let Some(depth) = nest_again(name) {
        return depth;
    }
    if sync::try_lock(name) { nest_begin(name) } else { 0 }
}

/// Undoes one of the two.
pub(crate) fn nest_unset(name: u64) {
    let free = NESTS.with_borrow_mut(|held| match held.get_mut(&name) {
        Some(nest) if nest.depth == 1 => held.remove(&name).is_some(),
        Some(nest) => {
            nest.depth -= 1;
            false
        }
        None => false,
    });
    if free {
        sync::unlock(name);
    }
}

/// Begin of a critical section.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_critical(_loc: Loc, _gtid: i32, name: *const c_void) {
    sync::lock(name as u64);
}

/// Begin of a critical section; the hint is not used.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_critical_with_hint(_loc: Loc, _gtid: i32, name: *const c_void, _hint: u32) {
    sync::lock(name as u64);
}

/// End of a critical section.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_end_critical(_loc: Loc, _gtid: i32, name: *const c_void) {
    sync::unlock(name as u64);
}

/// Name of the lock around atomic operations that no instruction covers: an address that is no variable's.
const ATOMIC: u64 = 1;

/// Begin of an atomic operation on an operand of any type.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_atomic_start() {
    sync::lock(ATOMIC);
}

/// End of such an operation.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_atomic_end() {
    sync::unlock(ATOMIC);
}

macro_rules! lock_functions {
    ($($omp:ident $fortran:ident $kmpc:ident ($($extra:ident: $t:ty),*) $(-> $result:ty)? = $body:expr;)*) => {$(
        #[doc = "Lock routine; see the OpenMP specification."]
        #[unsafe(no_mangle)]
        pub extern "C" fn $omp(lock: *const c_void $(, $extra: $t)*) $(-> $result)? {
            $(let _ = $extra;)*
            let body: fn(u64) $(-> $result)? = $body;
            body(lock as u64)
        }

        #[doc = "The same for Fortran."]
        #[unsafe(no_mangle)]
        pub extern "C" fn $fortran(lock: *const c_void $(, $extra: *const $t)*) $(-> $result)? {
            $(let _ = $extra;)*
            let body: fn(u64) $(-> $result)? = $body;
            body(lock as u64)
        }

        #[doc = "The same with a source position."]
        #[unsafe(no_mangle)]
        pub extern "C" fn $kmpc(_loc: Loc, _gtid: i32, lock: *const c_void $(, $extra: $t)*) $(-> $result)? {
            $(let _ = $extra;)*
            let body: fn(u64) $(-> $result)? = $body;
            body(lock as u64)
        }
    )*};
}

lock_functions! {
    omp_init_lock omp_init_lock_ __kmpc_init_lock() = sync::begin_lock;
    omp_init_lock_with_hint omp_init_lock_with_hint_ __kmpc_init_lock_with_hint(hint: i32) = sync::begin_lock;
    omp_destroy_lock omp_destroy_lock_ __kmpc_destroy_lock() = sync::end_lock;
    omp_set_lock omp_set_lock_ __kmpc_set_lock() = sync::lock;
    omp_unset_lock omp_unset_lock_ __kmpc_unset_lock() = sync::unlock;
    omp_test_lock omp_test_lock_ __kmpc_test_lock() -> i32 = |name| i32::from(sync::try_lock(name));
    omp_init_nest_lock omp_init_nest_lock_ __kmpc_init_nest_lock() = sync::begin_lock;
    omp_init_nest_lock_with_hint omp_init_nest_lock_with_hint_ __kmpc_init_nest_lock_with_hint(hint: i32) = sync::begin_lock;
    omp_destroy_nest_lock omp_destroy_nest_lock_ __kmpc_destroy_nest_lock() = sync::end_lock;
    omp_set_nest_lock omp_set_nest_lock_ __kmpc_set_nest_lock() = |name| { nest_set(name); };
    omp_unset_nest_lock omp_unset_nest_lock_ __kmpc_unset_nest_lock() = nest_unset;
    omp_test_nest_lock omp_test_nest_lock_ __kmpc_test_nest_lock() -> i32 = |name| nest_test(name) as i32;
}
