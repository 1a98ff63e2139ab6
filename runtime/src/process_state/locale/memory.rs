//! What libstdc++ allocates: objects of process 0 in the range that all processes have, and strings.

use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::memory::private_range;
use crate::process_state::shared_object;
use crate::signals::Deferred;
use crate::{check, sync};

/// Larger objects are buffers of files, which need not be everywhere.
const LARGEST: usize = 64 << 10;
/// In front of an object: its size class.
const HEADER: usize = 16;
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
        let class = (bytes + HEADER).next_power_of_two().max(2 * HEADER).trailing_zeros() as usize;
        let place = self.free[class].pop().or_else(|| {
            let place = self.next;
            self.next += 1 << class;
            (self.next <= self.range.end).then_some(place)
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

/// `None`: the process is not process 0 of several.
fn objects() -> Option<&'static Mutex<Objects>> {
    static OBJECTS: OnceLock<Option<Mutex<Objects>>> = OnceLock::new();
    let new = || {
        let range = private_range::common().filter(|_| sync::rank() == 0)?;
        Some(Mutex::new(Objects { next: range.start, range, free: Default::default() }))
    };
    OBJECTS.get_or_init(new).as_ref()
}

/// What process 0's objects are in.
pub fn used() -> Option<Range<usize>> {
    let objects = objects()?.lock();
    Some(objects.range.start..objects.next.min(objects.range.end))
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
fn library_code() -> &'static Range<usize> {
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

/// The code that allocates for strings there: `std::string::_M_create`, and that of wide strings.
fn string_code() -> &'static [Range<usize>; 2] {
    static CODE: OnceLock<[Range<usize>; 2]> = OnceLock::new();
    unsafe extern "C" {
        fn dladdr1(
            address: *const c_void,
            info: *mut libc::Dl_info,
            extra: *mut *mut c_void,
            flags: c_int,
        ) -> c_int;
    }
    const SYMBOL_ENTRY: c_int = 1;
    let find = |name: &CStr| {
        // SAFETY: looks up a name; the second call fills the two results, or gives 0.
        unsafe {
            let start = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
            let (mut info, mut symbol) = (std::mem::zeroed(), std::ptr::null_mut());
            if start.is_null()
                || dladdr1(start, &mut info, &mut symbol, SYMBOL_ENTRY) == 0
                || symbol.is_null()
            {
                return 0..0;
            }
            start as usize..start as usize + (*symbol.cast::<libc::Elf64_Sym>()).st_size as usize
        }
    };
    CODE.get_or_init(|| {
        [
            c"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_createERmm",
            c"_ZNSt7__cxx1112basic_stringIwSt11char_traitsIwESaIwEE9_M_createERmm",
        ]
        .map(find)
    })
}

/// `operator new` of libraries, whose caller is at `site`: null if the C library is to allocate. A string that libstdc++ makes goes to the program, which may
/// give it to any thread; libstdc++ fills it at once.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_library_new(bytes: usize, site: usize) -> *mut c_void {
    if sync::size() > 1 && string_code().iter().any(|code| code.contains(&site)) {
        let object = shared_object(bytes);
        check::writable(object, bytes);
        return object as *mut c_void;
    }
    let of_library = objects().is_some() && bytes <= LARGEST && library_code().contains(&site);
    of_library.then(|| allocate(bytes)).flatten().unwrap_or(0) as *mut c_void
}

/// Memory for a `std::locale::_Impl`; null if the C library is to allocate.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_locale_new(bytes: usize) -> *mut c_void {
    allocate(bytes).unwrap_or(0) as *mut c_void
}

/// Whether the job has several processes.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_several_processes() -> c_int {
    (sync::size() > 1).into()
}

/// Whether every process has the object.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_is_common(address: u64) -> c_int {
    in_common(address as usize).into()
}
