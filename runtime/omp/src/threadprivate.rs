//! Threadprivate variables that are not thread-locals (flang, and clang without TLS).
//!
//! The initial thread of process 0 uses the variable itself, every other thread a copy on the shared heap, so that
//! its address means the same in all processes (copyin, copyprivate). A copy starts with the variable's initial value,
//! which every process sets aside before the program runs: the pass lists the variables in a section of their own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::sync::OnceLock;

use parking_lot::Mutex;

use super::Loc;
use crate::image::{self, Image, Threadprivate};
use crate::memory::threads;
use crate::{check, heap};

type Construct = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

thread_local! {
    // Never dropped: the program's handlers at its end run behind the destructors of thread-local values.
    static COPIES: RefCell<ManuallyDrop<HashMap<usize, usize>>> = RefCell::default();
}

/// Constructors of registered variables, by address.
static CONSTRUCTORS: Mutex<Vec<(usize, Construct)>> = Mutex::new(Vec::new());

/// Initial contents of the listed variables, by address.
static INITIAL: OnceLock<HashMap<usize, Box<[u8]>>> = OnceLock::new();

/// Sets the initial values of the listed variables aside. To be called before the program's globals are shared.
pub fn remember_initial_values() {
    let mut values: HashMap<usize, Box<[u8]>> = HashMap::new();
    for Threadprivate { address, bytes } in image::all().into_iter().flat_map(Image::threadprivates) {
        let known = values.entry(*address).or_default();
        // A common block may be longer in one object than in another.
        if known.len() < *bytes {
            // SAFETY: a variable of the program, which does not run yet.
            *known = unsafe { std::slice::from_raw_parts(*address as *const u8, *bytes) }.into();
        }
    }
    let _ = INITIAL.set(values);
}

/// This thread's copy of the variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_threadprivate_cached(
    _loc: Loc,
    _gtid: i32,
    data: *mut c_void,
    bytes: usize,
    _cache: *mut c_void,
) -> *mut c_void {
    if threads::is_initial() {
        return data;
    }
    if let Some(copy) = COPIES.with_borrow(|copies| copies.get(&(data as usize)).copied()) {
        return copy as *mut c_void;
    }
    // A constructor of the program may use other variables of the kind.
    // SAFETY: `data` is a variable of `bytes` bytes.
    let copy = unsafe { make_copy(data, bytes) };
    COPIES.with_borrow_mut(|copies| copies.insert(data as usize, copy));
    copy as *mut c_void
}

unsafe fn make_copy(data: *mut c_void, bytes: usize) -> usize {
    // A common block that is longer in another object: the copy is as long as the longest.
    let initial = INITIAL.get().and_then(|all| all.get(&(data as usize))).filter(|v| v.len() >= bytes);
    let bytes = initial.map_or(bytes, |v| v.len());
    let Some((address, _)) = heap::allocate(bytes, 64) else {
        crate::job::die("no memory for threadprivate data")
    };
    let constructor = CONSTRUCTORS.lock().iter().find(|(of, _)| *of == data as usize).map(|(_, f)| *f);
    if let Some(construct) = constructor {
        // SAFETY: the program's constructor for an object of this type.
        unsafe { construct(address as *mut c_void) };
        return address;
    }
    let source = match initial {
        Some(value) => value.as_ptr(),
        None => {
            check::readable(data as usize, bytes);
            data.cast_const().cast()
        }
    };
    check::writable(address, bytes);
    // SAFETY: the initial value, or the variable as the caller says, and a new object of the same size; both accessible.
    unsafe { (address as *mut u8).copy_from_nonoverlapping(source, bytes) };
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
