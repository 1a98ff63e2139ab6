//! Running protocol functions on the calling thread.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::biased_lock;
use dsm_job::child;
use dsm_threads::handler::Deferred;

/// Runs a protocol function that is no future.
#[inline(always)]
pub fn run_sync<R>(function: impl FnOnce() -> R) -> R {
    child::assert_of_job();
    let deferred = Deferred::begin();
    let result = biased_lock::run_biased(function);
    deferred.end();
    result
}

/// Runs a protocol function to its end on this thread.
#[inline(always)]
pub fn run<F: Future>(future: Pin<&mut F>) -> F::Output {
    child::assert_of_job();
    let _deferred = Deferred::begin();
    let mut context = Context::from_waker(Waker::noop());
    biased_lock::run_biased(|| match future.poll(&mut context) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("operations on segments never wait in the executor"),
    })
}
