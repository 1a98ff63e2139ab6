//! `fi_read` of libfabric's provider for TCP by itself: one READ for each transfer, of memory that is registered as a whole, between two processes that look for what has ended all the time.

use std::ffi::{CStr, c_int, c_void};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;

use super::rate;
use super::two::BULK;
#[expect(unused, reason = "not all of the bindings are needed")]
#[path = "../../src/ofi/sys.rs"]
mod sys;
use sys::*;

/// Variable that says that a copy serves, and its descriptor.
pub const ROLE: &str = "DSM_BENCH_RAW";
const PROVIDER: &CStr = c"tcp;ofi_rxm";
const ACCESS: u64 = FI_RMA | FI_READ | FI_REMOTE_READ;
/// Bytes of what the server says: address, its length, key, and where the memory is.
const HELLO: usize = 256 + 3 * 8;

struct Raw {
    ep: *mut Ep,
    cq: *mut Cq,
    av: *mut Av,
    domain: *mut Domain,
    uses_addresses: bool,
}

/// The library's function of a name.
unsafe fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: the library's constructors expect nothing of this process.
    let found = unsafe {
        let handle = libc::dlopen(c"libfabric.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        assert!(!handle.is_null(), "libfabric is not installed");
        libc::dlsym(handle, name.as_ptr())
    };
    assert!(!found.is_null(), "libfabric has no {name:?}");
    found
}

fn check(what: &str, code: c_int) {
    assert_eq!(code, 0, "{what}");
}

impl Raw {
    fn open() -> Raw {
        // SAFETY: the functions have these types; objects come from the functions that make them, and places live for the calls.
        unsafe {
            let get_info: GetInfo = std::mem::transmute(symbol(c"fi_getinfo"));
            let dup_info: DupInfo = std::mem::transmute(symbol(c"fi_dupinfo"));
            let open_fabric: OpenFabric = std::mem::transmute(symbol(c"fi_fabric"));
            let hints = &mut *dup_info(ptr::null());
            (hints.caps, hints.mode) = (ACCESS, FI_CONTEXT);
            (*hints.ep_attr).kind = FI_EP_RDM;
            (*hints.domain_attr).mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
            (*hints.fabric_attr).prov_name = libc::strdup(PROVIDER.as_ptr());
            let mut info = ptr::null_mut();
            let node = c"127.0.0.1".as_ptr();
            check("fi_getinfo", get_info(VERSION, node, ptr::null(), FI_SOURCE, hints, &raw mut info));
            let (mut fabric, mut domain) = (ptr::null_mut(), ptr::null_mut());
            check("fi_fabric", open_fabric((*info).fabric_attr, &raw mut fabric, ptr::null_mut()));
            let ops = (*fabric).ops;
            check("fi_domain", ((*ops).domain)(fabric, info, &raw mut domain, ptr::null_mut()));
            let ops = (*domain).ops;
            let mut cq_attr: CqAttr = std::mem::zeroed();
            (cq_attr.size, cq_attr.format) = (64, FI_CQ_FORMAT_MSG);
            cq_attr.wait_obj = FI_WAIT_NONE;
            let mut av_attr: AvAttr = std::mem::zeroed();
            av_attr.kind = FI_AV_TABLE;
            let (mut cq, mut av, mut ep) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
            check("fi_cq_open", ((*ops).cq_open)(domain, &raw mut cq_attr, &raw mut cq, ptr::null_mut()));
            check("fi_av_open", ((*ops).av_open)(domain, &raw mut av_attr, &raw mut av, ptr::null_mut()));
            check("fi_endpoint", ((*ops).endpoint)(domain, info, &raw mut ep, ptr::null_mut()));
            let fid = &raw mut (*ep).fid;
            let ops = (*fid).ops;
            check("fi_ep_bind", ((*ops).bind)(fid, &raw mut (*av).fid, 0));
            check("fi_ep_bind", ((*ops).bind)(fid, &raw mut (*cq).fid, FI_SEND | FI_RECV));
            check("fi_enable", ((*ops).control)(fid, FI_ENABLE, ptr::null_mut()));
            let uses_addresses = (*(*info).domain_attr).mr_mode & FI_MR_VIRT_ADDR != 0;
            Raw { ep, cq, av, domain, uses_addresses }
        }
    }

    /// Makes progress, and lets others have the processor if there is none; whether something has ended.
    fn poll(&self) -> bool {
        let mut entry = std::mem::MaybeUninit::<CqEntry>::uninit();
        // SAFETY: there is place for one.
        let count = unsafe { ((*(*self.cq).ops).read)(self.cq, entry.as_mut_ptr().cast(), 1) };
        assert!(count >= 0 || count == -(libc::EAGAIN as isize), "a READ failed");
        if count <= 0 {
            std::thread::yield_now();
        }
        count > 0
    }
}

/// The copy: lets its memory be read until it is killed.
pub fn serve(role: &str) {
    // SAFETY: it was inherited, and nobody else has it.
    let mut socket = unsafe { UnixStream::from_raw_fd(role.parse().expect("a descriptor")) };
    let raw = Raw::open();
    let memory = vec![1_u8; BULK];
    let mut hello = [0; HELLO];
    // SAFETY: as in `Raw::open`; the memory stays.
    unsafe {
        let mut length = 256;
        let getname = (*(*raw.ep).cm).getname;
        check("fi_getname", getname(&raw mut (*raw.ep).fid, hello.as_mut_ptr().cast(), &raw mut length));
        let mut region = ptr::null_mut();
        let domain = &raw mut (*raw.domain).fid;
        let (start, user) = (memory.as_ptr().cast(), ptr::null_mut());
        let register = (*(*raw.domain).mr).reg;
        check("fi_mr_reg", register(domain, start, BULK, FI_REMOTE_READ, 0, 7, 0, &raw mut region, user));
        let address = if raw.uses_addresses { memory.as_ptr().addr() as u64 } else { 0 };
        hello[256..264].copy_from_slice(&(*region).key.to_le_bytes());
        hello[264..272].copy_from_slice(&address.to_le_bytes());
    }
    socket.write_all(&hello).expect("the first process listens");
    loop {
        raw.poll();
    }
}

/// Adds the rates for transfers of these sizes.
pub fn measure(sizes: &[usize], rates: &mut [Vec<f64>]) {
    let (mut socket, other) = UnixStream::pair().expect("sockets");
    let descriptor = other.as_raw_fd();
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.env(ROLE, descriptor.to_string());
    // SAFETY: makes a system call only.
    unsafe {
        command.pre_exec(move || {
            libc::fcntl(descriptor, libc::F_SETFD, 0);
            Ok(())
        });
    }
    let mut child = command.spawn().expect("a copy of this program");
    let raw = Raw::open();
    let mut hello = [0; HELLO];
    socket.read_exact(&mut hello).expect("the copy says where its memory is");
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| hello[at + i]));
    let (key, address) = (number(256), number(264));
    let mut buffer = vec![0_u8; BULK];
    let mut context = [0_usize; 8];
    let mut peer = 0;
    // SAFETY: the address is of this kind of endpoint.
    let inserted = unsafe {
        let insert = (*(*raw.av).ops).insert;
        insert(raw.av, hello.as_ptr().cast(), 1, &raw mut peer, 0, ptr::null_mut())
    };
    assert_eq!(inserted, 1, "fi_av_insert");
    let mut read = |bytes: usize| {
        // SAFETY: the buffer is as long, and stays until the READ has ended.
        while unsafe {
            let (into, context) = (buffer.as_mut_ptr().cast(), context.as_mut_ptr().cast());
            ((*(*raw.ep).rma).read)(raw.ep, into, bytes, ptr::null_mut(), peer, address, key, context)
        } != 0
        {
            raw.poll();
        }
        while !raw.poll() {}
    };
    read(BULK);
    for (size, rates) in sizes.iter().zip(rates) {
        rates.push(rate(*size, || read(*size)));
    }
    child.kill().and_then(|()| child.wait()).expect("it ends");
}
