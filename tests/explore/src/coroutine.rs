//! Code that waits where it stands, as a future: it runs on a stack of its own, and stops there.
//!
//! So the runtime's synchronisation, which waits in the kernel, is run by schedules as it is.

use std::cell::RefCell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

/// Bytes of a stack.
const STACK: usize = 256 << 10;

thread_local! {
    /// Stacks that were used before.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// What the code waits by.
pub struct Blocking<'a>(&'a Yielder<(), ()>);

impl Blocking<'_> {
    /// Waits for a future.
    pub fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        loop {
            match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(value) => return value,
                Poll::Pending => self.0.suspend(()),
            }
        }
    }
}

/// Stops once, so that others may go on.
#[derive(Debug, Default)]
pub struct Yield(bool);

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// The code under execution.
pub struct Running<T>(Option<Coroutine<(), (), T, DefaultStack>>);

/// Runs code when it is polled. It may be dropped before its end only where panics unwind.
pub fn run<T: 'static>(body: impl FnOnce(&Blocking<'_>) -> T + 'static) -> Running<T> {
    let used = STACKS.with_borrow_mut(Vec::pop);
    let stack = used.unwrap_or_else(|| DefaultStack::new(STACK).expect("memory for a stack"));
    Running(Some(Coroutine::with_stack(stack, |yielder, ()| body(&Blocking(yielder)))))
}

impl<T> Running<T> {
    /// Keeps the stack for others.
    fn end(&mut self) {
        if let Some(mut coroutine) = self.0.take() {
            if !coroutine.done() {
                coroutine.force_unwind();
            }
            STACKS.with_borrow_mut(|stacks| stacks.push(coroutine.into_stack()));
        }
    }
}

impl<T> Future for Running<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        match self.0.as_mut().expect("a future that has not ended").resume(()) {
            CoroutineResult::Yield(()) => Poll::Pending,
            CoroutineResult::Return(value) => {
                self.end();
                Poll::Ready(value)
            }
        }
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        self.end();
    }
}
