//! `mmap` and its relatives: mappings are page-aligned objects of the shared heap.
//!
//! A part of a mapping cannot be given back by itself: it stays until the whole is unmapped, by the process that mapped it. What programs see of
//! `munmap`, `mremap`, `madvise` and of `mmap` at a fixed address is the contents, which are as POSIX and Linux say.

use std::collections::HashMap;
use std::ffi::c_int;

use parking_lot::Mutex;

use super::descriptors::{self, Place};
use super::remote;
use crate::job::library::{errno, set_errno};
use crate::memory::geometry::PAGE;
use crate::{check, heap, memory, sync};

/// A mapping of this process.
#[derive(Clone, Copy)]
struct Mapping {
    bytes: usize,
    /// It began with the contents of a file, which is what it goes back to.
    of_file: bool,
}

/// What a mapping begins with: the file's descriptor, and the offset in it.
type Contents<'a> = (&'a Place, c_int, i64);

/// Mappings that are objects of this process's arena, by address.
static MAPPED: Mutex<Option<HashMap<usize, Mapping>>> = Mutex::new(None);

fn fail(error: c_int) -> *mut u8 {
    set_errno(error);
    libc::MAP_FAILED.cast()
}

/// Whether mappings come from the shared heap. In a single process nobody shares them, but an allocator of the program's own has to tell what it has made
/// of them from what libraries allocate.
fn is_shared_here() -> bool {
    unsafe extern "C" {
        safe fn dsm_rt_own_allocator() -> c_int;
    }
    sync::size() > 1 || dsm_rt_own_allocator() != 0
}

/// Whether the address is memory of the shared heap that mappings come from.
fn is_ours(address: usize) -> bool {
    is_shared_here() && heap::owner(address).is_some()
}

/// See [`dsm_abi::entries`]. Anonymous memory and private or read-only file contents become shared memory of the program; all other
/// mappings stay with the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_mmap(
    address: *mut u8,
    bytes: u64,
    protection: u32,
    flags: u32,
    descriptor: u32,
    offset: u64,
) -> *mut u8 {
    let (protection, flags) = (protection as c_int, flags as c_int);
    let anonymous = flags & libc::MAP_ANONYMOUS != 0;
    let place =
        if anonymous { Place::Local(descriptor as c_int) } else { descriptors::place(descriptor as c_int) };
    let descriptor = descriptor as c_int;
    let written_through = !anonymous && flags & libc::MAP_SHARED != 0 && protection & libc::PROT_WRITE != 0;
    let fixed = flags & (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) != 0;
    let whole_pages = (bytes as usize).checked_next_multiple_of(PAGE).filter(|whole| *whole > 0);
    let file = (!anonymous).then_some((&place, descriptor, offset as i64));
    if is_shared_here()
        && let Some(whole) = whole_pages
        && protection & libc::PROT_EXEC == 0
        && !written_through
    {
        if fixed && is_ours(address as usize) {
            if flags & libc::MAP_FIXED_NOREPLACE == libc::MAP_FIXED_NOREPLACE {
                return fail(libc::EEXIST);
            }
            let replaced = (address as usize).is_multiple_of(PAGE) && fill(address as usize, whole, file);
            return if replaced { address } else { fail(libc::EINVAL) };
        }
        // Address space that is set aside becomes memory by and by, when it is made accessible; more than the heap has stays with the process.
        let reserves = protection == libc::PROT_NONE;
        if !fixed && (!reserves || anonymous && whole < heap::space() / 2) {
            return map(whole, file).map_or(libc::MAP_FAILED.cast(), |object| object as *mut u8);
        }
    }
    let descriptor = match place {
        Place::Local(number) => number,
        Place::Remote(owner) => remote::refuse(owner, descriptor),
    };
    if written_through && sync::size() > 1 {
        eprintln!(
            "dsm: warning: a file is mapped for writing: only process {} can use the mapping",
            sync::rank()
        );
    }
    // SAFETY: what the program asks for.
    unsafe { libc::mmap(address.cast(), bytes as usize, protection, flags, descriptor, offset as i64) }.cast()
}

/// A page-aligned object with the contents of a file, or zeros; `None` with `errno`.
fn map(bytes: usize, file: Option<Contents>) -> Option<usize> {
    let Some((object, zero)) = heap::allocate(bytes, PAGE) else {
        fail(libc::ENOMEM);
        return None;
    };
    if (!zero || file.is_some()) && !fill(object, bytes, file) {
        heap::free(object);
        return None;
    }
    MAPPED.lock().get_or_insert_default().insert(object, Mapping { bytes, of_file: file.is_some() });
    Some(object)
}

/// Puts zeros, or as much as there is of a file in front of them, into whole pages; false with `errno` if the file cannot be read.
fn fill(address: usize, bytes: usize, file: Option<Contents>) -> bool {
    check::overwritten(address, bytes);
    let mut done = 0;
    while let Some((place, number, offset)) = file.filter(|_| done < bytes) {
        let (to, at) = ((address + done) as *mut u8, offset + done as i64);
        // SAFETY: inside memory of the program that it wants to be replaced, and which was made writable.
        let count = unsafe {
            match *place {
                Place::Local(descriptor) => libc::pread(descriptor, to.cast(), bytes - done, at) as i64,
                Place::Remote(owner) => remote::read(owner, number, to, bytes - done, Some(at)),
            }
        };
        match count {
            0 => break,
            1.. => done += count as usize,
            _ if errno() == libc::EINTR => {}
            _ => return false,
        }
    }
    // SAFETY: as above.
    unsafe { ((address + done) as *mut u8).write_bytes(0, bytes - done) };
    true
}

/// See [`dsm_abi::entries`]. Parts of a mapping stay until the whole is unmapped, by the process that mapped it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_munmap(address: *mut u8, bytes: u64) -> u32 {
    let at = address as usize;
    if !is_ours(at) {
        // SAFETY: what the program asks for.
        return unsafe { libc::munmap(address.cast(), bytes as usize) as u32 };
    }
    let mut mapped = MAPPED.lock();
    let known = mapped.get_or_insert_default();
    if known.get(&at).is_some_and(|mapping| mapping.bytes <= (bytes as usize).next_multiple_of(PAGE)) {
        give_back(known, at);
    }
    0
}

fn give_back(known: &mut HashMap<usize, Mapping>, at: usize) {
    if let Some(mapping) = known.remove(&at) {
        // Whoever gets the memory next finds it accessible.
        // SAFETY: whole pages of an object that the program has given up.
        unsafe { libc::mprotect(at as *mut _, mapping.bytes, libc::PROT_READ | libc::PROT_WRITE) };
        heap::free(at);
    }
}

/// `mremap`: in the same place if the object is long enough, else (where it may move) in a new one. `to` counts with `MREMAP_FIXED` alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_mremap(
    address: *mut u8,
    old_bytes: usize,
    new_bytes: usize,
    flags: c_int,
    to: *mut u8,
) -> *mut u8 {
    let at = address as usize;
    if !is_ours(at) {
        // SAFETY: what the program asks for.
        return unsafe { libc::mremap(address.cast(), old_bytes, new_bytes, flags, to) }.cast();
    }
    let rounded = |bytes: usize| bytes.checked_next_multiple_of(PAGE).filter(|bytes| *bytes > 0);
    let (Some(old), Some(new)) = (rounded(old_bytes), rounded(new_bytes)) else {
        return fail(libc::EINVAL);
    };
    if !at.is_multiple_of(PAGE) {
        return fail(libc::EINVAL);
    }
    let mapping = MAPPED.lock().get_or_insert_default().get(&at).copied();
    let moves_to = (flags & libc::MREMAP_FIXED != 0).then_some(to as usize);
    if moves_to.is_none() {
        let space = mapping.map_or(old, |m| m.bytes);
        if new <= space {
            // What was cut off earlier comes back as zeros.
            if new > old {
                fill(at + old, new - old, None);
            }
            return address;
        }
        if flags & libc::MREMAP_MAYMOVE == 0 {
            return fail(libc::ENOMEM);
        }
    }
    let place = match moves_to {
        Some(place) if !is_ours(place) || !place.is_multiple_of(PAGE) => return fail(libc::EINVAL),
        Some(place) if place < at + old && at < place + new => return fail(libc::EINVAL),
        Some(place) => place,
        None => match map(new, None) {
            Some(object) => object,
            None => return libc::MAP_FAILED.cast(),
        },
    };
    let kept = old.min(new);
    check::readable(at, kept);
    check::overwritten(place, kept);
    // SAFETY: `kept` bytes of two ranges of the program that do not overlap, made valid.
    unsafe { (place as *mut u8).copy_from_nonoverlapping(address, kept) };
    if moves_to.is_some() && new > kept {
        fill(place + kept, new - kept, None);
    }
    if flags & libc::MREMAP_DONTUNMAP != 0 {
        fill(at, old, None);
    } else if mapping.is_some_and(|m| m.bytes <= old) {
        give_back(MAPPED.lock().get_or_insert_default(), at);
    }
    place as *mut u8
}

/// `mprotect`. Of shared memory it counts only in this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_protect(address: *mut u8, bytes: usize, protection: c_int) -> c_int {
    let is_open = protection & (libc::PROT_READ | libc::PROT_WRITE) == libc::PROT_READ | libc::PROT_WRITE;
    let last = (address as usize).saturating_add(bytes.saturating_sub(1));
    if !is_open && is_shared_here() && [address as usize, last].into_iter().any(memory::is_shared) {
        memory::protection::restrict();
    }
    // SAFETY: what the program asks for.
    unsafe { libc::mprotect(address.cast(), bytes, protection) }
}

/// `madvise`. Memory that is not needed reads as zeros from then on, or keeps the contents of its file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_madvise(address: *mut u8, bytes: usize, advice: c_int) -> c_int {
    let at = address as usize;
    if !is_ours(at) {
        // SAFETY: what the program asks for.
        return unsafe { libc::madvise(address.cast(), bytes, advice) };
    }
    let Some(whole) = bytes.checked_next_multiple_of(PAGE).filter(|_| at.is_multiple_of(PAGE)) else {
        fail(libc::EINVAL);
        return -1;
    };
    match advice {
        libc::MADV_DONTNEED => {
            let mut mapped = MAPPED.lock();
            let holds =
                |(start, mapping): &(&usize, &Mapping)| (**start..*start + mapping.bytes).contains(&at);
            let of_file = mapped.get_or_insert_default().iter().find(holds).is_some_and(|(_, m)| m.of_file);
            drop(mapped);
            if !of_file && whole > 0 {
                fill(at, whole, None);
            }
            0
        }
        // The contents may stay, and they do.
        libc::MADV_FREE => 0,
        // SAFETY: what the program asks for; it changes no contents.
        _ => unsafe { libc::madvise(address.cast(), bytes, advice) },
    }
}
