//! Counts of references that libstdc++ changes in facets of the program, which lie in the shared heap.

use std::ffi::{c_char, c_int, c_void};

use super::shared_pointers;
use crate::sync::regions;
use crate::{check, sync};

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

/// Added to the count of a facet that several threads may count: they count without knowing of each other, and the facet stays.
const SHARED: c_int = 1 << 24;

/// Makes the counts of references of the program's facets writable. Whoever counts them inside a region keeps them from being destroyed.
unsafe fn make_counts_writable(locale: *const Impl, adds: bool) {
    check::readable(locale as usize, size_of::<Impl>());
    // SAFETY: the caller passes a locale, whose table libstdc++ has filled.
    let Impl { facets, count, caches, .. } = unsafe { locale.read() };
    // What is kept of facets, such as texts that numbers are made of, is counted like them.
    let table = |start: *const usize| start as usize..start as usize + count * size_of::<usize>();
    let several = adds && (regions::is_active() || sync::rank() != 0);
    for facet in shared_pointers(table(facets)).chain(shared_pointers(table(caches))) {
        check::writable(facet, COUNTED);
        // SAFETY: the count, behind the table of functions, made writable.
        unsafe {
            let count = (facet as *mut c_int).add(2);
            if several && *count < SHARED {
                *count += SHARED;
            }
        }
    }
}

/// As [`make_counts_writable`], for a locale that may lose its last reference.
unsafe fn make_last_counts_writable(locale: *const *const Impl) {
    check::writable(locale as usize, size_of::<usize>());
    // SAFETY: the program's `std::locale`, a pointer.
    unsafe {
        let locale = locale.read();
        check::readable(locale as usize, size_of::<c_int>());
        if (*locale).references == 1 {
            make_counts_writable(locale, false);
        }
    }
}

unsafe extern "C" {
    // In C, weakly: a C program has no C++ library.
    fn dsm_rt_cxx_locale_copy(made: *mut Impl, from: *const Impl, references: usize);
    fn dsm_rt_cxx_locale_implementation_end(locale: *mut Impl);
    fn dsm_rt_cxx_locale_combine(
        made: *mut *const Impl,
        from: *const *const Impl,
        other: *const *const Impl,
        categories: c_int,
    );
    fn dsm_rt_cxx_locale_named(
        made: *mut *const Impl,
        from: *const *const Impl,
        name: *const c_char,
        categories: c_int,
    );
    fn dsm_rt_cxx_locale_replace(locale: *mut Impl, other: *const Impl, id: *const c_void);
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
        make_counts_writable(from, true);
        dsm_rt_cxx_locale_copy(made, from, references);
    }
}

/// `std::locale::locale(const locale &, const locale &, category)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_locale_combine(
    made: *mut *const Impl,
    from: *const *const Impl,
    other: *const *const Impl,
    categories: c_int,
) {
    check::writable(made as usize, size_of::<usize>());
    for source in [from, other] {
        check::readable(source as usize, size_of::<usize>());
        // SAFETY: the program's locale.
        unsafe { make_counts_writable(*source, true) };
    }
    // SAFETY: the program's arguments, valid now.
    unsafe { dsm_rt_cxx_locale_combine(made, from, other, categories) };
}

/// `std::locale::locale(const locale &, const char *, category)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_locale_named(
    made: *mut *const Impl,
    from: *const *const Impl,
    name: *const c_char,
    categories: c_int,
) {
    check::writable(made as usize, size_of::<usize>());
    check::readable(from as usize, size_of::<usize>());
    // SAFETY: the program's arguments.
    unsafe {
        check::readable_string(name as usize);
        make_counts_writable(*from, true);
        dsm_rt_cxx_locale_named(made, from, name, categories);
    }
}

/// `std::locale::_Impl::_M_replace_facet`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_locale_replace(locale: *mut Impl, other: *const Impl, id: *const c_void) {
    check::writable(id as usize, size_of::<usize>());
    // SAFETY: the program's locales.
    unsafe {
        make_counts_writable(locale, false);
        make_counts_writable(other, true);
        dsm_rt_cxx_locale_replace(locale, other, id);
    }
}

/// `std::locale::_Impl::~_Impl()`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_locale_implementation_end(locale: *mut Impl) {
    // SAFETY: the program's locale.
    unsafe {
        make_counts_writable(locale, false);
        dsm_rt_cxx_locale_implementation_end(locale);
    }
}

/// `std::locale::~locale()`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_locale_end(locale: *mut *const Impl) {
    // SAFETY: the program's locale.
    unsafe {
        make_last_counts_writable(locale);
        dsm_rt_cxx_locale_end(locale);
    }
}

/// `std::locale::operator=`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_locale_assign(to: *mut *const Impl, from: *const *const Impl) -> *mut *const Impl {
    check::readable(from as usize, size_of::<usize>());
    // SAFETY: the program's locales.
    unsafe {
        make_last_counts_writable(to);
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
        make_last_counts_writable((stream as usize + IOS_BASE - size_of::<usize>()) as *const *const Impl);
        dsm_rt_cxx_stream_end(stream);
    }
}
