//! Transfers by threads.

use std::io;
use std::os::fd::RawFd;

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::disk::{Transfer, outcome};

/// Transfers at a time.
const THREADS: usize = 8;
/// Stack of a thread, bytes.
const STACK: usize = 64 << 10;

type Done = (Transfer, io::Result<usize>);

pub(super) struct Pool {
    begun: Sender<Transfer>,
    done: Receiver<Done>,
}

impl Pool {
    pub(super) fn new(file: RawFd, event: RawFd) -> io::Result<Pool> {
        let (begun, wanted) = unbounded();
        let (finished, done) = unbounded();
        for _ in 0..THREADS {
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
    for transfer in wanted {
        let (address, bytes, offset) = transfer.rest();
        // SAFETY: the memory is the transfer's, or mapped for good.
        let result = unsafe {
            match transfer.writes() {
                true => libc::pwrite(file, address.cast(), bytes, offset as libc::off_t),
                false => libc::pread(file, address.cast(), bytes, offset as libc::off_t),
            }
        };
        let result = if result < 0 { Err(io::Error::last_os_error()) } else { outcome(result as i64) };
        if finished.send((transfer, result)).is_err() {
            return;
        }
        // SAFETY: adds to the counter of an event that lives as long as the process.
        unsafe { libc::write(event, (&ONE as *const u64).cast(), 8) };
    }
}

const ONE: u64 = 1;
