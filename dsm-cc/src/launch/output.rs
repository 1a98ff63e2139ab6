//! What the processes of all hosts write, on its way to the launcher's own standard output and standard error.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use nix::unistd::pipe2;

use super::Error;
use super::control::Stream;
use super::label::{self, DRAIN_LIMIT};
use super::merge::Merge;

/// How long the beginning of a line is kept back.
const PAUSE: Duration = Duration::from_millis(100);

/// Something of a daemon, to be written.
type Piece = (usize, u32, Vec<u8>);

/// What has become of output.
pub enum Written {
    /// So many bytes from a host are done with.
    Bytes(usize, Stream, u32),
    /// Nobody reads the stream any more.
    Closed(Stream),
}

/// Two threads that write, so that a reader who does not read keeps neither the other stream nor the launcher from going on.
pub struct Output {
    pieces: [Option<Sender<Piece>>; 2],
    /// What has become of what was to be written.
    pub events: Receiver<Written>,
    /// Readable when there are events.
    pub wake: OwnedFd,
    done: Receiver<()>,
}

impl Output {
    /// Starts them.
    pub fn start(has_labels: bool) -> Result<Output, Error> {
        let failed = |source: io::Error| Error::System { what: "forward output", source };
        let (wake, waker) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK).map_err(|e| failed(e.into()))?;
        let waker = Arc::new(waker);
        let (written, events) = mpsc::channel();
        let (finished, done) = mpsc::channel();
        let start = |stream| {
            let (sender, pieces) = mpsc::channel();
            let tell = {
                let (waker, written) = (Arc::clone(&waker), written.clone());
                move |event| {
                    let _ = written.send(event);
                    // A full pipe wakes as well.
                    let _ = nix::unistd::write(&*waker, &[1]);
                }
            };
            let finished = finished.clone();
            let run = move || {
                write(stream, has_labels, &pieces, tell);
                let _ = finished.send(());
            };
            thread::Builder::new().name("output".into()).spawn(run).map_err(failed)?;
            Ok(Some(sender))
        };
        Ok(Output { pieces: [start(Stream::Out)?, start(Stream::Err)?], events, wake, done })
    }

    /// Has something written that a process of a host wrote.
    pub fn write(&self, host: usize, stream: Stream, rank: u32, bytes: Vec<u8>) {
        if let Some(sender) = &self.pieces[stream as usize] {
            let _ = sender.send((host, rank, bytes));
        }
    }

    /// Waits until everything is written, unless nobody reads.
    pub fn finish(&mut self) {
        let until = Instant::now() + DRAIN_LIMIT;
        self.pieces = [None, None];
        for _ in 0..2 {
            let _ = self.done.recv_timeout(until.saturating_duration_since(Instant::now()));
        }
    }
}

/// Writes pieces of one stream as they come, by lines.
fn write(stream: Stream, has_labels: bool, pieces: &Receiver<Piece>, tell: impl Fn(Written)) {
    let mut merge = Merge::new(has_labels);
    let mut is_closed = false;
    let mut write = |text: &[u8]| {
        if !is_closed && !text.is_empty() && !label::write(text, stream == Stream::Err) {
            is_closed = true;
            tell(Written::Closed(stream));
        }
    };
    loop {
        let limit = if merge.is_waiting() { PAUSE } else { Duration::MAX };
        match pieces.recv_timeout(limit) {
            Ok((host, rank, bytes)) => {
                write(&merge.add(rank, &bytes));
                tell(Written::Bytes(host, stream, bytes.len() as u32));
            }
            Err(RecvTimeoutError::Timeout) => write(&merge.pause()),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    write(&merge.finish());
}
