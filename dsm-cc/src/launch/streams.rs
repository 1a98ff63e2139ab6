//! Sockets between the processes of a job that do not map each other's memory. Between processes of one host they are made here, as the processes start;
//! those to other hosts are connected before.

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
    /// Whether processes of this host are connected to each other.
    inside: bool,
}

impl Streams {
    /// For the processes `ranks` of a job, which are connected to those of other hosts, and to each other if `inside`.
    pub fn new(processes: u32, ranks: Range<u32>, mut remote: Sockets, inside: bool) -> Streams {
        let of = |rank| (0..processes).map(|peer| remote.remove(&(rank, peer))).collect();
        Streams { ends: ranks.clone().map(of).collect(), ranks, inside }
    }

    /// Most sockets that the launcher has open at a time, and more than a process inherits. Those between processes of the host are made when the first of the two
    /// is about to start: there are most of them when half of the processes have.
    pub fn descriptors(&self) -> u64 {
        let own = self.ranks.len() as u64;
        let remote = self.ends.iter().flatten().flatten().count() as u64;
        4 * remote + if self.inside { own * own + 4 * own } else { 0 }
    }

    /// Makes the sockets between a process that is about to start and the later ones of the host.
    pub fn connect(&mut self, rank: u32) -> io::Result<()> {
        if !self.inside {
            return Ok(());
        }
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

    /// The sockets of a process to another one; `None` if they map each other's memory.
    pub fn between(&self, rank: u32, peer: u32) -> Option<[RawFd; 4]> {
        let ends = self.ends[self.index(rank)][peer as usize].as_ref()?;
        Some(ends.each_ref().map(AsRawFd::as_raw_fd))
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

    /// How many sockets a process has.
    fn count(streams: &Streams, rank: u32) -> usize {
        streams.ends[streams.index(rank)].iter().flatten().flatten().count()
    }

    /// Sockets of two of five processes to those of other hosts.
    fn remote() -> Sockets {
        let pairs = [2, 3].into_iter().flat_map(|own| [0, 1, 4].map(|peer| (own, peer)));
        let sockets = || {
            let [(a, b), (c, d)] = [pair().unwrap(), pair().unwrap()];
            [a, b, c, d]
        };
        pairs.map(|pair| (pair, sockets())).collect()
    }

    #[test]
    fn the_launcher_holds_no_more_than_it_says() {
        for processes in [2, 3, 8] {
            let mut streams = Streams::new(processes, 0..processes, Sockets::new(), true);
            let limit = streams.descriptors();
            let mut most = 0;
            for rank in 0..processes {
                streams.connect(rank).unwrap();
                most = most.max((0..processes).map(|r| count(&streams, r)).sum());
                assert_eq!(count(&streams, rank), 4 * (processes as usize - 1), "{rank} of {processes}");
                streams.close(rank);
            }
            assert!((0..processes).all(|r| count(&streams, r) == 0));
            assert!(most as u64 <= limit, "{most} of {processes} processes");
        }
    }

    #[test]
    fn a_host_passes_on_the_sockets_to_others_and_connects_its_own_processes_if_told_to() {
        for inside in [false, true] {
            let mut streams = Streams::new(5, 2..4, remote(), inside);
            assert_eq!(streams.descriptors(), 24 + if inside { 12 } else { 0 });
            for rank in [2, 3] {
                streams.connect(rank).unwrap();
                let connected: Vec<_> = (0..5).map(|peer| streams.between(rank, peer).is_some()).collect();
                let expected: Vec<_> =
                    (0..5).map(|p| p != rank && (inside || !(2..4).contains(&p))).collect();
                assert_eq!(connected, expected, "{rank}, {inside}");
                assert_eq!(count(&streams, rank), if inside { 16 } else { 12 });
                streams.close(rank);
                assert_eq!(count(&streams, rank), 0);
            }
        }
    }
}
