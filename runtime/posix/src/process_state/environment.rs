//! The environment: one array for each process, of strings that all can read.
//!
//! In a job of several processes `environ` leads to an array on the shared heap whose strings lie there as well and are never changed or freed, so a
//! string that one thread got by `getenv` can be read by all. Process 0's environment goes to the others with the next fork after a change. Strings of `putenv`
//! stay the program's, which may change them. All else each process writes for itself, into blocks of its own: functions of the C library that look at
//! variables (`fnmatch`, `mktime`, `newlocale`) do so without checks, and at its home a block that nobody else stores to stays valid.

use std::ffi::{CStr, c_char, c_int};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::{Constants, Kind, changed, shared_blocks, shared_object};
use crate::job::library::set_errno;
use crate::{check, memory, sync};

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
    fn secure_getenv(name: *const c_char) -> *mut c_char;
    fn clearenv() -> c_int;
    fn putenv(string: *mut c_char) -> c_int;
}

/// Elements that the array has space for, the null pointer at the end included; while it is locked the environment is changed.
static CAPACITY: Mutex<usize> = Mutex::new(0);
/// The strings that this process made.
static CONSTANTS: LazyLock<Mutex<Constants>> = LazyLock::new(Mutex::default);
/// Address of the array that this module made.
static ARRAY: AtomicUsize = AtomicUsize::new(0);

/// `environ`.
pub fn array() -> *mut *mut c_char {
    // SAFETY: a word that the program changes only while no other thread looks at it.
    unsafe { environ }
}

/// Process 0, before the program runs: the environment can be read by all.
pub fn init() {
    adopt(&mut CAPACITY.lock());
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
fn adopt(capacity: &mut usize) {
    if ARRAY.load(Ordering::Relaxed) != 0 && ARRAY.load(Ordering::Relaxed) == array() as usize {
        return;
    }
    replace(capacity, &entries());
}

/// An array with space for so many strings, and for what [`is_constant`] says of each.
fn bytes_of_array(capacity: usize) -> usize {
    capacity * (size_of::<usize>() + 1)
}

/// A new array of these strings, each of which is copied unless it is in shared memory.
fn replace(capacity: &mut usize, strings: &[*mut c_char]) {
    *capacity = (2 * strings.len()).max(64);
    let fresh = shared_blocks(bytes_of_array(*capacity)) as *mut *mut c_char;
    check::writable(fresh as usize, bytes_of_array(*capacity));
    for (i, string) in strings.iter().enumerate() {
        // SAFETY: the environment has strings; the array has space for them and was made writable.
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
    constant(unsafe { CStr::from_ptr(string) }.to_bytes_with_nul())
}

/// A string that the environment keeps.
fn constant(string: &[u8]) -> *mut c_char {
    CONSTANTS.lock().copy(string) as *mut c_char
}

/// What other processes get: the array, how many strings it has and how many it has space for.
pub fn snapshot() -> [u64; 3] {
    let mut capacity = CAPACITY.lock();
    adopt(&mut capacity);
    let (strings, constants) = (entries(), CONSTANTS.lock());
    for (i, string) in strings.iter().enumerate() {
        let place = is_constant(array(), *capacity, i);
        check::writable(place as usize, 1);
        // SAFETY: inside the object of the array.
        unsafe { place.write(constants.has(*string as usize)) };
    }
    [array() as u64, strings.len() as u64, *capacity as u64]
}

/// Whether string `i` of an array of this module with space for so many is one of [`CONSTANTS`]; valid in a snapshot.
fn is_constant(array: *mut *mut c_char, capacity: usize, i: usize) -> *mut bool {
    array.wrapping_add(capacity).cast::<bool>().wrapping_add(i)
}

/// Goes on with the environment of process 0, with copies of its constants: whoever wrote a block has it valid whatever others do.
pub fn follow([theirs, count, their_capacity]: [u64; 3]) {
    let (theirs, their_capacity) = (theirs as *mut *mut c_char, their_capacity as usize);
    check::readable(theirs as usize, bytes_of_array(their_capacity));
    let own = |i| {
        // SAFETY: process 0's array and its strings; they do not change while the region begins, and are made readable.
        unsafe {
            let string = *theirs.add(i);
            check::readable_string(string as usize);
            if *is_constant(theirs, their_capacity, i) {
                constant(CStr::from_ptr(string).to_bytes_with_nul())
            } else {
                string
            }
        }
    };
    let strings: Vec<_> = (0..count as usize).map(own).collect();
    replace(&mut CAPACITY.lock(), &strings);
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
fn put(capacity: &mut usize, name: &[u8], string: *mut c_char) {
    match find(name) {
        Some(i) => store(i, string),
        None => {
            let mut strings = entries();
            if strings.len() + 1 >= *capacity {
                replace(capacity, &strings);
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
    set_errno(libc::EINVAL);
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
        let mut capacity = CAPACITY.lock();
        adopt(&mut capacity);
        if overwrite == 0 && find(text).is_some() {
            return 0;
        }
        let entry = [text, b"=", CStr::from_ptr(value).to_bytes_with_nul()].concat();
        put(&mut capacity, text, constant(&entry));
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
        let mut capacity = CAPACITY.lock();
        adopt(&mut capacity);
        match text.iter().position(|c| *c == b'=') {
            None => remove(text),
            Some(end) => {
                put(&mut capacity, &text[..end], shared_string(string));
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
        let mut capacity = CAPACITY.lock();
        adopt(&mut capacity);
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
    replace(&mut CAPACITY.lock(), &[]);
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
        // SAFETY: as the caller promises. Not among the strings of `constant`: the program may write to its arguments.
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
