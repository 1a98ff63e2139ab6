//! Output with the number of the process before each line.
//!
//! A thread of its own, so that a reader who does not read (a pager) cannot keep the launcher from ending the job.
//! Lines are written whole; a line longer than [`LONGEST`] is written in pieces.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{ChildStderr, ChildStdout};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::Error;

/// Longest line that is kept whole, bytes.
pub const LONGEST: usize = 64 * 1024;
/// Time for the rest of the output to be written after the job's end.
pub const DRAIN_LIMIT: Duration = Duration::from_secs(2);

/// The running thread.
pub struct Forwarder {
    /// Closing it tells the thread that no more output will come.
    stop: OwnedFd,
    done: Receiver<()>,
}

struct Stream {
    pipe: File,
    lines: Lines,
}

/// The output of a process, with its number before each line.
struct Lines {
    prefix: String,
    error: bool,
    pending: Vec<u8>,
}

impl Forwarder {
    /// Starts forwarding the pipes, given by rank.
    pub fn start(outputs: Vec<(ChildStdout, ChildStderr)>) -> Result<Forwarder, Error> {
        let failed = |source: io::Error| Error::System { what: "forward output", source };
        let mut streams = Vec::with_capacity(2 * outputs.len());
        for (rank, (out, err)) in outputs.into_iter().enumerate() {
            for (fd, error) in [(OwnedFd::from(out), false), (OwnedFd::from(err), true)] {
                fcntl(&fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).map_err(|e| failed(e.into()))?;
                streams.push(Stream { pipe: File::from(fd), lines: Lines::new(rank as u32, error) });
            }
        }
        let (stopped, stop) = nix::unistd::pipe2(OFlag::O_CLOEXEC).map_err(|e| failed(e.into()))?;
        let (finished, done) = mpsc::channel();
        thread::Builder::new()
            .name("output".into())
            .spawn(move || {
                forward(streams, &stopped);
                let _ = finished.send(());
            })
            .map_err(failed)?;
        Ok(Forwarder { stop, done })
    }

    /// Writes what is left in the pipes. Call when all processes have ended.
    pub fn finish(self) {
        drop(self.stop);
        let _ = self.done.recv_timeout(DRAIN_LIMIT);
    }
}

fn forward(mut streams: Vec<Stream>, stopped: &OwnedFd) {
    let mut last_round = false;
    while !streams.is_empty() && !last_round {
        let mut fds: Vec<_> =
            streams.iter().map(|s| PollFd::new(s.pipe.as_fd(), PollFlags::POLLIN)).collect();
        fds.push(PollFd::new(stopped.as_fd(), PollFlags::POLLIN));
        let _ = poll(&mut fds, PollTimeout::NONE);
        last_round = fds.last().is_some_and(|f| f.any().unwrap_or(false));
        drop(fds);
        streams.retain_mut(|s| s.take(last_round));
    }
    for stream in &mut streams {
        stream.lines.flush();
    }
}

impl Stream {
    /// Forwards what can be read now; `false` at the end of the stream.
    fn take(&mut self, everything: bool) -> bool {
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.pipe.read(&mut buffer) {
                Ok(0) => {
                    self.lines.flush();
                    return false;
                }
                Ok(count) if !self.lines.add(&buffer[..count]) => return false,
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return true,
                Err(_) => return false,
            }
            if !everything {
                return true;
            }
        }
    }
}

impl Lines {
    /// Of standard error or of standard output.
    fn new(rank: u32, error: bool) -> Lines {
        Lines { prefix: format!("[{rank}] "), error, pending: Vec::new() }
    }

    /// Writes the lines that are complete with these bytes.
    fn add(&mut self, bytes: &[u8]) -> bool {
        self.pending.extend_from_slice(bytes);
        self.write_lines()
    }

    /// `false` if nobody reads any more. Closing the pipe then tells the process, as it would be told without labels.
    fn write_lines(&mut self) -> bool {
        let whole = match self.pending.iter().rposition(|b| *b == b'\n') {
            Some(last) => last + 1,
            None if self.pending.len() > LONGEST => self.pending.len(),
            None => return true,
        };
        let rest = self.pending.split_off(whole);
        let lines = std::mem::replace(&mut self.pending, rest);
        let text = prefixed(&self.prefix, &lines);
        write(&text, self.error)
    }

    /// Writes an unfinished last line.
    fn flush(&mut self) {
        if !self.pending.is_empty() {
            self.pending.push(b'\n');
            let _ = self.write_lines();
        }
    }
}

/// Writes to the launcher's own standard error or standard output; `false` if nobody reads it any more.
pub fn write(bytes: &[u8], error: bool) -> bool {
    let written = if error {
        io::stderr().lock().write_all(bytes)
    } else {
        let mut out = io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush())
    };
    written.is_ok()
}

/// The lines with the prefix before each; the last one ends with a newline.
pub fn prefixed(prefix: &str, lines: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(lines.len() + 8 * prefix.len());
    for line in lines.split_inclusive(|b| *b == b'\n') {
        text.extend_from_slice(prefix.as_bytes());
        text.extend_from_slice(line);
    }
    if !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_gets_the_prefix() {
        assert_eq!(prefixed("[2] ", b"a\n\nb\n"), b"[2] a\n[2] \n[2] b\n");
        assert_eq!(prefixed("[2] ", b"cut"), b"[2] cut\n");
    }
}
