//! What the launcher cannot find out about the process once it is gone: source positions that the compiler passes, and where its files are mapped.

use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use dsm_abi::trace::{HEADER_BYTES, TEXT_BYTES, TEXT_HEADER_BYTES, Text, process_word};
use parking_lot::Mutex;

use crate::image;

use super::BUFFERS;

/// Addresses of positions that were noted, each in one of the first [`PROBES`] places from a hash of it on.
static NOTED: [AtomicUsize; 1024] = [const { AtomicUsize::new(0) }; 1024];
const PROBES: usize = 16;
static APPENDING: Mutex<()> = Mutex::new(());
/// Where the text of a source position is in its structure: behind 16 bytes of flags.
const POSITION_TEXT_AT: usize = 16;

/// Sees to it that the position's text is known; returns its address. A program with so many that they find no place has some without text.
pub fn note_position(loc: usize) -> u64 {
    let places = (0..PROBES).map(|i| &NOTED[((loc >> 3) + i) % NOTED.len()]);
    let place = places.into_iter().find(|place| [0, loc].contains(&place.load(Ordering::Relaxed)));
    if let Some(place) = place.filter(|place| place.load(Ordering::Relaxed) != loc)
        && append_position(loc).is_some()
    {
        place.store(loc, Ordering::Relaxed);
    }
    loc as u64
}

#[cold]
fn append_position(loc: usize) -> Option<()> {
    // SAFETY: the structure of LLVM's interface, constant in the program; its text is null or ends with NUL.
    let text = unsafe {
        let text = ((loc + POSITION_TEXT_AT) as *const *const c_char).read();
        if text.is_null() { c"" } else { CStr::from_ptr(text) }
    };
    append(Text::Position, loc, text.to_bytes())
}

/// Notes where the program and its libraries are.
pub fn note_images() {
    for (bias, path) in image::files() {
        append(Text::Image, bias, path.as_os_str().as_encoded_bytes());
    }
}

/// `None` if another thread appends now: the next one to come does it. What finds no space is left out for good.
fn append(kind: Text, key: usize, text: &[u8]) -> Option<()> {
    let buffers = BUFFERS.get()?;
    // A signal handler may have interrupted who holds it.
    let _appending = APPENDING.try_lock()?;
    let length = buffers.header(process_word::TEXT);
    let at = length.load(Ordering::Relaxed) as usize;
    let end = at + TEXT_HEADER_BYTES + text.len().next_multiple_of(8);
    if end > TEXT_BYTES {
        return Some(());
    }
    let words = &buffers.words[(HEADER_BYTES + at) / 8..(HEADER_BYTES + end) / 8];
    words[0].store(key as u64, Ordering::Relaxed);
    words[1].store(kind as u64 | (text.len() as u64) << 32, Ordering::Relaxed);
    write(&words[TEXT_HEADER_BYTES / 8..], text);
    length.store(end as u64, Ordering::Release);
    Some(())
}

fn write(words: &[AtomicU64], text: &[u8]) {
    for (word, bytes) in words.iter().zip(text.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        word.store(u64::from_ne_bytes(whole), Ordering::Relaxed);
    }
}
