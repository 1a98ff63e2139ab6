//! Short protocol functions as they run where nothing can come in between.
//!
//! An async function keeps its variables in memory from one operation to the next, which takes longer than the operations of the shortest ones where
//! these are done when they are called ([`Fabric::AT_ONCE`](crate::Fabric::AT_ONCE)). Such a function is written once, in a macro that takes the words below for
//! its operations: with `wait` it is an async function, which the explorer interrupts at each operation, and with `done` an ordinary one.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Waits for an operation.
macro_rules! wait {
    ($operation:expr) => {
        $operation.await
    };
}

/// The result of an operation that is done when it is called.
macro_rules! done {
    ($operation:expr) => {
        $crate::steps::result($operation)
    };
}

/// The result of a function that is made of such operations.
macro_rules! plain {
    ($function:expr) => {
        $function
    };
}

/// See [`done!`].
#[inline(always)]
pub(crate) fn result<T>(operation: impl Future<Output = T>) -> T {
    match pin!(operation).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => unreachable!("the fabric says that its operations are done at once"),
    }
}
