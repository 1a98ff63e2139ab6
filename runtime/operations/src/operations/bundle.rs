//! Bundles: posted operations on one block that are executed as one, in one request.
//!
//! What the calling thread posts between [`dsm_bundle_begin`] and [`dsm_bundle_end`] is collected, and posted when the bundle ends. In a single process it is executed then; a lock keeps
//! bundles of several threads apart.

use std::cell::RefCell;

use dsm_abi::atomic::Update;
use dsm_coherence::Order;
use dsm_coherence::calls::actions::{Action, ActionList, Change};
use parking_lot::Mutex;

use super::{is_on_stack, refuse};
use crate::job::die;
use crate::posted::pending;
use crate::{atomics, memory, sync};
use dsm_threads::handler::Deferred;

/// Most operations of a bundle.
const MOST_OPERATIONS: usize = 64;

/// An operation: address, number of bytes, what to do.
type Operation = (usize, usize, Update);

thread_local! {
    /// The bundle that the thread has begun.
    static OPEN: RefCell<Option<Vec<Operation>>> = const { RefCell::new(None) };
}

/// Puts an operation into the bundle of the calling thread, if it has begun one.
#[inline]
pub fn take(operation: Operation) -> bool {
    OPEN.with_borrow_mut(|open| open.as_mut().map(|operations| operations.push(operation)).is_some())
}

/// Ends the job if the calling thread has begun a bundle: the function is none that a bundle can have.
#[inline]
pub fn assert_none(function: &str) {
    if OPEN.with_borrow(Option::is_some) {
        refuse_inside(function);
    }
}

#[cold]
fn refuse_inside(function: &str) -> ! {
    die(&format!(
        "process {}: {function} between dsm_bundle_begin and dsm_bundle_end: a bundle has posted operations on single variables only (dsm_add … dsm_cas); end it first",
        sync::rank()
    ))
}

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_bundle_begin() {
    assert_none("dsm_bundle_begin");
    OPEN.set(Some(Vec::new()));
}

/// See `dsm.h`.
#[unsafe(no_mangle)]
pub extern "C" fn dsm_bundle_end() {
    let Some(operations) = OPEN.take() else {
        die(&format!("process {}: dsm_bundle_end without dsm_bundle_begin in the same thread", sync::rank()));
    };
    let Some(&(first, ..)) = operations.first() else { return };
    if operations.len() > MOST_OPERATIONS {
        refuse(
            "dsm_bundle_end",
            first,
            format_args!(
                "a bundle has at most {MOST_OPERATIONS} operations, this one has {}",
                operations.len()
            ),
        );
    }
    if memory::shared().is_some() { post(&operations) } else { execute(&operations) }
}

fn post(operations: &[Operation]) {
    let geometry = memory::get().geometry();
    let first = operations[0].0;
    let block = geometry.block(first);
    let mut list = ActionList::default();
    for &(address, bytes, update) in operations {
        if geometry.block(address) != block {
            refuse(
                "dsm_bundle_end",
                address,
                format_args!(
                    "the operations of a bundle lie in one block, the first one in that of {} bytes at {:#x}; align what belongs together to the size of blocks, or enlarge \
                     those (dsm_set_block)",
                    geometry.block_bytes(block),
                    geometry.address(block)
                ),
            );
        }
        let change = Change::Update(bytes, update);
        list.push(&Action { block, offset: address - geometry.address(block), change });
    }
    pending::bundle(block, &list);
    if is_on_stack(first) {
        pending::flush();
    }
}

fn execute(operations: &[Operation]) {
    static APART: Mutex<()> = Mutex::new(());
    let _deferred = Deferred::begin();
    let _apart = APART.lock();
    for &(address, bytes, update) in operations {
        atomics::update(address as *mut u8, bytes as u32, update, Order::Ordered);
    }
}
