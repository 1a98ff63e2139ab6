//! What tells a launcher that another one of its job, or its host, is gone.
//!
//! Each launcher has a connection to that of its host's first process (the leader), and the leaders have lines ([`crate::launch::lines`]) to each other. A process manager
//! ends a job whose process fails, but not all do so by default (`srun` without `--kill-on-bad-exit`), and none notices soon that a host is cut off.
//!
//! A launcher that ends closes its connections, in order or not. The leader of process 0 knows whether the program has ended, so what closes before that is a failure. For those
//! below it the end of the connection towards process 0 is the end of the job.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{Pid, getppid};

use crate::launch::lines::{self, End, Far, Lines};

/// Time for processes to end by themselves once the job is over.
const END_GRACE: Duration = Duration::from_secs(1);
/// Time for the process manager to end a job in which a launcher has failed, and has reported why.
const FAILURE_GRACE: Duration = Duration::from_secs(5);

/// What has come of the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The job is over or being ended, and whoever has ended it has reported that to the process manager.
    Over,
    /// Something has failed, as the message says.
    Failed(String),
}

/// The launcher of another process of this host.
struct Neighbour {
    number: u32,
    stream: UnixStream,
    /// Of its process, if it is known.
    pid: Option<Pid>,
}

/// Connections to other launchers.
pub struct Ties {
    /// Whether this is the leader of process 0's host.
    is_first: bool,
    /// Names of all hosts.
    hosts: Vec<String>,
    /// To the leader.
    leader: Option<UnixStream>,
    /// Those that this leader leads.
    neighbours: Vec<Neighbour>,
    lines: Lines,
    /// Who has started this launcher, while it runs.
    parent: Option<OwnedFd>,
    /// What counts unless the job ends before.
    pending: Option<(Instant, Loss)>,
    lost: Option<Loss>,
    failure_grace: Duration,
}

impl Ties {
    /// Of a leader.
    pub fn of_leader(
        host: usize,
        hosts: Vec<String>,
        neighbours: impl IntoIterator<Item = (u32, UnixStream)>,
        lines: Lines,
    ) -> Ties {
        let neighbours = neighbours.into_iter().map(|(number, stream)| {
            // Where it fails, reading what is ready does not wait either.
            let _ = stream.set_nonblocking(true);
            Neighbour { number, stream, pid: None }
        });
        Ties { is_first: host == 0, hosts, neighbours: neighbours.collect(), lines, ..Ties::none() }
    }

    /// Of another launcher.
    pub fn to_leader(leader: UnixStream) -> Ties {
        Ties { leader: Some(leader), ..Ties::none() }
    }

    fn none() -> Ties {
        Ties {
            is_first: false,
            hosts: Vec::new(),
            leader: None,
            neighbours: Vec::new(),
            lines: Lines::default(),
            parent: None,
            pending: None,
            lost: None,
            failure_grace: FAILURE_GRACE,
        }
    }

    /// Watches who has started this launcher, too.
    pub fn watch_parent(&mut self) {
        // SAFETY: takes numbers, and makes a descriptor or fails.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, getppid().as_raw(), 0) };
        // Systems before Linux 5.3 have none.
        // SAFETY: nobody else has the new descriptor.
        self.parent = (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) });
    }

    /// Whether others of this host have come to this launcher, or could.
    pub fn leads(&self) -> bool {
        self.leader.is_none()
    }

    /// Whether other launchers are still there, as far as this leader knows.
    pub fn hold(&self) -> bool {
        !self.neighbours.is_empty() || self.lines.polled().next().is_some()
    }

    /// Tells the leader about this launcher's process.
    pub fn tell(&mut self, pids: &[Pid]) {
        if let (Some(leader), Some(pid)) = (&mut self.leader, pids.first()) {
            // A leader that has left is noticed by its end.
            let _ = leader.write_all(&pid.as_raw().to_le_bytes());
        }
    }

    /// What to poll: when one is ready, [`Ties::loss`] may have news.
    pub fn polled(&self) -> impl Iterator<Item = PollFd<'_>> {
        let streams = self.neighbours.iter().map(|n| &n.stream).chain(&self.leader).map(AsFd::as_fd);
        let parent = self.parent.iter().map(AsFd::as_fd);
        streams.chain(parent).map(|fd| PollFd::new(fd, PollFlags::POLLIN)).chain(self.lines.polled())
    }

    /// When [`Ties::loss`] has news though nothing is ready.
    pub fn until(&self) -> Option<Instant> {
        self.pending.as_ref().map(|(until, _)| *until)
    }

    /// The processes of this host's other launchers, as far as they are known.
    pub fn neighbours(&self) -> impl Iterator<Item = (u32, Pid)> {
        self.neighbours.iter().filter_map(|n| Some((n.number, n.pid?)))
    }

    /// What has been lost. `has_finished` tells whether the program has ended in an orderly way, as far as this host knows.
    pub fn loss(&mut self, has_finished: impl Fn() -> bool) -> Option<Loss> {
        self.look();
        if self.lost.is_none() && self.pending.as_ref().is_some_and(|(until, _)| *until <= Instant::now()) {
            let (_, loss) = self.pending.take().expect("looked at above");
            self.lost = Some(loss).filter(|loss| *loss == Loss::Over || !has_finished());
        }
        self.lost.take()
    }

    fn look(&mut self) {
        let mut closed = Vec::new();
        self.neighbours.retain_mut(|neighbour| {
            let mut pid = [0; 4];
            match neighbour.stream.read(&mut pid) {
                Ok(4) => neighbour.pid = Some(Pid::from_raw(i32::from_le_bytes(pid))),
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                _ => closed.push(neighbour.number),
            }
            closed.last() != Some(&neighbour.number)
        });
        for number in closed {
            self.expect(Loss::Failed(format!(
                "the launcher of process {number} ended before the program did"
            )));
        }
        for ended in self.lines.ended() {
            match ended {
                (Far::Host(host), End::Lost) => {
                    let name = self.hosts.get(host).map_or("a host", String::as_str);
                    self.lost = Some(Loss::Failed(format!("{name}: {}", lines::no_answer("this host"))));
                }
                (Far::Host(host), End::Closed) if self.is_first => {
                    let name = self.hosts.get(host).map_or("a host", String::as_str);
                    self.expect(Loss::Failed(format!(
                        "{name}: its first launcher ended before the program did"
                    )));
                }
                (Far::Host(0), End::Closed) => self.expect(Loss::Over),
                (Far::Host(_) | Far::Head, _) => {}
            }
        }
        // It says nothing: what is ready is the end.
        if self.leader.as_ref().is_some_and(is_ready) {
            self.leader = None;
            self.expect(Loss::Over);
        }
        if self.parent.as_ref().is_some_and(is_ready) {
            self.parent = None;
            self.lost = Some(Loss::Over);
        }
    }

    /// The first one counts.
    fn expect(&mut self, loss: Loss) {
        let grace = if loss == Loss::Over { END_GRACE } else { self.failure_grace };
        self.pending.get_or_insert_with(|| (Instant::now() + grace, loss));
    }
}

fn is_ready(fd: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    poll(&mut fds, PollTimeout::ZERO).is_ok_and(|count| count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits for news.
    fn next(ties: &mut Ties, has_finished: bool) -> Option<Loss> {
        loop {
            if let Some(loss) = ties.loss(|| has_finished) {
                return Some(loss);
            }
            if ties.until().is_none() && ties.polled().next().is_none() {
                return None;
            }
            let _ = poll(&mut ties.polled().collect::<Vec<_>>(), PollTimeout::from(10_u8));
        }
    }

    fn leader(neighbours: Vec<(u32, UnixStream)>) -> Ties {
        let ties = Ties::of_leader(0, vec!["a".into()], neighbours, Lines::default());
        Ties { failure_grace: Duration::from_millis(20), ..ties }
    }

    #[test]
    fn a_neighbour_that_ends_before_the_program_is_a_failure() {
        for has_finished in [false, true] {
            let (near, far) = UnixStream::pair().unwrap();
            let mut ties = leader(vec![(3, near)]);
            assert_eq!((ties.loss(|| false), ties.until()), (None, None));
            drop(far);
            let loss = next(&mut ties, has_finished);
            let said = |text: &str| matches!(&loss, Some(Loss::Failed(message)) if message.contains(text));
            assert!(if has_finished { loss.is_none() } else { said("process 3") }, "{loss:?}");
        }
    }

    #[test]
    fn neighbours_tell_their_processes() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let mut ties = leader(vec![(3, near)]);
        std::io::Write::write_all(&mut far, &7_i32.to_le_bytes()).unwrap();
        assert_eq!(ties.loss(|| false), None);
        assert_eq!(ties.neighbours().collect::<Vec<_>>(), [(3, Pid::from_raw(7))]);
    }

    #[test]
    fn the_end_of_the_leader_is_that_of_the_job() {
        let (near, far) = UnixStream::pair().unwrap();
        let mut ties = Ties::to_leader(near);
        assert_eq!(ties.loss(|| false), None);
        drop(far);
        assert_eq!(next(&mut ties, true), Some(Loss::Over));
    }
}
