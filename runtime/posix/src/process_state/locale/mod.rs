//! Locales: what libstdc++ and the C library allocate for them lies in memory that every process has at the same addresses.
//!
//! The libraries' code has no checks. Process 0 therefore allocates what libstdc++ asks for in [`private_range::common`], and a fork after an allocation
//! takes a copy of it to the other processes, as it takes the rest of the [state](super). A `locale_t` there is a copy of the C library's own
//! structure, which every process fills with what its C library has for those names. Facets of the program lie in the shared heap: the
//! library finds them valid, and what it does to their counts of references is announced before.
//!
//! A locale that another process makes stays with it.

mod c_locale;
mod facets;
mod memory;

use std::ffi::{CStr, c_char};
use std::ops::Range;

use parking_lot::Mutex;

use super::shared_object;
use crate::check;
use crate::memory::{is_shared, private_range};

pub use memory::{changes, free};

/// Bytes of a facet that the library looks at: the greatest that it has itself is `std::ctype<wchar_t>`, with 1344.
const FACET: usize = 1536;

unsafe extern "C" {
    // In C, weakly: a C program has no C++ library.
    fn dsm_rt_cxx_classic_locales();
}

/// The words of some memory that are addresses in the shared region.
fn shared_pointers(memory: Range<usize>) -> impl Iterator<Item = usize> {
    let word = |at: usize| {
        // SAFETY: the callers pass mapped, readable memory, whose words may be anything.
        unsafe { (at as *const usize).read_unaligned() }
    };
    memory.step_by(size_of::<usize>()).map(word).filter(|word| is_shared(*word))
}

/// Process 0: the contents of the common range for [`follow`], as address and size of a copy in shared memory, then the number of the change.
///
/// The copy has the objects, then an address and the address of a name for each `locale_t`.
pub fn snapshot() -> [u64; 3] {
    static LAST: Mutex<([u64; 3], usize)> = Mutex::new(([0; 3], 0));
    let number = changes();
    let mut last = LAST.lock();
    let (snapshot, capacity) = &mut *last;
    let Some(objects) = memory::used().filter(|_| snapshot[2] != number) else { return *snapshot };
    let (used, locales) = (objects.len(), c_locale::copies());
    let bytes = used + size_of_val(&*locales);
    if bytes > *capacity {
        *capacity = 2 * bytes;
        *snapshot = [shared_object(*capacity) as u64, 0, 0];
    }
    check::writable(snapshot[0] as usize, bytes);
    // SAFETY: the copy is large enough for both, and is writable now; the objects are mapped.
    unsafe {
        let place = snapshot[0] as *mut u8;
        place.copy_from_nonoverlapping(objects.start as *const u8, used);
        place.add(used).copy_from_nonoverlapping(locales.as_ptr().cast(), size_of_val(&*locales));
    }
    *snapshot = [snapshot[0], (used as u64) << 32 | locales.len() as u64, number];
    *snapshot
}

/// Goes on with the objects of process 0.
pub fn follow([place, sizes, _]: [u64; 3]) {
    let Some(range) = private_range::common().filter(|_| place != 0) else { return };
    let (used, locales) = ((sizes >> 32) as usize, sizes as u32 as usize);
    let objects = range.start..range.start + used;
    check::readable(place as usize, used + locales * size_of::<[u64; 2]>());
    // SAFETY: what `snapshot` has written, made readable; no thread of this process uses a locale between regions.
    let locales = unsafe {
        // Process 0 may have freed locales that are set here: they are given up before their memory is overwritten.
        dsm_rt_cxx_classic_locales();
        (range.start as *mut u8).copy_from_nonoverlapping(place as *const u8, used);
        std::slice::from_raw_parts((place as usize + used) as *const [u64; 2], locales).to_vec()
    };
    for [copy, name] in locales {
        // SAFETY: a name that never changes; a copy in the common range.
        unsafe {
            check::readable_string(name as usize);
            c_locale::fill(copy as usize, CStr::from_ptr(name as *const c_char));
        }
    }
    // Conservatively, as collectors of garbage look for pointers (Boehm and Weiser): facets of the program, and what these or the library's caches lead to.
    for facet in shared_pointers(objects) {
        for object in shared_pointers(valid(facet)) {
            valid(object);
        }
    }
}

/// Makes valid what may be a facet.
fn valid(facet: usize) -> Range<usize> {
    let start = facet.next_multiple_of(size_of::<usize>());
    let bytes = (0..FACET)
        .rev()
        .step_by(facets::COUNTED)
        .find(|last| is_shared(start + last))
        .map_or(0, |last| last + 1);
    check::readable(start, bytes);
    start..start + bytes / size_of::<usize>() * size_of::<usize>()
}
