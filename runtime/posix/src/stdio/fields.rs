//! Fields of a stream of the GNU C library, which has no functions for them. Their places are the same in all its versions: programs rely on them, by macros.

use std::ffi::c_int;

use super::{File, fflush};

/// `struct _IO_FILE`, up to what is used here.
#[repr(C)]
struct Fields {
    flags: c_int,
    read_next: usize,
    read_end: usize,
    read_base: usize,
    write_base: usize,
    write_next: usize,
    write_end: usize,
    buffer: [usize; 2],
    /// While bytes are read that have been put back: what comes behind them.
    saved_base: usize,
    backup_base: usize,
    saved_end: usize,
}

/// `_IO_UNBUFFERED`.
const NO_BUFFER: c_int = 2;
/// `_IO_EOF_SEEN`.
const END_SEEN: c_int = 0x10;
/// `_IO_ERR_SEEN`.
const FAILED: c_int = 0x20;
/// `_IO_IN_BACKUP`.
const IN_BACKUP: c_int = 0x100;
/// `_IO_CURRENTLY_PUTTING`.
const WRITING: c_int = 0x800;

unsafe extern "C" {
    fn ftrylockfile(stream: File) -> c_int;
    fn funlockfile(stream: File);
    fn getc_unlocked(stream: File) -> c_int;
    fn fwide(stream: File, mode: c_int) -> c_int;
    fn __flbf(stream: File) -> c_int;
    fn fileno(stream: File) -> c_int;
}

/// The fields as they are now; another thread may be changing them.
unsafe fn look(stream: File) -> Fields {
    // SAFETY: the caller's: an open stream.
    unsafe { stream.cast::<Fields>().read_volatile() }
}

/// Number of bytes in the buffer that have not been read.
///
/// # Safety
/// The stream is open, and locked by the thread.
pub unsafe fn unread(stream: File) -> usize {
    // SAFETY: the caller's.
    let fields = unsafe { look(stream) };
    fields.read_end.saturating_sub(fields.read_next)
}

/// Whether there are bytes that have been put back, or that come behind such.
fn has_put_back(fields: &Fields) -> bool {
    let is_left = fields.read_next < fields.read_end || fields.saved_base < fields.saved_end;
    fields.flags & IN_BACKUP != 0 && is_left
}

/// Number of bytes that can be read without a transfer; not all of them where some have been put back. What is still to be written is written out.
///
/// # Safety
/// The stream is open, and locked by the thread.
pub unsafe fn ready(stream: File) -> usize {
    // SAFETY: the caller's.
    unsafe {
        if look(stream).flags & WRITING != 0 {
            fflush(stream);
        }
        if has_put_back(&look(stream)) { 1 } else { unread(stream) }
    }
}

/// Notes in a stream that its end has been read, or that reading has failed.
///
/// # Safety
/// The stream is open, and locked by the thread.
pub unsafe fn end(stream: File, has_failed: bool) {
    // SAFETY: the caller's.
    unsafe { (*stream.cast::<Fields>()).flags |= if has_failed { FAILED } else { END_SEEN } };
}

/// The third argument of `setvbuf` that would make a stream what it is.
///
/// # Safety
/// The stream is open.
pub unsafe fn buffering(stream: File) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        match look(stream).flags & NO_BUFFER != 0 {
            true => super::UNBUFFERED,
            // A terminal's stream finds out with its first transfer.
            false if __flbf(stream) != 0 || libc::isatty(fileno(stream)) != 0 => super::LINE_BUFFERED,
            false => super::FULLY_BUFFERED,
        }
    }
}

/// Whether characters of the stream are wide ones. What has been read of these cannot be taken back from its buffer.
///
/// # Safety
/// The stream is open.
pub unsafe fn is_wide(stream: File) -> bool {
    // SAFETY: the caller's; 0 only asks.
    unsafe { fwide(stream, 0) > 0 }
}

/// Whether [`empty`] has nothing to do.
///
/// # Safety
/// The stream is open.
pub unsafe fn is_empty(stream: File) -> bool {
    // SAFETY: the caller's.
    let fields = unsafe { look(stream) };
    let is_writing = fields.flags & WRITING != 0;
    fields.flags & (END_SEEN | IN_BACKUP) == 0
        && (is_writing || fields.read_next >= fields.read_end)
        && fields.write_next <= fields.write_base
        // SAFETY: the caller's.
        && !(is_writing && unsafe { is_wide(stream) })
}

/// What [`empty`] has done.
pub struct Emptied {
    /// What had been read or put back, and was still there.
    pub bytes: Vec<u8>,
    /// Whether something could not be written.
    pub has_failed: bool,
}

/// Writes out what is in the buffer of a stream, or takes out what has been read and put back and is still there. The stream does not know any more that it has been at its end. `None` if another thread
/// uses the stream.
///
/// # Safety
/// The stream is open.
pub unsafe fn empty(stream: File) -> Option<Emptied> {
    // SAFETY: the caller's; nobody else uses the stream while it is locked.
    unsafe {
        if ftrylockfile(stream) != 0 {
            return None;
        }
        let fields = stream.cast::<Fields>();
        let mut bytes = Vec::new();
        let mut has_failed = false;
        if look(stream).flags & WRITING != 0 {
            // Noted in the stream as well, as by any call.
            has_failed = fflush(stream) != 0;
        } else {
            while has_put_back(&look(stream)) {
                bytes.push(getc_unlocked(stream) as u8);
            }
            let unread = unread(stream);
            bytes.extend_from_slice(std::slice::from_raw_parts((*fields).read_next as *const u8, unread));
            (*fields).read_next += unread;
        }
        (*fields).flags &= !END_SEEN;
        funlockfile(stream);
        Some(Emptied { bytes, has_failed })
    }
}
