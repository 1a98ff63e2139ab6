//! Calls of peers that do not have the own segment mapped, executed here by the agent. What is not the protocol's has a tag, by which its owner has registered it.

use std::pin::pin;
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};

use dsm_coherence::calls;

use crate::{self as memory, Shared};

/// Executes a request, for which the reply has space; the reply's length. `None`: it makes no sense.
pub type Serve = fn(shared: &'static Shared, request: &[u8], reply: &mut [u8]) -> Option<usize>;

static SERVERS: [OnceLock<Serve>; 256] = [const { OnceLock::new() }; 256];

/// From now on requests that begin with `tag`, which is none of the protocol's, are executed by `serve`; before memory is set up.
pub fn register(tag: u8, serve: Serve) {
    assert!(SERVERS[usize::from(tag)].set(serve).is_ok(), "two kinds of calls have the tag {tag}");
}

/// Executes a request; see [`dsm_comm::requests::Calls`].
pub fn serve(request: &[u8], reply: &mut [u8]) -> Option<usize> {
    let shared = memory::wait_shared();
    if let Some(serve) = request.first().and_then(|tag| SERVERS[usize::from(*tag)].get()) {
        return serve(shared, request, reply);
    }
    let fabric = shared.coherence.fabric();
    let rank = dsm_coherence::Fabric::rank(fabric);
    let served = pin!(calls::serve(fabric, rank, request, reply));
    match served.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(length) => length.ok(),
        Poll::Pending => unreachable!("a procedure on the own segment never waits"),
    }
}
