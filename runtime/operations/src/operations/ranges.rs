//! Ranges of bytes, read and written where they are.

use std::cell::RefCell;
use std::pin::pin;

use dsm_abi::atomic::Update;
use dsm_coherence::{Extent, Order};
use dsm_comm::copy::copy;

use super::{bundle, check_place, is_on_stack, refuse};
use crate::memory::fabric::run;
use crate::posted::{deferred, pending};
use crate::{atomics, check, memory};
use dsm_threads::atomic;

/// Bytes that are read before they are handed to the program.
const PIECE_BYTES: usize = 64 << 10;

thread_local! {
    static PIECE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Calls `with` for the parts of a range of shared memory that lie in so many blocks of one chunk at most, given the bytes of each: address and bytes.
fn each_part(address: usize, bytes: usize, most: impl Fn(usize) -> u64, mut with: impl FnMut(usize, usize)) {
    let geometry = memory::get().geometry();
    let end = address + bytes;
    for extent in geometry.extents(address, end - 1).flat_map(Extent::chunks) {
        let block_bytes = geometry.block_bytes(extent.first);
        for part in extent.pieces(most(block_bytes)) {
            let first = geometry.address(part.first);
            let behind = first + part.count as usize * block_bytes;
            with(first.max(address), behind.min(end) - first.max(address));
        }
    }
}

/// The same for parts that lie in one block each, with the contents that they get.
fn each_store<'a>(address: usize, contents: &'a [u8], mut with: impl FnMut(usize, &'a [u8])) {
    if !contents.is_empty() {
        each_part(address, contents.len(), |_| 1, |at, length| with(at, &contents[at - address..][..length]));
    }
}

/// See `dsm.h`.
///
/// # Safety
/// Both ranges are the program's, and do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dsm_read(into: *mut u8, from: *const u8, bytes: usize) {
    if bytes == 0 {
        return;
    }
    let address = from as usize;
    bundle::assert_none("dsm_read");
    check_place("dsm_read", address, bytes);
    pending::flush();
    deferred::send_all();
    let Some(shared) = memory::shared() else {
        if !atomic::is_direct(address, bytes) {
            // SAFETY: the caller's promise.
            return unsafe { copy(from, into, bytes) };
        }
        let value = atomics::read_own(from.cast_mut(), bytes as u32);
        // SAFETY: the caller's promise.
        return unsafe { copy(value.to_le_bytes().as_ptr(), into, bytes) };
    };
    let geometry = memory::get().geometry();
    PIECE.with_borrow_mut(|buffer| {
        buffer.resize(PIECE_BYTES, 0);
        let most = |block_bytes: usize| (PIECE_BYTES / block_bytes).max(1) as u64;
        each_part(address, bytes, most, |at, length| {
            let block = geometry.block(at);
            let contents = &mut buffer[..length];
            let drained = deferred::drain(Extent::single(block));
            run(pin!(shared.coherence.read_range(block, at - geometry.address(block), contents)));
            drop(drained);
            let mut value = [0; 8];
            let seen = length.min(8);
            value[..seen].copy_from_slice(&contents[..seen]);
            atomics::poll(at, u64::from_le_bytes(value));
            // SAFETY: inside the range of the caller.
            unsafe { hand_over(into.add(at - address), contents) };
        });
    });
}

/// Stores a result in the program's memory.
///
/// # Safety
/// `into` is the program's, for so many bytes.
unsafe fn hand_over(into: *mut u8, contents: &[u8]) {
    check::writable(into as usize, contents.len());
    // SAFETY: the caller's promise; writable now.
    unsafe { copy(contents.as_ptr(), into, contents.len()) };
}

/// The program's bytes, readable.
///
/// # Safety
/// They are there, and nobody changes them meanwhile.
unsafe fn contents<'a>(from: *const u8, bytes: usize) -> &'a [u8] {
    check::readable(from as usize, bytes);
    // SAFETY: the caller's promise, readable now.
    unsafe { std::slice::from_raw_parts(from, bytes) }
}

/// See `dsm.h`.
///
/// # Safety
/// Both ranges are the program's, and do not overlap; nobody writes to `from` meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dsm_write(to: *mut u8, from: *const u8, bytes: usize) {
    if bytes == 0 {
        return;
    }
    bundle::assert_none("dsm_write");
    check_place("dsm_write", to as usize, bytes);
    // SAFETY: the caller's promise.
    let contents = unsafe { contents(from, bytes) };
    match memory::shared() {
        Some(_) => {
            each_store(to as usize, contents, pending::store);
            if is_on_stack(to as usize) {
                pending::flush();
            }
        }
        // SAFETY: the caller's promise.
        None => unsafe { copy(contents.as_ptr(), to, bytes) },
    }
}

/// What `dsm_write_flag` of `dsm.h` does, with a flag of `size` bytes.
///
/// # Safety
/// As for [`dsm_write`]; `flag` is the program's, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __dsm_write_flag(
    to: *mut u8,
    from: *const u8,
    bytes: usize,
    flag: *mut u8,
    value: u64,
    size: u32,
) {
    let function = "dsm_write_flag";
    let update = Update::store(value.into());
    bundle::assert_none(function);
    if !matches!(size, 1 | 2 | 4 | 8) || !(flag as usize).is_multiple_of(size as usize) {
        refuse(
            function,
            flag as usize,
            format_args!(
                "a flag of {size} bytes at an address that is no multiple of that; flags have 1, 2, 4 or 8 bytes, aligned"
            ),
        );
    }
    check_place(function, flag as usize, size as usize);
    if memory::shared().is_none() {
        // SAFETY: the caller's promise.
        unsafe { dsm_write(to, from, bytes) };
        atomics::update(flag, size, update, Order::Ordered);
        return;
    }
    if bytes > 0 {
        check_place(function, to as usize, bytes);
    }
    // SAFETY: the caller's promise.
    let contents = if bytes > 0 { unsafe { contents(from, bytes) } } else { &[] };
    let mut beside = Vec::new();
    pending::order();
    each_store(to as usize, contents, |at, contents| match pending::is_same_chunk(at, flag as usize) {
        true => beside.push((at, contents)),
        false => pending::store(at, contents),
    });
    pending::store_with_flag(&beside, flag as usize, size as usize, update);
    if is_on_stack(to as usize) || is_on_stack(flag as usize) {
        pending::flush();
    }
}
