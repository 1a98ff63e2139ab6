//! Setting a host up: its leader makes memory and connections, the others get them.

use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use super::cards::{Arrangement, Origin};
use super::handover::{self, Reception};
use super::ties::Ties;
use super::{SPARE_DESCRIPTORS, Stop};
use crate::launch::Error;
use crate::launch::connect::{Connections, LIMITS, Network, Sockets};
use crate::launch::control::SECRET_BYTES;
use crate::launch::environment::{self, Variables};
use crate::launch::hosts::Placement;
use crate::launch::lines::Lines;
use crate::launch::spawn::{self, Memory};
use crate::launch::streams::Streams;

/// What a process inherits.
pub struct Inheritance {
    /// The host's job page.
    pub page: File,
    /// How the segment of each process is reached.
    pub reached: Vec<Vec<OwnedFd>>,
}

impl Inheritance {
    /// The descriptors' numbers.
    pub fn reached(&self) -> Vec<Vec<RawFd>> {
        self.reached.iter().map(|group| group.iter().map(AsRawFd::as_raw_fd).collect()).collect()
    }
}

/// What a launcher knows about its job.
pub struct Setup {
    /// Who is where.
    pub arrangement: Arrangement,
    /// What rank 0 has decided.
    pub origin: Origin,
    /// Index of this host.
    pub host: usize,
    /// Number of this launcher's process.
    pub number: u32,
    /// The processes that may use the same processors.
    pub sharers: Range<u32>,
}

impl Setup {
    /// The host's processes.
    pub fn place(&self) -> &Placement {
        &self.arrangement.hosts[self.host]
    }

    fn processes(&self) -> u32 {
        self.arrangement.numbers.len() as u32
    }

    fn secret(&self) -> &[u8; SECRET_BYTES] {
        &self.origin.secret
    }

    /// Whether processes of a host reach each other by sockets.
    fn has_streams(&self) -> bool {
        environment::has_streams(&self.variables())
    }

    /// The job's variables.
    pub fn variables(&self) -> Variables {
        environment::from_bytes(&self.origin.environment)
    }

    /// Sets the host up for all of its launchers.
    pub fn lead(
        &self,
        listener: Option<TcpListener>,
        reception: Reception,
    ) -> Result<(Inheritance, Ties), Stop> {
        let Connections { sockets, lines } = self.connect(listener)?;
        let watched = Lines::watch(lines);
        let lines = watched.map_err(|source| Error::System { what: "watch connections", source })?;
        let place = self.place();
        let mut streams = Streams::new(self.processes(), place.ranks(), sockets, self.has_streams());
        spawn::allow_descriptors(3 * u64::from(place.count) + streams.descriptors() + SPARE_DESCRIPTORS)?;
        let memory = Memory::create(&place.ranks())?;
        let others: Vec<u32> = place.ranks().filter(|number| *number != self.number).collect();
        let limit = LIMITS.total;
        let neighbours = reception.receive(self.secret(), &others, limit).map_err(|missing| {
            let seconds = limit.as_secs();
            Error::Manager(format!(
                "the launcher of process {missing} has not come to that of process {} within {seconds} s",
                self.number
            ))
        })?;
        let mut own = None;
        for number in place.ranks() {
            let reached = memory.reached(number, self.processes(), &mut streams)?;
            match neighbours.get(&number) {
                Some(stream) => {
                    let groups: Vec<_> = [vec![memory.page.as_raw_fd()]].into_iter().chain(reached).collect();
                    match handover::give(stream, &groups) {
                        // Who has left meanwhile is noticed by its end.
                        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => return Err(give_failed(e).into()),
                        _ => {}
                    }
                }
                None => {
                    own = Some(Inheritance {
                        page: copy(memory.page.as_raw_fd())?.into(),
                        reached: copies(&reached)?,
                    })
                }
            }
            streams.close(number);
        }
        let names = self.arrangement.hosts.iter().map(|host| host.name.clone()).collect();
        let own = own.expect("the leader's process is one of its host's");
        Ok((own, Ties::of_leader(self.host, names, neighbours, lines)))
    }

    fn connect(&self, listener: Option<TcpListener>) -> Result<Connections, Error> {
        let hosts = &self.arrangement.hosts;
        let Some(listener) = listener.filter(|_| hosts.len() > 1) else {
            return Ok(Connections { sockets: Sockets::new(), lines: Vec::new() });
        };
        let contacts = &self.arrangement.contacts;
        let network = Network {
            secret: *self.secret(),
            hosts: hosts.clone(),
            own: self.host,
            has_head: false,
            addresses: contacts.iter().map(|contact| contact.addresses.clone()).collect(),
        };
        spawn::allow_descriptors(network.sockets() + hosts.len() as u64 + SPARE_DESCRIPTORS)?;
        let ports: Vec<u16> = contacts.iter().map(|contact| contact.port).collect();
        let failed = |message| Error::Host { host: self.place().name.clone(), message, status: 1 };
        network.connect(listener, &ports, LIMITS).map_err(failed)
    }

    /// Gets what the leader has set up.
    pub fn follow(&self) -> Result<(Inheritance, Ties), Stop> {
        let descriptors = 4 * u64::from(self.processes()) + SPARE_DESCRIPTORS;
        spawn::allow_descriptors(descriptors)?;
        let name = &self.arrangement.contacts[self.host].socket;
        let failed = |source: io::Error| Error::System {
            what: "connect to the launcher that sets up this host",
            source,
        };
        let leader = handover::enter(name, self.secret(), self.number).map_err(failed)?;
        // Longer than the leader's, whose message says more.
        let groups = handover::take(&leader, 3 * LIMITS.total).map_err(|_| Stop::Reported)?;
        let mut groups = groups.into_iter();
        let page = groups.next().and_then(|page| page.into_iter().next()).ok_or(Stop::Reported)?;
        Ok((Inheritance { page: page.into(), reached: groups.collect() }, Ties::to_leader(leader)))
    }
}

fn give_failed(source: io::Error) -> Error {
    Error::System { what: "hand descriptors to the other launchers of this host", source }
}

fn copies(groups: &[Vec<RawFd>]) -> Result<Vec<Vec<OwnedFd>>, Error> {
    groups.iter().map(|group| group.iter().map(|fd| copy(*fd)).collect()).collect()
}

fn copy(fd: RawFd) -> Result<OwnedFd, Error> {
    // SAFETY: it is one of the files and sockets that are open while a host is set up.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    fd.try_clone_to_owned().map_err(|source| Error::System { what: "copy a descriptor", source })
}
