//! Sockets between the processes of a job, for the transport that maps no memory of others.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

/// The sockets of processes that have not started. All are closed on exec, so that a process inherits none but its own, and a connection ends with
/// the process at its other end.
pub struct Streams {
    /// By rank and peer, in the order of `dsm_abi::job`.
    ends: Vec<Vec<Option<[OwnedFd; 4]>>>,
}

impl Streams {
    pub fn new(processes: u32) -> Streams {
        let unconnected = |_| (0..processes).map(|_| None).collect();
        Streams { ends: (0..processes).map(unconnected).collect() }
    }

    /// Most descriptors that the launcher has open for them, and more than a process inherits. Sockets are made when the first of two processes is
    /// about to start: there are most of them when half of the processes have.
    pub fn descriptors(processes: u32) -> u64 {
        let processes = u64::from(processes);
        processes * processes + 4 * processes
    }

    /// Makes the sockets between a process that is about to start and the later ones.
    pub fn connect(&mut self, rank: u32) -> io::Result<()> {
        let (before, later) = self.ends.split_at_mut(rank as usize + 1);
        let own = &mut before[rank as usize];
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
        self.ends[rank as usize].iter().map(peer).collect::<Vec<_>>().join(",")
    }

    /// What a process inherits.
    pub fn of(&self, rank: u32) -> Vec<RawFd> {
        self.ends[rank as usize].iter().flatten().flatten().map(AsRawFd::as_raw_fd).collect()
    }

    /// Closes the launcher's copies of the sockets of a process that has started.
    pub fn close(&mut self, rank: u32) {
        self.ends[rank as usize].clear();
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
            let mut streams = Streams::new(processes);
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
}
