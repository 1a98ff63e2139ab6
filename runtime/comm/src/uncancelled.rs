//! Calls of libraries that must not be left in the middle.

use std::ffi::c_int;

/// While it lives, the thread does not end as `pthread_cancel` asks: the library's system calls are cancellation points.
pub(crate) struct Uncancelled(c_int);

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

impl Uncancelled {
    pub(crate) fn begin() -> Uncancelled {
        const DISABLE: c_int = 1;
        let mut old = 0;
        // SAFETY: changes a flag of this thread.
        unsafe { pthread_setcancelstate(DISABLE, &raw mut old) };
        Uncancelled(old)
    }
}

impl Drop for Uncancelled {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { pthread_setcancelstate(self.0, std::ptr::null_mut()) };
    }
}
