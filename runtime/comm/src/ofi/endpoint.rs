//! An endpoint for reliable datagrams with its completion queue, address vector and memory.
//!
//! Each has a domain of its own, so that two of them share nothing. Its methods are called by one thread at a time, but for `sleep`.

use std::cell::UnsafeCell;
use std::ffi::{CStr, CString, c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::RawFd;
use std::ptr::{self, NonNull};

use super::library::{Library, OfiError};
use super::sys::*;
use crate::memory::Memory;
use crate::requests::carrier::Registrar;

/// What the provider keeps with an operation.
pub(super) type Scratch = [usize; 8];

/// What an operation is known by while it is under way: its address. It begins with what belongs to the provider meanwhile.
#[repr(C)]
pub(super) struct Context {
    scratch: UnsafeCell<Scratch>,
    /// Chosen by who starts the operation.
    pub(super) id: usize,
}

// SAFETY: the scratch is the provider's, which synchronises its threads.
unsafe impl Sync for Context {}
// SAFETY: as above.
unsafe impl Send for Context {}

impl Context {
    /// One that stays, because the provider may use it as long as the process lives.
    pub(super) fn new(id: usize) -> &'static Context {
        Box::leak(Box::new(Context { scratch: UnsafeCell::new([0; 8]), id }))
    }
}

/// That an operation has ended.
pub(super) struct Completion {
    /// Of its context.
    pub(super) id: usize,
    /// Bytes received, or why it failed.
    pub(super) result: Result<usize, String>,
}

/// What is asked of a provider.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// Its name; any if empty.
    pub(super) provider: &'a str,
    /// The numeric address that the endpoint is bound to, where the provider's addresses are of this kind.
    pub(super) address: Option<&'a str>,
    /// Most receives at a time.
    pub(super) receives: usize,
    /// Most sends at a time.
    pub(super) sends: usize,
    /// Longest message.
    pub(super) message: usize,
    /// Bytes that messages are sent from and received in.
    pub(super) memory: usize,
    /// Most READs at a time; 0 where there are none.
    pub(super) reads: usize,
}

pub(super) struct Endpoint {
    library: &'static Library,
    fabric: NonNull<Fabric>,
    domain: NonNull<Domain>,
    cq: NonNull<Cq>,
    av: NonNull<Av>,
    ep: NonNull<Ep>,
    pub(super) memory: Memory,
    /// Of the memory, where the provider wants one.
    descriptor: *mut c_void,
    /// Readable when there may be completions, if the provider can do that.
    pub(super) wait_descriptor: Option<RawFd>,
    pub(super) provider: String,
    /// The bits that tags have.
    pub(super) tags: u64,
    /// Longest message that [`Endpoint::inject`] takes.
    pub(super) inject_bytes: usize,
    /// Whether the provider reads memory, and lets it be read.
    pub(super) reads: bool,
    /// Whether what is read has to land in memory that the provider knows.
    pub(super) needs_local: bool,
    /// Longest message, or READ.
    pub(super) most_bytes: usize,
    /// What the provider wants of memory that is registered.
    mr_mode: c_int,
    /// Bytes of a key.
    key_bytes: usize,
}

// SAFETY: the library's objects are not bound to a thread.
unsafe impl Send for Endpoint {}

impl Endpoint {
    /// Opens two of the same provider, which it takes the library long to find.
    ///
    /// # Errors
    /// There is no library, no provider, or it refuses.
    pub(super) fn open_two(wanted: &Wanted) -> Result<[Endpoint; 2], OfiError> {
        let library = Library::get(wanted.provider)?;
        let info = find(library, wanted)?;
        // SAFETY: the library has made the description.
        let open = || unsafe { Endpoint::open(library, info, wanted) };
        let both = open().and_then(|first| Ok([first, open()?]));
        // SAFETY: as above; objects have copied what they need of it.
        unsafe { (library.free_info)(info.as_ptr()) };
        both
    }

    /// # Safety
    /// The library has made the description.
    unsafe fn open(
        library: &'static Library,
        info: NonNull<Info>,
        wanted: &Wanted,
    ) -> Result<Endpoint, OfiError> {
        // SAFETY: for all of this, the library's functions get objects that they have made, and places for what they make.
        unsafe {
            let provider =
                CStr::from_ptr((*(*info.as_ptr()).fabric_attr).prov_name).to_string_lossy().into_owned();
            let check = |what, code: c_int| match code {
                0 => Ok(()),
                code => Err(OfiError::Failed {
                    what,
                    provider: provider.clone(),
                    cause: library.explain(code as isize),
                }),
            };
            let mut fabric = ptr::null_mut();
            check(
                "open a fabric",
                (library.open_fabric)((*info.as_ptr()).fabric_attr, &raw mut fabric, ptr::null_mut()),
            )?;
            let mut domain = ptr::null_mut();
            let open_domain = (*(*fabric).ops).domain;
            check("open a domain", open_domain(fabric, info.as_ptr(), &raw mut domain, ptr::null_mut()))?;
            let (cq, has_descriptor) = open_queue(domain, wanted).map_err(|code| {
                check("open a completion queue", code).expect_err("the code says that it failed")
            })?;
            let mut av_attr = AvAttr {
                kind: FI_AV_TABLE,
                rx_ctx_bits: 0,
                count: wanted.receives,
                ep_per_node: 0,
                name: ptr::null(),
                map_addr: ptr::null_mut(),
                flags: 0,
            };
            let ops = (*domain).ops;
            let (mut av, mut ep) = (ptr::null_mut(), ptr::null_mut());
            check(
                "open an address vector",
                ((*ops).av_open)(domain, &raw mut av_attr, &raw mut av, ptr::null_mut()),
            )?;
            check(
                "open an endpoint",
                ((*ops).endpoint)(domain, info.as_ptr(), &raw mut ep, ptr::null_mut()),
            )?;
            let fid = &raw mut (*ep).fid;
            let bind = (*(*fid).ops).bind;
            check("bind an endpoint", bind(fid, &raw mut (*av).fid, 0))?;
            check("bind an endpoint", bind(fid, &raw mut (*cq.as_ptr()).fid, FI_SEND | FI_RECV))?;
            check("enable an endpoint", ((*(*fid).ops).control)(fid, FI_ENABLE, ptr::null_mut()))?;
            let wait_descriptor = has_descriptor.then(|| wait_descriptor(cq)).flatten();
            let memory = Memory::map(wanted.memory).map_err(|cause| OfiError::Failed {
                what: "get memory",
                provider: provider.clone(),
                cause,
            })?;
            let mut descriptor = ptr::null_mut();
            let mr_mode = (*(*info.as_ptr()).domain_attr).mr_mode;
            if mr_mode & FI_MR_LOCAL != 0 {
                let start = memory.place(&(0..wanted.memory));
                let region = register(domain, start, wanted.memory, FI_SEND | FI_RECV, 0)
                    .map_err(|code| check("register memory (see ulimit -l)", code).expect_err("it failed"))?;
                descriptor = (*region.as_ptr()).mem_desc;
            }
            let format = (*(*info.as_ptr()).ep_attr).mem_tag_format;
            let object = |address| NonNull::new(address).expect("the library has made it");
            Ok(Endpoint {
                library,
                fabric: object(fabric.cast()).cast(),
                domain: object(domain.cast::<c_void>()).cast(),
                cq,
                av: object(av.cast::<c_void>()).cast(),
                ep: object(ep.cast::<c_void>()).cast(),
                memory,
                descriptor,
                wait_descriptor,
                tags: u64::MAX.checked_shr(format.leading_zeros()).unwrap_or(u64::MAX),
                inject_bytes: (*(*info.as_ptr()).tx_attr).inject_size,
                reads: wanted.reads != 0 && (*info.as_ptr()).caps & READS == READS,
                needs_local: !descriptor.is_null() || mr_mode & FI_MR_LOCAL != 0,
                most_bytes: (*(*info.as_ptr()).ep_attr).max_msg_size,
                mr_mode,
                key_bytes: (*(*info.as_ptr()).domain_attr).mr_key_size,
                provider,
            })
        }
    }

    /// The address by which others reach it.
    pub(super) fn address(&self) -> Result<Vec<u8>, OfiError> {
        let mut address = vec![0; 256];
        let mut length = address.len();
        // SAFETY: the place is as long as it says.
        let code = unsafe {
            let ep = self.ep.as_ptr();
            ((*(*ep).cm).getname)(&raw mut (*ep).fid, address.as_mut_ptr().cast(), &raw mut length)
        };
        self.check("name the endpoint's address", code)?;
        address.truncate(length);
        Ok(address)
    }

    /// Makes another endpoint known: the number that it is sent to by.
    pub(super) fn insert(&mut self, address: &[u8]) -> Result<u64, OfiError> {
        let mut number = FI_ADDR_UNSPEC;
        // SAFETY: the address is as long as addresses of this provider are, since one has named it.
        let inserted = unsafe {
            let av = self.av.as_ptr();
            ((*(*av).ops).insert)(av, address.as_ptr().cast(), 1, &raw mut number, 0, ptr::null_mut())
        };
        self.check(
            "take the address of another process",
            if inserted == 1 { 0 } else { inserted.min(-libc::EINVAL) },
        )?;
        Ok(number)
    }

    fn check(&self, what: &'static str, code: c_int) -> Result<(), OfiError> {
        let cause = || self.library.explain(code as isize);
        let failed = || OfiError::Failed { what, provider: self.provider.clone(), cause: cause() };
        if code == 0 { Ok(()) } else { Err(failed()) }
    }

    /// Receives a message with a tag in a part of the memory.
    pub(super) fn receive(
        &mut self,
        part: &Range<usize>,
        tag: u64,
        context: &'static Context,
    ) -> Result<(), PostError> {
        let (place, context) = (self.memory.place(part).cast(), ptr::from_ref(context).cast_mut().cast());
        // SAFETY: the memory stays mapped, and nobody else uses the part meanwhile.
        let code = unsafe {
            let ep = self.ep.as_ptr();
            let receive = (*(*ep).tagged).recv;
            receive(ep, place, part.len(), self.descriptor, FI_ADDR_UNSPEC, tag, 0, context)
        };
        self.posted(code)
    }

    /// Reads from the memory of another endpoint, by an address and a key that its process has told.
    ///
    /// # Safety
    /// `into` is writable for `bytes` bytes until the operation has ended, and `descriptor` is of it where the provider wants one.
    pub(super) unsafe fn read(
        &mut self,
        (into, bytes, descriptor): (*mut u8, usize, *mut c_void),
        from: u64,
        (address, key): (u64, u64),
        context: &'static Context,
    ) -> Result<(), PostError> {
        let context = ptr::from_ref(context).cast_mut().cast();
        // SAFETY: the caller's promise; an endpoint that was made for reads has the operation.
        let code = unsafe {
            let ep = self.ep.as_ptr();
            ((*(*ep).rma).read)(ep, into.cast(), bytes, descriptor, from, address, key, context)
        };
        self.posted(code)
    }

    /// New memory that reads may land in, and its descriptor.
    pub(super) fn landing(&mut self, bytes: usize) -> Result<(Memory, *mut c_void), String> {
        let memory = Memory::map(bytes)?;
        // SAFETY: the library has made the domain; the memory is mapped for good.
        unsafe {
            let region = register(self.domain.as_ptr(), memory.place(&(0..bytes)), bytes, FI_READ, 0)
                .map_err(|code| self.library.explain(code as isize))?;
            Ok((memory, (*region.as_ptr()).mem_desc))
        }
    }

    /// What lets other processes read own memory by this endpoint, where the provider can. Whoever has it uses it when the endpoint is not in use.
    pub(super) fn registrar(&self) -> Option<FabricRegistrar> {
        let Endpoint { domain, mr_mode, key_bytes, .. } = *self;
        self.reads.then_some(FabricRegistrar { domain, mr_mode, key_bytes })
    }

    /// Sends a part of the memory.
    pub(super) fn send(
        &mut self,
        part: &Range<usize>,
        to: u64,
        tag: u64,
        context: &'static Context,
    ) -> Result<(), PostError> {
        let (place, context) =
            (self.memory.place(part).cast_const().cast(), ptr::from_ref(context).cast_mut().cast());
        // SAFETY: as in `receive`; the part stays as it is until the completion.
        let code = unsafe {
            let ep = self.ep.as_ptr();
            ((*(*ep).tagged).send)(ep, place, part.len(), self.descriptor, to, tag, context)
        };
        self.posted(code)
    }

    /// Sends a part of the memory, which may change at once. There will be no completion.
    pub(super) fn inject(&mut self, part: &Range<usize>, to: u64, tag: u64) -> Result<(), PostError> {
        let place = self.memory.place(part).cast_const().cast();
        // SAFETY: as in `receive`.
        let code = unsafe {
            let ep = self.ep.as_ptr();
            ((*(*ep).tagged).inject)(ep, place, part.len(), to, tag)
        };
        self.posted(code)
    }

    fn posted(&self, code: isize) -> Result<(), PostError> {
        match code {
            0 => Ok(()),
            code if code == -(libc::EAGAIN as isize) => Err(PostError::Full),
            code => Err(PostError::Failed(self.library.explain(code))),
        }
    }

    /// Makes progress; hands on what has ended. Whether there was something.
    pub(super) fn poll(&mut self, mut take: impl FnMut(Completion)) -> bool {
        const AT_ONCE: usize = 16;
        let mut entries = [MaybeUninit::<CqEntry>::uninit(); AT_ONCE];
        // SAFETY: there is space for so many entries.
        let count = unsafe {
            let cq = self.cq.as_ptr();
            ((*(*cq).ops).read)(cq, entries.as_mut_ptr().cast(), AT_ONCE)
        };
        if count > 0 {
            for entry in &entries[..count as usize] {
                // SAFETY: the queue has filled so many.
                let CqEntry { op_context, len, .. } = unsafe { entry.assume_init() };
                take(Completion { id: id(op_context), result: Ok(len) });
            }
            return true;
        }
        count == -FI_EAVAIL && self.poll_error(take)
    }

    #[cold]
    fn poll_error(&mut self, mut take: impl FnMut(Completion)) -> bool {
        // SAFETY: numbers and addresses, for which zeros are right; the library fills it.
        let (count, entry) = unsafe {
            let mut entry: CqErrEntry = std::mem::zeroed();
            let cq = self.cq.as_ptr();
            (((*(*cq).ops).readerr)(cq, &raw mut entry, 0), entry)
        };
        if count > 0 && !entry.op_context.is_null() {
            take(Completion {
                id: id(entry.op_context),
                result: Err(self.library.explain(-(entry.err as isize))),
            });
        }
        count > 0
    }

    /// Whether its descriptor says when there is something: if not, there may be something now.
    pub(super) fn may_sleep(&mut self) -> bool {
        // SAFETY: the queue belongs to the fabric.
        unsafe {
            let fabric = self.fabric.as_ptr();
            let mut fid = &raw mut (*self.cq.as_ptr()).fid;
            ((*(*fabric).ops).trywait)(fabric, &raw mut fid, 1) == 0
        }
    }
}

/// What a provider has to be able to do so that memory is read.
const READS: u64 = FI_RMA | FI_READ | FI_REMOTE_READ;

/// Lets other processes read own memory.
pub(super) struct FabricRegistrar {
    domain: NonNull<Domain>,
    mr_mode: c_int,
    key_bytes: usize,
}

// SAFETY: the library's objects are not bound to a thread.
unsafe impl Send for FabricRegistrar {}

impl Registrar for FabricRegistrar {
    unsafe fn register(&mut self, start: *mut u8, bytes: usize) -> Option<(u64, u64)> {
        // Where the provider does not choose the key, nobody should guess it.
        let wanted = match self.mr_mode & FI_MR_PROV_KEY {
            0 => u64::from_le_bytes(crate::random_bytes().ok()?) & mask(self.key_bytes),
            _ => 0,
        };
        // SAFETY: the caller's promise; the library has made the domain.
        unsafe {
            let region = register(self.domain.as_ptr(), start, bytes, FI_REMOTE_READ, wanted).ok()?;
            let address = if self.mr_mode & FI_MR_VIRT_ADDR == 0 { 0 } else { start.addr() as u64 };
            Some(((*region.as_ptr()).key, address))
        }
    }
}

/// The numbers of so many bytes.
fn mask(bytes: usize) -> u64 {
    u64::MAX.checked_shr(64_u32.saturating_sub(8 * bytes as u32)).unwrap_or(0)
}

/// Registers memory for good.
///
/// # Safety
/// It is mapped for good; the library has made the domain.
unsafe fn register(
    domain: *mut Domain,
    start: *mut u8,
    bytes: usize,
    access: u64,
    key: u64,
) -> Result<NonNull<Mr>, c_int> {
    let mut region = ptr::null_mut();
    // SAFETY: the caller's promise.
    let code = unsafe {
        let fid = &raw mut (*domain).fid;
        let register = (*(*domain).mr).reg;
        register(fid, start.cast(), bytes, access, 0, key, 0, &raw mut region, ptr::null_mut())
    };
    NonNull::new(region).filter(|_| code == 0).ok_or(code)
}

/// Why an operation was not started.
pub(super) enum PostError {
    /// Not now.
    Full,
    /// Not at all.
    Failed(String),
}

/// Of the context that an operation was started with.
fn id(context: *mut c_void) -> usize {
    // SAFETY: all operations are started with a context that stays, and its `id` does not change.
    unsafe { (*context.cast::<Context>().cast_const()).id }
}

/// Opens a completion queue; whether it was made to have a descriptor. Not all providers have one.
///
/// # Safety
/// The library has made the domain.
unsafe fn open_queue(domain: *mut Domain, wanted: &Wanted) -> Result<(NonNull<Cq>, bool), c_int> {
    let mut result = 0;
    for wait_obj in [FI_WAIT_FD, FI_WAIT_NONE] {
        let mut attr = CqAttr {
            size: wanted.receives + wanted.sends + wanted.reads,
            flags: 0,
            format: FI_CQ_FORMAT_MSG,
            wait_obj,
            signaling_vector: 0,
            wait_cond: 0,
            wait_set: ptr::null(),
        };
        let mut cq = ptr::null_mut();
        // SAFETY: the caller's promise; attributes and place live for the call.
        result = unsafe { ((*(*domain).ops).cq_open)(domain, &raw mut attr, &raw mut cq, ptr::null_mut()) };
        if let (0, Some(cq)) = (result, NonNull::new(cq)) {
            return Ok((cq, wait_obj == FI_WAIT_FD));
        }
    }
    Err(result)
}

/// # Safety
/// The library has made the queue.
unsafe fn wait_descriptor(cq: NonNull<Cq>) -> Option<RawFd> {
    let mut descriptor: RawFd = -1;
    // SAFETY: the caller's promise; for a queue with a descriptor the command stores that.
    let code = unsafe {
        let fid = &raw mut (*cq.as_ptr()).fid;
        ((*(*fid).ops).control)(fid, FI_GETWAIT, (&raw mut descriptor).cast())
    };
    (code == 0 && descriptor >= 0).then_some(descriptor)
}

/// A description of the provider to use.
fn find(library: &Library, wanted: &Wanted) -> Result<NonNull<Info>, OfiError> {
    let mut first = ask(library, wanted, wanted.address);
    // Not all providers have addresses of this kind.
    if let (Err(_), Some(_)) = (&first, wanted.address) {
        first = ask(library, wanted, None).or(first);
    }
    // Nor do all read memory.
    if let (Err(_), true) = (&first, wanted.reads != 0) {
        return find(library, &Wanted { reads: 0, ..*wanted }).or(first);
    }
    let info = first?;
    // SAFETY: the library's description has these parts.
    let (provider, limits) = unsafe {
        let info = &*info.as_ptr();
        let provider = CStr::from_ptr((*info.fabric_attr).prov_name).to_string_lossy().into_owned();
        let limits = [
            ("bytes in a message", (*info.ep_attr).max_msg_size, wanted.message),
            ("receives at a time", (*info.rx_attr).size, wanted.receives),
            ("sends at a time", (*info.tx_attr).size, wanted.sends),
        ];
        (provider, limits)
    };
    let narrow = limits.into_iter().find(|(_, limit, needed)| limit < needed);
    narrow.map_or(Ok(info), |(what, limit, needed)| {
        // SAFETY: nobody else has it.
        unsafe { (library.free_info)(info.as_ptr()) };
        Err(OfiError::Limit { provider, what, limit, needed })
    })
}

/// The first provider that can do what is needed, at an address if there is one.
fn ask(library: &Library, wanted: &Wanted, address: Option<&str>) -> Result<NonNull<Info>, OfiError> {
    let no_provider = |cause| OfiError::Provider {
        named: if wanted.provider.is_empty() { String::new() } else { format!(" {}", wanted.provider) },
        at: address.map_or(String::new(), |address| format!(" at {address}")),
        cause,
    };
    let text = |text: &str| CString::new(text).map_err(|_| no_provider("a byte 0 in a name".to_owned()));
    let (name, node) = (text(wanted.provider)?, address.map(text).transpose()?);
    // SAFETY: the library's description has these parts, zeros, and frees names by the C library's function.
    unsafe {
        let hints = (library.dup_info)(ptr::null());
        let Some(hint) = hints.as_mut() else { return Err(no_provider("no memory".to_owned())) };
        hint.caps = FI_TAGGED | FI_SEND | FI_RECV | if wanted.reads == 0 { 0 } else { READS };
        hint.mode = FI_CONTEXT | FI_CONTEXT2;
        (*hint.ep_attr).kind = FI_EP_RDM;
        (*hint.tx_attr).msg_order = FI_ORDER_SAS;
        (*hint.rx_attr).msg_order = FI_ORDER_SAS;
        (*hint.domain_attr).threading = FI_THREAD_DOMAIN;
        (*hint.domain_attr).mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
        if !wanted.provider.is_empty() {
            (*hint.fabric_attr).prov_name = libc::strdup(name.as_ptr());
        }
        let mut found = ptr::null_mut();
        let (node, flags) = node.as_ref().map_or((ptr::null(), 0), |node| (node.as_ptr(), FI_SOURCE));
        let code = (library.get_info)(VERSION, node, ptr::null(), flags, hints, &raw mut found);
        (library.free_info)(hints);
        match NonNull::new(found) {
            Some(info) if code == 0 => Ok(info),
            _ => Err(no_provider(library.explain(code as isize))),
        }
    }
}
