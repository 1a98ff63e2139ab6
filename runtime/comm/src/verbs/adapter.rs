//! A port with memory for messages, completion queues, and shared receive queues.
//!
//! All of it lasts as long as the process. The library's functions may be called by several threads at a time; who owns a queue decides who does.

use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::RawFd;
use std::ptr::{self, NonNull};

use super::device::Port;
use super::library::{Library, VerbsError};
use super::sys::*;
use crate::memory::Memory;

/// An open port.
pub(super) struct Adapter {
    pub(super) library: &'static Library,
    pub(super) port: Port,
    pub(super) pd: NonNull<Pd>,
    /// What messages are sent from and received in. Only this adapter reads and writes it: no other one has a key of it.
    pub(super) memory: Memory,
    key: u32,
    attr: DeviceAttr,
}

// SAFETY: the library's objects are not bound to a thread, and it locks what threads share.
unsafe impl Send for Adapter {}
// SAFETY: as above.
unsafe impl Sync for Adapter {}

impl Adapter {
    /// Opens a port with memory of so many bytes.
    pub(super) fn open(
        library: &'static Library,
        port: Port,
        bytes: usize,
    ) -> Result<&'static Adapter, VerbsError> {
        let device = port.name.clone();
        let failed = |what: String, cause: String| VerbsError::Failed { what, device: device.clone(), cause };
        let memory = Memory::map(bytes).map_err(|cause| failed("get memory".into(), cause))?;
        let context = port.context.as_ptr();
        // SAFETY: the device is open; the structure is numbers, for which zeros are right; the memory is mapped for good.
        let (attr, pd, keys) = unsafe {
            let mut attr = MaybeUninit::<DeviceAttr>::zeroed().assume_init();
            (library.query_device)(context, &raw mut attr);
            let pd = NonNull::new((library.alloc_pd)(context))
                .ok_or_else(|| failed("make a protection domain".into(), last_error()))?;
            let keys = register(library, pd, memory.place(&(0..bytes)), bytes, IBV_ACCESS_LOCAL_WRITE)
                .map_err(|cause| {
                    let what = format!("register {} KiB of memory (see `ulimit -l`)", bytes / 1024);
                    failed(what, cause.to_string())
                })?;
            (attr, pd, keys)
        };
        Ok(Box::leak(Box::new(Adapter { library, port, pd, memory, key: keys.local, attr })))
    }

    /// New memory for this adapter only.
    pub(super) fn landing(&self, bytes: usize) -> io::Result<Landing> {
        let memory = Memory::map(bytes).map_err(io::Error::other)?;
        let start = memory.place(&(0..bytes));
        // SAFETY: the memory is mapped for good.
        let keys = unsafe { register(self.library, self.pd, start, bytes, IBV_ACCESS_LOCAL_WRITE)? };
        Ok(Landing { memory, key: keys.local })
    }

    /// Lets peers read memory, and nobody write to it; the key that they need.
    ///
    /// # Safety
    /// It is mapped for good.
    pub(super) unsafe fn lend(&self, start: *mut u8, bytes: usize) -> io::Result<u32> {
        // SAFETY: the caller's promise.
        unsafe { register(self.library, self.pd, start, bytes, IBV_ACCESS_REMOTE_READ) }
            .map(|keys| keys.remote)
    }

    /// Lets peers read and write memory, without relaxed ordering, so that a READ sees and follows the WRITEs before it; the key that they need.
    ///
    /// # Safety
    /// It is mapped for good.
    pub(super) unsafe fn share(&self, start: *mut u8, bytes: usize) -> io::Result<u32> {
        let access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
        // SAFETY: the caller's promise.
        unsafe { register(self.library, self.pd, start, bytes, access) }.map(|keys| keys.remote)
    }

    /// READs that may be under way of a queue pair: those that it asks for, and those that it answers.
    pub(super) fn reads(&self) -> [u8; 2] {
        let bounded = |bound: c_int| bound.clamp(0, READS.into()) as u8;
        [bounded(self.attr.max_qp_init_rd_atom), bounded(self.attr.max_qp_rd_atom)]
    }

    fn context(&self) -> *mut Context {
        self.port.context.as_ptr()
    }

    pub(super) fn ops(&self) -> &ContextOps {
        // SAFETY: the device stays open, and its functions stay what they are.
        unsafe { &(*self.context()).ops }
    }

    pub(super) fn sge(&self, part: &Range<usize>) -> Sge {
        Sge { addr: self.memory.place(part).addr() as u64, length: part.len() as u32, lkey: self.key }
    }

    /// The error of the last system call.
    pub(super) fn failed(&self, what: &str) -> VerbsError {
        VerbsError::Failed { what: what.to_owned(), device: self.port.name.clone(), cause: last_error() }
    }

    /// Whether there may be the queue pairs and completion queues of so many peers, whose memory is read by READs or not.
    pub(super) fn check_limits(&self, peers: usize, reads: bool) -> Result<(), VerbsError> {
        let (pairs, queues) = if reads { (6, 3) } else { (4, 2) };
        self.limit("queue pairs", self.attr.max_qp, pairs * peers)?;
        self.limit("completion queues", self.attr.max_cq, queues * peers + 1)
    }

    fn limit(&self, what: &'static str, limit: c_int, needed: usize) -> Result<(), VerbsError> {
        let limit = limit.max(0) as usize;
        let device = || self.port.name.clone();
        if needed <= limit {
            Ok(())
        } else {
            Err(VerbsError::Limit { device: device(), what, limit, needed })
        }
    }
}

/// Most READs that are under way of a queue pair, of those that the adapter can have.
const READS: u8 = 16;

/// Memory that READs of this adapter put what they read into.
pub(super) struct Landing {
    pub(super) memory: Memory,
    pub(super) key: u32,
}

impl Landing {
    pub(super) fn sge(&self, part: &Range<usize>) -> Sge {
        Sge { addr: self.memory.place(part).addr() as u64, length: part.len() as u32, lkey: self.key }
    }
}

/// The keys of registered memory.
struct Keys {
    local: u32,
    remote: u32,
}

/// Registers memory for good.
///
/// # Safety
/// It is mapped for good; the library has made the domain.
unsafe fn register(
    library: &Library,
    pd: NonNull<Pd>,
    start: *mut u8,
    bytes: usize,
    access: c_int,
) -> io::Result<Keys> {
    // SAFETY: the caller's promise.
    let region = NonNull::new(unsafe { (library.reg_mr)(pd.as_ptr(), start.cast(), bytes, access) })
        .ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the library has made the region.
    Ok(unsafe { Keys { local: (*region.as_ptr()).lkey, remote: (*region.as_ptr()).rkey } })
}

fn last_error() -> String {
    io::Error::last_os_error().to_string()
}

/// A result of functions that return what `errno` would be, or -1 and set that.
pub(super) fn check(code: c_int) -> io::Result<()> {
    match code {
        0 => Ok(()),
        1.. => Err(io::Error::from_raw_os_error(code)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What has ended: of a send, or of a receive.
pub(super) struct Completion {
    /// Of the queue pair.
    pub(super) qpn: u32,
    pub(super) event: Event,
}

/// What sends are posted with, and READs besides their number. Receives are posted with their number.
pub(super) const SENT: u64 = u64::MAX;
pub(super) const READ: u64 = 1 << 32;

pub(super) enum Event {
    /// [`SIGNAL_INTERVAL`](super::queue_pair::SIGNAL_INTERVAL) sends.
    Sent,
    /// A READ of this number, and those that were posted before it.
    Read(u32),
    Received {
        /// What the receive was posted with.
        id: u32,
        bytes: usize,
        /// The immediate data that came with the message.
        immediate: u32,
    },
    Failed(io::Error),
}

/// A completion queue, and a descriptor that tells when there is something in it.
pub(super) struct CompletionQueue {
    pub(super) adapter: &'static Adapter,
    pub(super) cq: NonNull<Cq>,
    channel: NonNull<CompChannel>,
}

// SAFETY: the library's objects are not bound to a thread.
unsafe impl Send for CompletionQueue {}

impl CompletionQueue {
    pub(super) fn open(adapter: &'static Adapter, entries: usize) -> Result<CompletionQueue, VerbsError> {
        let Adapter { library, attr, .. } = adapter;
        adapter.limit("entries in a completion queue", attr.max_cqe, entries)?;
        // SAFETY: the device is open.
        let channel = NonNull::new(unsafe { (library.create_comp_channel)(adapter.context()) })
            .ok_or_else(|| adapter.failed("make a completion channel (see `ulimit -n`)"))?;
        // SAFETY: as above; the channel has just been made.
        let cq = unsafe {
            let (context, user, channel) = (adapter.context(), ptr::null_mut(), channel.as_ptr());
            (library.create_cq)(context, entries as c_int, user, channel, 0)
        };
        let cq = NonNull::new(cq).ok_or_else(|| adapter.failed("make a completion queue"))?;
        let queue = CompletionQueue { adapter, cq, channel };
        // SAFETY: changes a flag of the channel's descriptor, which is nobody else's.
        match unsafe { libc::fcntl(queue.descriptor(), libc::F_SETFL, libc::O_NONBLOCK) } {
            -1 => Err(adapter.failed("make a completion channel non-blocking")),
            _ => Ok(queue),
        }
    }

    /// Readable when something has ended since [`CompletionQueue::arm`].
    pub(super) fn descriptor(&self) -> RawFd {
        // SAFETY: the library has made the channel.
        unsafe { (*self.channel.as_ptr()).fd }
    }

    /// Hands on what has ended; whether there was something.
    pub(super) fn poll(&mut self, mut take: impl FnMut(Completion)) -> io::Result<bool> {
        const AT_ONCE: usize = 16;
        let mut entries = [MaybeUninit::<Wc>::uninit(); AT_ONCE];
        // SAFETY: there is space for so many entries.
        let count = unsafe {
            (self.adapter.ops().poll_cq)(self.cq.as_ptr(), AT_ONCE as c_int, entries.as_mut_ptr().cast())
        };
        let count =
            usize::try_from(count).map_err(|_| io::Error::other("RDMA: the completion queue is lost"))?;
        for entry in &entries[..count] {
            // SAFETY: the queue has filled so many.
            let wc = unsafe { entry.assume_init_ref() };
            let event = match (wc.status, u32::try_from(wc.wr_id)) {
                (IBV_WC_SUCCESS, Ok(id)) => {
                    Event::Received { id, bytes: wc.byte_len as usize, immediate: u32::from_be(wc.imm_data) }
                }
                (IBV_WC_SUCCESS, Err(_)) if wc.wr_id == SENT => Event::Sent,
                (IBV_WC_SUCCESS, Err(_)) => Event::Read(wc.wr_id as u32),
                (status, _) => Event::Failed(self.adapter.library.explain(status)),
            };
            take(Completion { qpn: wc.qp_num, event });
        }
        Ok(count != 0)
    }

    /// Has the descriptor tell what ends from now on. What has ended before is still in the queue.
    pub(super) fn arm(&mut self) -> io::Result<()> {
        self.clear();
        // SAFETY: the queue exists. All completions count.
        check(unsafe { (self.adapter.ops().req_notify_cq)(self.cq.as_ptr(), 0) })
    }

    /// Takes what the descriptor tells.
    fn clear(&mut self) {
        let (mut cq, mut user) = (ptr::null_mut(), ptr::null_mut());
        let library = self.adapter.library;
        // SAFETY: the channel exists, and there is place for both; it does not block.
        while unsafe { (library.get_cq_event)(self.channel.as_ptr(), &raw mut cq, &raw mut user) } == 0 {
            // SAFETY: one event of the queue has been taken.
            unsafe { (library.ack_cq_events)(cq, 1) };
        }
    }
}

/// A queue of receives that queue pairs share: whichever gets a message takes the next one.
pub(super) struct SharedReceiveQueue {
    adapter: &'static Adapter,
    pub(super) srq: NonNull<Srq>,
    /// What receives are numbered from, so that those of several queues have different numbers.
    first: u32,
    /// Where the first one's message goes.
    start: usize,
    /// Of each message at most.
    bytes: usize,
    /// Distance of two places.
    stride: usize,
}

// SAFETY: the library's objects are not bound to a thread.
unsafe impl Send for SharedReceiveQueue {}

impl SharedReceiveQueue {
    /// `count` receives of at most `bytes` bytes each are posted, into the memory from `start` on, `stride` bytes apart.
    pub(super) fn open(
        adapter: &'static Adapter,
        (first, count): (u32, usize),
        start: usize,
        (bytes, stride): (usize, usize),
    ) -> Result<SharedReceiveQueue, VerbsError> {
        adapter.limit("receives in a shared queue", adapter.attr.max_srq_wr, count)?;
        let mut attr =
            SrqInitAttr { srq_context: ptr::null(), max_wr: count as u32, max_sge: 1, srq_limit: 0 };
        // SAFETY: the domain exists, and the attributes live for the call.
        let srq = unsafe { (adapter.library.create_srq)(adapter.pd.as_ptr(), &raw mut attr) };
        let srq = NonNull::new(srq).ok_or_else(|| adapter.failed("make a shared receive queue"))?;
        let receives = SharedReceiveQueue { adapter, srq, first, start, bytes, stride };
        for id in (first..).take(count) {
            receives.post(id).map_err(|_| adapter.failed("post receives"))?;
        }
        Ok(receives)
    }

    /// Where the message of a receive is.
    pub(super) fn place(&self, id: u32) -> Range<usize> {
        let start = self.start + (id - self.first) as usize * self.stride;
        start..start + self.bytes
    }

    /// Posts one again whose message has been used.
    pub(super) fn post(&self, id: u32) -> io::Result<()> {
        let mut sge = self.adapter.sge(&self.place(id));
        let mut request =
            ReceiveWr { wr_id: id.into(), next: ptr::null_mut(), sg_list: &raw mut sge, num_sge: 1 };
        let mut bad = ptr::null_mut();
        // SAFETY: the queue exists, and what is passed lives for the call. The memory stays, and nobody uses the place until the completion.
        check(unsafe {
            (self.adapter.ops().post_srq_recv)(self.srq.as_ptr(), &raw mut request, &raw mut bad)
        })
    }
}
