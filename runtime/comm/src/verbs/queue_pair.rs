//! Queue pairs: reliable connections between two adapters.

use std::ffi::{c_int, c_uint};
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr::{self, NonNull};

use super::adapter::{Adapter, CompletionQueue, READ, SENT, SharedReceiveQueue, check};
use super::device::Address;
use super::library::VerbsError;
use super::sys::*;

/// Sends that are under way of a queue pair at most.
pub(super) const SENDS: usize = 16;
/// Of so many sends the last one is signaled, and its completion is that of all: each completion may wake a sleeping thread.
pub(super) const SIGNAL_INTERVAL: usize = SENDS / 2;
/// Entries that sends of a queue pair take in a completion queue at most: all report when they fail.
pub(super) const SEND_ENTRIES: usize = SENDS;

/// The sends of a queue pair that are under way.
#[derive(Default)]
struct SendQueue {
    outstanding: usize,
    unsignaled: usize,
}

impl SendQueue {
    fn is_full(&self) -> bool {
        self.outstanding == SENDS
    }

    /// Counts another one; whether it is to be signaled.
    fn post(&mut self) -> bool {
        self.outstanding += 1;
        self.unsignaled = (self.unsignaled + 1) % SIGNAL_INTERVAL;
        self.unsignaled == 0
    }

    fn complete(&mut self) {
        self.outstanding -= SIGNAL_INTERVAL;
    }
}

/// A reliable connection: one queue pair, whose other one is a peer's.
pub(super) struct QueuePair {
    adapter: &'static Adapter,
    qp: NonNull<Qp>,
    /// Number by which the peer reaches it and completions name it.
    pub(super) qpn: u32,
    /// Number of its first packet.
    pub(super) psn: u32,
    inline_bytes: usize,
    send_queue: SendQueue,
}

// SAFETY: the library's objects are not bound to a thread.
unsafe impl Send for QueuePair {}

/// The other end of a [`QueuePair`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct QueuePairAddress {
    pub(super) qpn: u32,
    pub(super) psn: u32,
}

/// Least bytes that are to go with a send itself, if the adapter can do that.
const INLINE: u32 = 64;

impl QueuePair {
    /// One that reports to a queue, and receives by a shared queue or else by `receives` of its own.
    pub(super) fn open(
        queue: &CompletionQueue,
        shared: Option<&SharedReceiveQueue>,
        receives: usize,
    ) -> Result<QueuePair, VerbsError> {
        QueuePair::open_for(queue, shared, receives, 0)
    }

    /// One that receives no messages. `is_read`: by which the peer may read what is registered for that.
    pub(super) fn open_for_reads(queue: &CompletionQueue, is_read: bool) -> Result<QueuePair, VerbsError> {
        QueuePair::open_for(queue, None, 0, if is_read { IBV_ACCESS_REMOTE_READ } else { 0 })
    }

    /// One by which the peer may also write to what is registered for that.
    pub(super) fn open_for_all(queue: &CompletionQueue) -> Result<QueuePair, VerbsError> {
        QueuePair::open_for(queue, None, 0, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)
    }

    fn open_for(
        queue: &CompletionQueue,
        shared: Option<&SharedReceiveQueue>,
        receives: usize,
        access: c_int,
    ) -> Result<QueuePair, VerbsError> {
        let adapter = queue.adapter;
        let mut attr = QpInitAttr {
            qp_context: ptr::null(),
            send_cq: queue.cq.as_ptr(),
            recv_cq: queue.cq.as_ptr(),
            srq: shared.map_or(ptr::null_mut(), |shared| shared.srq.as_ptr()),
            cap: QpCap {
                max_send_wr: SENDS as u32,
                max_recv_wr: receives as u32,
                max_send_sge: 1,
                max_recv_sge: 1,
                max_inline_data: INLINE,
            },
            qp_type: IBV_QPT_RC,
            sq_sig_all: 0,
        };
        let qp = [INLINE, 0].into_iter().find_map(|bytes| {
            attr.cap.max_inline_data = bytes;
            // SAFETY: domain and queues exist, and the attributes live for the call.
            NonNull::new(unsafe { (adapter.library.create_qp)(adapter.pd.as_ptr(), &raw mut attr) })
        });
        let qp = qp.ok_or_else(|| adapter.failed("make a queue pair"))?;
        // SAFETY: the library has made the pair.
        let qpn = unsafe { (*qp.as_ptr()).qp_num };
        let psn = crate::random_bytes().map_err(|_| adapter.failed("get random numbers"))?;
        let pair = QueuePair {
            adapter,
            qp,
            qpn,
            psn: u32::from_le_bytes(psn) & 0xff_ffff,
            inline_bytes: attr.cap.max_inline_data as usize,
            send_queue: SendQueue::default(),
        };
        let mut attr = blank();
        attr.qp_state = IBV_QPS_INIT;
        attr.port_num = adapter.port.number;
        // No peer may read memory by itself but by a queue pair that has nothing else to do, nor write but to rings.
        attr.qp_access_flags = access.cast_unsigned();
        let mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
        pair.modify(&mut attr, mask)?;
        Ok(pair)
    }

    fn modify(&self, attr: &mut QpAttr, mask: c_int) -> Result<(), VerbsError> {
        // SAFETY: the pair exists, and the attributes live for the call.
        let result = check(unsafe { (self.adapter.library.modify_qp)(self.qp.as_ptr(), attr, mask) });
        result.map_err(|error| VerbsError::Failed {
            what: "connect a queue pair".to_owned(),
            device: self.adapter.port.describe(),
            cause: error.to_string(),
        })
    }

    /// Connects it. Who has the other end does so, too, before either sends. `asks` and `answers`: how many READs may be under way from here, and from there.
    pub(super) fn connect(
        &self,
        peer: QueuePairAddress,
        address: &Address,
        [asks, answers]: [u8; 2],
    ) -> Result<(), VerbsError> {
        let port = &self.adapter.port;
        let mut attr = blank();
        attr.qp_state = IBV_QPS_RTR;
        attr.path_mtu = port.address.mtu.min(address.mtu).into();
        attr.dest_qp_num = peer.qpn;
        attr.rq_psn = peer.psn;
        attr.max_dest_rd_atomic = answers;
        attr.min_rnr_timer = RNR_TIMER;
        attr.ah_attr.dlid = address.lid;
        attr.ah_attr.is_global = address.is_ethernet.into();
        attr.ah_attr.grh.dgid = Gid(address.gid);
        attr.ah_attr.grh.sgid_index = port.gid_index;
        attr.ah_attr.grh.hop_limit = 64;
        attr.ah_attr.port_num = port.number;
        let mask = IBV_QP_STATE
            | IBV_QP_AV
            | IBV_QP_PATH_MTU
            | IBV_QP_DEST_QPN
            | IBV_QP_RQ_PSN
            | IBV_QP_MAX_DEST_RD_ATOMIC
            | IBV_QP_MIN_RNR_TIMER;
        self.modify(&mut attr, mask)?;
        let mut attr = blank();
        attr.qp_state = IBV_QPS_RTS;
        attr.timeout = TIMEOUT;
        attr.retry_cnt = RETRIES;
        attr.rnr_retry = RNR_RETRY_FOREVER;
        attr.sq_psn = self.psn;
        attr.max_rd_atomic = asks;
        let mask = IBV_QP_STATE
            | IBV_QP_TIMEOUT
            | IBV_QP_RETRY_CNT
            | IBV_QP_RNR_RETRY
            | IBV_QP_SQ_PSN
            | IBV_QP_MAX_QP_RD_ATOMIC;
        self.modify(&mut attr, mask)
    }

    /// Whether another send has space.
    pub(super) fn has_space(&self) -> bool {
        !self.send_queue.is_full()
    }

    /// Posts a send of a part of the memory with immediate data; whether there was space for it. The part stays as it is until the peer has shown that it has the message.
    pub(super) fn send(&mut self, part: &Range<usize>, immediate: u32) -> io::Result<bool> {
        if !self.has_space() {
            return Ok(false);
        }
        let is_signaled = self.send_queue.post();
        let mut sge = self.adapter.sge(part);
        let is_short = (1..=self.inline_bytes).contains(&part.len());
        let mut request = SendWr {
            wr_id: SENT,
            next: ptr::null_mut(),
            sg_list: &raw mut sge,
            num_sge: (!part.is_empty()).into(),
            opcode: IBV_WR_SEND_WITH_IMM,
            send_flags: flag(is_signaled, IBV_SEND_SIGNALED) | flag(is_short, IBV_SEND_INLINE),
            imm_data: immediate.to_be(),
            remote: RemoteAddress::default(),
            others: [0; 9],
        };
        let mut bad = ptr::null_mut();
        // SAFETY: the pair exists, and what is passed lives for the call; the memory stays.
        check(unsafe { (self.adapter.ops().post_send)(self.qp.as_ptr(), &raw mut request, &raw mut bad) })?;
        Ok(true)
    }

    /// Posts READs, which follow each other, at once; the adapter begins as many as may be under way. The space for them is the caller's business.
    pub(super) fn read(&self, list: &mut ReadList) -> io::Result<()> {
        let next = list.link();
        if next.is_null() {
            return Ok(());
        }
        let mut bad = ptr::null_mut();
        // SAFETY: the pair exists, and the list lives for the call; nobody uses the memory until the completion.
        check(unsafe { (self.adapter.ops().post_send)(self.qp.as_ptr(), next, &raw mut bad) })
    }

    /// [`Event::Sent`](super::adapter::Event::Sent) has come.
    pub(super) fn sent(&mut self) {
        self.send_queue.complete();
    }

    /// Posts a receive into a part of the memory.
    pub(super) fn receive(&self, part: &Range<usize>, id: u32) -> io::Result<()> {
        let mut sge = self.adapter.sge(part);
        let num_sge = (!part.is_empty()).into();
        let mut request =
            ReceiveWr { wr_id: id.into(), next: ptr::null_mut(), sg_list: &raw mut sge, num_sge };
        let mut bad = ptr::null_mut();
        // SAFETY: as in `send`; nobody uses the part until the completion.
        check(unsafe { (self.adapter.ops().post_recv)(self.qp.as_ptr(), &raw mut request, &raw mut bad) })
    }
}

/// READs that are posted at once: the adapter is told of all of them once.
pub(super) struct ReadList {
    requests: [SendWr; SENDS],
    sges: [Sge; SENDS],
    count: usize,
}

impl ReadList {
    pub(super) fn new() -> ReadList {
        // SAFETY: numbers and null pointers, for which zeros are right.
        let (requests, sges) =
            unsafe { (MaybeUninit::zeroed().assume_init(), MaybeUninit::zeroed().assume_init()) };
        ReadList { requests, sges, count: 0 }
    }

    /// Adds a READ of this number from a place in the peer's memory; whether it is to report.
    pub(super) fn push(&mut self, number: u32, from: RemoteAddress, into: Sge, is_signaled: bool) {
        self.sges[self.count] = into;
        let request = &mut self.requests[self.count];
        request.wr_id = READ | u64::from(number);
        request.num_sge = 1;
        request.opcode = IBV_WR_RDMA_READ;
        request.send_flags = flag(is_signaled, IBV_SEND_SIGNALED);
        request.remote = from;
        self.count += 1;
    }

    /// As [`ReadList::push`], the other way round.
    pub(super) fn push_write(&mut self, number: u32, to: RemoteAddress, from: Sge) {
        self.push(number, to, from, false);
        self.requests[self.count - 1].opcode = IBV_WR_RDMA_WRITE;
    }

    /// Has the one that was pushed last begin when all READs before it have ended.
    pub(super) fn fence_last(&mut self) {
        self.requests[self.count - 1].send_flags |= IBV_SEND_FENCE;
    }

    /// Links them, in their order; the first, or null if there is none.
    fn link(&mut self) -> *mut SendWr {
        let ReadList { requests, sges, count } = self;
        let mut next = ptr::null_mut();
        for (request, sge) in requests[..*count].iter_mut().zip(sges).rev() {
            request.sg_list = sge;
            request.next = next;
            next = request;
        }
        next
    }

    /// Has the last one report.
    pub(super) fn signal_last(&mut self) {
        if let Some(request) = self.requests[..self.count].last_mut() {
            request.send_flags |= IBV_SEND_SIGNALED;
        }
    }
}

/// How long a sender waits that found no receive, as the protocol numbers times: 0.12 ms.
const RNR_TIMER: u8 = 7;
/// A sender that found none tries again for ever: the receiver is there, and busy.
const RNR_RETRY_FOREVER: u8 = 7;
/// How long a sender waits for an acknowledgement, and how often: 2^18 * 4.096 us, eight times, is 8.6 s, and adapters wait up to four times as long. So a host that is cut
/// off is noticed by the connection between the launchers' daemons, which says what has happened; the error here only follows.
const TIMEOUT: u8 = 18;
const RETRIES: u8 = 7;

fn flag(is_set: bool, flag: c_uint) -> c_uint {
    if is_set { flag } else { 0 }
}

fn blank() -> QpAttr {
    // SAFETY: numbers, for which zeros are right.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_linked_in_their_order_and_the_last_one_reports() {
        for count in [0, 1, 5, SENDS] {
            let mut list = ReadList::new();
            for number in 0..count as u32 {
                let from = RemoteAddress { address: u64::from(number), key: number + 7 };
                let into = Sge { addr: u64::from(number) + 100, length: 8, lkey: 3 };
                list.push(number, from, into, number == 1);
            }
            list.signal_last();
            let (mut next, mut seen) = (list.link(), 0);
            // SAFETY: the list lives, and ends with null.
            while let Some(request) = unsafe { next.as_ref() } {
                assert_eq!((request.wr_id, request.remote.address), (READ | seen, seen));
                assert_eq!((request.remote.key, request.opcode), (seen as u32 + 7, IBV_WR_RDMA_READ));
                let is_signaled = request.send_flags & IBV_SEND_SIGNALED != 0;
                assert_eq!(is_signaled, seen == 1 || seen + 1 == count as u64);
                // SAFETY: as above.
                assert_eq!((request.num_sge, unsafe { (*request.sg_list).addr }), (1, seen + 100));
                (next, seen) = (request.next, seen + 1);
            }
            assert_eq!(seen, count as u64);
        }
    }

    #[test]
    fn a_full_queue_waits_for_a_signaled_send() {
        let mut send_queue = SendQueue::default();
        for round in 0..5 {
            let next = || (!send_queue.is_full()).then(|| send_queue.post());
            let signals: Vec<_> = std::iter::from_fn(next).collect();
            assert_eq!(signals.len(), if round == 0 { SENDS } else { SIGNAL_INTERVAL });
            assert_eq!(signals.iter().filter(|signal| **signal).count(), signals.len() / SIGNAL_INTERVAL);
            assert_eq!(signals.last(), Some(&true), "the last one that is under way is signaled");
            send_queue.complete();
        }
    }
}
