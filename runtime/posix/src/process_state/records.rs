//! Records of the C library that lead to further memory of it: users, groups, hosts, services, protocols, the locale's conventions.
//!
//! Each is described by its members; a copy has all it leads to in shared memory. There is one place for a kind of record, as in the library.

use std::ffi::{c_char, c_int, c_void};

use super::results::{Place, constant};
use super::{shared_bytes, shared_object};
use crate::check::readable_text;
use crate::{check, sync};

/// A member of a record.
#[derive(Clone, Copy)]
enum Member {
    /// A text, or null.
    Text,
    /// Texts up to a null pointer.
    Texts,
    /// Objects up to a null pointer, each of the size that the `int` at this offset says.
    Objects(usize),
    /// So many bytes that lead nowhere.
    Plain(usize),
}

use Member::{Objects, Plain, Text, Texts};

const PASSWORD: &[Member] = &[Text, Text, Plain(8), Text, Text, Text];
const GROUP: &[Member] = &[Text, Text, Plain(8), Texts];
const HOST: &[Member] = &[Text, Texts, Plain(8), Objects(20)];
const SERVICE: &[Member] = &[Text, Texts, Plain(8), Text];
const PROTOCOL: &[Member] = &[Text, Texts, Plain(8)];
const CONVENTIONS: &[Member] = &[Text, Text, Text, Text, Text, Text, Text, Text, Text, Text, Plain(16)];

fn bytes(members: &[Member]) -> usize {
    members.iter().map(|member| if let Plain(bytes) = member { *bytes } else { size_of::<usize>() }).sum()
}

/// A list in shared memory.
fn list(pointers: &[usize]) -> usize {
    let words = [pointers, &[0]].concat();
    let size = size_of_val(&words[..]);
    let place = shared_object(size);
    check::writable(place, size);
    // SAFETY: a new object of that size, writable now.
    unsafe { (place as *mut usize).copy_from_nonoverlapping(words.as_ptr(), words.len()) };
    place
}

/// Copies a record of the library.
unsafe fn copy<T>(place: &Place, record: *mut T, members: &[Member]) -> *mut T {
    if record.is_null() || sync::size() == 1 {
        return record;
    }
    let mut image = Vec::new();
    for member in members {
        // SAFETY: the members describe the record, whose pointers lead where they say.
        unsafe {
            let at = record.cast::<u8>().add(image.len());
            let pointers = || {
                let first = at.cast::<*const *mut c_char>().read();
                let all = (0..).map(|i| first.add(i).read()).take_while(|p| !p.is_null());
                (!first.is_null()).then(|| all.collect::<Vec<_>>())
            };
            let word = match *member {
                Plain(bytes) => {
                    image.extend_from_slice(std::slice::from_raw_parts(at, bytes));
                    continue;
                }
                Text => constant(at.cast::<*mut c_char>().read()) as usize,
                Texts => pointers().map_or(0, |all| {
                    list(&all.into_iter().map(|t| constant(t) as usize).collect::<Vec<_>>())
                }),
                Objects(size) => {
                    let size = record.cast::<u8>().add(size).cast::<c_int>().read() as usize;
                    let object = |o: *mut c_char| shared_bytes(std::slice::from_raw_parts(o.cast(), size));
                    pointers().map_or(0, |all| list(&all.into_iter().map(object).collect::<Vec<_>>()))
                }
            };
            image.extend_from_slice(&word.to_ne_bytes());
        }
    }
    // SAFETY: the image is as long as the record.
    unsafe { place.copy(image.as_ptr(), image.len(), bytes(members)).cast() }
}

unsafe extern "C" {
    fn getpwent() -> *mut c_void;
    fn getpwnam(name: *const c_char) -> *mut c_void;
    fn getpwuid(user: u32) -> *mut c_void;
    fn getgrent() -> *mut c_void;
    fn getgrnam(name: *const c_char) -> *mut c_void;
    fn getgrgid(group: u32) -> *mut c_void;
    fn gethostbyname(name: *const c_char) -> *mut c_void;
    fn getservbyname(name: *const c_char, protocol: *const c_char) -> *mut c_void;
    fn getservbyport(port: c_int, protocol: *const c_char) -> *mut c_void;
    fn getprotobyname(name: *const c_char) -> *mut c_void;
    fn getprotobynumber(number: c_int) -> *mut c_void;
    fn localeconv() -> *mut c_void;
}

static PASSWORDS: Place = Place::new();
static GROUPS: Place = Place::new();
static HOSTS: Place = Place::new();
static SERVICES: Place = Place::new();
static PROTOCOLS: Place = Place::new();

macro_rules! records {
    ($($own:ident $library:ident [$($argument:ident: $t:ty = $value:expr),*] $place:ident $members:ident;)*) => {$(
        #[doc = concat!("`", stringify!($library), "`.")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $own($($argument: $t),*) -> *mut c_void {
            // SAFETY: the program's arguments, made readable; the library's record is as described.
            unsafe { copy(&$place, $library($($value),*), $members) }
        }
    )*};
}

records! {
    __dsm_getpwent getpwent [] PASSWORDS PASSWORD;
    __dsm_getpwnam getpwnam [name: *const c_char = readable_text(name)] PASSWORDS PASSWORD;
    __dsm_getpwuid getpwuid [user: u32 = user] PASSWORDS PASSWORD;
    __dsm_getgrent getgrent [] GROUPS GROUP;
    __dsm_getgrnam getgrnam [name: *const c_char = readable_text(name)] GROUPS GROUP;
    __dsm_getgrgid getgrgid [group: u32 = group] GROUPS GROUP;
    __dsm_gethostbyname gethostbyname [name: *const c_char = readable_text(name)] HOSTS HOST;
    __dsm_getservbyname getservbyname [
        name: *const c_char = readable_text(name),
        protocol: *const c_char = readable_text(protocol)
    ] SERVICES SERVICE;
    __dsm_getservbyport getservbyport [
        port: c_int = port,
        protocol: *const c_char = readable_text(protocol)
    ] SERVICES SERVICE;
    __dsm_getprotobyname getprotobyname [name: *const c_char = readable_text(name)] PROTOCOLS PROTOCOL;
    __dsm_getprotobynumber getprotobynumber [number: c_int = number] PROTOCOLS PROTOCOL;
}

/// `localeconv`: threads may call it at the same time, so what it gives never changes.
#[unsafe(no_mangle)]
unsafe extern "C" fn __dsm_localeconv() -> *mut c_void {
    // SAFETY: the library's record is as described; its first copy goes where the next one would overwrite it.
    unsafe {
        let record = localeconv();
        if sync::size() == 1 {
            return record;
        }
        let mut image = Vec::new();
        for (i, member) in CONVENTIONS.iter().enumerate() {
            let at = record.cast::<u8>().add(i * size_of::<usize>());
            match member {
                Plain(bytes) => image.extend_from_slice(std::slice::from_raw_parts(at, *bytes)),
                _ => image
                    .extend_from_slice(&(constant(at.cast::<*mut c_char>().read()) as usize).to_ne_bytes()),
            }
        }
        shared_bytes(&image) as *mut c_void
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_as_long_as_the_library_has_them() {
        assert_eq!(bytes(PASSWORD), size_of::<libc::passwd>());
        assert_eq!(bytes(GROUP), size_of::<libc::group>());
        assert_eq!(bytes(HOST), size_of::<libc::hostent>());
        assert_eq!(bytes(SERVICE), size_of::<libc::servent>());
        assert_eq!(bytes(PROTOCOL), size_of::<libc::protoent>());
        assert_eq!(bytes(CONVENTIONS), size_of::<libc::lconv>());
    }
}
