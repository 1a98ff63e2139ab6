//! A job over several hosts, as the launcher that the user started sees it: starts a daemon on each host, has them connect and start the processes, writes
//! what the processes write, and ends them together.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{getpgrp, pipe2, tcgetpgrp};

use super::collect::{self, Request, Sink};
use super::connect;
use super::control::{
    self, Channel, Facts, LONGEST_GREETING, Order, PIECE, Report, SECRET_BYTES, Start, WINDOW,
};
use super::environment::{self, TRANSPORT};
use super::facts;
use super::hosts::{self, Placement};
use super::lines::{self, End, Far, Lines};
use super::looks::{HostLook, Looks, ProcessLook, Time};
use super::options::Options;
use super::output::{Output, Written};
use super::trace::gather::Gathering;
use super::verdict::{Ended, Verdict};
use super::watch::{self, ENDING, Processes, Signals};
use super::{Error, spawn};

/// Longest time for all daemons to be started and to listen.
const START_LIMIT: Duration = Duration::from_secs(120);
/// Longest time for all connections: more than the daemons' own, whose message says more.
const CONNECT_LIMIT: Duration = Duration::from_secs(90);
/// Longest wait for a daemon to say what process 0 has said.
const ASK_LIMIT: Duration = Duration::from_secs(1);
/// Longest wait for the daemons to say what their processes have left of themselves.
const LOOK_LIMIT: Duration = Duration::from_secs(1);
/// Longest wait for the daemons to end their processes.
const END_LIMIT: Duration = Duration::from_secs(5);
/// Longest wait for a remote shell whose daemon has ended.
const SHELL_LIMIT: Duration = Duration::from_millis(500);
/// How often the launcher looks whether it may read the terminal.
const FOREGROUND_TICK: Duration = Duration::from_secs(1);

/// The hosts that the command line names, with the processes on each; `None` if it names none.
pub fn placements(options: &Options) -> Result<Option<Vec<Placement>>, Error> {
    let hosts = match (&options.hosts, &options.hostfile) {
        (None, None) => return Ok(None),
        (Some(list), _) => hosts::from_list(list),
        (_, Some(path)) => {
            let named = |reason| format!("{}: {reason}", path.display());
            fs::read_to_string(path)
                .map_err(|e| named(e.to_string()))
                .and_then(|text| hosts::from_file(&text).map_err(named))
        }
    };
    let placed = hosts.and_then(|hosts| hosts::place(&hosts, options.processes));
    placed.map(Some).map_err(Error::Usage)
}

/// Runs a job on these hosts.
pub fn run(options: &Options, placements: Vec<Placement>) -> Result<u8, Error> {
    let signals = Signals::take()?;
    spawn::adopt_orphans()?;
    let (mut start, mut requests) = describe(options, &placements)?;
    let remote_shell = hosts::words(&options.rsh).map_err(|e| Error::Usage(format!("--rsh {e}")))?;
    let strangers = watch::children();
    let mut head = Head::new(signals, options)?;
    let trace = |wish| Gathering::start(wish, options.program(), &placements);
    let trace = options.trace_wish().map(trace).transpose()?;
    if let Some(trace) = &trace {
        start.trace = Some(trace.bytes());
        requests.push(trace.request());
        start.files = collect::wanted(&requests);
    }
    let status = match head.start(&remote_shell, placements, start, requests) {
        Ok(()) => Ok(watch::until_end(&mut head)),
        Err(Stopped::By(error)) => Err(error),
        Err(Stopped::BySignal(signal)) => Ok(watch::say_ended(signal)),
    };
    head.end();
    head.close();
    watch::reap_everything(&strangers);
    if let Some(trace) = trace {
        trace.finish();
    }
    status
}

/// What all daemons get, where the index of the host is filled in for each, and the files that come back.
fn describe(options: &Options, placements: &[Placement]) -> Result<(Start, Vec<Request>), Error> {
    let secret = connect::secret()?;
    let directory = env::current_dir();
    let directory = directory.map_err(|source| Error::System { what: "name this directory", source })?;
    let mut variables = environment::forwarded();
    environment::add_named(&mut variables, &options.variables).map_err(Error::Usage)?;
    variables.extend(super::settings(options)?);
    if placements.len() > 1 && environment::has_memory_only(&variables) {
        return Err(Error::Usage(format!(
            "{TRANSPORT}=shm: memory of other hosts cannot be mapped; unset it, or have all processes on one host"
        )));
    }
    let has_streams = environment::has_streams(&variables);
    let requests = collect::requests(&variables);
    variables.insert("PWD".into(), directory.clone().into());
    let bytes = |text: &OsStr| text.as_bytes().to_vec();
    let start = Start {
        secret,
        host: 0,
        hosts: placements.to_vec(),
        threads: options.threads.unwrap_or(1),
        bind: options.bind,
        program: bytes(options.program()),
        arguments: options.arguments().iter().map(|a| bytes(a)).collect(),
        directory: bytes(directory.as_os_str()),
        environment: environment::as_bytes(&variables),
        unchecked: options.unchecked,
        has_streams,
        files: collect::wanted(&requests),
        trace: None,
    };
    Ok((start, requests))
}

/// Why a job did not start.
enum Stopped {
    By(Error),
    BySignal(Signal),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Stopped {
        Stopped::By(error)
    }
}

/// A host and its daemon.
struct Remote {
    place: Placement,
    /// The remote shell's command line without what it runs there, for messages.
    shell: String,
    /// All of it.
    command: String,
    child: Child,
    /// `None` once the connection has ended.
    channel: Option<Channel<Report, Order, ChildStdout, ChildStdin>>,
    is_greeted: bool,
    listening: Option<(u16, Facts)>,
    /// What its processes are going to be bound to, once they are connected.
    binding: Option<String>,
    is_done: bool,
    /// Processes that have not ended.
    running: BTreeSet<u32>,
    /// Bytes of each stream that the daemon may send.
    windows: [u32; 2],
    /// What it has said of its processes since [`Order::Look`], and when.
    looked: (Vec<ProcessLook>, Option<Time>),
}

struct Head {
    /// Whether to tell the user what is done.
    is_verbose: bool,
    signals: Signals,
    remotes: Vec<Remote>,
    /// Signals that were received and not looked at.
    received: VecDeque<Signal>,
    ended: Vec<Ended>,
    /// Why the job cannot go on.
    problem: Option<Error>,
    /// What process 0 is known to have said.
    is_finished: bool,
    /// The answer to [`Order::Ask`].
    state: Option<(bool, u32)>,
    output: Output,
    /// Files that processes write for the user.
    files: Sink,
    input: Input,
    looks: Looks,
    /// To the daemons that can be reached from here.
    lines: Lines,
    /// Readable when a thread of [`Head::aside`] has ended.
    aside: Option<OwnedFd>,
}

/// The launcher's standard input on its way to process 0.
struct Input {
    /// Bytes that may be sent; `None` when no more are.
    window: Option<u32>,
    is_terminal: bool,
}

impl Head {
    fn new(signals: Signals, options: &Options) -> Result<Head, Error> {
        Ok(Head {
            is_verbose: options.verbose,
            signals,
            remotes: Vec::new(),
            received: VecDeque::new(),
            ended: Vec::new(),
            problem: None,
            is_finished: false,
            state: None,
            output: Output::start(options.label)?,
            files: Sink::default(),
            input: Input { window: None, is_terminal: io::stdin().is_terminal() },
            looks: Looks::new(options.program()),
            lines: Lines::default(),
            aside: None,
        })
    }

    /// Starts the daemons, and has them start the processes.
    fn start(
        &mut self,
        remote_shell: &[String],
        places: Vec<Placement>,
        mut start: Start,
        requests: Vec<Request>,
    ) -> Result<(), Stopped> {
        for place in places {
            let remote = Remote::start(remote_shell, place, &self.signals)?;
            let ranks = remote.place.ranks();
            self.tell(&remote.place.name, || {
                format!("processes {} to {}; runs {}", ranks.start, ranks.end - 1, remote.command)
            });
            self.remotes.push(remote);
        }
        self.until(START_LIMIT, "its daemon does not start", |r| r.is_greeted)?;
        for host in 0..self.remotes.len() {
            start.host = host as u32;
            self.send(host, &Order::Start(Box::new(start.clone())));
        }
        self.until(START_LIMIT, "its daemon does not answer", |r| r.listening.is_some())?;
        let facts = self.remotes.iter().filter_map(|r| Some((&*r.place.name, &r.listening.as_ref()?.1)));
        facts::compare(&facts.collect::<Vec<_>>())?;
        self.tell_all(|remote| match remote.listening {
            Some((port, ref facts)) => {
                format!("listens at port {port}; the program has {} bytes", facts.bytes)
            }
            None => "does not listen".into(),
        });
        self.connect(start.secret)?;
        self.files = Sink::create(requests)?;
        self.send_all(&Order::Go);
        self.input.window = Some(WINDOW);
        self.looks.open();
        Ok(())
    }

    /// Says what is done about a host, if the user wants to know.
    fn tell(&self, host: &str, what: impl FnOnce() -> String) {
        if self.is_verbose {
            eprintln!("dsm-run: {host}: {}", what());
        }
    }

    fn tell_all(&self, what: impl Fn(&Remote) -> String) {
        self.remotes.iter().for_each(|remote| self.tell(&remote.place.name, || what(remote)));
    }

    /// Has the daemons connect to each other, and makes lines to those that can be reached from here.
    fn connect(&mut self, secret: [u8; SECRET_BYTES]) -> Result<(), Stopped> {
        let port = |r: &Remote| r.listening.as_ref().map_or(0, |(port, _)| *port);
        let ports: Vec<u16> = self.remotes.iter().map(port).collect();
        let places = self.remotes.iter().map(|r| r.place.clone()).zip(ports.clone()).collect::<Vec<_>>();
        let reached = self.aside(move || connect::reach(&places))?;
        for (remote, socket) in self.remotes.iter().zip(&reached) {
            self.tell(&remote.place.name, || match socket.as_ref().map(TcpStream::peer_addr) {
                Some(Ok(address)) => format!("reached at {address}"),
                _ => "not reached but by the remote shell, which alone tells dsm-run if the host is cut off"
                    .into(),
            });
        }
        for (host, socket) in reached.iter().enumerate() {
            self.send(host, &Order::Connect { ports: ports.clone(), has_head: socket.is_some() });
        }
        let reached = reached.into_iter().enumerate();
        let reached = reached.filter_map(|(i, s)| Some((i, self.remotes[i].place.first, s?))).collect();
        let lines = self.aside(move || connect::introduce(&secret, reached))?;
        self.until(CONNECT_LIMIT, "its daemon does not connect", |r| r.binding.is_some())?;
        let lines = lines.map_err(|(host, message)| {
            Stopped::By(Error::Host { host: self.remotes[host].place.name.clone(), message, status: 1 })
        })?;
        let failed = |source| Error::System { what: "watch connections", source };
        self.lines = Lines::watch(lines).map_err(failed)?;
        self.tell_all(|remote| {
            let binding = remote.binding.as_deref().unwrap_or_default();
            format!("connected to the other hosts; starts its processes; {binding}")
        });
        Ok(())
    }

    /// Runs something in a thread while this one listens to the daemons.
    fn aside<T: Send + 'static>(&mut self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Stopped> {
        let failed = |source: io::Error| Error::System { what: "start a thread", source };
        let (ended, end) = pipe2(OFlag::O_CLOEXEC).map_err(|e| failed(e.into()))?;
        let (give, take) = mpsc::channel();
        let run = move || {
            let _ = give.send(work());
            drop(end);
        };
        thread::Builder::new().name("connect".into()).spawn(run).map_err(failed)?;
        self.aside = Some(ended);
        let result = loop {
            if let Ok(result) = take.try_recv() {
                break result;
            }
            self.check_start()?;
            self.pump(None);
        };
        self.aside = None;
        Ok(result)
    }

    /// Whether nothing has happened that keeps the job from starting.
    fn check_start(&mut self) -> Result<(), Stopped> {
        if let Some(problem) = self.problem.take() {
            return Err(problem.into());
        }
        let signal = self.received.drain(..).find(|s| ENDING.contains(s));
        signal.map_or(Ok(()), |signal| Err(Stopped::BySignal(signal)))
    }

    /// Waits until all daemons have come so far.
    fn until(
        &mut self,
        limit: Duration,
        otherwise: &str,
        is_there: impl Fn(&Remote) -> bool,
    ) -> Result<(), Stopped> {
        let until = Instant::now() + limit;
        loop {
            self.check_start()?;
            let Some(late) = self.remotes.iter().find(|r| !is_there(r)) else { return Ok(()) };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let message = format!("{otherwise} within {} s: {}", limit.as_secs(), late.shell);
                return Err(Error::Host { host: late.place.name.clone(), message, status: 1 }.into());
            }
            self.pump(Some(left));
        }
    }

    fn send(&mut self, host: usize, order: &Order) {
        let Some(remote) = self.remotes.get_mut(host) else { return };
        if remote.channel.as_mut().is_some_and(|channel| channel.send(order).is_err()) {
            self.lose(host, "it does not take orders any more");
        }
    }

    fn send_all(&mut self, order: &Order) {
        for host in 0..self.remotes.len() {
            self.send(host, order);
        }
    }

    /// Waits until something happens, and does what follows from it.
    fn pump(&mut self, timeout: Option<Duration>) {
        let input = self.readable_input();
        let timeout = match (timeout, self.input.window) {
            // Nobody tells when the launcher gets the terminal.
            (timeout, Some(_)) if self.input.is_terminal && !input => {
                Some(timeout.map_or(FOREGROUND_TICK, |t| t.min(FOREGROUND_TICK)))
            }
            (timeout, _) => timeout,
        };
        let stdin = io::stdin();
        let mut fds = vec![
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.output.wake.as_fd(), PollFlags::POLLIN),
        ];
        fds.extend(input.then(|| PollFd::new(stdin.as_fd(), PollFlags::POLLIN)));
        let channels = || self.remotes.iter().filter_map(|r| r.channel.as_ref());
        let first = fds.len();
        fds.extend(channels().map(|c| PollFd::new(c.reads(), PollFlags::POLLIN)));
        fds.extend(channels().filter_map(Channel::writes).map(|fd| PollFd::new(fd, PollFlags::POLLOUT)));
        fds.extend(self.lines.polled());
        fds.extend(self.looks.as_fd().map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
        fds.extend(self.aside.iter().map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN)));
        let timeout = timeout.map_or(PollTimeout::NONE, |t| {
            PollTimeout::try_from(t + Duration::from_micros(999)).unwrap_or(PollTimeout::MAX)
        });
        let count = poll(&mut fds, timeout).unwrap_or(0);
        let ready: Vec<bool> = fds.iter().map(|fd| count > 0 && fd.any().unwrap_or(false)).collect();
        drop(fds);

        while let Some((signal, _)) = self.signals.take_one() {
            self.received.push_back(signal);
        }
        if ready[1] {
            self.note_written();
        }
        if input && ready[2] {
            self.read_input();
        }
        let open: Vec<usize> =
            (0..self.remotes.len()).filter(|i| self.remotes[*i].channel.is_some()).collect();
        for (host, is_ready) in open.into_iter().zip(&ready[first..]) {
            if *is_ready {
                self.receive(host);
            }
            let flushed = self.remotes[host].channel.as_mut().map(Channel::flush);
            if flushed.is_some_and(|result| result.is_err()) {
                self.lose(host, "it does not take orders any more");
            }
        }
        for ended in self.lines.ended() {
            if let (Far::Host(host), End::Lost) = ended {
                self.lose(host, &lines::no_answer("dsm-run"));
            }
        }
    }

    fn receive(&mut self, host: usize) {
        let Some(channel) = &mut self.remotes[host].channel else { return };
        let received = channel.receive();
        if let Err(reason) = self.heed_all(host) {
            return self.lose(host, &reason);
        }
        match received {
            Ok(true) => {}
            Ok(false) => self.lose(host, "it has closed the connection"),
            Err(e) => self.lose(host, &e.to_string()),
        }
    }

    /// Takes what the daemon has said.
    fn heed_all(&mut self, host: usize) -> Result<(), String> {
        loop {
            let remote = &mut self.remotes[host];
            let Some(channel) = &mut remote.channel else { return Ok(()) };
            if !remote.is_greeted {
                let line = channel.decoder.line().map_err(|e| e.to_string())?;
                let Some(line) = line else { return Ok(()) };
                if let Err(message) = greeted(&line) {
                    let host = remote.place.name.clone();
                    self.problem.get_or_insert(Error::Host { host, message, status: 1 });
                    return Ok(());
                }
                remote.is_greeted = true;
            }
            let Some(report) = channel.decoder.next().map_err(|e| e.to_string())? else { return Ok(()) };
            self.heed(host, report)?;
        }
    }

    fn heed(&mut self, host: usize, report: Report) -> Result<(), String> {
        let count = self.remotes.len();
        let remote = &mut self.remotes[host];
        let is_own = |rank: u32| remote.place.ranks().contains(&rank);
        match report {
            Report::Listening(port, facts) => remote.listening = Some((port, facts)),
            Report::Connected(binding) => remote.binding = Some(binding),
            Report::Failed(status, message) => {
                let host = remote.place.name.clone();
                self.problem.get_or_insert(Error::Host { host, message, status: status.max(1) });
            }
            Report::Output { rank, stream, bytes } if is_own(rank) => {
                let window = &mut remote.windows[stream as usize];
                let left = u32::try_from(bytes.len()).ok().and_then(|count| window.checked_sub(count));
                *window = left.ok_or("it sends more output than it may")?;
                self.output.write(host, stream, rank, bytes);
            }
            Report::Collected { rank, file, bytes } if is_own(rank) => {
                self.files.take(rank, file, &bytes)?;
                self.send(host, &Order::Collected(bytes.len() as u32));
            }
            Report::Taken(count) if host == 0 => {
                if let Some(window) = &mut self.input.window {
                    *window = window.saturating_add(count).min(WINDOW);
                }
            }
            Report::Exited { rank, pid, ending, finished } if remote.running.remove(&rank) => {
                self.is_finished |= finished && host == 0;
                if rank == 0 {
                    self.input.window = None;
                }
                let host = Some(remote.place.name.clone());
                self.ended.push(Ended { rank, pid, host, ending });
            }
            Report::State { finished, handled } if host == 0 => self.state = Some((finished, handled)),
            Report::Process(process) if is_own(process.rank) && process.is_whole() => {
                // An answer that came too late for the look before may be followed by another one.
                let known = &mut remote.looked.0;
                known.retain(|other| other.rank != process.rank);
                known.push(process);
            }
            Report::Looked(time) => remote.looked.1 = Some(time),
            Report::Lost(other) if (other as usize) < count => {
                let message = format!("{}; the job was ended", lines::no_answer(&remote.place.name));
                let host = self.remotes[other as usize].place.name.clone();
                self.problem.get_or_insert(Error::Host { host, message, status: 1 });
            }
            Report::Done => {
                remote.is_done = true;
                remote.running.clear();
            }
            Report::Output { .. }
            | Report::Collected { .. }
            | Report::Taken(_)
            | Report::Exited { .. }
            | Report::State { .. }
            | Report::Process(_)
            | Report::Lost(_) => {
                return Err("it sends what it should not".into());
            }
        }
        Ok(())
    }

    /// Ends the connection to a daemon, which ends its processes then.
    fn lose(&mut self, host: usize, reason: &str) {
        let remote = &mut self.remotes[host];
        if remote.channel.take().is_none() || remote.is_done {
            return;
        }
        remote.running.clear();
        let status = remote.status();
        let ended =
            status.map(|status| format!(" ({} ended with {status})", remote.shell)).unwrap_or_default();
        let message = if !remote.is_greeted {
            format!(
                "its daemon was not started: {reason}{ended}; the same command with `true` in its place has to work without a question, and dsm-run has to be installed at the same place"
            )
        } else if self.input.window.is_none() && remote.binding.is_none() {
            format!("its daemon was lost: {reason}{ended}")
        } else {
            format!("its daemon was lost: {reason}{ended}; the job was ended")
        };
        let host = remote.place.name.clone();
        self.problem.get_or_insert(Error::Host { host, message, status: 1 });
    }

    /// Asks the daemon of process 0's host whether the program has ended, and which signals it handles.
    fn ask(&mut self) -> (bool, u32) {
        self.state = None;
        self.send(0, &Order::Ask);
        let until = Instant::now() + ASK_LIMIT;
        while self.state.is_none() && self.remotes[0].channel.is_some() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            self.pump(Some(left));
        }
        self.state.unwrap_or((false, 0))
    }

    /// Whether input can be sent, and be read without stopping a launcher in the background.
    fn readable_input(&self) -> bool {
        let is_in_foreground = || tcgetpgrp(io::stdin().as_fd()).is_ok_and(|group| group == getpgrp());
        self.input.window.is_some_and(|w| w > 0) && (!self.input.is_terminal || is_in_foreground())
    }

    fn read_input(&mut self) {
        let Some(window) = self.input.window else { return };
        let mut buffer = [0; PIECE];
        let most = PIECE.min(window as usize);
        let count = match nix::unistd::read(io::stdin().as_fd(), &mut buffer[..most]) {
            Ok(count) => count,
            Err(Errno::EINTR | Errno::EAGAIN) => return,
            Err(_) => 0,
        };
        self.input.window = (count > 0).then(|| window - count as u32);
        self.send(0, &Order::Input(buffer[..count].to_vec()));
    }

    /// Tells the daemons what has been written.
    fn note_written(&mut self) {
        let _ = nix::unistd::read(&self.output.wake, &mut [0; 256]);
        while let Ok(event) = self.output.events.try_recv() {
            match event {
                Written::Bytes(host, stream, count) => {
                    if let Some(remote) = self.remotes.get_mut(host) {
                        remote.windows[stream as usize] += count;
                    }
                    self.send(host, &Order::Written(stream, count));
                }
                Written::Closed(stream) => self.send_all(&Order::Close(stream)),
            }
        }
    }

    /// Closes what is open, and waits for what the daemons' shells and the output need.
    fn close(&mut self) {
        for remote in &mut self.remotes {
            remote.channel = None;
        }
        self.output.finish();
        let until = Instant::now() + SHELL_LIMIT;
        while Instant::now() < until
            && self.remotes.iter_mut().any(|r| matches!(r.child.try_wait(), Ok(None)))
        {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Processes for Head {
    fn next_signal(&mut self, timeout: Option<Duration>) -> Option<(Signal, bool)> {
        if self.received.is_empty() {
            let is_news = !self.ended.is_empty() || self.problem.is_some();
            self.pump(if is_news { Some(Duration::ZERO) } else { timeout });
        }
        // The terminal's signals reach the launcher only.
        self.received.pop_front().map(|signal| (signal, false))
    }

    fn ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
    }

    fn failure(&mut self) -> Option<Verdict> {
        self.problem.take().map(|problem| Verdict {
            status: problem.exit_status(),
            message: Some(format!("dsm-run: {problem}")),
            orderly: false,
        })
    }

    fn finished(&mut self) -> bool {
        self.is_finished = self.is_finished || self.ask().0;
        self.is_finished
    }

    fn handles(&mut self, signal: Signal) -> bool {
        self.ask().1 >> (signal as u32 - 1) & 1 == 1
    }

    fn signal_first(&mut self, signal: Signal) {
        self.send(0, &Order::SignalFirst(signal as i32));
    }

    fn signal(&mut self, signal: Signal) {
        self.send_all(&Order::Signal(signal as i32));
    }

    fn is_over(&mut self) -> bool {
        self.remotes.iter().all(|r| r.running.is_empty())
    }

    fn end(&mut self) {
        // Who has not answered has started nothing.
        for remote in self.remotes.iter_mut().filter(|r| !r.is_greeted) {
            remote.channel = None;
        }
        self.send_all(&Order::Kill);
        let mut until = Instant::now() + END_LIMIT;
        while self.remotes.iter().any(|r| r.channel.is_some() && !r.is_done) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let before = self.files.bytes();
            self.pump(Some(left));
            if self.files.bytes() != before {
                until = Instant::now() + END_LIMIT;
            }
        }
    }

    fn looks(&mut self) -> &mut Looks {
        &mut self.looks
    }

    fn look(&mut self) -> Vec<HostLook> {
        self.remotes.iter_mut().for_each(|remote| remote.looked = (Vec::new(), None));
        self.send_all(&Order::Look);
        let until = Instant::now() + LOOK_LIMIT;
        while self.remotes.iter().any(|r| r.channel.is_some() && r.looked.1.is_none()) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            self.pump(Some(left));
        }
        let looked = self.remotes.iter_mut().filter_map(|remote| {
            let (processes, time) = std::mem::take(&mut remote.looked);
            Some(HostLook { name: remote.place.name.clone(), time: time?, processes })
        });
        looked.collect()
    }
}

/// Whether the daemon's first line is what it should be.
fn greeted(line: &str) -> Result<(), String> {
    let own = control::greeting();
    if line == own {
        return Ok(());
    }
    if line.starts_with("dsm-run ") && line.ends_with('\n') {
        return Err(format!(
            "another dsm-run is there: \"{}\", here: \"{}\"; install the same",
            line.trim(),
            own.trim()
        ));
    }
    let line = line.chars().take(LONGEST_GREETING).collect::<String>();
    Err(format!(
        "something else than the daemon speaks first: {:?}; the start-up files of the shell there must print nothing for a command",
        line.trim()
    ))
}

impl Remote {
    fn start(remote_shell: &[String], place: Placement, signals: &Signals) -> Result<Remote, Error> {
        let own = env::current_exe()
            .map_err(|source| Error::System { what: "find the launcher's own file", source })?;
        let (mut command, shell) = if place.name == hosts::LOCAL {
            let mut command = Command::new(&own);
            command.arg("--daemon");
            (command, own.display().to_string())
        } else {
            let mut line = OsString::from("exec ");
            line.push(hosts::quoted(own.as_os_str()));
            line.push(" --daemon");
            let (program, words) = remote_shell.split_first().expect("a command has a first word");
            let mut command = Command::new(program);
            command.args(words).arg(&place.name).arg(line);
            (command, format!("{} {}", remote_shell.join(" "), place.name))
        };
        let words = [command.get_program()].into_iter().chain(command.get_args());
        let words = words.map(|word| hosts::quoted(word).display().to_string()).collect::<Vec<_>>().join(" ");
        let mask = signals.before;
        let prepare = move || {
            // The remote shell lets go of the daemon, which ends its processes.
            prctl::set_pdeathsig(Signal::SIGTERM)?;
            mask.thread_set_mask().map_err(io::Error::from)
        };
        // SAFETY: between fork and exec the closure only makes system calls.
        unsafe { command.pre_exec(prepare) };
        // A group of its own: the terminal's signals are for the launcher, which passes them on.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let failed = |source: io::Error| Error::Host {
            host: place.name.clone(),
            message: format!("cannot start `{shell}`: {source}; --rsh names the command that reaches hosts"),
            status: 1,
        };
        let mut child = command.spawn().map_err(failed)?;
        let pipes = child.stdout.take().zip(child.stdin.take()).expect("both are piped");
        let channel = Channel::new(pipes.0, pipes.1).map_err(failed)?;
        Ok(Remote {
            running: place.ranks().collect(),
            place,
            shell: format!("`{shell}`"),
            command: words,
            child,
            channel: Some(channel),
            is_greeted: false,
            listening: None,
            binding: None,
            is_done: false,
            windows: [WINDOW; 2],
            looked: (Vec::new(), None),
        })
    }

    /// How the remote shell has ended, if it does so at once.
    fn status(&mut self) -> Option<String> {
        let until = Instant::now() + SHELL_LIMIT;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status.to_string()),
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(2)),
                _ => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_speaks_first_has_to_be_the_same_dsm_run() {
        greeted(&control::greeting()).unwrap();
        let error = greeted("dsm-run 0.0.1 abi 1 job 1 frames 1\n").unwrap_err();
        assert!(error.contains("another dsm-run") && error.contains("0.0.1"), "{error}");
        assert!(greeted("Welcome\n").unwrap_err().contains("\"Welcome\""));
        assert!(greeted("dsm-run without an end").unwrap_err().contains("something else"));
    }
}
