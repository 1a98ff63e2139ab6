//! What `c/sort.c` needs to know of the memory that it sorts.

use crate::check::{self, Access};
use crate::{memory, race};

/// Whether an array has to be sorted with checks; `site` is where that is asked for.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_rt_sorts_shared(base: *mut u8, count: usize, size: usize, site: usize) -> bool {
    let shared = memory::shared().is_some() && memory::is_shared(base as usize) && count > 1 && size > 0;
    if shared && race::is_on() {
        race::note_write(base as usize, count * size, site);
    }
    shared
}

/// Makes memory readable.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_rt_load(memory: *const u8, bytes: usize) {
    check::readable(memory as usize, bytes);
}

/// As [`dsm_rt_load`], for an element that lies in at most two lines and is valid as a rule.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_rt_load_element(element: *const u8, bytes: usize) {
    let (address, table) = (element as usize, memory::get().table());
    let limit = Access::Read.limit();
    if table.get(address) >= limit || table.get(address + bytes - 1) >= limit {
        check::readable(address, bytes);
    }
}

/// Ends the job: there is no private memory for so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_rt_no_memory_to_sort(bytes: usize) -> ! {
    crate::job::die(&format!("no memory to sort {bytes} bytes"))
}
