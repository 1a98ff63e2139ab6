//! Locales: what libstdc++ and the C library allocate for them lies in memory that every process has at the same addresses.
//!
//! The libraries' code has no checks. Process 0 therefore allocates what libstdc++ asks for in [`private_range::common`], and a fork after an allocation
//! takes a copy of it to the other processes, as it takes the rest of the [state](super). A `locale_t` there is a copy of the C library's own
//! structure, which every process fills with what its C library has for those names. Facets of the program lie in the shared heap: the
//! library finds them valid, and what it does to their counts of references is announced before.
//!
//! A locale that another process makes stays with it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::{shared_bytes, shared_object};
use crate::memory::{self, private_range};
use crate::pthread::next_function;
use crate::signals::Deferred;
use crate::{check, sync};

/// Larger objects are buffers of files, which need not be everywhere.
const LARGEST: usize = 64 << 10;
/// In front of an object: its size class.
const HEADER: usize = 16;
const CLASSES: usize = 24;
/// Bytes of a facet that the library looks at: the greatest that it has itself is `std::ctype<wchar_t>`, with 1368.
const FACET: usize = 1536;
/// Bytes of a `std::locale::facet`: a table of functions, a count of references.
const COUNTED: usize = 16;

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

/// `None`: the process is not process 0 of several.
fn objects() -> Option<&'static Mutex<Objects>> {
    static OBJECTS: OnceLock<Option<Mutex<Objects>>> = OnceLock::new();
    let new = || {
        let range = private_range::common().filter(|_| sync::rank() == 0)?;
        Some(Mutex::new(Objects { next: range.start, range, free: Default::default() }))
    };
    OBJECTS.get_or_init(new).as_ref()
}

fn in_common(address: usize) -> bool {
    private_range::common().is_some_and(|range| range.contains(&address))
}

fn allocate(bytes: usize) -> Option<usize> {
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

/// `operator new` of libraries, whose caller is at `site`: null if the C library is to allocate.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_library_new(bytes: usize, site: usize) -> *mut c_void {
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

/// The words of some memory that are addresses in the shared region.
fn shared_pointers(memory: Range<usize>) -> impl Iterator<Item = usize> {
    let word = |at: usize| {
        // SAFETY: the callers pass mapped, readable memory, whose words may be anything.
        unsafe { (at as *const usize).read_unaligned() }
    };
    memory.step_by(size_of::<usize>()).map(word).filter(|word| memory::is_shared(*word))
}

/// Libstdc++'s `std::locale::_Impl`.
#[repr(C)]
struct Impl {
    references: c_int,
    facets: *const usize,
    count: usize,
    caches: *const usize,
    names: *const *const c_char,
}

/// Makes the counts of references of the program's facets writable.
unsafe fn count_facets(locale: *const Impl) {
    check::readable(locale as usize, size_of::<Impl>());
    // SAFETY: the caller passes a locale, whose table libstdc++ has filled.
    let Impl { facets, count, .. } = unsafe { locale.read() };
    let table = facets as usize..facets as usize + count * size_of::<usize>();
    shared_pointers(table).for_each(|facet| check::writable(facet, COUNTED));
}

/// As [`count_facets`], for a locale that may lose its last reference.
unsafe fn release_facets(locale: *const *const Impl) {
    check::writable(locale as usize, size_of::<usize>());
    // SAFETY: the program's `std::locale`, a pointer.
    unsafe {
        let locale = locale.read();
        check::readable(locale as usize, size_of::<c_int>());
        if (*locale).references == 1 {
            count_facets(locale);
        }
    }
}

unsafe extern "C" {
    // In C, weakly: a C program has no C++ library.
    fn dsm_rt_cxx_locale_copy(made: *mut Impl, from: *const Impl, references: usize);
    fn dsm_rt_cxx_locale_implementation_end(locale: *mut Impl);
    fn dsm_rt_cxx_locale_end(locale: *mut *const Impl);
    fn dsm_rt_cxx_locale_assign(to: *mut *const Impl, from: *const *const Impl) -> *mut *const Impl;
    fn dsm_rt_cxx_stream_end(stream: *mut c_void);
    fn dsm_rt_cxx_classic_locales();
}

/// `std::locale::_Impl::_Impl(const _Impl &, size_t)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_locale_copy(made: *mut Impl, from: *const Impl, references: usize) {
    check::writable(made as usize, size_of::<Impl>());
    // SAFETY: the program's locales.
    unsafe {
        count_facets(from);
        dsm_rt_cxx_locale_copy(made, from, references);
    }
}

/// `std::locale::_Impl::~_Impl()`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_locale_implementation_end(locale: *mut Impl) {
    // SAFETY: the program's locale.
    unsafe {
        count_facets(locale);
        dsm_rt_cxx_locale_implementation_end(locale);
    }
}

/// `std::locale::~locale()`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_locale_end(locale: *mut *const Impl) {
    // SAFETY: the program's locale.
    unsafe {
        release_facets(locale);
        dsm_rt_cxx_locale_end(locale);
    }
}

/// `std::locale::operator=`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_locale_assign(to: *mut *const Impl, from: *const *const Impl) -> *mut *const Impl {
    check::readable(from as usize, size_of::<usize>());
    // SAFETY: the program's locales.
    unsafe {
        release_facets(to);
        dsm_rt_cxx_locale_assign(to, from)
    }
}

/// `std::ios_base::~ios_base()`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_stream_end(stream: *mut c_void) {
    /// Bytes of a `std::ios_base`, at whose end is the locale.
    const IOS_BASE: usize = 216;
    check::writable(stream as usize, IOS_BASE);
    // SAFETY: the program's stream.
    unsafe {
        release_facets((stream as usize + IOS_BASE - size_of::<usize>()) as *const *const Impl);
        dsm_rt_cxx_stream_end(stream);
    }
}

/// Categories of a locale by their numbers; number 6 stands for all of them.
const CATEGORIES: [&str; 13] = [
    "LC_CTYPE",
    "LC_NUMERIC",
    "LC_TIME",
    "LC_COLLATE",
    "LC_MONETARY",
    "LC_MESSAGES",
    "",
    "LC_PAPER",
    "LC_NAME",
    "LC_ADDRESS",
    "LC_TELEPHONE",
    "LC_MEASUREMENT",
    "LC_IDENTIFICATION",
];

/// The C library's `locale_t` (`bits/types/__locale_t.h`).
#[repr(C)]
#[derive(Clone, Copy)]
struct CLocale {
    data: [usize; 13],
    ctype: [usize; 3],
    names: [*const c_char; 13],
}

impl CLocale {
    /// The names of its categories, as `newlocale` takes them.
    unsafe fn name(&self) -> Vec<u8> {
        let mut name = Vec::new();
        for (category, value) in CATEGORIES.iter().zip(self.names).filter(|(c, _)| !c.is_empty()) {
            let separator = if name.is_empty() { "" } else { ";" };
            // SAFETY: the C library's string.
            let value = unsafe { CStr::from_ptr(value) }.to_string_lossy();
            name.extend_from_slice(format!("{separator}{category}={value}").as_bytes());
        }
        name.push(0);
        name
    }
}

type Locale = *mut CLocale;

/// Copies of the C library's objects in the common range: address, what the C library of this process has for it, its name.
static COPIES: Mutex<Vec<(usize, usize, CString)>> = Mutex::new(Vec::new());

/// The object of this process's C library behind a copy.
fn original(locale: Locale) -> Locale {
    let copies = COPIES.lock();
    copies.iter().find(|copy| copy.0 == locale as usize).map_or(locale, |copy| copy.1 as Locale)
}

/// A copy of what the C library has made, unless that is a constant.
fn copied(made: Locale) -> Locale {
    // SAFETY: the standard name of what every C library has as a constant.
    let constant = unsafe { next_newlocale()(libc::LC_ALL_MASK, c"C".as_ptr(), std::ptr::null_mut()) };
    let Some(copy) = objects().filter(|_| made != constant).and_then(|_| allocate(size_of::<CLocale>()))
    else {
        return made;
    };
    // SAFETY: a new object of that size; the C library's object, which is alive.
    unsafe { copy_to(copy as Locale, made) };
    copy as Locale
}

/// Makes `copy` one of what the C library has made.
unsafe fn copy_to(copy: Locale, made: Locale) {
    // SAFETY: an object of the common range; the C library's, which is alive.
    let name = unsafe {
        copy.write(CLocale { ctype: shared_tables((*made).ctype), ..*made });
        CString::from_vec_with_nul((*made).name()).unwrap_or_default()
    };
    let mut copies = COPIES.lock();
    copies.retain(|known| known.0 != copy as usize);
    copies.push((copy as usize, made as usize, name));
    CHANGES.fetch_add(1, Ordering::Relaxed);
}

/// Bytes of an element of the tables of [`CLocale::ctype`]: kinds, small letters, capital letters.
const TABLES: [usize; 3] = [2, 4, 4];

/// Copies of these tables in the common range: facets keep their addresses.
fn shared_tables(tables: [usize; 3]) -> [usize; 3] {
    /// Elements in front of the address, and all of them.
    const BEFORE: usize = 128;
    const COUNT: usize = 384;
    std::array::from_fn(|i| {
        let before = BEFORE * TABLES[i];
        // SAFETY: the C library's tables are that large.
        let table =
            unsafe { std::slice::from_raw_parts((tables[i] - before) as *const u8, COUNT * TABLES[i]) };
        shared_text(table) + before
    })
}

macro_rules! next {
    ($name:expr, $type:ty) => {{
        static NEXT: OnceLock<usize> = OnceLock::new();
        // The C library's function of that name; the callers are unsafe.
        std::mem::transmute::<usize, $type>(*NEXT.get_or_init(|| next_function($name, None) as usize))
    }};
}

type New = unsafe extern "C" fn(c_int, *const c_char, Locale) -> Locale;

fn next_newlocale() -> New {
    // SAFETY: the function's type.
    unsafe { next!(c"newlocale", New) }
}

/// `newlocale`, in front of the C library's also for libstdc++.
#[unsafe(no_mangle)]
unsafe extern "C" fn newlocale(mask: c_int, name: *const c_char, base: Locale) -> Locale {
    let own = original(base);
    // SAFETY: the caller's arguments.
    let made = unsafe { next_newlocale()(mask, name, own) };
    if made.is_null() {
        return made;
    }
    if own == base {
        return if made == own { made } else { copied(made) };
    }
    // The C library changes `base`, or makes it part of another.
    // SAFETY: a copy, whose original is `made` now.
    unsafe { copy_to(base, made) };
    base
}

/// See [`newlocale`].
#[unsafe(no_mangle)]
unsafe extern "C" fn __newlocale(mask: c_int, name: *const c_char, base: Locale) -> Locale {
    // SAFETY: as there.
    unsafe { newlocale(mask, name, base) }
}

/// `duplocale`, in front of the C library's also for libstdc++.
#[unsafe(no_mangle)]
unsafe extern "C" fn duplocale(locale: Locale) -> Locale {
    // SAFETY: the caller's locale.
    let made = unsafe { next!(c"duplocale", unsafe extern "C" fn(Locale) -> Locale)(original(locale)) };
    if made.is_null() { made } else { copied(made) }
}

/// See [`duplocale`].
#[unsafe(no_mangle)]
unsafe extern "C" fn __duplocale(locale: Locale) -> Locale {
    // SAFETY: as there.
    unsafe { duplocale(locale) }
}

/// Frees a copy; another process's stays.
fn forget(copy: Locale) {
    if sync::rank() == 0 {
        COPIES.lock().retain(|known| known.0 != copy as usize);
        free(copy as usize);
    }
}

/// `freelocale`, in front of the C library's also for libstdc++.
#[unsafe(no_mangle)]
unsafe extern "C" fn freelocale(locale: Locale) {
    let own = original(locale);
    if own != locale || in_common(locale as usize) {
        forget(locale);
    }
    if !in_common(own as usize) && (own == locale || sync::rank() == 0) {
        // SAFETY: the C library's object, which the caller has no more use for.
        unsafe { next!(c"freelocale", unsafe extern "C" fn(Locale))(own) };
    }
}

/// See [`freelocale`].
#[unsafe(no_mangle)]
unsafe extern "C" fn __freelocale(locale: Locale) {
    // SAFETY: as there.
    unsafe { freelocale(locale) }
}

/// `nl_langinfo_l` of libstdc++, which keeps pointers to texts of the calendar.
#[unsafe(no_mangle)]
unsafe extern "C" fn __nl_langinfo_l(item: c_int, locale: Locale) -> *const c_char {
    const TIME: c_int = 2;
    /// From `_NL_WABDAY_1` to `_NL_WERA_T_FMT`.
    const WIDE: Range<c_int> = 0x20034..0x20065;
    type Item = unsafe extern "C" fn(c_int, Locale) -> *const c_char;
    // SAFETY: the caller's arguments; a text of the C library ends with a NUL or a wide one.
    unsafe {
        let text = next!(c"nl_langinfo_l", Item)(item, locale);
        if item >> 16 != TIME || objects().is_none() {
            return text;
        }
        let bytes = if WIDE.contains(&item) {
            4 * (0..).take_while(|i| *text.cast::<u32>().add(*i) != 0).count() + 4
        } else {
            CStr::from_ptr(text).count_bytes() + 1
        };
        shared_text(std::slice::from_raw_parts(text.cast(), bytes)) as *const c_char
    }
}

/// A text or table in the common range, once for each content.
fn shared_text(bytes: &[u8]) -> usize {
    static TEXTS: Mutex<Vec<(Box<[u8]>, usize)>> = Mutex::new(Vec::new());
    let mut texts = TEXTS.lock();
    if let Some((_, place)) = texts.iter().find(|(text, _)| **text == *bytes) {
        return *place;
    }
    let Some(place) = allocate(bytes.len()) else { return bytes.as_ptr() as usize };
    // SAFETY: a new object of that size.
    unsafe { (place as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    texts.push((bytes.into(), place));
    place
}

/// Process 0: the contents of the common range for [`follow`], as address and size of a copy in shared memory, then the number of the change.
///
/// The copy has the objects, then an address and the address of a name for each `locale_t`.
pub fn snapshot() -> [u64; 3] {
    static LAST: Mutex<([u64; 3], usize)> = Mutex::new(([0; 3], 0));
    let number = changes();
    let mut last = LAST.lock();
    let (snapshot, capacity) = &mut *last;
    let Some(objects) = objects().filter(|_| snapshot[2] != number) else { return *snapshot };
    let (start, used) = {
        let objects = objects.lock();
        (objects.range.start, objects.next.min(objects.range.end) - objects.range.start)
    };
    let copies = COPIES.lock();
    let locales: Vec<[u64; 2]> = copies
        .iter()
        .map(|(copy, _, name)| [*copy as u64, shared_bytes(name.as_bytes_with_nul()) as u64])
        .collect();
    let bytes = used + size_of_val(&*locales);
    if bytes > *capacity {
        *capacity = 2 * bytes;
        *snapshot = [shared_object(*capacity) as u64, 0, 0];
    }
    check::writable(snapshot[0] as usize, bytes);
    // SAFETY: the copy has room for both, and is writable now; the objects are mapped.
    unsafe {
        let place = snapshot[0] as *mut u8;
        place.copy_from_nonoverlapping(start as *const u8, used);
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
        // Objects that process 0 has freed go once more by what they were.
        dsm_rt_cxx_classic_locales();
        (range.start as *mut u8).copy_from_nonoverlapping(place as *const u8, used);
        std::slice::from_raw_parts((place as usize + used) as *const [u64; 2], locales).to_vec()
    };
    for [copy, name] in locales {
        // SAFETY: a name that never changes; a copy in the common range.
        unsafe {
            check::readable_string(name as usize);
            let own = *own_locale(copy as usize, CStr::from_ptr(name as *const c_char));
            (copy as Locale).write(CLocale { ctype: (*(copy as Locale)).ctype, ..own });
        }
    }
    // Conservatively, as collectors of garbage look for pointers (Boehm and Weiser): facets of the program, and what these or the library's caches lead to.
    for facet in shared_pointers(objects) {
        shared_pointers(valid(facet)).for_each(|object| drop(valid(object)));
    }
}

/// Makes valid what may be a facet.
fn valid(facet: usize) -> Range<usize> {
    let start = facet.next_multiple_of(size_of::<usize>());
    let bytes = (0..FACET)
        .rev()
        .step_by(COUNTED)
        .find(|last| memory::is_shared(start + last))
        .map_or(0, |last| last + 1);
    check::readable(start, bytes);
    start..start + bytes / size_of::<usize>() * size_of::<usize>()
}

/// What this process's C library has for a copy with that name.
fn own_locale(copy: usize, name: &CStr) -> Locale {
    let mut copies = COPIES.lock();
    if let Some(known) = copies.iter().find(|known| known.0 == copy && *known.2 == *name) {
        return known.1 as Locale;
    }
    // SAFETY: a name that process 0's C library has taken.
    let own = unsafe { next_newlocale()(libc::LC_ALL_MASK, name.as_ptr(), std::ptr::null_mut()) };
    if own.is_null() {
        crate::start::die(&format!(
            "process {} has no locale {}, which process 0 uses: install it on this host, too",
            sync::rank(),
            name.to_string_lossy()
        ));
    }
    copies.retain(|known| known.0 != copy);
    copies.push((copy, own as usize, name.into()));
    own
}
