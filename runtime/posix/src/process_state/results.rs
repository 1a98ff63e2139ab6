//! Results that the C library keeps in memory of its own: each is copied into shared memory, so that threads of all processes can read it.
//!
//! A text that never changes ([`constant`]) is copied once. What the library overwrites with its next result has a place here that is overwritten, too: one
//! for each process, or for each thread where the library has one for each.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_long, c_ulong};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{shared_bytes, shared_object};
use crate::check::readable_text;
use crate::job::library::next_function;
use crate::stdio::descriptors;
use crate::{check, memory, sync};

unsafe extern "C" {
    fn asctime(time: *const libc::tm) -> *mut c_char;
    fn ctime(time: *const libc::time_t) -> *mut c_char;
    fn inet_ntoa(address: u32) -> *mut c_char;
    fn l64a(number: c_long) -> *mut c_char;
    fn ecvt(value: f64, digits: c_int, point: *mut c_int, sign: *mut c_int) -> *mut c_char;
    fn fcvt(value: f64, digits: c_int, point: *mut c_int, sign: *mut c_int) -> *mut c_char;
    fn ctermid(into: *mut c_char) -> *mut c_char;
    fn getlogin() -> *mut c_char;
    fn dlerror() -> *mut c_char;
    fn hstrerror(error: c_int) -> *mut c_char;
    fn gettext(message: *const c_char) -> *mut c_char;
    fn dgettext(domain: *const c_char, message: *const c_char) -> *mut c_char;
    fn dcgettext(domain: *const c_char, message: *const c_char, category: c_int) -> *mut c_char;
    fn ngettext(one: *const c_char, many: *const c_char, count: c_ulong) -> *mut c_char;
    fn textdomain(domain: *const c_char) -> *mut c_char;
    fn bindtextdomain(domain: *const c_char, directory: *const c_char) -> *mut c_char;
}

/// A text of the library as all processes can read it.
pub(super) fn constant(text: *mut c_char) -> *mut c_char {
    if text.is_null() || sync::size() == 1 || memory::is_shared(text as usize) {
        return text;
    }
    // SAFETY: a string of the C library.
    shared_bytes(unsafe { CStr::from_ptr(text) }.to_bytes_with_nul()) as *mut c_char
}

/// As [`constant`], but a result that is one of the arguments stays that.
fn constant_or(arguments: &[*const c_char], text: *mut c_char) -> *mut c_char {
    if arguments.contains(&text.cast_const()) { text } else { constant(text) }
}

/// Memory for a result that the next one overwrites.
pub(super) struct Place(AtomicUsize);

impl Place {
    pub(super) const fn new() -> Place {
        Place(AtomicUsize::new(0))
    }

    /// Copies `bytes` from there; `most` is the longest result.
    ///
    /// # Safety
    /// `from` has that many bytes.
    pub(super) unsafe fn copy(&self, from: *const u8, bytes: usize, most: usize) -> *mut u8 {
        let mut place = self.0.load(Ordering::Acquire);
        if place == 0 {
            // Threads that come at the same time race for the result as well.
            place = shared_object(most);
            self.0.store(place, Ordering::Release);
        }
        check::writable(place, bytes);
        // SAFETY: an object of at least that size, writable now; the source as the caller says.
        unsafe { (place as *mut u8).copy_from_nonoverlapping(from, bytes) };
        place as *mut u8
    }

    /// Copies a string of the C library.
    unsafe fn copy_text(&self, text: *mut c_char, most: usize) -> *mut c_char {
        if text.is_null() || sync::size() == 1 {
            return text;
        }
        // SAFETY: as the caller says.
        unsafe {
            let bytes = CStr::from_ptr(text).to_bytes_with_nul();
            self.copy(bytes.as_ptr(), bytes.len().min(most), most).cast()
        }
    }
}

/// The calendar's broken-down time: `gmtime` and `localtime` have the same place.
static TIME: Place = Place::new();
/// Time as text, of `asctime` and `ctime`.
static TIME_TEXT: Place = Place::new();
/// Most bytes of such a text: years have up to eleven characters.
const TIME_TEXT_BYTES: usize = 64;
static DIGITS: Place = Place::new();
/// Most bytes of what `ecvt` and `fcvt` give: 309 digits in front of the point.
const DIGITS_BYTES: usize = 512;
static NUMBER_TEXT: Place = Place::new();
static FILE_NAME: Place = Place::new();

unsafe fn time(broken_down: *mut libc::tm) -> *mut libc::tm {
    if broken_down.is_null() || sync::size() == 1 {
        return broken_down;
    }
    let bytes = size_of::<libc::tm>();
    // SAFETY: the library's result; the name of the zone is made a text that all can read.
    unsafe {
        let mut copy = broken_down.read();
        copy.tm_zone = constant(copy.tm_zone.cast_mut());
        TIME.copy((&raw const copy).cast(), bytes, bytes).cast()
    }
}

/// `gmtime`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_gmtime(seconds: *const libc::time_t) -> *mut libc::tm {
    check::readable(seconds as usize, size_of::<libc::time_t>());
    // SAFETY: the program's argument, made readable.
    unsafe { time(libc::gmtime(seconds)) }
}

/// `localtime`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_localtime(seconds: *const libc::time_t) -> *mut libc::tm {
    check::readable(seconds as usize, size_of::<libc::time_t>());
    // SAFETY: the program's argument, made readable.
    unsafe { time(libc::localtime(seconds)) }
}

/// `asctime`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_asctime(broken_down: *const libc::tm) -> *mut c_char {
    check::readable(broken_down as usize, size_of::<libc::tm>());
    // SAFETY: the program's argument, made readable.
    unsafe { TIME_TEXT.copy_text(asctime(broken_down), TIME_TEXT_BYTES) }
}

/// `ctime`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_ctime(seconds: *const libc::time_t) -> *mut c_char {
    check::readable(seconds as usize, size_of::<libc::time_t>());
    // SAFETY: the program's argument, made readable.
    unsafe { TIME_TEXT.copy_text(ctime(seconds), TIME_TEXT_BYTES) }
}

/// `inet_ntoa`: a place for each thread, as in the library.
#[unsafe(no_mangle)]
extern "C" fn __dsm_inet_ntoa(address: u32) -> *mut c_char {
    thread_local!(static PLACE: Cell<Option<&'static Place>> = const { Cell::new(None) });
    let place = PLACE.get().unwrap_or_else(|| {
        let place: &'static Place = Box::leak(Box::new(Place::new()));
        PLACE.set(Some(place));
        place
    });
    // SAFETY: the library's text has at most 16 bytes.
    unsafe { place.copy_text(inet_ntoa(address), 16) }
}

/// `l64a`.
#[unsafe(no_mangle)]
extern "C" fn __dsm_l64a(number: c_long) -> *mut c_char {
    // SAFETY: the library's text has at most 7 bytes.
    unsafe { NUMBER_TEXT.copy_text(l64a(number), 16) }
}

macro_rules! digits {
    ($($own:ident $library:ident;)*) => {$(
        #[doc = concat!("`", stringify!($library), "`.")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $own(value: f64, digits: c_int, point: *mut c_int, sign: *mut c_int) -> *mut c_char {
            check::writable(point as usize, size_of::<c_int>());
            check::writable(sign as usize, size_of::<c_int>());
            // SAFETY: the program's places, writable now.
            unsafe { DIGITS.copy_text($library(value, digits, point, sign), DIGITS_BYTES) }
        }
    )*};
}

digits! {
    __dsm_ecvt ecvt;
    __dsm_fcvt fcvt;
}

// The linker warns of programs that refer to these two, so they are looked up.
type TempName = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut c_char;

unsafe fn tmpnam(into: *mut c_char) -> *mut c_char {
    // SAFETY: the library's function of that name takes one argument, which it may write to.
    unsafe {
        let function: unsafe extern "C" fn(*mut c_char) -> *mut c_char =
            std::mem::transmute(next_function(c"tmpnam", None));
        function(into)
    }
}

unsafe fn tempnam(directory: *const c_char, prefix: *const c_char) -> *mut c_char {
    // SAFETY: the library's function of that name has this type.
    unsafe {
        let function: TempName = std::mem::transmute(next_function(c"tempnam", None));
        function(directory, prefix)
    }
}

/// Functions that fill the program's memory or, for a null pointer, their own.
macro_rules! into {
    ($($own:ident $library:ident $bytes:expr;)*) => {$(
        #[doc = concat!("`", stringify!($library), "`.")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $own(into: *mut c_char) -> *mut c_char {
            if !into.is_null() {
                check::writable(into as usize, $bytes);
                // SAFETY: the program's memory, writable now.
                return unsafe { $library(into) };
            }
            // SAFETY: the library's own memory.
            unsafe { FILE_NAME.copy_text($library(into), $bytes) }
        }
    )*};
}

into! {
    __dsm_tmpnam tmpnam 20;
    __dsm_ctermid ctermid 9;
}

/// `tempnam`: an object of the shared heap.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_tempnam(directory: *const c_char, prefix: *const c_char) -> *mut c_char {
    // SAFETY: the program's strings, made readable; the result is the library's own until it is freed here.
    unsafe {
        let name = tempnam(readable_text(directory), readable_text(prefix));
        if name.is_null() || sync::size() == 1 {
            return name;
        }
        let copy = crate::heap::entries::__dsm_strdup(name.cast());
        libc::free(name.cast());
        copy.cast()
    }
}

/// Functions whose results never change: name here, the C library's with its arguments.
macro_rules! constants {
    ($($own:ident $library:path [$($argument:ident: $t:ty = $value:expr),*];)*) => {$(
        #[doc = concat!("`", stringify!($library), "`.")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $own($($argument: $t),*) -> *mut c_char {
            // SAFETY: the program's arguments, made readable.
            constant(unsafe { $library($($value),*) }.cast())
        }
    )*};
}

constants! {
    __dsm_strerror libc::strerror [error: c_int = error];
    __dsm_strsignal libc::strsignal [signal: c_int = signal];
    __dsm_nl_langinfo libc::nl_langinfo [item: c_int = item];
    __dsm_ttyname libc::ttyname [descriptor: c_int = descriptors::__dsm_descriptor(descriptor as u32) as c_int];
    __dsm_ptsname libc::ptsname [descriptor: c_int = descriptors::__dsm_descriptor(descriptor as u32) as c_int];
    __dsm_getlogin getlogin [];
    __dsm_dlerror dlerror [];
    __dsm_gai_strerror gai_strerror [error: c_int = error];
    __dsm_hstrerror hstrerror [error: c_int = error];
    __dsm_textdomain textdomain [domain: *const c_char = readable_text(domain)];
    __dsm_bindtextdomain bindtextdomain [
        domain: *const c_char = readable_text(domain),
        directory: *const c_char = readable_text(directory)
    ];
}

unsafe extern "C" {
    fn gai_strerror(error: c_int) -> *mut c_char;
}

/// Translations: a message without one stays what it is.
macro_rules! messages {
    ($($own:ident $library:ident [$($argument:ident: $t:ty = $value:expr),*] $($message:ident)*;)*) => {$(
        #[doc = concat!("`", stringify!($library), "`.")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $own($($argument: $t),*) -> *mut c_char {
            // SAFETY: the program's strings, made readable.
            constant_or(&[$($message),*], unsafe { $library($($value),*) })
        }
    )*};
}

messages! {
    __dsm_gettext gettext [message: *const c_char = readable_text(message)] message;
    __dsm_dgettext dgettext [
        domain: *const c_char = readable_text(domain),
        message: *const c_char = readable_text(message)
    ] message;
    __dsm_dcgettext dcgettext [
        domain: *const c_char = readable_text(domain),
        message: *const c_char = readable_text(message),
        category: c_int = category
    ] message;
    __dsm_ngettext ngettext [
        one: *const c_char = readable_text(one),
        many: *const c_char = readable_text(many),
        count: c_ulong = count
    ] one many;
}
