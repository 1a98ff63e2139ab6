//! The environment: one array for each process, of strings that all can read.
//!
//! In a job of several processes `environ` leads to an array on the shared heap whose strings lie there as well and are never changed or freed, so a
//! string that one thread got by `getenv` can be read by all. Process 0's array goes to the others with the next fork after a change. Strings of `putenv`
//! stay the program's, which may change them.

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::{Kind, changed, shared_bytes, shared_object};
use crate::{check, memory, sync};

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
    fn secure_getenv(name: *const c_char) -> *mut c_char;
    fn clearenv() -> c_int;
    fn putenv(string: *mut c_char) -> c_int;
}

/// Elements that the array has room for, the null pointer at the end included; while it is locked the environment is changed.
static ROOM: Mutex<usize> = Mutex::new(0);
/// Address of the array that this module made.
static ARRAY: AtomicUsize = AtomicUsize::new(0);

/// `environ`.
pub fn array() -> *mut *mut c_char {
    // SAFETY: a word that the program changes only while no other thread looks at it.
    unsafe { environ }
}

/// Process 0, before the program runs: the environment can be read by all.
pub fn init() {
    adopt(&mut ROOM.lock());
}

fn entry(i: usize) -> *mut c_char {
    let place = array().wrapping_add(i);
    check::readable(place as usize, size_of::<usize>());
    // SAFETY: the callers stop at the null pointer at the end.
    unsafe { place.read() }
}

fn entries() -> Vec<*mut c_char> {
    if array().is_null() {
        return Vec::new();
    }
    (0..).map(entry).take_while(|entry| !entry.is_null()).collect()
}

/// Makes the array one of this module, if the program or a library has put another in its place.
fn adopt(room: &mut usize) {
    if ARRAY.load(Ordering::Relaxed) != 0 && ARRAY.load(Ordering::Relaxed) == array() as usize {
        return;
    }
    replace(room, &entries());
}

/// A new array of these strings, each of which is copied unless it is in shared memory.
fn replace(room: &mut usize, strings: &[*mut c_char]) {
    *room = (2 * strings.len()).max(64);
    let fresh = shared_object(*room * size_of::<usize>()) as *mut *mut c_char;
    check::writable(fresh as usize, *room * size_of::<usize>());
    for (i, string) in strings.iter().enumerate() {
        // SAFETY: the environment has strings; the array has room for them and was made writable.
        unsafe { fresh.add(i).write(shared_string(*string)) };
    }
    // SAFETY: as above; other threads do not look at the environment while it is changed.
    unsafe {
        fresh.add(strings.len()).write(std::ptr::null_mut());
        environ = fresh;
    }
    ARRAY.store(fresh as usize, Ordering::Relaxed);
}

unsafe fn shared_string(string: *mut c_char) -> *mut c_char {
    if memory::is_shared(string as usize) {
        return string;
    }
    // SAFETY: a string of the environment in private memory.
    shared_bytes(unsafe { CStr::from_ptr(string) }.to_bytes_with_nul()) as *mut c_char
}

/// What other processes get: the array, the number of its strings.
pub fn snapshot() -> [u64; 2] {
    adopt(&mut ROOM.lock());
    [array() as u64, entries().len() as u64]
}

/// Goes on with the environment of process 0.
pub fn follow([theirs, count]: [u64; 2]) {
    check::readable(theirs as usize, count as usize * size_of::<usize>());
    // SAFETY: process 0's array; it does not change while the region begins, and was made readable.
    let strings =
        unsafe { std::slice::from_raw_parts(theirs as *const *mut c_char, count as usize) }.to_vec();
    replace(&mut ROOM.lock(), &strings);
    validate();
}

/// Position of a variable.
fn find(name: &[u8]) -> Option<usize> {
    entries().iter().position(|entry| {
        // SAFETY: a string of the environment, made readable.
        let text = unsafe {
            check::readable_string(*entry as usize);
            CStr::from_ptr(*entry)
        };
        text.to_bytes().strip_prefix(name).is_some_and(|rest| rest.first() == Some(&b'='))
    })
}

fn store(i: usize, string: *mut c_char) {
    let place = array().wrapping_add(i);
    check::writable(place as usize, size_of::<usize>());
    // SAFETY: inside the array, writable now.
    unsafe { place.write(string) };
}

/// Puts a string in the place of the variable's, or behind the others.
fn put(room: &mut usize, name: &[u8], string: *mut c_char) {
    match find(name) {
        Some(i) => store(i, string),
        None => {
            let mut strings = entries();
            if strings.len() + 1 >= *room {
                replace(room, &strings);
            }
            store(strings.len() + 1, std::ptr::null_mut());
            store(strings.len(), string);
            strings.clear();
        }
    }
}

fn remove(name: &[u8]) {
    while let Some(i) = find(name) {
        let strings = entries();
        (i..strings.len())
            .for_each(|j| store(j, strings.get(j + 1).copied().unwrap_or(std::ptr::null_mut())));
    }
}

/// The name that the program passes, if it is one.
unsafe fn name<'a>(name: *const c_char) -> Option<&'a [u8]> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the program passes a string.
    let bytes = unsafe {
        check::readable_string(name as usize);
        CStr::from_ptr(name).to_bytes()
    };
    (!bytes.is_empty() && !bytes.contains(&b'=')).then_some(bytes)
}

fn invalid() -> c_int {
    // SAFETY: the thread's own errno.
    unsafe { *libc::__errno_location() = libc::EINVAL };
    -1
}

/// `setenv`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_setenv(variable: *const c_char, value: *const c_char, overwrite: c_int) -> c_int {
    // SAFETY: the program passes two strings.
    unsafe {
        let Some(text) = name(variable) else { return invalid() };
        check::readable_string(value as usize);
        if sync::size() == 1 {
            return libc::setenv(variable, value, overwrite);
        }
        let mut room = ROOM.lock();
        adopt(&mut room);
        if overwrite == 0 && find(text).is_some() {
            return 0;
        }
        let entry = [text, b"=", CStr::from_ptr(value).to_bytes_with_nul()].concat();
        put(&mut room, text, shared_bytes(&entry) as *mut c_char);
    }
    changed(Kind::Environment);
    0
}

/// `putenv`: the string itself becomes part of the environment.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_putenv(string: *mut c_char) -> c_int {
    // SAFETY: the program passes a string.
    unsafe {
        check::readable_string(string as usize);
        if sync::size() == 1 {
            return putenv(string);
        }
        let text = CStr::from_ptr(string).to_bytes();
        let mut room = ROOM.lock();
        adopt(&mut room);
        match text.iter().position(|c| *c == b'=') {
            None => remove(text),
            Some(end) => {
                put(&mut room, &text[..end], shared_string(string));
            }
        }
    }
    changed(Kind::Environment);
    0
}

/// `unsetenv`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_unsetenv(variable: *const c_char) -> c_int {
    // SAFETY: the program passes a string.
    unsafe {
        let Some(text) = name(variable) else { return invalid() };
        if sync::size() == 1 {
            return libc::unsetenv(variable);
        }
        let mut room = ROOM.lock();
        adopt(&mut room);
        if find(text).is_none() {
            return 0;
        }
        remove(text);
    }
    changed(Kind::Environment);
    0
}

/// `clearenv`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_clearenv() -> c_int {
    if sync::size() == 1 {
        // SAFETY: no arguments.
        return unsafe { clearenv() };
    }
    replace(&mut ROOM.lock(), &[]);
    changed(Kind::Environment);
    0
}

/// The same for functions in C.
#[unsafe(no_mangle)]
extern "C" fn dsm_rt_validate_environment() {
    validate();
}

/// Before the C library looks at the environment, which it does without checks: its strings are valid.
pub fn validate() {
    if sync::size() > 1 {
        for entry in entries() {
            // SAFETY: a string of the environment.
            unsafe { check::readable_string(entry as usize) };
        }
    }
}

/// `getenv`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_getenv(name: *const c_char) -> *mut c_char {
    // SAFETY: the program passes a string.
    unsafe {
        check::readable_string(name as usize);
        validate();
        libc::getenv(name)
    }
}

/// `secure_getenv`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_secure_getenv(name: *const c_char) -> *mut c_char {
    // SAFETY: the program passes a string.
    unsafe {
        check::readable_string(name as usize);
        validate();
        secure_getenv(name)
    }
}

/// Strings that all processes can read, in an array of this kind: for the arguments of `main`.
///
/// # Safety
/// `count` strings and a null pointer.
pub unsafe fn shared_arguments(count: c_int, arguments: *mut *mut c_char) -> *mut *mut c_char {
    let count = count.max(0) as usize;
    let bytes = (count + 1) * size_of::<usize>();
    let fresh = shared_object(bytes) as *mut *mut c_char;
    check::writable(fresh as usize, bytes);
    for i in 0..count {
        // SAFETY: as the caller promises. Not among the strings of `shared_bytes`: the program may write to its arguments.
        unsafe {
            let text = CStr::from_ptr(*arguments.add(i)).to_bytes_with_nul();
            let copy = shared_object(text.len());
            check::writable(copy, text.len());
            (copy as *mut u8).copy_from_nonoverlapping(text.as_ptr(), text.len());
            fresh.add(i).write(copy as *mut c_char);
        }
    }
    // SAFETY: the last element.
    unsafe { fresh.add(count).write(std::ptr::null_mut()) };
    fresh
}
