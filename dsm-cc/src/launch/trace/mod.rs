//! `--trace`: events of the job's processes on their way into a file that Perfetto (<https://ui.perfetto.dev>) opens.
//!
//! The processes of a host write events to [`buffers`], a memory file that outlives them ([`dsm_abi::trace`]). A thread of the launcher reads them while the job runs, and
//! once more when no process is left. In a job on one host it makes packets of them at once ([`convert`]), so that the file is a trace up to the last time it was
//! written, whatever happens to the launcher itself. In a job on several, each daemon writes what it reads as [`piece`]s, which come to the head while the job runs
//! ([`super::collect`]); at the end the head finds out what the [`clocks`] differ by, and makes packets of them ([`gather`]).

mod buffers;
mod clocks;
mod convert;
mod describe;
pub mod gather;
mod intern;
mod perfetto;
mod piece;
mod symbols;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use buffers::{Buffers, Reader, Sink};
use convert::Converter;
use dsm_abi::trace::{Record, TRACE_FILE};

use super::Error;

/// How long the reader waits between two looks: less the fuller the buffers were.
const TICKS: [Duration; 3] = [Duration::from_millis(1), Duration::from_millis(4), Duration::from_millis(16)];

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The file.
    pub path: PathBuf,
    /// Bytes of buffers for each thread.
    pub bytes: u64,
}

/// A trace that is being written.
pub struct Tracer {
    descriptor: RawFd,
    stop: Sender<()>,
    thread: JoinHandle<io::Result<u64>>,
    /// Where to, for messages.
    wish: Wish,
}

/// Where what the reader reads goes.
trait Output: Sink + Send + 'static {
    /// Writes what is ready. Does nothing once it has failed.
    fn write(&mut self);
    /// Writes all; returns the number of events that found no space, as far as it is known here.
    fn finish(self) -> io::Result<u64>;
}

impl Tracer {
    /// Begins to trace these processes, which are all of the job.
    ///
    /// # Errors
    /// If the file cannot be made, and the system's.
    pub fn start(wish: &Wish, program: &OsStr, ranks: Range<u32>) -> Result<Tracer, Error> {
        let output = Packets::create(wish, program)?;
        Tracer::run(wish.clone(), ranks, output)
    }

    /// Begins to trace the processes of this host of a job on several: what they write goes to files, which the head collects.
    ///
    /// # Errors
    /// The system's.
    pub fn forward(bytes: u64, ranks: Range<u32>, files: Vec<(u32, File)>) -> Result<Tracer, Error> {
        let writers = files.into_iter().map(|(rank, file)| (rank, piece::Writer::new(file)));
        let path = "part of this host".into();
        Tracer::run(Wish { path, bytes }, ranks, Pieces(writers.collect()))
    }

    /// The reader's thread has the signal mask of this one.
    fn run(wish: Wish, ranks: Range<u32>, mut output: impl Output) -> Result<Tracer, Error> {
        let failed = |source| Error::System { what: "make buffers for the trace", source };
        let buffers = Buffers::create(wish.bytes, ranks).map_err(failed)?;
        let descriptor = buffers.descriptor();
        let (stop, stopped) = mpsc::channel();
        let work = move || {
            let mut reader = Reader::new(buffers);
            let read = until(&stopped, || {
                let fullest = reader.drain(&mut output)?;
                output.write();
                Ok(fullest)
            });
            let read = read.and_then(|()| reader.finish(&mut output));
            let dropped = output.finish()?;
            read.map(|()| dropped)
        };
        let thread = thread::Builder::new().name("trace".into()).spawn(work).map_err(failed)?;
        Ok(Tracer { descriptor, stop, thread, wish })
    }

    /// What the processes inherit.
    pub fn inherited(&self) -> (String, RawFd) {
        (TRACE_FILE.into(), self.descriptor)
    }

    /// Writes the rest, when no process is left, and says what is wrong with the trace.
    pub fn finish(self) {
        let Tracer { stop, thread, wish, .. } = self;
        // The thread may have ended by itself: then it does not listen.
        let _ = stop.send(());
        if let Ok(written) = thread.join() {
            wish.judge(written);
        }
    }
}

impl Wish {
    /// Says what is wrong with the trace.
    fn judge(&self, written: io::Result<u64>) {
        match written {
            Ok(0) => {}
            Ok(dropped) => eprintln!(
                "dsm-run: {dropped} events are missing in the trace: they found no space in buffers of {} KiB for each thread; --trace-buffer gives them more",
                self.bytes >> 10
            ),
            Err(error) => {
                eprintln!("dsm-run: the trace ({}) ends early: {error}", self.path.display());
            }
        }
    }
}

/// Does `work`, which tells how full buffers were in 1/256, again and again until somebody wants the end.
fn until(stopped: &mpsc::Receiver<()>, mut work: impl FnMut() -> io::Result<u64>) -> io::Result<()> {
    let mut tick = TICKS[0];
    while stopped.recv_timeout(tick) == Err(RecvTimeoutError::Timeout) {
        tick = match work()? {
            0..16 => TICKS[2],
            16..64 => TICKS[1],
            _ => TICKS[0],
        };
    }
    Ok(())
}

/// Packets on their way into the file.
struct Packets {
    file: File,
    converter: Converter,
    /// The first failure, after which nothing is written.
    result: io::Result<()>,
}

impl Packets {
    fn create(wish: &Wish, program: &OsStr) -> Result<Packets, Error> {
        let file = File::create(&wish.path)
            .map_err(|source| Error::Collected { path: wish.path.clone(), source })?;
        let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Packets { file, converter: Converter::new(name), result: Ok(()) })
    }
}

impl Output for Packets {
    fn write(&mut self) {
        let bytes = self.converter.take();
        if self.result.is_ok() {
            self.result = self.file.write_all(&bytes);
        }
    }

    fn finish(mut self) -> io::Result<u64> {
        let dropped = self.converter.finish();
        self.write();
        self.result.map(|()| dropped)
    }
}

impl Sink for Packets {
    fn process(&mut self, rank: u32, pid: u32, wall: u64) {
        self.converter.process(rank, pid, wall);
    }

    fn text(&mut self, rank: u32, kind: u32, key: u64, text: &[u8]) {
        self.converter.text(rank, kind, key, text);
    }

    fn records(&mut self, rank: u32, ring: u32, records: &[Record]) {
        self.converter.records(rank, ring, records);
        if self.converter.is_long() {
            self.write();
        }
    }

    fn dropped(&mut self, rank: u32, ring: u32, count: u64) {
        self.converter.dropped(rank, ring, count);
    }
}

/// What processes of this host wrote, on its way to the head, by rank.
struct Pieces(HashMap<u32, piece::Writer<File>>);

impl Pieces {
    fn tell(&mut self, rank: u32, what: impl FnOnce(&mut piece::Writer<File>)) {
        if let Some(writer) = self.0.get_mut(&rank) {
            what(writer);
        }
    }
}

impl Output for Pieces {
    fn write(&mut self) {}

    fn finish(self) -> io::Result<u64> {
        // The head counts what is missing.
        self.0.into_values().try_for_each(piece::Writer::finish).map(|()| 0)
    }
}

impl Sink for Pieces {
    fn process(&mut self, rank: u32, pid: u32, wall: u64) {
        self.tell(rank, |writer| writer.process(rank, pid, wall));
    }

    fn text(&mut self, rank: u32, kind: u32, key: u64, text: &[u8]) {
        self.tell(rank, |writer| writer.text(rank, kind, key, text));
    }

    fn records(&mut self, rank: u32, ring: u32, records: &[Record]) {
        self.tell(rank, |writer| writer.records(rank, ring, records));
    }

    fn dropped(&mut self, rank: u32, ring: u32, count: u64) {
        self.tell(rank, |writer| writer.dropped(rank, ring, count));
    }
}
