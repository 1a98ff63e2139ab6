//! Functions of the C library that functions of this process stand in front of.

use std::ffi::{CStr, c_void};

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
