//! libibverbs, loaded when it is first asked for.

use std::ffi::{CStr, c_uint, c_void};
use std::io;
use std::sync::OnceLock;

use super::sys::*;

/// Why messages cannot go by RDMA.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerbsError {
    /// The library, or a function of it, is not there.
    #[error(
        "DSM_TRANSPORT=verbs: libibverbs cannot be loaded: {0}; install it on all hosts (Debian: libibverbs1 ibverbs-providers), or leave DSM_TRANSPORT out to use TCP"
    )]
    Library(String),
    /// There is no device that could be used.
    #[error(
        "DSM_TRANSPORT=verbs: no RDMA device of this host can be used: {0}; `dsm-run --transports` lists them, verbs:DEVICE or verbs:DEVICE:PORT chooses one, and without \
         DSM_TRANSPORT the processes use TCP"
    )]
    Device(String),
    /// Bounds of the device are too narrow.
    #[error(
        "DSM_TRANSPORT=verbs: the device {device} has at most {limit} {what}, and {needed} are needed; use fewer processes with more threads, another device by \
         verbs:DEVICE, or leave DSM_TRANSPORT out to use TCP"
    )]
    Limit {
        /// Its name.
        device: String,
        /// What is bounded.
        what: &'static str,
        /// How much there may be.
        limit: usize,
        /// How much there has to be.
        needed: usize,
    },
    /// Something that the library refused.
    #[error("DSM_TRANSPORT=verbs: cannot {what} (device {device}): {cause}")]
    Failed {
        /// What was tried.
        what: String,
        /// Where.
        device: String,
        /// What the system says.
        cause: String,
    },
    /// Processes have devices that do not reach each other.
    #[error(
        "DSM_TRANSPORT=verbs: this process uses {own}, process {peer} uses {other}; choose devices of the same kind on all hosts by verbs:DEVICE"
    )]
    Different {
        /// The own device and its kind.
        own: String,
        /// Who has another one.
        peer: u32,
        /// That.
        other: String,
    },
}

/// The functions that the library exports. Those of the data path are in a table of each open device.
pub(super) struct Library {
    fork_init: ForkInit,
    pub(super) get_device_list: GetDeviceList,
    pub(super) free_device_list: FreeDeviceList,
    pub(super) get_device_name: GetDeviceName,
    pub(super) open_device: OpenDevice,
    pub(super) close_device: CloseDevice,
    pub(super) query_device: QueryDevice,
    pub(super) query_port: QueryPort,
    pub(super) query_gid: QueryGid,
    pub(super) alloc_pd: AllocPd,
    pub(super) reg_mr: RegMr,
    pub(super) create_comp_channel: CreateCompChannel,
    pub(super) create_cq: CreateCq,
    pub(super) get_cq_event: GetCqEvent,
    pub(super) ack_cq_events: AckCqEvents,
    pub(super) create_srq: CreateSrq,
    pub(super) create_qp: CreateQp,
    pub(super) modify_qp: ModifyQp,
    wc_status_str: WcStatusStr,
}

impl Library {
    /// The library, which stays loaded.
    pub(super) fn get() -> Result<&'static Library, VerbsError> {
        static LIBRARY: OnceLock<Result<Library, VerbsError>> = OnceLock::new();
        LIBRARY.get_or_init(Library::load).as_ref().map_err(Clone::clone)
    }

    fn load() -> Result<Library, VerbsError> {
        // SAFETY: the library's constructors expect nothing of this process.
        let handle = unsafe { libc::dlopen(c"libibverbs.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(loading_error());
        }
        // SAFETY: the library is open, and has functions of these types by these names.
        let library = unsafe {
            Library {
                fork_init: symbol(handle, c"ibv_fork_init")?,
                get_device_list: symbol(handle, c"ibv_get_device_list")?,
                free_device_list: symbol(handle, c"ibv_free_device_list")?,
                get_device_name: symbol(handle, c"ibv_get_device_name")?,
                open_device: symbol(handle, c"ibv_open_device")?,
                close_device: symbol(handle, c"ibv_close_device")?,
                query_device: symbol(handle, c"ibv_query_device")?,
                query_port: symbol(handle, c"ibv_query_port")?,
                query_gid: symbol(handle, c"ibv_query_gid")?,
                alloc_pd: symbol(handle, c"ibv_alloc_pd")?,
                reg_mr: symbol(handle, c"ibv_reg_mr")?,
                create_comp_channel: symbol(handle, c"ibv_create_comp_channel")?,
                create_cq: symbol(handle, c"ibv_create_cq")?,
                get_cq_event: symbol(handle, c"ibv_get_cq_event")?,
                ack_cq_events: symbol(handle, c"ibv_ack_cq_events")?,
                create_srq: symbol(handle, c"ibv_create_srq")?,
                create_qp: symbol(handle, c"ibv_create_qp")?,
                modify_qp: symbol(handle, c"ibv_modify_qp")?,
                wc_status_str: symbol(handle, c"ibv_wc_status_str")?,
            }
        };
        // So that processes that the program forks do not take the queues' memory with them. Linux from 5.12 on does so by itself, and the library finds that.
        // SAFETY: nothing of the library has been used yet. Where it fails, nothing is registered for such a program either.
        unsafe { (library.fork_init)() };
        Ok(library)
    }

    /// What the status of a completion means.
    pub(super) fn explain(&self, status: c_uint) -> io::Error {
        // SAFETY: any number may be asked for; the text is constant.
        let text = unsafe { CStr::from_ptr((self.wc_status_str)(status)) };
        io::Error::other(format!("RDMA: {}", text.to_string_lossy()))
    }
}

/// The function of a name.
///
/// # Safety
/// The handle is that of an open library, in which `F` is the type of the function.
unsafe fn symbol<F: Copy>(handle: *mut c_void, name: &CStr) -> Result<F, VerbsError> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the caller's promise.
    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
    if found.is_null() {
        return Err(loading_error());
    }
    // SAFETY: the caller's promise; the sizes are the same.
    Ok(unsafe { std::mem::transmute_copy(&found) })
}

fn loading_error() -> VerbsError {
    // SAFETY: the text is this thread's until its next call of these functions.
    let text =
        unsafe { libc::dlerror().as_ref().map(|text| CStr::from_ptr(text).to_string_lossy().into_owned()) };
    VerbsError::Library(text.unwrap_or_else(|| "no reason is given".to_owned()))
}
