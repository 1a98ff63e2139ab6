//! Counts of references that libstdc++ changes in facets of the program, which lie in the shared heap.

use std::ffi::{c_char, c_int, c_void};

use super::shared_pointers;
use crate::check;

/// Bytes of a `std::locale::facet`: a table of functions, a count of references.
pub const COUNTED: usize = 16;

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
