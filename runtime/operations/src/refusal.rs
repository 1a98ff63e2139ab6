//! Why functions of `dsm.h` do not do something.

use std::ffi::{CStr, c_char, c_int};

macro_rules! results {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $text:literal;)*) => {
        /// Why something is not done; the codes are those of `dsm.h`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(i32)]
        pub enum Refusal { $($(#[$doc])* $name = $code,)* }

        /// The sentence for a code.
        fn sentence(code: c_int) -> &'static CStr {
            match code {
                0 => c"success",
                $($code => $text,)*
                _ => c"no result of a function of dsm.h",
            }
        }
    };
}

results! {
    /// The block size is no power of two, or out of range.
    BadSize = 1, c"the block size is not a power of two from the program's line size (dsm-cc -fdsm-line) to 65536";
    /// The range is not within one object's shared memory.
    NotShared = 2, c"the range is empty or not within the global variables of the program or of one library, or the heap of one process";
    /// The call is in a parallel region.
    NotSerial = 3, c"block sizes can be set outside parallel regions only";
    /// Another thread than the initial one calls.
    NotInitial = 4, c"block sizes can be set by the thread that runs main only";
    /// See the sentence.
    Full = 5, c"the queue is full";
    /// See the sentence.
    Empty = 6, c"the queue is empty";
}

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_error(code: c_int) -> *const c_char {
    sentence(code).as_ptr()
}
