//! The part of the launcher that runs on each host of a job: makes the connections to the other hosts, starts the host's processes, and passes on what
//! they write and how they end. Orders come from the head through standard input, reports go to it through standard output.
//!
//! When the orders end, for whatever reason, the daemon ends its processes: nothing of a job outlives the head. It does so, too, when the head does not answer on the
//! line to it ([`super::lines`]), or another host does not and no order comes after that has been reported: the remote shell would not notice for long.

use std::collections::VecDeque;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use dsm_abi::job::MAX_PROCESSES;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;

use super::bind::Binding;
use super::collect::Source;
use super::connect::{Connections, LIMITS, Network, Sockets};
use super::control::{self, Channel, Facts, Order, PIECE, Report, Start, Stream, WINDOW};
use super::environment;
use super::facts;
use super::hosts::LOCAL;
use super::label::DRAIN_LIMIT;
use super::lines::{End, Far, Lines};
use super::spawn::{self, Job, Plan};
use super::streams::Streams;
use super::trace::Tracer;
use super::watch::{self, Signals};
use super::{Error, looks, program};

/// Descriptors that the daemon needs besides those of its processes.
const SPARE_DESCRIPTORS: u64 = 64;
/// Longest wait for the end of the job after a host was lost.
const LOST_LIMIT: Duration = Duration::from_secs(5);

/// Why a daemon ends before its processes do.
enum Stop {
    /// The head gets a report.
    Failed(Error),
    /// The head has left, or wants the end, or does not keep to the protocol; or a signal came.
    Gone,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

impl From<io::Error> for Stop {
    fn from(_: io::Error) -> Stop {
        Stop::Gone
    }
}

struct Daemon {
    control: Channel<Order, Report, File, File>,
    signals: Signals,
    lines: Lines,
    /// When to end, if no order to do so comes.
    until: Option<Instant>,
}

/// Runs the daemon on the process's standard input and output.
pub fn main() -> ExitCode {
    let taken = Signals::take().map_err(|e| e.to_string()).and_then(|signals| {
        let open = |fd: BorrowedFd| fd.try_clone_to_owned().map(File::from);
        let control = open(io::stdin().as_fd())
            .and_then(|from| Channel::new(from, open(io::stdout().as_fd())?))
            .map_err(|e| format!("cannot use standard input and output: {e}"))?;
        Ok(Daemon { control, signals, lines: Lines::default(), until: None })
    });
    let mut daemon = match taken {
        Ok(daemon) => daemon,
        Err(reason) => {
            eprintln!("dsm-run: {reason}");
            return ExitCode::FAILURE;
        }
    };
    match daemon.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop::Gone) => ExitCode::FAILURE,
        Err(Stop::Failed(error)) => {
            let sent = daemon.control.send(&Report::Failed(error.exit_status(), error.to_string()));
            // The head ends the job, and closes the pipe.
            if sent.is_ok() {
                while daemon.order().is_ok() {}
            }
            ExitCode::FAILURE
        }
    }
}

impl Daemon {
    fn run(&mut self) -> Result<(), Stop> {
        self.control.send_bytes(control::greeting().as_bytes())?;
        let Order::Start(start) = self.order()? else { return Err(Stop::Gone) };
        if !is_sound(&start) {
            return Err(Stop::Gone);
        }
        let start = *start;
        let program = prepare(&start)?;
        let facts = facts::of(&program)?;
        let Connections { sockets, lines } = self.connect(&start, facts)?;
        self.lines = Lines::watch(lines)?;
        let place = &start.hosts[start.host as usize];
        let binding = Binding::here(start.bind, place.ranks(), start.threads);
        if binding.is_short {
            super::warn(Some(&place.name), &binding);
        }
        self.control.send(&Report::Connected(binding.to_string()))?;
        let Order::Go = self.order()? else { return Err(Stop::Gone) };
        let mut serving = self.start(&start, &program, &binding, sockets)?;
        let result = serving.serve();
        serving.job.abort();
        watch::reap_everything(&serving.job.strangers);
        result
    }

    /// Makes the connections to other hosts and to the head, as far as the job has any.
    fn connect(&mut self, start: &Start, facts: Facts) -> Result<Connections, Stop> {
        let own = start.host as usize;
        let mut network = Network {
            secret: start.secret,
            hosts: start.hosts.clone(),
            own,
            has_head: false,
            addresses: Vec::new(),
        };
        spawn::allow_descriptors(network.sockets() + start.hosts.len() as u64 + SPARE_DESCRIPTORS)?;
        let listener = match network.listen() {
            _ if start.hosts[own].name == LOCAL && start.hosts.len() == 1 => None,
            Err(reason) if start.hosts.len() > 1 => return Err(Error::Connect(reason).into()),
            // Then it is the remote shell alone that notices when the host is cut off.
            Err(_) => None,
            Ok(listener) => Some(listener),
        };
        let port = listener.as_ref().map_or(Ok(0), |l| l.local_addr().map(|address| address.port()));
        self.control.send(&Report::Listening(port.map_err(|e| Error::Connect(e.to_string()))?, facts))?;
        let Order::Connect { ports, has_head } = self.order()? else { return Err(Stop::Gone) };
        let Some(listener) = listener else {
            return Ok(Connections { sockets: Sockets::new(), lines: Vec::new() });
        };
        if ports.len() != start.hosts.len() {
            return Err(Stop::Gone);
        }
        network.has_head = has_head;
        let connected = self.aside(move || network.connect(listener, &ports, LIMITS))?;
        Ok(connected.map_err(Error::Connect)?)
    }

    /// The next order. Nothing but orders is waited for.
    fn order(&mut self) -> Result<Order, Stop> {
        loop {
            if let Some(order) = self.control.decoder.next()? {
                return if order == Order::Kill { Err(Stop::Gone) } else { Ok(order) };
            }
            self.wait(None)?;
        }
    }

    /// Waits for bytes of the head, or for `other` to be readable or closed; `true` for the latter.
    fn wait(&mut self, other: Option<BorrowedFd>) -> Result<bool, Stop> {
        let mut fds = self.polled();
        fds.extend(other.map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
        let _ = poll(&mut fds, self.timeout(None));
        let ready: Vec<bool> = fds.iter().map(|fd| fd.any().unwrap_or(false)).collect();
        drop(fds);
        self.attend(ready[0])?;
        Ok(other.is_some() && ready.last() == Some(&true))
    }

    /// What is always waited for, bytes of the head first.
    fn polled(&self) -> Vec<PollFd<'_>> {
        let mut fds = vec![
            PollFd::new(self.control.reads(), PollFlags::POLLIN),
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
        ];
        fds.extend(self.control.writes().map(|fd| PollFd::new(fd, PollFlags::POLLOUT)));
        fds.extend(self.lines.polled());
        fds
    }

    /// The time to wait, at most so long.
    fn timeout(&self, most: Option<Duration>) -> PollTimeout {
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        let time = left.into_iter().chain(most).min();
        let time = time.map(|time| PollTimeout::try_from(time + Duration::from_micros(999)));
        time.map_or(PollTimeout::NONE, |time| time.unwrap_or(PollTimeout::MAX))
    }

    /// Answers what [`Daemon::polled`] was ready for.
    fn attend(&mut self, is_ordered: bool) -> Result<(), Stop> {
        let is_late = self.until.is_some_and(|until| until <= Instant::now());
        if is_late || self.is_signalled_to_end() || is_ordered && !self.control.receive()? {
            return Err(Stop::Gone);
        }
        for ended in self.lines.ended() {
            match ended {
                (Far::Head, _) => return Err(Stop::Gone),
                // The head has seen that daemon end.
                (Far::Host(_), End::Closed) => {}
                (Far::Host(host), End::Lost) => {
                    self.control.send(&Report::Lost(host as u32))?;
                    self.until.get_or_insert(Instant::now() + LOST_LIMIT);
                }
            }
        }
        Ok(self.control.flush()?)
    }

    /// Whether a signal has come that ends the daemon.
    fn is_signalled_to_end(&self) -> bool {
        let signals = std::iter::from_fn(|| self.signals.take_one());
        signals.fold(false, |end, (signal, _)| end || watch::ENDING.contains(&signal))
    }

    /// Runs something in a thread while this one listens to the head.
    fn aside<T: Send + 'static>(&mut self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Stop> {
        let failed = |source: io::Error| Stop::Failed(Error::System { what: "start a thread", source });
        let (ended, end) = nix::unistd::pipe2(OFlag::O_CLOEXEC).map_err(|e| failed(e.into()))?;
        let run = move || {
            let result = work();
            drop(end);
            result
        };
        let thread = thread::Builder::new().name("connect".into()).spawn(run).map_err(failed)?;
        while !self.wait(Some(ended.as_fd()))? {}
        thread.join().map_err(|_| Stop::Gone)
    }

    fn start(
        &mut self,
        start: &Start,
        program: &Path,
        binding: &Binding,
        sockets: Sockets,
    ) -> Result<Serving<'_>, Stop> {
        let host = &start.hosts[start.host as usize];
        let processes = start.hosts.iter().map(|h| h.count).sum();
        let files = Source::create(&start.files, &host.ranks())?;
        let failed = |source| Error::System { what: "copy a descriptor", source };
        let trace = |bytes| Tracer::forward(bytes, host.ranks(), files.own().map_err(failed)?);
        let tracer = start.trace.map(trace).transpose()?;
        let inherited = |rank| {
            let mut all = files.inherited(rank);
            all.extend(tracer.as_ref().map(Tracer::inherited));
            all
        };
        let arguments: Vec<_> = start.arguments.iter().cloned().map(OsString::from_vec).collect();
        let plan = Plan {
            program,
            name: OsStr::from_bytes(&start.program),
            arguments: &arguments,
            processes,
            ranks: host.ranks(),
            files: &inherited,
            threads: start.threads,
            binding,
            environment: environment::changes(&start.environment),
            has_outputs: true,
            has_input: true,
            mask: self.signals.before,
        };
        let streams = Streams::new(processes, host.ranks(), sockets, start.has_streams);
        let mut job = spawn::start(&plan, streams)?;
        let serving = Outputs::new(&mut job).and_then(|outputs| {
            let input = job.take_input().map(|pipe| without_waiting(pipe.into())).transpose()?;
            Ok((outputs, input))
        });
        match serving {
            Ok((outputs, input)) => Ok(Serving {
                daemon: self,
                job,
                outputs,
                files,
                tracer,
                input,
                unread: VecDeque::new(),
                input_ends: false,
            }),
            Err(source) => {
                job.abort();
                watch::reap_everything(&job.strangers);
                Err(Error::System { what: "forward output", source }.into())
            }
        }
    }
}

/// Whether what the head says about the hosts fits together.
fn is_sound(start: &Start) -> bool {
    let mut next = 0;
    for host in &start.hosts {
        if host.first != next || !(1..=MAX_PROCESSES - next).contains(&host.count) {
            return false;
        }
        next += host.count;
    }
    (start.host as usize) < start.hosts.len()
}

/// Goes to the job's directory, and finds the program.
fn prepare(start: &Start) -> Result<std::path::PathBuf, Error> {
    let directory = Path::new(OsStr::from_bytes(&start.directory));
    env::set_current_dir(directory).map_err(|source| Error::Directory {
        directory: directory.to_owned(),
        host: start.hosts[start.host as usize].name.clone(),
        source,
    })?;
    let path = start.environment.iter().find(|(name, _)| name == b"PATH");
    let path = path.map(|(_, value)| OsString::from_vec(value.clone())).or_else(|| env::var_os("PATH"));
    let program = program::find(OsStr::from_bytes(&start.program), &path.unwrap_or_default())?;
    if !start.unchecked {
        program::check(&program)?;
    }
    Ok(program)
}

fn without_waiting(pipe: OwnedFd) -> io::Result<File> {
    fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    Ok(File::from(pipe))
}

/// A running job's part on this host.
struct Serving<'a> {
    daemon: &'a mut Daemon,
    job: Job,
    outputs: Outputs,
    files: Source,
    tracer: Option<Tracer>,
    /// What process 0 reads, if it is here and still reads.
    input: Option<File>,
    /// Input that process 0 has not taken.
    unread: VecDeque<u8>,
    /// Whether no more input comes.
    input_ends: bool,
}

/// What the processes write.
struct Outputs {
    pipes: Vec<(u32, Stream, File)>,
    /// Bytes that the head takes of each stream.
    windows: [u32; 2],
}

impl Outputs {
    fn new(job: &mut Job) -> io::Result<Outputs> {
        let mut pipes = Vec::new();
        for (rank, (out, err)) in (job.first..).zip(job.take_outputs().unwrap_or_default()) {
            pipes.push((rank, Stream::Out, without_waiting(out.into())?));
            pipes.push((rank, Stream::Err, without_waiting(err.into())?));
        }
        Ok(Outputs { pipes, windows: [WINDOW; 2] })
    }

    /// Passes on what can be read and what the head takes. `at_end`: what cannot be read now is not waited for.
    fn forward(&mut self, control: &mut Channel<Order, Report, File, File>, at_end: bool) -> io::Result<()> {
        let windows = &mut self.windows;
        let mut error = None;
        self.pipes.retain_mut(|(rank, stream, pipe)| {
            let window = &mut windows[*stream as usize];
            let mut buffer = [0; PIECE];
            let most = PIECE.min(*window as usize);
            if most == 0 {
                return true;
            }
            match pipe.read(&mut buffer[..most]) {
                Ok(0) => false,
                Ok(count) => {
                    *window -= count as u32;
                    let report =
                        Report::Output { rank: *rank, stream: *stream, bytes: buffer[..count].to_vec() };
                    error = control.send(&report).err().or(error.take());
                    true
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => true,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => !at_end,
                Err(_) => false,
            }
        });
        error.map_or(Ok(()), Err)
    }
}

impl Serving<'_> {
    /// Until the head wants the end, or has left.
    fn serve(&mut self) -> Result<(), Stop> {
        loop {
            // Some may have come with the order to start.
            while let Some(order) = self.daemon.control.decoder.next()? {
                if order == Order::Kill {
                    return self.end();
                }
                self.obey(order)?;
            }
            self.feed()?;
            self.wait(self.files.tick())?;
            // Before the ends of processes are reported: what they wrote comes first as far as the head takes it.
            self.outputs.forward(&mut self.daemon.control, false)?;
            self.collect()?;
            for ended in watch::reap(&self.job) {
                let finished = self.job.first == 0 && self.job.finished();
                let (rank, pid, ending) = (ended.rank, ended.pid, ended.ending);
                self.daemon.control.send(&Report::Exited { rank, pid, ending, finished })?;
            }
        }
    }

    /// Kills the processes, and sends the rest of their output and files.
    fn end(&mut self) -> Result<(), Stop> {
        self.job.abort();
        watch::reap_everything(&self.job.strangers);
        if let Some(tracer) = self.tracer.take() {
            tracer.finish();
        }
        let mut until = Instant::now() + DRAIN_LIMIT;
        loop {
            self.outputs.forward(&mut self.daemon.control, true)?;
            let is_collected = self.collect()?;
            let left = until.saturating_duration_since(Instant::now());
            if self.outputs.pipes.is_empty() && is_collected || left.is_zero() {
                break;
            }
            if self.outputs.windows.contains(&0) || !is_collected {
                self.wait(Some(left))?;
            }
            while let Some(order) = self.daemon.control.decoder.next()? {
                // A large file takes as long as the way to the head needs for it.
                if matches!(order, Order::Collected(_)) {
                    until = Instant::now() + DRAIN_LIMIT;
                }
                self.obey(order)?;
            }
        }
        self.daemon.control.send(&Report::Done)?;
        // The head takes the rest, and closes the pipe.
        while self.daemon.order().is_ok() {}
        Ok(())
    }

    /// Sends what files have more than before; whether that was all.
    fn collect(&mut self) -> Result<bool, Stop> {
        let control = &mut self.daemon.control;
        Ok(self.files.forward(|report| control.send(report))?)
    }

    /// Waits until something can be done, reads what the head sends, and sends what fits.
    fn wait(&mut self, most: Option<Duration>) -> Result<(), Stop> {
        let mut fds = self.daemon.polled();
        let windows = self.outputs.windows;
        let read = self.outputs.pipes.iter().filter(|(_, stream, _)| windows[*stream as usize] > 0);
        fds.extend(read.map(|(_, _, pipe)| PollFd::new(pipe.as_fd(), PollFlags::POLLIN)));
        let fed = self.input.as_ref().filter(|_| !self.unread.is_empty());
        fds.extend(fed.map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLOUT)));
        let _ = poll(&mut fds, self.daemon.timeout(most));
        let is_ordered = fds[0].any().unwrap_or(false);
        drop(fds);
        self.daemon.attend(is_ordered)
    }

    fn obey(&mut self, order: Order) -> Result<(), Stop> {
        match order {
            Order::Input(bytes) if self.input.is_some() => {
                self.input_ends |= bytes.is_empty();
                self.unread.extend(bytes);
                if self.unread.len() > WINDOW as usize {
                    return Err(Stop::Gone);
                }
            }
            // Nobody reads it.
            Order::Input(_) => {}
            Order::Written(stream, count) => {
                let window = &mut self.outputs.windows[stream as usize];
                *window = window.saturating_add(count).min(WINDOW);
            }
            Order::Collected(count) => self.files.written(count),
            Order::Close(stream) => self.outputs.pipes.retain(|(_, of, _)| *of != stream),
            Order::Signal(signal) => self.job.signal(known(signal)?),
            Order::SignalFirst(signal) if self.job.first == 0 => self.job.signal_first(known(signal)?),
            Order::Ask => {
                let (finished, handled) = (self.job.finished(), self.job.handled());
                self.daemon.control.send(&Report::State { finished, handled })?;
            }
            Order::Look => {
                for process in looks::processes(&self.job) {
                    self.daemon.control.send(&Report::Process(process))?;
                }
                self.daemon.control.send(&Report::Looked(looks::time()))?;
            }
            Order::SignalFirst(_) | Order::Start(_) | Order::Connect { .. } | Order::Go | Order::Kill => {
                return Err(Stop::Gone);
            }
        }
        Ok(())
    }

    /// Gives process 0 input.
    fn feed(&mut self) -> Result<(), Stop> {
        let Some(pipe) = &mut self.input else { return Ok(()) };
        let mut taken = 0;
        while !self.unread.is_empty() {
            match pipe.write(self.unread.as_slices().0) {
                Ok(count) => {
                    self.unread.drain(..count);
                    taken += count as u32;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // It does not read any more.
                Err(_) => {
                    self.unread.clear();
                    self.input_ends = true;
                }
            }
        }
        if self.input_ends && self.unread.is_empty() {
            self.input = None;
        }
        if taken > 0 {
            self.daemon.control.send(&Report::Taken(taken))?;
        }
        Ok(())
    }
}

fn known(signal: i32) -> Result<Signal, Stop> {
    Signal::try_from(signal).map_err(|_| Stop::Gone)
}
