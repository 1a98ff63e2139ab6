//! What the head and the daemons of a job over several hosts say to each other.
//!
//! A daemon starts with a line of text ([`greeting`]): whoever reads it knows whether both are of the same version. After it come frames: the length
//! of what follows in four bytes, low byte first, then an [`Order`] to the daemon or a [`Report`] to the head as postcard writes it. Neither side trusts the
//! other's frames: a length above the bound, bytes that are no message and bytes after a message end the connection.
//!
//! Only so many bytes of output are under way at a time (a window for each daemon and stream, [`WINDOW`]), and of input likewise, so neither side ever has
//! to stop reading frames because somebody does not read output, and the queues of frames stay short.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::bind::Target;
use super::collect::Wanted;
use super::hosts::Placement;
use super::looks::{ProcessLook, Time};
use super::verdict::Ending;

/// What a daemon says first. Changes with whatever the two must agree on: the frames, and what the launcher and the program must agree on.
pub fn greeting() -> String {
    format!(
        "dsm-run {} abi {} job {} frames 3\n",
        env!("CARGO_PKG_VERSION"),
        dsm_abi::ABI_VERSION,
        dsm_abi::job::JOB_VERSION
    )
}

/// Longest first line.
pub const LONGEST_GREETING: usize = 200;
/// Bytes of a stream that are under way between a daemon and who reads it.
pub const WINDOW: u32 = 256 * 1024;
/// Most bytes of output or input in a frame.
pub const PIECE: usize = 32 * 1024;

/// Length of the secret that all daemons of a job know.
pub const SECRET_BYTES: usize = 32;

/// A stream of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// What a daemon has to know about the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// What connections are authenticated with.
    pub secret: [u8; SECRET_BYTES],
    /// The daemon's index among the hosts.
    pub host: u32,
    /// All hosts.
    pub hosts: Vec<Placement>,
    /// Threads of each process.
    pub threads: u32,
    /// What to bind them to, if the user says.
    pub bind: Option<Target>,
    /// The program as typed.
    pub program: Vec<u8>,
    /// Its arguments.
    pub arguments: Vec<Vec<u8>>,
    /// Working directory.
    pub directory: Vec<u8>,
    /// Environment variables that the processes get.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether to start a program that does not look like one of dsm-cc.
    pub unchecked: bool,
    /// Whether processes of one host reach each other's memory through sockets, too.
    pub has_streams: bool,
    /// Files that the head wants.
    pub files: Vec<Wanted>,
    /// Bytes of buffers for the trace of each thread, if there is one.
    pub trace: Option<u64>,
}

/// What has to be the same on all hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Processor architecture.
    pub architecture: String,
    /// Bytes of a page.
    pub page: u64,
    /// Bytes of the program's file.
    pub bytes: u64,
    /// SHA-256 of the program's file.
    pub digest: [u8; 32],
}

/// From the head to a daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Prepare for the job, and listen.
    Start(Box<Start>),
    /// Connect to the other hosts.
    Connect {
        /// Where their daemons listen.
        ports: Vec<u16>,
        /// Whether the head makes a line to this host.
        has_head: bool,
    },
    /// Start the processes.
    Go,
    /// Input for process 0; its end, if empty.
    Input(Vec<u8>),
    /// So many bytes of output have been written.
    Written(Stream, u32),
    /// So many bytes of files have been written.
    Collected(u32),
    /// Nobody reads the stream any more.
    Close(Stream),
    /// Send a signal to the processes.
    Signal(i32),
    /// Send a signal to process 0.
    SignalFirst(i32),
    /// Say what process 0 has said.
    Ask,
    /// Say what the processes have left of themselves.
    Look,
    /// Kill the processes and end.
    Kill,
}

/// From a daemon to the head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// Ready for connections at this port; 0 if the job needs none and there can be none.
    Listening(u16, Facts),
    /// All connections of the host's processes are there, which are going to be bound as it says.
    Connected(String),
    /// The job cannot start: an exit status and the reason.
    Failed(u8, String),
    /// A process of this host has written something.
    Output {
        /// The process.
        rank: u32,
        /// Where to.
        stream: Stream,
        /// What.
        bytes: Vec<u8>,
    },
    /// A process of this host has appended something to a file.
    Collected {
        /// The process.
        rank: u32,
        /// Which of the wanted files.
        file: u32,
        /// What.
        bytes: Vec<u8>,
    },
    /// So many bytes of input have been passed on.
    Taken(u32),
    /// A process of this host has ended.
    Exited {
        /// The process.
        rank: u32,
        /// Its process id there.
        pid: i32,
        /// How.
        ending: Ending,
        /// Whether process 0 had ended the program before, if it is of this host.
        finished: bool,
    },
    /// Whether process 0 has ended the program, and the signals that the program handles.
    State {
        /// Ended in an orderly way.
        finished: bool,
        /// Bit 0 for signal 1.
        handled: u32,
    },
    /// What a process of this host has left of itself.
    Process(ProcessLook),
    /// When that was; there are no more.
    Looked(Time),
    /// The host with this index does not answer this one any more.
    Lost(u32),
    /// No process is left on this host, and all their output has been sent.
    Done,
}

/// A direction's messages.
pub trait Message: Serialize + DeserializeOwned {
    /// Most bytes of one of them.
    const LONGEST: usize;
}

impl Message for Order {
    // Arguments and environment: the system allows a process some megabytes.
    const LONGEST: usize = 16 << 20;
}

impl Message for Report {
    const LONGEST: usize = 2 * PIECE;
}

/// A frame with the message.
fn encode(message: &impl Message) -> Vec<u8> {
    let frame = postcard::to_extend(message, vec![0; 4]);
    let mut frame = frame.expect("a message of plain data can be written to a vector");
    let length = (frame.len() - 4) as u32;
    frame[..4].copy_from_slice(&length.to_le_bytes());
    frame
}

/// Makes messages of bytes as they come.
pub struct Decoder<M> {
    bytes: VecDeque<u8>,
    message: PhantomData<M>,
}

impl<M: Message> Decoder<M> {
    /// Without bytes.
    pub fn new() -> Decoder<M> {
        Decoder { bytes: VecDeque::new(), message: PhantomData }
    }

    /// Adds bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// The next message, if all of it is there.
    pub fn next(&mut self) -> io::Result<Option<M>> {
        let malformed = |what| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        if self.bytes.len() < 4 {
            return Ok(None);
        }
        let length: Vec<u8> = self.bytes.range(..4).copied().collect();
        let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
        if length > M::LONGEST {
            return malformed("a message is too long");
        }
        if self.bytes.len() < 4 + length {
            return Ok(None);
        }
        self.bytes.drain(..4);
        let frame: Vec<u8> = self.bytes.drain(..length).collect();
        match postcard::take_from_bytes(&frame) {
            Ok((message, [])) => Ok(Some(message)),
            Ok(_) => malformed("a message has bytes left over"),
            Err(_) => malformed("bytes that are no message"),
        }
    }

    /// The first line, if it is there, for the greeting.
    pub fn line(&mut self) -> io::Result<Option<String>> {
        match self.bytes.iter().take(LONGEST_GREETING).position(|b| *b == b'\n') {
            Some(end) => {
                let line: Vec<u8> = self.bytes.drain(..=end).collect();
                Ok(Some(String::from_utf8_lossy(&line).into_owned()))
            }
            None if self.bytes.len() >= LONGEST_GREETING => {
                let start: Vec<u8> = self.bytes.range(..LONGEST_GREETING).copied().collect();
                Ok(Some(String::from_utf8_lossy(&start).into_owned()))
            }
            None => Ok(None),
        }
    }
}

/// Two pipes with messages of type `R` to receive and of type `S` to send. Nothing waits but `poll`, for which there are [`Channel::reads`] and
/// [`Channel::writes`].
pub struct Channel<R, S, I, O> {
    from: I,
    to: O,
    /// Messages that were received.
    pub decoder: Decoder<R>,
    outgoing: VecDeque<u8>,
    sent: PhantomData<S>,
}

impl<R: Message, S: Message, I: Read + AsFd, O: Write + AsFd> Channel<R, S, I, O> {
    /// Takes over the pipes.
    pub fn new(from: I, to: O) -> io::Result<Self> {
        for fd in [from.as_fd(), to.as_fd()] {
            let flags = OFlag::from_bits_truncate(fcntl(fd, FcntlArg::F_GETFL)?);
            fcntl(fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
        }
        Ok(Channel { from, to, decoder: Decoder::new(), outgoing: VecDeque::new(), sent: PhantomData })
    }

    /// What to poll for incoming bytes.
    pub fn reads(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }

    /// What to poll for writing, if something waits to be sent.
    pub fn writes(&self) -> Option<BorrowedFd<'_>> {
        (!self.outgoing.is_empty()).then(|| self.to.as_fd())
    }

    /// Reads what is there; `false` at the end.
    pub fn receive(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 64 * 1024];
        match self.from.read(&mut buffer) {
            Ok(0) => Ok(false),
            Ok(count) => {
                self.decoder.push(&buffer[..count]);
                Ok(true)
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(true),
            Err(e) => Err(e),
        }
    }

    /// Puts bytes into the queue.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.outgoing.extend(bytes);
        self.flush()
    }

    /// Puts a message into the queue, and sends what fits.
    pub fn send(&mut self, message: &S) -> io::Result<()> {
        self.send_bytes(&encode(message))
    }

    /// Sends what fits.
    pub fn flush(&mut self) -> io::Result<()> {
        while !self.outgoing.is_empty() {
            match self.to.write(self.outgoing.as_slices().0) {
                Ok(count) => drop(self.outgoing.drain(..count)),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsm_abi::progress::RECORD_WORDS;

    fn orders() -> Vec<Order> {
        let start = Start {
            secret: [7; SECRET_BYTES],
            host: 1,
            hosts: vec![Placement { name: "a".into(), first: 0, count: 2 }],
            threads: 3,
            bind: Some(Target::Core),
            program: b"./x".to_vec(),
            arguments: vec![b"\xff".to_vec(), vec![]],
            directory: b"/".to_vec(),
            environment: vec![(b"A".to_vec(), b"B".to_vec())],
            unchecked: true,
            has_streams: true,
            files: vec![Wanted { variable: "V".into(), first: 1, count: 2, most: u64::MAX }],
            trace: Some(1 << 20),
        };
        vec![
            Order::Start(Box::new(start)),
            Order::Connect { ports: vec![1, 65535], has_head: true },
            Order::Go,
            Order::Input(vec![0; PIECE]),
            Order::Written(Stream::Out, WINDOW),
            Order::Collected(7),
            Order::Close(Stream::Err),
            Order::Signal(15),
            Order::SignalFirst(-1),
            Order::Ask,
            Order::Look,
            Order::Kill,
        ]
    }

    fn reports() -> Vec<Report> {
        let facts = Facts { architecture: "x".into(), page: 4096, bytes: 1 << 40, digest: [255; 32] };
        vec![
            Report::Listening(1, facts),
            Report::Connected("nothing is bound".into()),
            Report::Failed(127, "no".into()),
            Report::Output { rank: 1023, stream: Stream::Err, bytes: vec![255; PIECE] },
            Report::Collected { rank: 0, file: u32::MAX, bytes: vec![1; PIECE] },
            Report::Taken(9),
            Report::Exited { rank: 1, pid: i32::MAX, ending: Ending::Killed(64), finished: true },
            Report::Exited { rank: 1, pid: 2, ending: Ending::Exited(255), finished: false },
            Report::State { finished: true, handled: u32::MAX },
            Report::Process(ProcessLook { rank: 3, pid: -1, words: vec![u64::MAX; RECORD_WORDS] }),
            Report::Looked(Time { ticks: u64::MAX, nanoseconds: 1 }),
            Report::Lost(1000),
            Report::Done,
        ]
    }

    fn round_trip<M: Message + PartialEq + std::fmt::Debug>(messages: &[M], piece: usize) {
        let bytes: Vec<u8> = messages.iter().flat_map(encode).collect();
        let mut decoder = Decoder::<M>::new();
        let mut found = Vec::new();
        for piece in bytes.chunks(piece) {
            decoder.push(piece);
            while let Some(message) = decoder.next().unwrap() {
                found.push(message);
            }
        }
        assert_eq!(found, messages);
    }

    #[test]
    fn messages_arrive_in_whatever_pieces() {
        for piece in [1, 3, 1000, usize::MAX] {
            round_trip(&orders(), piece);
            round_trip(&reports(), piece);
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let decode = |bytes: &[u8]| {
            let mut decoder = Decoder::<Report>::new();
            decoder.push(bytes);
            decoder.next()
        };
        let mut too_long = encode(&Report::Done);
        too_long[..4].copy_from_slice(&(Report::LONGEST as u32 + 1).to_le_bytes());
        assert!(decode(&too_long).is_err());
        let mut left_over = encode(&Report::Done);
        left_over[0] += 1;
        left_over.push(0);
        assert!(decode(&left_over).is_err());
        assert!(decode(&[0, 0, 0, 0]).is_err());
        assert!(decode(&[1, 0, 0, 0, 200]).is_err());
        // A vector that claims to be longer than the frame.
        assert!(decode(&[8, 0, 0, 0, 3, 0, 0, 255, 255, 255, 255, 15]).is_err());
        assert!(decode(&[1, 0, 0, 0]).unwrap().is_none());
        assert!(decode(&[]).unwrap().is_none());
    }

    /// What comes out of damaged frames is messages or an error, and never more than was put in.
    #[test]
    fn damaged_frames_do_no_harm() {
        fn damage<M: Message>(messages: &[M]) {
            let valid: Vec<_> = messages.iter().map(encode).collect();
            dsm_mutate::each(&valid, 30_000, |bytes| {
                let mut decoder = Decoder::<M>::new();
                decoder.push(bytes);
                let mut count = 0;
                while let Ok(Some(_)) = decoder.next() {
                    count += 1;
                }
                assert!(count <= bytes.len() / 5);
            });
        }
        damage(&orders());
        damage(&reports());
    }

    #[test]
    fn damaged_greetings_are_no_longer_than_they_may_be() {
        let mut refused = 0;
        dsm_mutate::each(&[greeting()], 5000, |bytes| {
            let mut decoder = Decoder::<Report>::new();
            decoder.push(bytes);
            match decoder.line() {
                Ok(Some(line)) => assert!(line.chars().count() <= LONGEST_GREETING, "{line:?}"),
                Ok(None) => assert!(bytes.len() < LONGEST_GREETING && !bytes.contains(&b'\n')),
                Err(_) => refused += 1,
            }
        });
        assert_eq!(refused, 0, "any text is a line, which the head judges");
    }

    #[test]
    fn greetings_end_with_the_line() {
        let mut decoder = Decoder::<Report>::new();
        decoder.push(b"dsm-run 1");
        assert_eq!(decoder.line().unwrap(), None);
        decoder.push(b".0\n");
        decoder.push(&encode(&Report::Done));
        assert_eq!(decoder.line().unwrap().as_deref(), Some("dsm-run 1.0\n"));
        assert_eq!(decoder.next().unwrap(), Some(Report::Done));
        decoder.push(&[b'x'; 1000]);
        assert_eq!(decoder.line().unwrap().unwrap().len(), LONGEST_GREETING);
    }
}
