//! Calls of peers that do not have the own segment mapped, executed here by the agent.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use dsm_coherence::calls;

use crate::memory::paging::copies;
use crate::operations::queue;
use crate::{arrays, memory, sync};

/// Executes a request; see [`dsm_comm::requests::Calls`].
pub fn serve(request: &[u8], reply: &mut [u8]) -> Option<usize> {
    let shared = memory::wait_shared();
    if request.first() == Some(&dsm_arrays::call::KIND) {
        return arrays::serve(shared, request, reply);
    }
    if request.first() == Some(&queue::TAG) {
        return queue::serve(request, reply);
    }
    if request.first() == Some(&copies::TAG) {
        return copies::serve(shared, request, reply);
    }
    if request.first() == Some(&dsm_sync::KIND) {
        return sync::serve(request, reply);
    }
    let fabric = shared.coherence.fabric();
    let rank = dsm_coherence::Fabric::rank(fabric);
    let served = pin!(calls::serve(fabric, rank, request, reply));
    match served.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(length) => length.ok(),
        Poll::Pending => unreachable!("a procedure on the own segment never waits"),
    }
}
