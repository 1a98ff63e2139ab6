//! Critical sections, locks and the atomic bracket. A lock's name is the address of its variable, whose contents
//! are not used by several processes (for one see [`local_lock`]). Initialising and destroying a lock begin and end its entry in
//! the table of locks.

use std::ffi::c_void;

use super::ompt::abi::MutexKind;
use super::ompt::mutex::{self, Taken};
use super::{Loc, get, local_lock};
use crate::sync;

/// Begin of a critical section.
#[unsafe(export_name = "dsm_rt___kmpc_critical")]
pub extern "C" fn __kmpc_critical(_loc: Loc, _gtid: i32, name: *const c_void) {
    mutex::lock(MutexKind::Critical, 0, name as u64, local_lock::lock);
}

/// Begin of a critical section; only tools are told the hint.
#[unsafe(export_name = "dsm_rt___kmpc_critical_with_hint")]
pub extern "C" fn __kmpc_critical_with_hint(_loc: Loc, _gtid: i32, name: *const c_void, hint: u32) {
    mutex::lock(MutexKind::Critical, hint, name as u64, local_lock::lock);
}

/// End of a critical section.
#[unsafe(export_name = "dsm_rt___kmpc_end_critical")]
pub extern "C" fn __kmpc_end_critical(_loc: Loc, _gtid: i32, name: *const c_void) {
    mutex::unlock(MutexKind::Critical, name as u64, local_lock::unlock);
}

/// Name of the lock around atomic operations that no instruction covers: an address that is no variable's.
const ATOMIC: u64 = 1;

/// Begin of an atomic operation on an operand of any type.
#[unsafe(export_name = "dsm_rt___kmpc_atomic_start")]
pub extern "C" fn __kmpc_atomic_start() {
    mutex::lock(MutexKind::Atomic, 0, ATOMIC, sync::lock);
}

/// End of such an operation.
#[unsafe(export_name = "dsm_rt___kmpc_atomic_end")]
pub extern "C" fn __kmpc_atomic_end() {
    mutex::unlock(MutexKind::Atomic, ATOMIC, sync::unlock);
}

macro_rules! lock_functions {
    ($($omp:ident $fortran:ident $kmpc:ident ($($extra:ident: $t:ty),*) $(-> $result:ty)? = $body:expr;)*) => {$(
        #[doc = "Lock routine; see the OpenMP specification."]
        #[unsafe(export_name = concat!("dsm_rt_", stringify!($omp)))]
        pub extern "C" fn $omp(lock: *const c_void $(, $extra: $t)*) $(-> $result)? {
            let body: fn(u64 $(, $t)*) $(-> $result)? = $body;
            body(lock as u64 $(, $extra)*)
        }

        #[doc = "The same for Fortran."]
        #[unsafe(export_name = concat!("dsm_rt_", stringify!($fortran)))]
        pub unsafe extern "C" fn $fortran(lock: *const c_void $(, $extra: *const $t)*) $(-> $result)? {
            // SAFETY: a Fortran argument is the address of an integer.
            $omp(lock $(, unsafe { get($extra) })*)
        }

        #[doc = "The same with a source position."]
        #[unsafe(export_name = concat!("dsm_rt_", stringify!($kmpc)))]
        pub extern "C" fn $kmpc(_loc: Loc, _gtid: i32, lock: *const c_void $(, $extra: $t)*) $(-> $result)? {
            $omp(lock $(, $extra)*)
        }
    )*};
}

/// A lock begins.
fn init(kind: MutexKind, name: u64, hint: i32) {
    match kind {
        MutexKind::Lock => local_lock::begin_lock(name),
        _ => local_lock::begin_nest(name),
    }
    mutex::init(kind, hint as u32, name);
}

/// A lock ends.
fn destroy(kind: MutexKind, name: u64) {
    local_lock::end_lock(name);
    mutex::destroy(kind, name);
}

fn test(name: u64) -> i32 {
    let taken = |taken: &bool| if *taken { Taken::Now } else { Taken::No };
    i32::from(mutex::acquire(MutexKind::TestLock, 0, name, local_lock::try_lock, taken))
}

/// What the depth of a nest lock says of the attempt to take it.
fn nest_taken(depth: &u32) -> Taken {
    match depth {
        0 => Taken::No,
        1 => Taken::Now,
        _ => Taken::Again,
    }
}

lock_functions! {
    omp_init_lock omp_init_lock_ __kmpc_init_lock() = |name| init(MutexKind::Lock, name, 0);
    omp_init_lock_with_hint omp_init_lock_with_hint_ __kmpc_init_lock_with_hint(hint: i32) = |name, hint| init(MutexKind::Lock, name, hint);
    omp_destroy_lock omp_destroy_lock_ __kmpc_destroy_lock() = |name| destroy(MutexKind::Lock, name);
    omp_set_lock omp_set_lock_ __kmpc_set_lock() = |name| mutex::lock(MutexKind::Lock, 0, name, local_lock::lock);
    omp_unset_lock omp_unset_lock_ __kmpc_unset_lock() = |name| mutex::unlock(MutexKind::Lock, name, local_lock::unlock);
    omp_test_lock omp_test_lock_ __kmpc_test_lock() -> i32 = test;
    omp_init_nest_lock omp_init_nest_lock_ __kmpc_init_nest_lock() = |name| init(MutexKind::NestLock, name, 0);
    omp_init_nest_lock_with_hint omp_init_nest_lock_with_hint_ __kmpc_init_nest_lock_with_hint(hint: i32) = |name, hint| init(MutexKind::NestLock, name, hint);
    omp_destroy_nest_lock omp_destroy_nest_lock_ __kmpc_destroy_nest_lock() = |name| destroy(MutexKind::NestLock, name);
    omp_set_nest_lock omp_set_nest_lock_ __kmpc_set_nest_lock() = |name| { mutex::acquire(MutexKind::NestLock, 0, name, local_lock::set_nest, nest_taken); };
    omp_unset_nest_lock omp_unset_nest_lock_ __kmpc_unset_nest_lock() = |name| mutex::release(MutexKind::NestLock, name, local_lock::unset_nest);
    omp_test_nest_lock omp_test_nest_lock_ __kmpc_test_nest_lock() -> i32 = |name| mutex::acquire(MutexKind::TestNestLock, 0, name, local_lock::test_nest, nest_taken) as i32;
}
