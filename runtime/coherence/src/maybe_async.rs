//! One source for an async function and a synchronous one (as the crate `maybe-async` has it).
//!
//! The state of an async function lives in memory across its operations. Where these complete when they are called ([`Fabric::SYNCHRONOUS`](crate::Fabric::SYNCHRONOUS)), that
//! costs the shortest functions of the protocol more than the operations do. Such a function is written once, in a macro that is expanded twice. The macros below are its
//! parameters: with `wait` it becomes an async function, which the explorer interrupts at each operation, and with `poll_once` and `call` an ordinary function.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Awaits an operation.
macro_rules! wait {
    ($operation:expr) => {
        $operation.await
    };
}

/// The result of an operation that completes when it is polled first.
macro_rules! poll_once {
    ($operation:expr) => {
        $crate::maybe_async::expect_ready($operation)
    };
}

/// The result of a synchronous function.
macro_rules! call {
    ($function:expr) => {
        $function
    };
}

/// The output of a future that is ready when it is first polled; `None` of others.
pub fn poll_once<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// See [`poll_once!`].
#[inline(always)]
pub(crate) fn expect_ready<T>(operation: impl Future<Output = T>) -> T {
    match pin!(operation).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => unreachable!("the fabric says that its operations are synchronous"),
    }
}
