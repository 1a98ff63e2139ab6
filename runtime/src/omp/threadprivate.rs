//! Threadprivate variables that are not thread-locals (flang, and clang without TLS).
//!
//! The initial thread of process 0 uses the variable itself, every other thread a copy on the shared heap, so that
//! its address means the same in all processes (copyin, copyprivate).

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;

use parking_lot::Mutex;

use super::{Loc, fork};
use crate::{check, heap};

type Construct = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

thread_local! {
    static COPIES: RefCell<HashMap<usize, usize>> = RefCell::new(HashMap::new());
}

/// Constructors of registered variables, by address.
static CONSTRUCTORS: Mutex<Vec<(usize, Construct)>> = Mutex::new(Vec::new());

/// This thread's copy of the variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_threadprivate_cached(
    _loc: Loc,
    _gtid: i32,
    data: *mut c_void,
    bytes: usize,
    _cache: *mut c_void,
) -> *mut c_void {
    if fork::is_initial_thread() {
        return data;
    }
    COPIES.with_borrow_mut(|copies| {
        // SAFETY: `data` is a variable of `bytes` bytes.
        *copies.entry(data as usize).or_insert_with(|| unsafe { make_copy(data, bytes) }) as *mut c_void
    })
}

unsafe fn make_copy(data: *mut c_void, bytes: usize) -> usize {
    let Some((address, _)) = heap::allocate(bytes, 64) else {
        crate::start::die("no memory for threadprivate data")
    };
    let constructor = CONSTRUCTORS.lock().iter().find(|(of, _)| *of == data as usize).map(|(_, f)| *f);
    if let Some(construct) = constructor {
        // SAFETY: the program's constructor for an object of this type.
        unsafe { construct(address as *mut c_void) };
        return address;
    }
    check::readable(data as usize, bytes);
    check::writable(address, bytes);
    // SAFETY: the variable as the caller says, and a new object of the same size; both accessible.
    unsafe { (address as *mut u8).copy_from_nonoverlapping(data.cast(), bytes) };
    address
}

/// As `__kmpc_threadprivate_cached`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_threadprivate(
    loc: Loc,
    gtid: i32,
    data: *mut c_void,
    bytes: usize,
) -> *mut c_void {
    // SAFETY: as for the function called.
    unsafe { __kmpc_threadprivate_cached(loc, gtid, data, bytes, std::ptr::null_mut()) }
}

/// Names the constructor of a variable's copies.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_threadprivate_register(
    _loc: Loc,
    data: *mut c_void,
    constructor: Option<Construct>,
    _copy: *const c_void,
    _destructor: *const c_void,
) {
    CONSTRUCTORS.lock().extend(constructor.map(|f| (data as usize, f)));
}
