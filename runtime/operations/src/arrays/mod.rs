//! Relocatable global arrays for programs (`dsm_array_*` of `dsm.h`): handles, checks of what programs pass, and the memory of the program that elements are copied to and from. The protocol is
//! [`dsm_arrays`].
//!
//! A handle looks like an address at which nothing can be: it has a tag, the state word of the array's descriptor, which no later array has, and its number in the table.

mod areas;
mod place;

use std::ffi::c_int;
use std::future::Future;
use std::pin::pin;
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};

use dsm_arrays::table::{self, CreationError};
use dsm_arrays::{Array, Arrays, BadShape, Location, call};
use dsm_comm::Segments;

use crate::job::{child, die};
use crate::memory::Shared;
use crate::{check, config, memory, sync};
use areas::{Areas, ProgramMemory};
use dsm_threads::handler::Deferred;
pub use place::{MESSAGE, follow};

/// Address space for the arrays of a single process, bytes.
const ALONE_BYTES: usize = 1 << 36;
const TAG: u64 = 0xd5a;
const TAG_SHIFT: u32 = 52;
const STATE_SHIFT: u32 = 10;
const _: () = assert!(table::MOST < 1 << STATE_SHIFT);

static ARRAYS: OnceLock<Arrays<Areas>> = OnceLock::new();

fn arrays() -> &'static Arrays<Areas> {
    ARRAYS.get_or_init(|| match memory::shared() {
        Some(shared) => of_job(shared),
        None => match Segments::single(ALONE_BYTES) {
            Ok(segments) => Arrays { memory: areas(segments, (0, ALONE_BYTES)) },
            Err(error) => {
                die(&format!("no memory for arrays: {error}; address space may be limited (ulimit -v)"))
            }
        },
    })
}

fn of_job(shared: &Shared) -> Arrays<Areas> {
    let range = memory::get().geometry().arrays();
    Arrays { memory: areas(shared.segments, (range.start, range.len())) }
}

fn areas(segments: Segments, area: (usize, usize)) -> Areas {
    Areas::new(segments, area, (sync::rank(), sync::size()), config::get().array_cache)
}

/// Executes a request of a peer.
pub fn serve(shared: &Shared, request: &[u8], reply: &mut [u8]) -> Option<usize> {
    at_once(call::serve(&of_job(shared).memory, request, reply)).ok()
}

/// Runs an operation. A handler of a signal that interrupted it in the middle might wait for it.
#[inline(always)]
fn at_once<F: Future>(future: F) -> F::Output {
    if memory::shared().is_some() {
        child::assert_of_job();
    }
    let _deferred = Deferred::begin();
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("operations on segments never wait in the executor"),
    }
}

fn encode(array: &Array) -> u64 {
    TAG << TAG_SHIFT | array.state << STATE_SHIFT | u64::from(array.index)
}

/// The array of a handle.
#[inline]
fn decode(function: &str, handle: u64) -> Array {
    if handle >> TAG_SHIFT != TAG {
        die(&format!("{function}: {handle:#x} is no array; pass what dsm_array_create returned"));
    }
    let index = handle as u32 & ((1 << STATE_SHIFT) - 1);
    match at_once(table::find(&arrays().memory, index)).filter(|array| encode(array) == handle) {
        Some(array) => array,
        None => destroyed(function),
    }
}

#[cold]
fn destroyed(function: &str) -> ! {
    die(&format!(
        "{function}: the array was destroyed; call dsm_array_destroy behind its last use, with a barrier in between"
    ))
}

/// Checks a range of elements.
#[inline]
fn check_range(function: &str, array: &Array, index: u64, count: u64) {
    if index.checked_add(count).is_none_or(|end| end > array.count) {
        let last = u128::from(index) + u128::from(count);
        die(&format!(
            "{function}: the range [{index}, {last}) is not in the array, which has {} elements; check index and count",
            array.count
        ));
    }
}

#[inline]
fn check_memory(function: &str, address: usize) {
    if address == 0 {
        die(&format!(
            "{function}: there is no memory to copy at a null pointer; pass the address of as many elements"
        ));
    }
}

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_array_create(count: u64, element_bytes: u64, page_bytes: u64) -> u64 {
    let error = match at_once(arrays().create(count, element_bytes, page_bytes)) {
        Ok(array) => return encode(&array),
        Err(error) => error,
    };
    let why = match error {
        CreationError::Shape(BadShape::Empty) => {
            format!("{count} elements of {element_bytes} bytes are no array; neither may be 0")
        }
        CreationError::Shape(BadShape::Page) => format!(
            "pages of {page_bytes} bytes do not go with elements of {element_bytes}; a page is a power of two from 64 bytes to 1 GiB that holds at least an element"
        ),
        CreationError::Shape(BadShape::TooLarge) | CreationError::NoSpace => format!(
            "there is no space for {count} elements of {element_bytes} bytes in pages of {page_bytes}; all arrays together have {} bytes of addresses; make it smaller or destroy others first",
            memory_bytes()
        ),
        CreationError::TooMany => {
            format!("there are {} arrays already; destroy one that is not needed any more", table::MOST)
        }
    };
    die(&format!("dsm_array_create: {why}"))
}

fn memory_bytes() -> usize {
    use dsm_arrays::Memory;
    arrays().memory.area_bytes() - table::BYTES
}

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_array_destroy(handle: u64) {
    let array = decode("dsm_array_destroy", handle);
    if !at_once(arrays().destroy(&array)) {
        destroyed("dsm_array_destroy");
    }
}

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dsm_array_get(handle: u64, index: u64, count: u64, into: *mut u8) {
    const NAME: &str = "dsm_array_get";
    let array = decode(NAME, handle);
    check_range(NAME, &array, index, count);
    if count == 0 {
        return;
    }
    check_memory(NAME, into.addr());
    check::overwritten(into.addr(), (count * array.element_bytes) as usize);
    // SAFETY: the program passes memory for so many elements, which is writable now.
    let into = unsafe { ProgramMemory::new(into) };
    if at_once(arrays().get(&array, index, count, &into)).is_err() {
        destroyed(NAME);
    }
}

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dsm_array_put(handle: u64, index: u64, count: u64, from: *const u8) {
    const NAME: &str = "dsm_array_put";
    let array = decode(NAME, handle);
    check_range(NAME, &array, index, count);
    if count == 0 {
        return;
    }
    check_memory(NAME, from.addr());
    check::readable(from.addr(), (count * array.element_bytes) as usize);
    // SAFETY: the program passes so many elements, which are readable now; nothing is copied to them.
    let source = unsafe { ProgramMemory::new(from.cast_mut()) };
    if at_once(arrays().put(&array, index, count, &source)).is_err() {
        destroyed(NAME);
    }
}

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_array_own(handle: u64, index: u64, count: u64) {
    const NAME: &str = "dsm_array_own";
    let array = decode(NAME, handle);
    check_range(NAME, &array, index, count);
    if count != 0 && at_once(arrays().own(&array, index, count)).is_err() {
        destroyed(NAME);
    }
}

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_array_location(handle: u64, index: u64) -> c_int {
    const NAME: &str = "dsm_array_location";
    let array = decode(NAME, handle);
    check_range(NAME, &array, index, 1);
    match at_once(arrays().location(&array, index)) {
        Location::Unplaced => -1,
        Location::At(rank) => rank.0 as c_int,
    }
}

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_array_count(handle: u64) -> u64 {
    decode("dsm_array_count", handle).count
}
