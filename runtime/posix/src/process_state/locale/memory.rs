//! What libstdc++ allocates: objects of process 0 in the range that all processes have, and strings.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

use crate::job::child;
use crate::memory::{self, private_range};
use crate::sync;
use dsm_threads::handler::Deferred;

/// In front of an object: its size class.
const HEADER: usize = 16;
/// Size classes: an object of class `i` takes `1 << i` bytes, with its header.
const CLASSES: usize = 24;

/// How often something was allocated or freed.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// See [`CHANGES`].
pub fn changes() -> u64 {
    CHANGES.load(Ordering::Relaxed)
}

/// Process 0's objects in the common range.
struct Objects {
    range: Range<usize>,
    next: usize,
    free: [Vec<usize>; CLASSES],
}

impl Objects {
    fn allocate(&mut self, bytes: usize) -> Option<usize> {
        if bytes > (1 << (CLASSES - 1)) - HEADER {
            return None;
        }
        let class = (bytes + HEADER).next_power_of_two().max(2 * HEADER).trailing_zeros() as usize;
        let place = self.free[class].pop().or_else(|| {
            let (place, end) = (self.next, self.next + (1 << class));
            (end <= self.range.end).then(|| self.next = end).map(|()| place)
        })?;
        // SAFETY: inside the range, which is mapped; no object is there.
        unsafe { (place as *mut usize).write(class) };
        Some(place + HEADER)
    }

    fn free(&mut self, object: usize) {
        let place = object - HEADER;
        // SAFETY: `allocate` wrote the class there.
        self.free[unsafe { (place as *const usize).read() }].push(place);
    }
}

/// Whether objects of this process go to the others.
pub fn is_owner() -> bool {
    objects().is_some()
}

/// `None`: the process is not process 0 of several, or has not begun.
fn objects() -> Option<&'static Mutex<Objects>> {
    static OBJECTS: OnceLock<Mutex<Objects>> = OnceLock::new();
    let range = private_range::common().filter(|_| sync::rank() == 0)?;
    let new = || Mutex::new(Objects { next: range.start, range: range.clone(), free: Default::default() });
    Some(OBJECTS.get_or_init(new))
}

/// What process 0's objects are in.
pub fn used() -> Option<Range<usize>> {
    let objects = objects()?.lock();
    Some(objects.range.start..objects.next)
}

/// An object was changed in place.
pub fn note_change() {
    CHANGES.fetch_add(1, Ordering::Relaxed);
}

/// Whether every process has the address.
pub fn in_common(address: usize) -> bool {
    private_range::common().is_some_and(|range| range.contains(&address))
}

/// An object in the common range; `None` in other processes than 0, or if the range is full.
pub fn allocate(bytes: usize) -> Option<usize> {
    let objects = objects()?;
    let _deferred = Deferred::begin();
    let object = objects.lock().allocate(bytes)?;
    CHANGES.fetch_add(1, Ordering::Relaxed);
    Some(object)
}

/// Frees an object of the common range; false if it is none. Process 0's copy is the one that counts.
pub fn free(object: usize) -> bool {
    if !in_common(object) {
        return false;
    }
    if let Some(objects) = objects() {
        let _deferred = Deferred::begin();
        objects.lock().free(object);
        CHANGES.fetch_add(1, Ordering::Relaxed);
    }
    true
}

/// The code of libstdc++; empty if the program has no such library.
pub fn library_code() -> &'static Range<usize> {
    static CODE: OnceLock<Range<usize>> = OnceLock::new();
    unsafe extern "C" fn find(info: *mut libc::dl_phdr_info, _: usize, code: *mut c_void) -> c_int {
        // SAFETY: the dynamic linker describes a loaded object; `code` is the caller's variable.
        unsafe {
            let info = &*info;
            if info.dlpi_name.is_null()
                || !CStr::from_ptr(info.dlpi_name).to_string_lossy().contains("/libstdc++.so")
            {
                return 0;
            }
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            let text = headers.iter().find(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0);
            *code.cast() = text.map_or(0..0, |h| {
                let start = (info.dlpi_addr + h.p_vaddr) as usize;
                start..start + h.p_memsz as usize
            });
        }
        1
    }
    CODE.get_or_init(|| {
        let mut code = 0..0;
        // SAFETY: `find` gets a pointer to the variable.
        unsafe { libc::dl_iterate_phdr(Some(find), (&raw mut code).cast()) };
        code
    })
}

/// What functions of libstdc++ begin with that allocate for others than locales: strings, texts of exceptions, `operator new` that does not throw.
const OTHERS: [&[u8]; 6] =
    [b"_ZNSt7__cxx1112basic_string", b"_ZNSs", b"_ZNKSs", b"_ZNSb", b"_ZNKSt6locale4name", b"_Zn"];

/// Whether the caller of `operator new` at `site`, in libstdc++, may allocate for a locale. Many functions that do have no name there.
fn allocates_for_locales(site: usize) -> bool {
    static KNOWN: RwLock<BTreeMap<usize, bool>> = RwLock::new(BTreeMap::new());
    let _deferred = Deferred::begin();
    if let Some(known) = KNOWN.read().get(&site) {
        return *known;
    }
    // SAFETY: the structure is written if there is such a function; its name is a constant of the library.
    let other = unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let found = libc::dladdr(site as *const c_void, &mut info) != 0 && !info.dli_sname.is_null();
        found && {
            let name = CStr::from_ptr(info.dli_sname).to_bytes();
            OTHERS.iter().any(|start| name.starts_with(start))
        }
    };
    KNOWN.write().insert(site, !other);
    !other
}

/// `operator new` of libraries, whose caller is at `site`: null if the C library is to allocate.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_library_new(bytes: usize, site: usize) -> *mut c_void {
    let common = are_several() && is_owner() && library_code().contains(&site) && allocates_for_locales(site);
    common.then(|| allocate(bytes)).flatten().unwrap_or(0) as *mut c_void
}

/// Memory for a `std::locale::_Impl`; null if the C library is to allocate.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_locale_new(bytes: usize) -> *mut c_void {
    allocate(bytes).unwrap_or(0) as *mut c_void
}

/// Whether the job has several processes, and this is one of them. Libraries' initialisation comes before that is known: it has private memory, as a
/// child of `fork` has.
pub fn are_several() -> bool {
    memory::is_set_up() && sync::size() > 1 && !child::is_child()
}

/// See [`are_several`].
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_several_processes() -> c_int {
    are_several().into()
}

/// Whether every process has the object.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_is_common(address: u64) -> c_int {
    in_common(address as usize).into()
}
