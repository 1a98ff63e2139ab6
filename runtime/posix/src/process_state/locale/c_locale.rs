//! `locale_t`: a copy of the C library's structure in memory that all processes have, which each fills with what its C library has for the names.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ops::Range;
use std::sync::OnceLock;

use parking_lot::Mutex;

use super::memory::{allocate, are_several, free, in_common, is_owner, note_change};
use crate::job::library::next_function;
use crate::process_state::{environment, shared_bytes};
use crate::sync;

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
    let Some(copy) = (made != constant).then(|| allocate(size_of::<CLocale>())).flatten() else {
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
    note_change();
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
    if are_several() {
        environment::validate();
    }
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
        if item >> 16 != TIME || !is_owner() {
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

/// The copies, and the addresses of their names, for [`fill`].
pub fn copies() -> Vec<[u64; 2]> {
    let named = |(copy, _, name): &(usize, usize, CString)| {
        [*copy as u64, shared_bytes(name.as_bytes_with_nul()) as u64]
    };
    COPIES.lock().iter().map(named).collect()
}

/// Makes a copy, whose tables are there, one of what this process's C library has for its name.
///
/// # Safety
/// `copy` is one of process 0's [`copies`].
pub unsafe fn fill(copy: usize, name: &CStr) {
    let (own, copy) = (own_locale(copy, name), copy as Locale);
    // SAFETY: as the caller says; the C library's object is alive.
    unsafe { copy.write(CLocale { ctype: (*copy).ctype, ..*own }) };
}

/// What this process's C library has for a copy with that name.
fn own_locale(copy: usize, name: &CStr) -> Locale {
    let mut copies = COPIES.lock();
    if let Some(known) = copies.iter().find(|known| known.0 == copy && *known.2 == *name) {
        return known.1 as Locale;
    }
    environment::validate();
    // SAFETY: a name that process 0's C library has taken.
    let own = unsafe { next_newlocale()(libc::LC_ALL_MASK, name.as_ptr(), std::ptr::null_mut()) };
    if own.is_null() {
        crate::job::die(&format!(
            "process {} has no locale {}, which process 0 uses: install it on this host, too",
            sync::rank(),
            name.to_string_lossy()
        ));
    }
    copies.retain(|known| known.0 != copy);
    copies.push((copy, own as usize, name.into()));
    own
}
