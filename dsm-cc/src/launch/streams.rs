//! Sockets between the processes of a job, for the transport that maps no memory of others. Between processes of one host they are made here, as the
//! processes start; those to other hosts are connected before.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use super::connect::Sockets;

/// The sockets of processes that have not started. All are closed on exec, so that a process inherits none but its own, and a connection ends with
/// the process at its other end.
pub struct Streams {
    /// By rank among the host's and peer, in the order of `dsm_abi::job`.
    ends: Vec<Vec<Option<[OwnedFd; 4]>>>,
    ranks: Range<u32>,
}

impl Streams {
    /// For the processes `ranks` of a job, which are connected to those of other hosts.
    pub fn new(processes: u32, ranks: Range<u32>, mut remote: Sockets) -> Streams {
        let of = |rank| (0..processes).map(|peer| remote.remove(&(rank, peer))).collect();
        Streams { ends: ranks.clone().map(of).collect(), ranks }
    }

    /// Most descriptors that the launcher has open for processes of one host, and more than a process inherits. Sockets are made when the first of two processes is
    /// about to start: there are most of them when half of the processes have.
    pub fn descriptors(processes: u32) -> u64 {
        let processes = u64::from(processes);
        processes * processes + 4 * processes
    }

    /// Makes the sockets between a process that is about to start and the later ones.
    pub fn connect(&mut self, rank: u32) -> io::Result<()> {
        let index = self.index(rank);
        let (before, later) = self.ends.split_at_mut(index + 1);
        let own = &mut before[index];
        for (i, peer) in later.iter_mut().enumerate() {
            let (requests, serves_there) = pair()?;
            let (serves, requests_there) = pair()?;
            let (waits, serves_waits_there) = pair()?;
            let (serves_waits, waits_there) = pair()?;
            own[rank as usize + 1 + i] = Some([requests, serves, waits, serves_waits]);
            peer[rank as usize] = Some([requests_there, serves_there, waits_there, serves_waits_there]);
        }
        Ok(())
    }

    /// The field of the job's description.
    pub fn describe(&self, rank: u32) -> String {
        let peer = |ends: &Option<[OwnedFd; 4]>| match ends {
            Some(ends) => ends.each_ref().map(|end| end.as_raw_fd().to_string()).join("+"),
            None => "-".to_owned(),
        };
        self.ends[self.index(rank)].iter().map(peer).collect::<Vec<_>>().join(",")
    }

    /// What a process inherits.
    pub fn of(&self, rank: u32) -> Vec<RawFd> {
        self.ends[self.index(rank)].iter().flatten().flatten().map(AsRawFd::as_raw_fd).collect()
    }

    /// Closes the launcher's copies of the sockets of a process that has started.
    pub fn close(&mut self, rank: u32) {
        let index = self.index(rank);
        self.ends[index].clear();
    }

    fn index(&self, rank: u32) -> usize {
        (rank - self.ranks.start) as usize
    }
}

fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (a, b) = UnixStream::pair()?;
    Ok((a.into(), b.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launcher_holds_no_more_than_it_says() {
        for processes in [2, 3, 8] {
            let mut streams = Streams::new(processes, 0..processes, Sockets::new());
            let mut most = 0;
            for rank in 0..processes {
                streams.connect(rank).unwrap();
                most = most.max((0..processes).map(|r| streams.of(r).len()).sum());
                assert_eq!(streams.of(rank).len(), 4 * (processes as usize - 1), "{rank} of {processes}");
                streams.close(rank);
            }
            assert!((0..processes).all(|r| streams.of(r).is_empty()));
            assert!(most as u64 <= Streams::descriptors(processes), "{most} of {processes} processes");
        }
    }

    #[test]
    fn a_host_connects_its_own_processes_and_passes_on_the_other_sockets() {
        let mut remote = Sockets::new();
        for own in [2, 3] {
            for peer in [0, 1, 4] {
                let [(a, b), (c, d)] = [pair().unwrap(), pair().unwrap()];
                remote.insert((own, peer), [a, b, c, d]);
            }
        }
        let mut streams = Streams::new(5, 2..4, remote);
        for rank in [2, 3] {
            streams.connect(rank).unwrap();
            let fields = streams.describe(rank);
            let own: Vec<_> = fields.split(',').map(|f| f == "-").collect();
            assert_eq!(own, (0..5).map(|peer| peer == rank).collect::<Vec<_>>());
            assert_eq!(streams.of(rank).len(), 16);
            streams.close(rank);
            assert!(streams.of(rank).is_empty());
        }
    }
}
