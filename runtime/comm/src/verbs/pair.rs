//! Queue pairs: reliable connections between two adapters.

use std::ffi::{c_int, c_uint};
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr::{self, NonNull};

use super::adapter::{Adapter, Queue, Receives, check};
use super::device::Address;
use super::library::VerbsError;
use super::sys::*;

/// Sends that are under way of a queue pair at most.
pub(super) const SENDS: usize = 16;
/// Of so many sends the last one reports that it has ended, and that says so of all: each report may wake somebody.
pub(super) const SIGNALED: usize = SENDS / 2;
/// Entries that sends of a queue pair take in a completion queue at most: all report when they fail.
pub(super) const SEND_ENTRIES: usize = SENDS;

/// How many sends are under way.
#[derive(Default)]
struct UnderWay {
    sends: usize,
    since_report: usize,
}

impl UnderWay {
    fn is_full(&self) -> bool {
        self.sends == SENDS
    }

    /// Another one begins; whether it is to report its end.
    fn begin(&mut self) -> bool {
        self.sends += 1;
        self.since_report = (self.since_report + 1) % SIGNALED;
        self.since_report == 0
    }

    fn reported(&mut self) {
        self.sends -= SIGNALED;
    }
}

/// A reliable connection: one queue pair, whose other one is a peer's.
pub(super) struct Pair {
    adapter: &'static Adapter,
    qp: NonNull<Qp>,
    /// By which the peer reaches it, and completions name it.
    pub(super) number: u32,
    /// Number of its first packet.
    pub(super) first_packet: u32,
    inline_bytes: usize,
    under_way: UnderWay,
}

// SAFETY: the library's objects are not bound to a thread.
unsafe impl Send for Pair {}

/// The other end of a [`Pair`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PeerPair {
    pub(super) number: u32,
    pub(super) first_packet: u32,
}

/// Least bytes that are to go with a send itself, if the adapter can do that.
const INLINE: u32 = 64;

impl Pair {
    /// One that reports to a queue, and receives by a shared queue or else by `receives` of its own.
    pub(super) fn open(
        queue: &Queue,
        shared: Option<&Receives>,
        receives: usize,
    ) -> Result<Pair, VerbsError> {
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
        let number = unsafe { (*qp.as_ptr()).qp_num };
        let first_packet = crate::random_bytes().map_err(|_| adapter.failed("get random numbers"))?;
        let pair = Pair {
            adapter,
            qp,
            number,
            first_packet: u32::from_le_bytes(first_packet) & 0xff_ffff,
            inline_bytes: attr.cap.max_inline_data as usize,
            under_way: UnderWay::default(),
        };
        let mut attr = blank();
        attr.qp_state = IBV_QPS_INIT;
        attr.port_num = adapter.port.number;
        // No peer may read or write memory by itself: `qp_access_flags` is 0.
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

    /// Connects it. Who has the other end does so, too, before either sends.
    pub(super) fn connect(&self, peer: PeerPair, address: &Address) -> Result<(), VerbsError> {
        let port = &self.adapter.port;
        let mut attr = blank();
        attr.qp_state = IBV_QPS_RTR;
        attr.path_mtu = port.address.mtu.min(address.mtu).into();
        attr.dest_qp_num = peer.number;
        attr.rq_psn = peer.first_packet;
        attr.max_dest_rd_atomic = 1;
        attr.min_rnr_timer = RECEIVER_TIMER;
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
        attr.rnr_retry = ALWAYS;
        attr.sq_psn = self.first_packet;
        attr.max_rd_atomic = 1;
        let mask = IBV_QP_STATE
            | IBV_QP_TIMEOUT
            | IBV_QP_RETRY_CNT
            | IBV_QP_RNR_RETRY
            | IBV_QP_SQ_PSN
            | IBV_QP_MAX_QP_RD_ATOMIC;
        self.modify(&mut attr, mask)
    }

    /// Whether another send has room.
    pub(super) fn has_room(&self) -> bool {
        !self.under_way.is_full()
    }

    /// Sends a part of the memory with a number; whether there was room for it. The part stays as it is until the peer has shown that it has the message.
    pub(super) fn send(&mut self, part: &Range<usize>, number: u32) -> io::Result<bool> {
        if !self.has_room() {
            return Ok(false);
        }
        let reports = self.under_way.begin();
        let mut sge = self.adapter.sge(part);
        let is_short = (1..=self.inline_bytes).contains(&part.len());
        let mut request = SendWr {
            wr_id: u64::MAX,
            next: ptr::null_mut(),
            sg_list: &raw mut sge,
            num_sge: (!part.is_empty()).into(),
            opcode: IBV_WR_SEND_WITH_IMM,
            send_flags: flag(reports, IBV_SEND_SIGNALED) | flag(is_short, IBV_SEND_INLINE),
            imm_data: number.to_be(),
            others: [0; 11],
        };
        let mut bad = ptr::null_mut();
        // SAFETY: the pair exists, and what is passed lives for the call; the memory stays.
        check(unsafe { (self.adapter.ops().post_send)(self.qp.as_ptr(), &raw mut request, &raw mut bad) })?;
        Ok(true)
    }

    /// [`Event::Sent`](super::adapter::Event::Sent) has come.
    pub(super) fn sent(&mut self) {
        self.under_way.reported();
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

/// How long a sender waits that found no receive, as the protocol numbers times: 0.12 ms.
const RECEIVER_TIMER: u8 = 7;
/// A sender that found none tries again for ever: the receiver is there, and busy.
const ALWAYS: u8 = 7;
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
    fn a_send_waits_for_reports_of_those_before() {
        let mut under_way = UnderWay::default();
        for round in 0..5 {
            let next = || (!under_way.is_full()).then(|| under_way.begin());
            let reports: Vec<_> = std::iter::from_fn(next).collect();
            assert_eq!(reports.len(), if round == 0 { SENDS } else { SIGNALED });
            assert_eq!(reports.iter().filter(|reports| **reports).count(), reports.len() / SIGNALED);
            assert_eq!(reports.last(), Some(&true), "whatever is under way ends with a report");
            under_way.reported();
        }
    }
}
