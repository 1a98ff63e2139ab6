//! Reading functions: how much of the program's memory they store to is known when it has arrived.
//!
//! A bound of the memory (`fgets(line, INT_MAX, file)`) may lie far behind the object. Up to [`WHOLE`] bytes are made writable before the
//! call; more than that arrives in private memory, piece by piece, and goes to the program's from there.

use std::ffi::{c_int, c_void};

use super::descriptors::{self, Place};
use super::stream::Target;
use super::{File, remote, stream};
use crate::{check, memory, sync};

/// Bounds up to this are made writable as they are; bytes of a piece otherwise.
const WHOLE: usize = 1 << 16;

unsafe extern "C" {
    fn fread(to: *mut u8, size: usize, count: usize, stream: File) -> usize;
    fn fread_unlocked(to: *mut u8, size: usize, count: usize, stream: File) -> usize;
    fn fgets(to: *mut u8, bytes: c_int, stream: File) -> *mut u8;
    fn fgets_unlocked(to: *mut u8, bytes: c_int, stream: File) -> *mut u8;
    fn getc_unlocked(stream: File) -> c_int;
    fn ferror(stream: File) -> c_int;
    fn flockfile(stream: File);
    fn funlockfile(stream: File);
}

/// The stream to use in this process.
fn local_stream(file: File) -> File {
    if sync::size() == 1 { file } else { stream::local_stream(file) }
}

/// Whose stream it is, if it is one of another process.
fn elsewhere(file: File) -> Option<Target> {
    let is_here = |file| stream::local_stream(file) == file && !stream::is_standard_input(file);
    if sync::size() == 1 || is_here(file) { None } else { Target::of(file) }
}

/// Whether memory for so many bytes is made writable before the call; if so, it is.
fn prepared(to: *mut u8, bytes: usize) -> bool {
    if memory::shared().is_some() && bytes > WHOLE {
        return false;
    }
    check::writable(to as usize, bytes);
    true
}

/// Copies what has arrived to memory of the program.
///
/// # Safety
/// The program passed memory for these bytes.
pub(super) unsafe fn deliver(to: *mut u8, piece: &[u8]) {
    check::overwritten(to as usize, piece.len());
    // SAFETY: the program's promise; the memory was made writable.
    unsafe { to.copy_from_nonoverlapping(piece.as_ptr(), piece.len()) };
}

/// Whether a read that filled a piece can be followed by another one, which does not wait for what has not been sent yet.
fn goes_on(descriptor: c_int) -> bool {
    let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: filled in if the call succeeds.
    let mode = unsafe {
        if libc::fstat(descriptor, status.as_mut_ptr()) != 0 {
            return false;
        }
        status.assume_init().st_mode & libc::S_IFMT
    };
    // SAFETY: no memory is involved.
    mode == libc::S_IFREG
        || mode == libc::S_IFBLK
        || mode == libc::S_IFCHR && unsafe { libc::isatty(descriptor) } == 0
}

/// Reads by pieces: `read` is given an offset and a piece to fill, and says as the system call does how much it filled.
///
/// # Safety
/// The program passed memory for `bytes`, or as much as arrives.
unsafe fn by_pieces(
    to: *mut u8,
    bytes: usize,
    goes_on: impl Fn() -> bool,
    mut read: impl FnMut(usize, &mut [u8]) -> isize,
) -> i64 {
    let mut piece = vec![0; WHOLE];
    let mut done = 0;
    while done < bytes {
        let len = (bytes - done).min(WHOLE);
        let Ok(count) = usize::try_from(read(done, &mut piece[..len])) else {
            return if done > 0 { done as i64 } else { -1 };
        };
        // SAFETY: so many bytes have arrived for the program.
        unsafe { deliver(to.add(done), &piece[..count]) };
        done += count;
        if count < len || !goes_on() {
            break;
        }
    }
    done as i64
}

/// `read`, for a descriptor of any process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_read(descriptor: c_int, to: *mut u8, bytes: usize) -> i64 {
    let file = match descriptors::place(descriptor) {
        Place::Local(file) => file,
        // SAFETY: as the program promises.
        Place::Remote(owner) => return unsafe { remote::read(owner, descriptor, to, bytes, None) },
    };
    // SAFETY: as the program promises; the memory is writable, or a piece of our own.
    unsafe {
        if prepared(to, bytes) {
            return libc::read(file, to.cast(), bytes) as i64;
        }
        by_pieces(
            to,
            bytes,
            || goes_on(file),
            |_, piece| libc::read(file, piece.as_mut_ptr().cast(), piece.len()),
        )
    }
}

/// `pread`, likewise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_pread(descriptor: c_int, to: *mut u8, bytes: usize, offset: i64) -> i64 {
    let file = match descriptors::place(descriptor) {
        Place::Local(file) => file,
        Place::Remote(_) if offset < 0 => return descriptors::fail(libc::EINVAL).into(),
        // SAFETY: as the program promises.
        Place::Remote(owner) => return unsafe { remote::read(owner, descriptor, to, bytes, Some(offset)) },
    };
    // SAFETY: as above.
    unsafe {
        if prepared(to, bytes) {
            return libc::pread(file, to.cast(), bytes, offset) as i64;
        }
        by_pieces(
            to,
            bytes,
            || goes_on(file),
            |done, piece| {
                libc::pread(file, piece.as_mut_ptr().cast(), piece.len(), offset.wrapping_add(done as i64))
            },
        )
    }
}

/// `recv`, likewise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_recv(descriptor: c_int, to: *mut u8, bytes: usize, flags: c_int) -> i64 {
    // SAFETY: as the program promises; there is no address to store.
    unsafe { __dsm_recvfrom(descriptor, to, bytes, flags, std::ptr::null_mut(), std::ptr::null_mut()) }
}

/// `recvfrom`, likewise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_recvfrom(
    descriptor: c_int,
    to: *mut u8,
    bytes: usize,
    flags: c_int,
    address: *mut u8,
    address_bytes: *mut u32,
) -> i64 {
    let file = descriptors::local_descriptor(descriptor);
    if !address.is_null() {
        check::writable(address as usize, size_of::<libc::sockaddr_storage>());
        check::writable(address_bytes as usize, size_of::<u32>());
    }
    let receive = |to: *mut c_void, bytes: usize| {
        // SAFETY: the addresses are the program's, made writable, or null.
        unsafe { libc::recvfrom(file, to, bytes, flags, address.cast(), address_bytes) }
    };
    if prepared(to, bytes) {
        return receive(to.cast(), bytes) as i64;
    }
    let all = flags & libc::MSG_WAITALL != 0;
    // SAFETY: as the program promises.
    unsafe { by_pieces(to, bytes, || all, |_, piece| receive(piece.as_mut_ptr().cast(), piece.len())) }
}

/// Reads a stream by pieces; the stream is locked.
unsafe fn read_stream(to: *mut u8, size: usize, count: usize, file: File) -> usize {
    let bytes = size.saturating_mul(count);
    // SAFETY: as the program promises; the piece is our own.
    unsafe {
        let read = |_, piece: &mut [u8]| fread_unlocked(piece.as_mut_ptr(), 1, piece.len(), file) as isize;
        by_pieces(to, bytes, || true, read) as usize / size
    }
}

/// Reads a stream of another process.
unsafe fn read_elsewhere(to: *mut u8, size: usize, count: usize, target: Target) -> usize {
    let bytes = size.saturating_mul(count);
    // SAFETY: as the program promises; the memory is writable, or a piece of our own.
    unsafe {
        let read = match prepared(to, bytes) {
            true => stream::read_all(target, std::slice::from_raw_parts_mut(to, bytes)),
            false => {
                by_pieces(to, bytes, || true, |_, piece| stream::read_all(target, piece) as isize) as usize
            }
        };
        read.checked_div(size).unwrap_or(0)
    }
}

/// `fread`, for a stream of any process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fread(to: *mut u8, size: usize, count: usize, file: File) -> usize {
    if let Some(target) = elsewhere(file) {
        // SAFETY: as the program promises.
        return unsafe { read_elsewhere(to, size, count, target) };
    }
    // SAFETY: as the program promises.
    unsafe {
        if prepared(to, size.saturating_mul(count)) {
            return fread(to, size, count, file);
        }
        flockfile(file);
        let result = read_stream(to, size, count, file);
        funlockfile(file);
        result
    }
}

/// `fread_unlocked`, likewise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fread_unlocked(to: *mut u8, size: usize, count: usize, file: File) -> usize {
    if let Some(target) = elsewhere(file) {
        // SAFETY: as the program promises.
        return unsafe { read_elsewhere(to, size, count, target) };
    }
    // SAFETY: as the program promises.
    unsafe {
        if prepared(to, size.saturating_mul(count)) {
            return fread_unlocked(to, size, count, file);
        }
        read_stream(to, size, count, file)
    }
}

/// Reads a line by pieces; the stream is locked.
unsafe fn read_line(to: *mut u8, bytes: usize, file: File) -> *mut u8 {
    let mut piece = Vec::with_capacity(256);
    let mut done = 0;
    // SAFETY: as the program promises.
    unsafe {
        let before = ferror(file);
        while done + piece.len() + 1 < bytes {
            let character = getc_unlocked(file);
            if character < 0 {
                if done + piece.len() == 0 || before == 0 && ferror(file) != 0 {
                    return std::ptr::null_mut();
                }
                break;
            }
            piece.push(character as u8);
            if character == c_int::from(b'\n') {
                break;
            }
            if piece.len() == WHOLE {
                deliver(to.add(done), &piece);
                done += piece.len();
                piece.clear();
            }
        }
        piece.push(0);
        deliver(to.add(done), &piece);
    }
    to
}

/// `fgets`, likewise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fgets(to: *mut u8, bytes: c_int, file: File) -> *mut u8 {
    let file = local_stream(file);
    let space = bytes.max(0) as usize;
    // SAFETY: as the program promises.
    unsafe {
        if prepared(to, space) {
            return fgets(to, bytes, file);
        }
        flockfile(file);
        let result = read_line(to, space, file);
        funlockfile(file);
        result
    }
}

/// `fgets_unlocked`, likewise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_fgets_unlocked(to: *mut u8, bytes: c_int, file: File) -> *mut u8 {
    let file = local_stream(file);
    let space = bytes.max(0) as usize;
    // SAFETY: as the program promises.
    unsafe { if prepared(to, space) { fgets_unlocked(to, bytes, file) } else { read_line(to, space, file) } }
}
