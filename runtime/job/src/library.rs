//! What there is of the C library: functions that some of this process stand in front of, and `errno`.

use std::ffi::{CStr, c_int, c_void};

use crate::die;

/// The C library's function that one of this process stands in front of.
pub fn next_function(name: &CStr, version: Option<&CStr>) -> *mut c_void {
    // SAFETY: looks up names; a version that the library does not have gives null.
    let found = unsafe {
        let versioned = version.map(|v| libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), v.as_ptr()));
        versioned.filter(|f| !f.is_null()).unwrap_or_else(|| libc::dlsym(libc::RTLD_NEXT, name.as_ptr()))
    };
    if found.is_null() {
        die(&format!("the C library has no {}", name.to_string_lossy()));
    }
    found
}

/// The calling thread's `errno`.
#[inline]
pub fn errno() -> c_int {
    // SAFETY: the thread's own variable.
    unsafe { *libc::__errno_location() }
}

/// Sets the calling thread's `errno`.
#[inline]
pub fn set_errno(error: c_int) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = error };
}
