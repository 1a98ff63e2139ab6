//! Standard IO of a program whose threads are spread over processes.
//!
//! A stream of the C library lives in the process that opened it, its owner. The compiler passes every stream argument through
//! `__dsm_stream`: for a stream of another process it gives a proxy, a stream whose reads and writes are carried out by a
//! thread of the owner (`mailbox`), many of them together between two releases. Who owns a stream says the `registry`.
//!
//! [`descriptors`] does the same for file descriptors: those of processes of the same host come here ([`import`]), those of other hosts are used there ([`remote`]).
//!
//! Standard output is each process's own, line-buffered, so that lines stay whole; what a release finds half written goes
//! out with it, so that output that is ordered by synchronisation appears in that order. Standard input is process 0's.

/// Declares an enum that travels as the number of its variant.
macro_rules! codes {
    ($(#[$text:meta])* $visibility:vis enum $name:ident { $($(#[$variant_text:meta])* $variant:ident,)* }) => {
        $(#[$text])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u64)]
        $visibility enum $name { $($(#[$variant_text])* $variant,)* }

        impl $name {
            /// The variant with this number.
            $visibility fn from_code(code: u64) -> Option<$name> {
                const ALL: &[$name] = &[$($name::$variant,)*];
                ALL.get(usize::try_from(code).ok()?).copied()
            }
        }
    };
}

mod allocating;
mod arrivals;
mod buffers;
pub mod descriptors;
mod entries;
mod fields;
pub mod import;
pub mod mailbox;
mod mapping;
mod memory_stream;
pub mod registry;
mod remote;
mod stream;
pub mod strings;
mod waiting;

use std::ffi::{c_int, c_void};

use crate::sync;

pub use allocating::*;
pub use entries::*;
pub use mapping::*;
pub use strings::*;

/// A stream of the C library.
type File = *mut c_void;

unsafe extern "C" {
    static mut stdin: File;
    static mut stdout: File;
    static mut stderr: File;
    // What the three point to at first.
    static mut _IO_2_1_stdin_: c_void;
    static mut _IO_2_1_stdout_: c_void;
    static mut _IO_2_1_stderr_: c_void;
    fn fflush(stream: File) -> c_int;
    fn __fpending(stream: File) -> usize;
    fn setvbuf(stream: File, buffer: *mut u8, mode: c_int, size: usize) -> c_int;
}

/// `_IOFBF` of the GNU C library.
const FULLY_BUFFERED: c_int = 0;
/// `_IOLBF` of the GNU C library.
const LINE_BUFFERED: c_int = 1;
/// `_IONBF` of the GNU C library.
const UNBUFFERED: c_int = 2;

/// Sets up the standard streams of this process. Before any user code runs.
pub fn init() {
    if sync::size() == 1 {
        return;
    }
    // SAFETY: nothing was written yet, and no other thread uses the streams.
    unsafe { setvbuf(stdout, std::ptr::null_mut(), LINE_BUFFERED, 0) };
    if sync::rank() == 0 {
        mailbox::serve();
    } else {
        // SAFETY: as above; the proxy is never closed.
        unsafe { stdin = stream::proxy_stream(0, mailbox::STDIN) };
    }
}

/// Whether [`before_release`] has nothing to do.
#[inline]
pub fn is_quiet() -> bool {
    // SAFETY: `stdout` is a valid stream.
    unsafe { __fpending(stdout) == 0 && stream::is_given_back() }
}

/// Before a release: whoever acquires it may print behind what was printed here.
pub fn before_release() {
    // SAFETY: `stdout` is a valid stream; the C library locks it to flush it.
    unsafe {
        if __fpending(stdout) != 0 {
            fflush(stdout);
        }
    }
    give_back();
}

/// Has the other processes write what their streams hold: at the program's end they may be in a region, which they do not leave.
pub fn flush_others() {
    for (stream, owner) in registry::all().filter(|(_, owner)| *owner != sync::rank()) {
        // Errors are nobody's at the end of a program.
        let _ = mailbox::request(owner, mailbox::Operation::FlushAtEnd, stream, (0, 0), &[], &mut []);
    }
}

/// Has other processes' streams be where the calls here have left them.
pub fn give_back() {
    if !stream::is_given_back() {
        stream::give_back();
    }
}
