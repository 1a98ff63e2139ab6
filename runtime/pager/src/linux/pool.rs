//! Transfers by threads.

use std::io;
use std::os::fd::RawFd;

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::disk::{Transfer, outcome};

/// Stack of a thread, bytes.
const STACK: usize = 256 << 10;

type Done = (Transfer, io::Result<usize>);

pub(super) struct Pool {
    begun: Sender<Transfer>,
    done: Receiver<Done>,
}

impl Pool {
    /// So many threads.
    pub(super) fn new(file: RawFd, event: RawFd, threads: usize) -> io::Result<Pool> {
        let (begun, wanted) = unbounded();
        let (finished, done) = unbounded();
        for _ in 0..threads {
            let (wanted, finished) = (wanted.clone(), finished.clone());
            std::thread::Builder::new()
                .name("dsm-disk".into())
                .stack_size(STACK)
                .spawn(move || transfer_all(file, event, &wanted, &finished))?;
        }
        Ok(Pool { begun, done })
    }

    pub(super) fn begin(&mut self, transfer: Transfer) {
        self.begun.send(transfer).expect("the threads live as long as the pool");
    }

    pub(super) fn next(&mut self) -> Option<Done> {
        self.done.try_recv().ok()
    }
}

fn transfer_all(file: RawFd, event: RawFd, wanted: &Receiver<Transfer>, finished: &Sender<Done>) {
    for mut transfer in wanted {
        let result =
            copy_and_read(file, &mut transfer).unwrap_or_else(|| transfer_all_of(file, &mut transfer));
        if result.is_ok() {
            transfer.place();
        }
        if finished.send((transfer, result)).is_err() {
            return;
        }
        // SAFETY: adds to the counter of an event that lives as long as the process.
        unsafe { libc::write(event, (&ONE as *const u64).cast(), 8) };
    }
}

/// Executes a transfer; of one that is placed afterwards, all that is left.
fn transfer_all_of(file: RawFd, transfer: &mut Transfer) -> io::Result<usize> {
    loop {
        let (parts, offset) = transfer.rest();
        let (first, count, offset) = (parts.as_ptr(), parts.len() as i32, offset as libc::off_t);
        // SAFETY: the memory is the transfer's, or mapped for good.
        let result = unsafe {
            match transfer.writes() {
                true => libc::pwritev(file, first, count, offset),
                false => libc::preadv(file, first, count, offset),
            }
        };
        let bytes = if result < 0 { Err(io::Error::last_os_error()) } else { outcome(result as i64) }?;
        let left: usize = parts.iter().map(|part| part.iov_len).sum();
        if !transfer.is_placed() || bytes == left {
            return Ok(bytes);
        }
        transfer.advance(bytes);
    }
}

/// Executes a read that other processes are asked for first; `None`: it is another transfer.
fn copy_and_read(file: RawFd, transfer: &mut Transfer) -> Option<io::Result<usize>> {
    let (expected, run, space, begin) = transfer.take_expected()?;
    for mut missing in expected.copy(run, space) {
        while !missing.is_empty() {
            let part = &mut space[missing.clone()];
            let offset = (begin + missing.start) as libc::off_t;
            // SAFETY: reads into the slice.
            let result = unsafe { libc::pread(file, part.as_mut_ptr().cast(), part.len(), offset) };
            match if result < 0 { Err(io::Error::last_os_error()) } else { outcome(result as i64) } {
                Ok(bytes) => missing.start += bytes,
                Err(error) => return Some(Err(error)),
            }
        }
    }
    Some(Ok(run.bytes()))
}

const ONE: u64 = 1;
