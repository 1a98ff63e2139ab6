//! Descriptors of other processes of the same host: the owner sends the open file itself over a socket, so that it has one position and one set of flags for
//! all, and everything that the kernel does with files works. Such copies are kept until the number is closed.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

use parking_lot::Mutex;

use super::descriptors::{RANGE, SET_WORDS, bit};
use super::mailbox::{self, Operation};
use crate::job::child;
use crate::job::library::set_errno;
use crate::sync;
use dsm_threads::handler::Deferred;

crate::control::declare! {
    /// Numbers of the process's descriptors that others have copies of: a set of bits.
    static IMPORTED: u64, SET_WORDS;
    /// 1 once the process has copies of other processes' descriptors.
    static IMPORTS: u64;
}

/// Copies in this process: the program's number, the one here. Signal handlers may use descriptors: see [`with_copies`].
static COPIES: Mutex<Option<HashMap<c_int, c_int>>> = Mutex::new(None);

/// Calls `body` where no handler of the program interrupts the thread that has the copies.
fn with_copies<R>(body: impl FnOnce(&mut HashMap<c_int, c_int>) -> R) -> R {
    let _deferred = Deferred::begin();
    body(COPIES.lock().get_or_insert_default())
}

/// What tells the file that was asked for from what others may send to the same socket.
type Token = [u8; 16];

/// A control message with one descriptor.
#[repr(C)]
struct Control {
    header: libc::cmsghdr,
    descriptor: c_int,
}

/// A socket that is closed with the value.
struct Socket(c_int);

impl Socket {
    fn new() -> Result<Socket, c_int> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
        // SAFETY: a new socket.
        let socket = unsafe { libc::syscall(libc::SYS_socket, libc::AF_UNIX, kind, 0) } as c_int;
        if socket < 0 { Err(error()) } else { Ok(Socket(socket)) }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // SAFETY: the socket is this value's.
        unsafe { libc::close(self.0) };
    }
}

fn error() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

fn message(token: &mut libc::iovec, control: &mut Control) -> libc::msghdr {
    // SAFETY: a structure of numbers and pointers, for which zero is a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = token;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut *control).cast();
    message.msg_controllen = size_of::<Control>() as _;
    message
}

fn control(descriptor: c_int) -> Control {
    // SAFETY: as for `message`.
    let mut header: libc::cmsghdr = unsafe { std::mem::zeroed() };
    header.cmsg_len = (size_of::<libc::cmsghdr>() + size_of::<c_int>()) as _;
    header.cmsg_level = libc::SOL_SOCKET;
    header.cmsg_type = libc::SCM_RIGHTS;
    Control { header, descriptor }
}

/// The owner's side: sends the file to the socket whose address stands behind the token in `request`; 0, or -1 with `errno`.
pub fn send(descriptor: c_int, request: &[u8]) -> i64 {
    let Ok(socket) = Socket::new() else { return -1 };
    let Some((token, address)) = request.split_at_checked(size_of::<Token>()) else { return -1 };
    let mut token = libc::iovec { iov_base: token.as_ptr() as *mut c_void, iov_len: token.len() };
    let mut control = control(descriptor);
    let mut message = message(&mut token, &mut control);
    message.msg_name = address.as_ptr() as *mut c_void;
    message.msg_namelen = address.len() as u32;
    // Before the file goes: whoever closes it looks here.
    let (word, bit) = bit(sync::rank(), &IMPORTED, descriptor);
    word.fetch_or(bit, Ordering::SeqCst);
    // SAFETY: the message and what it names are on the stack or in the request.
    let sent = unsafe { libc::syscall(libc::SYS_sendmsg, socket.0, &raw const message, 0) };
    if sent < 0 { -1 } else { 0 }
}

/// A new descriptor here for the file that the owner has under this number.
///
/// # Errors
/// `errno`.
pub fn receive(owner: u32, descriptor: c_int) -> Result<c_int, c_int> {
    let socket = Socket::new()?;
    let mut request = vec![0; size_of::<Token>()];
    let mut address = [0u8; size_of::<libc::sockaddr_un>()];
    address[..2].copy_from_slice(&(libc::AF_UNIX as u16).to_ne_bytes());
    let mut len = address.len() as u32;
    // SAFETY: the buffers have the sizes that are passed. A name of the family alone has the kernel choose one.
    let named = unsafe {
        libc::syscall(libc::SYS_getrandom, request.as_mut_ptr(), request.len(), 0) == request.len() as i64
            && libc::syscall(libc::SYS_bind, socket.0, address.as_ptr(), 2) == 0
            && libc::syscall(libc::SYS_getsockname, socket.0, address.as_mut_ptr(), &raw mut len) == 0
    };
    if !named {
        return Err(error());
    }
    request.extend_from_slice(&address[..len as usize]);
    let place = (request.len() as i64, 0);
    mailbox::request(owner, Operation::DescriptorSend, descriptor as usize, place, &request, &mut [])?;
    loop {
        let mut token: Token = [0; 16];
        let mut part = libc::iovec { iov_base: (&raw mut token).cast(), iov_len: size_of::<Token>() };
        let mut control = control(-1);
        let mut message = message(&mut part, &mut control);
        let flags = libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT;
        // SAFETY: the message and what it names are on the stack.
        if unsafe { libc::syscall(libc::SYS_recvmsg, socket.0, &raw mut message, flags) } < 0 {
            return Err(error());
        }
        let whole = message.msg_controllen >= control.header.cmsg_len;
        if whole && control.descriptor >= 0 && control.header.cmsg_type == libc::SCM_RIGHTS {
            if token == request[..size_of::<Token>()] {
                return Ok(control.descriptor);
            }
            // SAFETY: somebody else's file, which is not wanted.
            unsafe { libc::close(control.descriptor) };
        }
    }
}

/// The number here of another process's descriptor; -1 with `errno` if that is closed.
pub fn local(owner: u32, descriptor: c_int) -> c_int {
    if let Some(local) = with_copies(|copies| copies.get(&descriptor).copied()) {
        return local;
    }
    // Whoever closes the file tells this process by its mailbox.
    mailbox::serve();
    IMPORTS.of(sync::rank(), 0).store(1, Ordering::SeqCst);
    match receive(owner, descriptor) {
        Ok(file) => {
            // If another thread was as fast, the program may be using what that one got.
            let local = with_copies(|copies| *copies.entry(descriptor).or_insert(file));
            if local != file {
                // SAFETY: this thread's copy, given to nobody.
                unsafe { libc::close(file) };
            }
            local
        }
        Err(error) => {
            set_errno(error);
            -1
        }
    }
}

/// Closes this process's copy, if it has one.
pub fn forget(descriptor: c_int) {
    if let Some(file) = with_copies(|copies| copies.remove(&descriptor)) {
        // SAFETY: the copy is out of the table, so nobody closes it again.
        unsafe { libc::close(file) };
    }
}

/// Before the owner closes it: closes all copies, so that what the last close does happens then. A child of `fork` closes its own.
pub fn forget_everywhere(owner: u32, descriptor: c_int) {
    if sync::size() == 1 || !(0..RANGE).contains(&(descriptor - owner as c_int * RANGE)) {
        return;
    }
    if child::is_child() {
        return forget(descriptor);
    }
    let (word, bit) = bit(owner, &IMPORTED, descriptor);
    if word.fetch_and(!bit, Ordering::SeqCst) & bit == 0 {
        return;
    }
    forget(descriptor);
    for rank in (0..sync::size()).filter(|r| *r != sync::rank() && *r != owner) {
        if IMPORTS.of(rank, 0).load(Ordering::SeqCst) != 0 {
            let _ = mailbox::request(
                rank,
                Operation::DescriptorForget,
                descriptor as usize,
                (0, 0),
                &[],
                &mut [],
            );
        }
    }
}
