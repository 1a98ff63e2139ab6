//! `copyprivate`: the thread that has executed a `single` construct gives its private variables to all others.
//!
//! Where the pass knows how many bytes the variables have ([`__dsm_copyprivate_copies`]) and they are not many, their contents go to process 0, and all others read them there behind the barrier that ends the construct. There are two places
//! for them, which a region's constructs use in turn: who stores to one has come through a barrier behind the construct before, to which a thread comes only when it has read what was there before. Else the addresses go
//! there, each thread calls the compiler's function, which reads the variables where they are, and a second barrier keeps them.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use dsm_abi::copyprivate::{MOST_WORDS, words_of};
use smallvec::SmallVec;

use super::frame::{self, Frame};
use super::ompt::wait::Waiting;
use super::staging::Staged;
use super::{Loc, get};
use crate::control::{self, Watched};
use crate::{check, heap, memory};

crate::control::declare! {
    /// Address handed around, in process 0; 0 where [`LIST`] has what it would lead to.
    static PUBLISHED: Watched;
    /// Addresses that are handed around, in process 0.
    static LIST: u64, LIST_WORDS;
    /// Contents that are, of each second construct.
    static EVEN: u64, MOST_WORDS;
    /// See [`EVEN`].
    static ODD: u64, MOST_WORDS;
}

/// Most addresses that are handed around without an object on the heap.
const LIST_WORDS: usize = 64;

/// What a thread knows of its `copyprivate` clauses.
#[derive(Clone, Copy, Default)]
pub struct Copyprivate {
    /// Bytes of the variables of the next one, if copies of them will do.
    bytes: Option<&'static [u64]>,
    /// Whether the last one of the region used the second place.
    is_odd: bool,
}

/// Entry point, see `dsm_abi::entries`.
///
/// # Safety
/// There are `count` sizes, for the life of the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_copyprivate_copies(bytes: *mut u8, count: u32) {
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u64>(), count as usize) };
    let frame = frame::current();
    frame.copyprivate.set(Copyprivate { bytes: Some(bytes), ..frame.copyprivate.get() });
}

fn barrier(frame: &Frame, loc: Loc) {
    let _waiting = Waiting::at_barrier(frame, loc);
    frame.team().barrier();
}

/// Copies the private variables of the thread that ran the single block to all others.
#[unsafe(export_name = "dsm_rt___kmpc_copyprivate")]
pub unsafe extern "C" fn __kmpc_copyprivate(
    loc: Loc,
    _gtid: i32,
    bytes: u64,
    list: *mut c_void,
    copy: unsafe extern "C" fn(*mut c_void, *mut c_void),
    source: i32,
) {
    let frame = frame::current();
    let state = frame.copyprivate.get();
    frame.copyprivate.set(Copyprivate { bytes: None, is_odd: !state.is_odd });
    let team = frame.team();
    if team.size == 1 {
        return;
    }
    if !team.distributed() {
        if source != 0 {
            team.copyprivate.store(list.cast(), Ordering::SeqCst);
        }
        barrier(frame, loc);
        if source == 0 {
            // SAFETY: the compiler's function for these lists; the source's stay in place until the second barrier.
            unsafe { copy(list, team.copyprivate.load(Ordering::SeqCst).cast()) };
        }
        return barrier(frame, loc);
    }
    if let Some(sizes) = state.bytes {
        let place = if state.is_odd { ODD.offset() } else { EVEN.offset() };
        let address = |index| match bytes {
            0 => list as usize,
            // SAFETY: clang passes an array of pointers, and its size; flang a variable and no size.
            _ => unsafe { get(list.cast::<usize>().add(index)) },
        };
        let variables = sizes.iter().enumerate().map(|(index, bytes)| (address(index), *bytes as usize));
        if source != 0 {
            // SAFETY: the variables have so many bytes.
            unsafe { send(place, variables) };
            return barrier(frame, loc);
        }
        barrier(frame, loc);
        // SAFETY: as above.
        return unsafe { receive(place, variables) };
    }
    if source != 0 {
        let words = bytes as usize / size_of::<usize>();
        // SAFETY: the list has so many bytes.
        let pointers: Vec<usize> = (0..words).map(|i| unsafe { get(list.cast::<usize>().add(i)) }).collect();
        return hand_around(frame, loc, &pointers, list as usize);
    }
    barrier(frame, loc);
    let mut pointers = [0u64; LIST_WORDS];
    let from = match PUBLISHED.shared(0).load() {
        0 => {
            let words = (bytes as usize / size_of::<usize>()).min(pointers.len());
            control::read_words(0, LIST.offset(), &mut pointers[..words]);
            pointers.as_mut_ptr().cast()
        }
        published => published as *mut c_void,
    };
    // SAFETY: the compiler's function for these lists; the source's stay in place until the second barrier.
    unsafe { copy(list, from) };
    barrier(frame, loc);
}

/// The variables, as addresses and bytes, with the offset of each in a message.
fn placed(variables: impl Iterator<Item = (usize, usize)>) -> impl Iterator<Item = (usize, (usize, usize))> {
    variables.scan(0, |end, variable| {
        let offset = *end;
        *end += 8 * variable.1.div_ceil(8);
        Some((offset, variable))
    })
}

/// A message for variables.
fn message(variables: impl Iterator<Item = (usize, usize)>) -> SmallVec<[u64; 16]> {
    SmallVec::from_elem(0, words_of(variables.map(|(_, bytes)| bytes as u64)))
}

/// Puts the contents of variables, as addresses and bytes, into a place of process 0.
///
/// # Safety
/// They are the calling thread's.
unsafe fn send(place: usize, variables: impl Iterator<Item = (usize, usize)> + Clone) {
    for (address, bytes) in variables.clone().filter(|(address, _)| memory::is_shared(*address)) {
        check::readable(address, bytes);
    }
    if control::is_mapped(0) {
        for (offset, (address, bytes)) in placed(variables) {
            // SAFETY: the caller's promise; the place has space for all, and nobody reads it before the barrier.
            unsafe { control::bytes(0, place + offset).write(address as *const u8, bytes) };
        }
        return;
    }
    let mut words = message(variables.clone());
    let to = words.as_mut_ptr().cast::<u8>();
    for (offset, (address, bytes)) in placed(variables) {
        // SAFETY: the caller's promise; the words have space for all.
        unsafe { std::ptr::copy_nonoverlapping(address as *const u8, to.add(offset), bytes) };
    }
    control::write_words(0, place, &words);
}

/// Stores to variables what a place of process 0 has for them.
///
/// # Safety
/// They are the calling thread's.
unsafe fn receive(place: usize, variables: impl Iterator<Item = (usize, usize)> + Clone) {
    for (address, bytes) in variables.clone().filter(|(address, _)| memory::is_shared(*address)) {
        check::writable(address, bytes);
    }
    if control::is_mapped(0) {
        for (offset, (address, bytes)) in placed(variables) {
            // SAFETY: the caller's promise; the place has so many bytes, and nobody stores to it before all threads have come to another barrier.
            unsafe { control::bytes(0, place + offset).read(address as *mut u8, bytes) };
        }
        return;
    }
    let mut words = message(variables.clone());
    control::read_words(0, place, &mut words);
    let from = words.as_ptr().cast::<u8>();
    for (offset, (address, bytes)) in placed(variables) {
        // SAFETY: the caller's promise; the words have so many bytes.
        unsafe { std::ptr::copy_nonoverlapping(from.add(offset), address as *mut u8, bytes) };
    }
}

/// Hands the addresses of variables around, or that of one which flang passes in place of a list.
fn hand_around(frame: &Frame, loc: Loc, pointers: &[usize], list: usize) {
    let staged = Staged::for_words(pointers);
    let translated = pointers.iter().map(|&p| staged.translate(p) as u64).collect::<Vec<_>>();
    if (1..=LIST_WORDS).contains(&pointers.len()) {
        control::write_words(0, LIST.offset(), &translated);
        PUBLISHED.shared(0).store(0);
        barrier(frame, loc);
        return barrier(frame, loc);
    }
    let published = publish(&translated, list);
    PUBLISHED.shared(0).store(published as u64);
    barrier(frame, loc);
    barrier(frame, loc);
    if published != list {
        heap::free(published);
    }
}

/// A shared array of the pointers; `list` itself if there are none (a variable of flang).
fn publish(pointers: &[u64], list: usize) -> usize {
    if pointers.is_empty() {
        return list;
    }
    let bytes = size_of_val(pointers);
    let Some((address, _)) = heap::allocate(bytes, 16) else {
        crate::job::die("no shared memory for copyprivate")
    };
    check::writable(address, bytes);
    // SAFETY: a new writable object of `bytes` bytes.
    unsafe { (address as *mut u64).copy_from_nonoverlapping(pointers.as_ptr(), pointers.len()) };
    address
}
