//! Operations on another process's streams and descriptors: a mailbox in each process's control memory, emptied by a thread of that process.
//!
//! One request at a time. `STATE` goes FREE -> CLAIMED (by a requester) -> REQUEST -> REPLY (by the owner's thread) -> FREE. The thread sleeps
//! while there is nothing to do; it runs no code of the program and touches no shared data of it.

use std::cell::RefCell;
use std::ffi::{c_int, c_long};
use std::mem::ManuallyDrop;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Once, OnceLock};
use std::time::Duration;

use dsm_threads::futex;
use dsm_threads::handler::Deferred;

use super::{File, buffers, descriptors, fflush, fields, import, registry, remote, stdin};
use crate::control::Line;
use crate::job::child;
use crate::job::library::{errno, set_errno};
use crate::memory::services::spawn_service;
use crate::sync;
use dsm_comm::{Bytes, Half, Word};
use dsm_threads::wait::Waitable;

const FREE: u32 = 0;
const CLAIMED: u32 = 1;
const REQUEST: u32 = 2;
const REPLY: u32 = 3;

/// Names the owner's standard input; no stream has this address.
pub const STDIN: usize = 0;

codes! {
    /// What the owner is to do.
    pub enum Operation {
        /// `fread` of `a` bytes, and of what is in the stream's buffer then, up to `b` bytes in all.
        Read,
        /// `ungetc` of `a` bytes, the last one first.
        Unread,
        /// How the stream is buffered, as of `setvbuf`.
        Buffering,
        /// `feof`.
        AtEnd,
        /// `clearerr`.
        ClearErrors,
        /// `fwrite` of `a` bytes.
        Write,
        /// `fseeko` by `a` from `b`, then `ftello`.
        Seek,
        /// `fflush`.
        Flush,
        /// `fflush` at the program's end, for which no thread is waited for that holds the stream for long: it may read.
        FlushAtEnd,
        /// `fclose`.
        Close,
        /// `fileno`.
        Number,
        /// `setvbuf` with mode `a` and a buffer of `b` bytes.
        Buffer,
        /// Sends the file to a socket, whose address is `a` bytes with what goes with it: see [`import`].
        DescriptorSend,
        /// Closes the copy of another process's file.
        DescriptorForget,
        /// `close`.
        DescriptorClose,
        /// `read` of `a` bytes at `b`, for a process of another host: see [`remote`].
        DescriptorRead,
        /// `write` of `a` bytes at `b`, likewise.
        DescriptorWrite,
        /// A function without data, which `a` is the code of, with `b`, likewise.
        DescriptorCall,
        /// `a` bytes of a message of a Fortran statement, and more to come.
        FortranPart,
        /// The last `a` bytes; the message is carried out, and the result is the reply's length.
        FortranRun,
        /// The reply from byte `a` on.
        FortranFetch,
        /// `exit` with the status `a`.
        Exit,
    }
}

unsafe extern "C" {
    fn fread(to: *mut u8, size: usize, count: usize, stream: File) -> usize;
    fn fwrite(from: *const u8, size: usize, count: usize, stream: File) -> usize;
    fn fseeko(stream: File, offset: c_long, from: c_int) -> c_int;
    fn ftello(stream: File) -> c_long;
    fn fclose(stream: File) -> c_int;
    fn ferror(stream: File) -> c_int;
    fn fileno(stream: File) -> c_int;
    fn ungetc(byte: c_int, stream: File) -> c_int;
    fn flockfile(stream: File);
    fn ftrylockfile(stream: File) -> c_int;
    fn funlockfile(stream: File);
    fn feof(stream: File) -> c_int;
    fn clearerr(stream: File);
}

/// How often [`flush_at_end`] tries to have the stream, and how long it waits in between: a thread that writes holds it for less.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(1);

/// Size of a mailbox's data, bytes.
pub const DATA_BYTES: usize = 64 << 10;

crate::control::declare! {
    /// Requests to use a stream of the process: state and sleepers, then the request's words.
    static MAILBOX: Line;
    /// Bytes read or written.
    static DATA: u8, DATA_BYTES;
}

#[derive(Clone, Copy)]
struct Mailbox {
    rank: u32,
}

impl Mailbox {
    fn word(self, i: usize) -> Word {
        MAILBOX.of(self.rank, 0).word(8 * i)
    }

    fn state(self) -> Half {
        MAILBOX.of(self.rank, 0).half(0)
    }

    fn sleepers(self) -> Half {
        MAILBOX.of(self.rank, 0).half(4)
    }

    fn data(self) -> Bytes {
        DATA.of(self.rank, 0)
    }

    fn answer(self, result: i64, error: c_int) {
        self.word(1).store(result as u64, Ordering::Relaxed);
        self.word(2).store(error as u64, Ordering::Relaxed);
    }

    fn become_state(self, state: u32) {
        self.state().store_and_wake(state, self.sleepers(), futex::ALL, || fence(Ordering::SeqCst));
    }

    fn wait_until(self, wanted: u32) {
        self.state().sleep(self.sleepers(), futex::ALL, |state| state == wanted);
    }
}

thread_local! {
    /// Mailboxes that this thread holds, and what for.
    // Never dropped: the program's handlers at its end run behind the destructors of thread-local values.
    static HELD: RefCell<ManuallyDrop<Vec<(u32, Purpose)>>> = const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

/// What a thread holds a mailbox for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// A single operation, during which the thread executes no code of the program but a signal handler that interrupts it.
    Operation,
    /// All of a Fortran statement.
    Statement,
}

/// What this thread holds a mailbox for, if it does.
fn purpose_of_hold(owner: u32) -> Option<Purpose> {
    let _deferred = Deferred::begin();
    HELD.with_borrow(|held| held.iter().find(|(held, _)| *held == owner).map(|(_, purpose)| *purpose))
}

/// Whether this thread holds a mailbox.
pub fn is_held(owner: u32) -> bool {
    purpose_of_hold(owner).is_some()
}

/// The data area of the own mailbox: the requester leaves it alone until it has the answer.
fn own_data() -> *mut u8 {
    DATA.own_address()
}

/// Another process's mailbox, which is this thread's alone while the value lives.
pub struct Held {
    mailbox: Mailbox,
}

impl Held {
    /// Waits for the mailbox, for a Fortran statement.
    pub fn claim(owner: u32) -> Held {
        Held::claim_for(owner, Purpose::Statement)
    }

    fn claim_for(owner: u32, purpose: Purpose) -> Held {
        child::assert_of_job();
        if let Some(purpose) = purpose_of_hold(owner) {
            let (place, remedy) = match purpose {
                Purpose::Statement => {
                    ("inside a Fortran input statement on a unit of that process", "end the statement first")
                }
                Purpose::Operation => {
                    ("in a signal handler that interrupts such a use", "use the file outside the handler")
                }
            };
            let rank = sync::rank();
            crate::job::die(&format!("process {rank} uses a file of process {owner} {place}: {remedy}"));
        }
        let mailbox = Mailbox { rank: owner };
        while mailbox.state().compare_exchange(FREE, CLAIMED, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            mailbox.wait_until(FREE);
        }
        // A handler of the program may look at the list, too.
        let _deferred = Deferred::begin();
        HELD.with_borrow_mut(|held| held.push((owner, purpose)));
        Held { mailbox }
    }

    /// Has the owner carry out an operation on `file`; `out` goes with the request, `into` takes what comes back. Data beyond
    /// [`DATA_BYTES`] is left out: the result says how much was done.
    ///
    /// # Errors
    /// The owner's `errno`.
    pub fn exchange(
        &self,
        operation: Operation,
        file: usize,
        (a, b): (i64, i64),
        out: &[u8],
        into: &mut [u8],
    ) -> Result<i64, c_int> {
        let mailbox = self.mailbox;
        let words = [operation as u64, file as u64, a as u64, b as u64];
        for (i, value) in (1..).zip(words) {
            mailbox.word(i).store(value, Ordering::Relaxed);
        }
        assert!(out.len() <= DATA_BYTES && into.len() <= DATA_BYTES);
        // SAFETY: the data area has space by the assertion and is this thread's while it holds the mailbox.
        unsafe { mailbox.data().write(out.as_ptr(), out.len()) };
        mailbox.become_state(REQUEST);
        mailbox.wait_until(REPLY);
        let result = mailbox.word(1).load(Ordering::Relaxed) as i64;
        let error = mailbox.word(2).load(Ordering::Relaxed) as c_int;
        let len = (result.max(0) as usize).min(into.len());
        // SAFETY: as above.
        unsafe { mailbox.data().read(into.as_mut_ptr(), len) };
        mailbox.become_state(CLAIMED);
        if result < 0 { Err(error) } else { Ok(result) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _deferred = Deferred::begin();
        HELD.with_borrow_mut(|held| held.retain(|(owner, _)| *owner != self.mailbox.rank));
        self.mailbox.become_state(FREE);
    }
}

/// A single operation: see [`Held::exchange`].
///
/// # Errors
/// The owner's `errno`.
pub fn request(
    owner: u32,
    operation: Operation,
    file: usize,
    place: (i64, i64),
    out: &[u8],
    into: &mut [u8],
) -> Result<i64, c_int> {
    Held::claim_for(owner, Purpose::Operation).exchange(operation, file, place, out, into)
}

/// Starts the thread that empties this process's mailbox, once.
pub fn serve() {
    static STARTED: Once = Once::new();
    let serve = || {
        let mailbox = Mailbox { rank: sync::rank() };
        loop {
            mailbox.wait_until(REQUEST);
            carry_out(mailbox);
            mailbox.become_state(REPLY);
        }
    };
    STARTED.call_once(|| spawn_service("dsm-stdio", "streams of other processes", serve));
}

fn carry_out(mailbox: Mailbox) {
    let [code, file, a, b] = std::array::from_fn(|i| mailbox.word(i + 1).load(Ordering::Relaxed));
    let Some(operation) = Operation::from_code(code) else { return mailbox.answer(-1, libc::ENOSYS) };
    let (result, error) = match operation {
        Operation::Read
        | Operation::Unread
        | Operation::Buffering
        | Operation::AtEnd
        | Operation::ClearErrors
        | Operation::Write
        | Operation::Seek
        | Operation::Flush
        | Operation::FlushAtEnd
        | Operation::Close
        | Operation::Number
        | Operation::Buffer => match stream(file as usize) {
            Some(stream) => on_stream(operation, stream, a as i64, b as i64),
            // Closed in the meantime.
            None => (-1, libc::EBADF),
        },
        Operation::FortranPart | Operation::FortranRun | Operation::FortranFetch => {
            (fortran(operation, a as usize) as i64, 0)
        }
        Operation::Exit => {
            if let Some(exit) = EXIT.get() {
                exit(a as c_int);
            }
            (0, 0)
        }
        _ => {
            let result = on_descriptor(operation, file as c_int, a, b as i64);
            (result, errno())
        }
    };
    mailbox.answer(result, error);
}

fn on_descriptor(operation: Operation, descriptor: c_int, a: u64, b: i64) -> i64 {
    // SAFETY: the data area is this request's.
    let data = unsafe { std::slice::from_raw_parts_mut(own_data(), DATA_BYTES) };
    let bytes = (a as usize).min(DATA_BYTES);
    match operation {
        Operation::DescriptorSend => import::send(descriptor, &data[..bytes]),
        Operation::DescriptorForget => {
            import::forget(descriptor);
            0
        }
        Operation::DescriptorRead => remote::read_own(descriptor, &mut data[..bytes], b),
        Operation::DescriptorWrite => remote::write_own(descriptor, &data[..bytes], b),
        Operation::DescriptorCall => remote::call_own(descriptor, a, b, data),
        _ => descriptors::close_own(descriptor).into(),
    }
}

/// Who carries out Fortran statements.
#[derive(Clone, Copy, Debug)]
pub struct Statements {
    /// A part of a message has arrived.
    pub part: fn(&[u8]),
    /// The message is complete with these bytes: length of the reply.
    pub run: fn(&[u8]) -> usize,
    /// Copies the reply from a byte on.
    pub fetch: fn(usize, &mut [u8]) -> usize,
}

static STATEMENTS: OnceLock<Statements> = OnceLock::new();

/// Says who carries out Fortran statements. Before user code runs.
pub fn register(statements: Statements) {
    let _ = STATEMENTS.set(statements);
}

static EXIT: OnceLock<fn(c_int)> = OnceLock::new();

/// Says who ends the program for another process. Before user code runs.
pub fn register_exit(exit: fn(c_int)) {
    let _ = EXIT.set(exit);
}

/// Operations of Fortran statements.
fn fortran(operation: Operation, a: usize) -> usize {
    // SAFETY: the data area is this request's.
    let data = unsafe { std::slice::from_raw_parts_mut(own_data(), DATA_BYTES) };
    let given = a.min(DATA_BYTES);
    let Some(statements) = STATEMENTS.get() else { return 0 };
    match operation {
        Operation::FortranPart => {
            (statements.part)(&data[..given]);
            0
        }
        Operation::FortranRun => {
            let len = (statements.run)(&data[..given]);
            (statements.fetch)(0, data);
            len
        }
        _ => (statements.fetch)(a, data),
    }
}

/// The stream, if it is (still) one of this process.
fn stream(file: usize) -> Option<File> {
    if file == STDIN {
        // SAFETY: in the process that is asked, the variable was never changed by the runtime.
        return Some(unsafe { stdin });
    }
    (registry::owner(file) == Some(sync::rank())).then_some(file as File)
}

/// Reads bytes to the data area, and what is in the buffer then, `most` bytes in all.
unsafe fn read(stream: File, bytes: usize, most: usize) -> usize {
    // SAFETY: the caller's: an open stream, and a data area of its own. Nobody else uses the stream while it is locked.
    unsafe {
        flockfile(stream);
        let mut count = fread(own_data(), 1, bytes, stream);
        let more = fields::unread(stream).min(most.min(DATA_BYTES).saturating_sub(count));
        if count == bytes && more > 0 {
            count += fread(own_data().add(count), 1, more, stream);
        }
        funlockfile(stream);
        count
    }
}

/// As at the end of a process, where the C library waits for no lock of a stream.
///
/// # Safety
/// The stream is open.
unsafe fn flush_at_end(stream: File) -> c_int {
    for _ in 0..LOCK_TRIES {
        // SAFETY: the caller's.
        if unsafe { ftrylockfile(stream) } == 0 {
            // SAFETY: as above; the lock is this thread's, which may flush.
            return unsafe {
                let result = fflush(stream);
                funlockfile(stream);
                result
            };
        }
        std::thread::sleep(LOCK_PAUSE);
    }
    -1
}

fn on_stream(operation: Operation, stream: File, a: i64, b: i64) -> (i64, c_int) {
    let len = (a.max(0) as usize).min(DATA_BYTES);
    // SAFETY: the stream is open (the registry has it; closing takes it out first), and the data area has `len` bytes, which the
    // requester leaves alone.
    let result = unsafe {
        set_errno(0);
        match operation {
            Operation::Read => {
                let count = read(stream, len, b as usize) as i64;
                if count == 0 && ferror(stream) != 0 { -1 } else { count }
            }
            Operation::Unread => {
                let bytes = std::slice::from_raw_parts(own_data(), len);
                let is_back = |byte: &u8| ungetc((*byte).into(), stream) >= 0;
                if bytes.iter().rev().all(is_back) { 0 } else { -1 }
            }
            Operation::Buffering => i64::from(fields::buffering(stream)),
            Operation::AtEnd => i64::from(feof(stream) != 0),
            Operation::ClearErrors => {
                clearerr(stream);
                0
            }
            Operation::Write => {
                let count = fwrite(own_data(), 1, len, stream) as i64;
                if count == 0 && len > 0 { -1 } else { count }
            }
            Operation::Seek if fseeko(stream, a, b as c_int) == 0 => ftello(stream),
            Operation::Seek => -1,
            Operation::Flush => i64::from(fflush(stream)),
            Operation::FlushAtEnd => i64::from(flush_at_end(stream)),
            Operation::Number => i64::from(fileno(stream)),
            Operation::Buffer => i64::from(buffers::set_own(stream, a as c_int, b as usize)),
            _ => {
                registry::remove(stream as usize);
                descriptors::leave(fileno(stream));
                let result = i64::from(fclose(stream));
                buffers::closed(stream as usize);
                result
            }
        }
    };
    (result, errno())
}
