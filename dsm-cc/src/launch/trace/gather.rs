//! The trace of a job on several hosts, at the head: files with what the processes wrote come from the daemons, and become one at the end.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, Seek};
use std::os::fd::AsRawFd;

use crate::launch::Error;
use crate::launch::collect::{Request, Wanted};
use crate::launch::hosts::Placement;

use super::buffers::Sink;
use super::clocks::Clocks;
use super::convert::Place;
use super::{Output, Packets, Wish, piece};

/// See the module.
pub struct Gathering {
    wish: Wish,
    packets: Packets,
    /// What came from each process: files without a name, so that nothing is left whatever happens.
    files: Vec<File>,
    hosts: Vec<Placement>,
}

impl Gathering {
    /// Makes the files.
    ///
    /// # Errors
    /// If the trace cannot be written, and the system's.
    pub fn start(wish: Wish, program: &OsStr, hosts: &[Placement]) -> Result<Gathering, Error> {
        let packets = Packets::create(&wish, program)?;
        let processes = hosts.iter().map(|host| host.count).sum::<u32>();
        let files = (0..processes).map(|_| tempfile::tempfile()).collect::<io::Result<_>>();
        let files = files.map_err(|source| Error::System { what: "make files for the trace", source })?;
        Ok(Gathering { wish, packets, files, hosts: hosts.to_vec() })
    }

    /// Bytes of buffers for each thread.
    pub fn bytes(&self) -> u64 {
        self.wish.bytes
    }

    /// What the daemons are asked for.
    pub fn request(&self) -> Request {
        let count = self.files.len() as u32;
        // Each daemon writes as the buffers of its processes, and no process, do.
        let wanted = Wanted { variable: String::new(), first: 0, count, most: u64::MAX };
        let path = |file: &File| format!("/proc/self/fd/{}", file.as_raw_fd()).into();
        Request { wanted, paths: self.files.iter().map(path).collect() }
    }

    /// Writes the trace, when all has come, and says what is wrong with it.
    pub fn finish(mut self) {
        let written = self.write();
        let Gathering { wish, packets, .. } = self;
        wish.judge(written.and(packets.finish()));
    }

    fn write(&mut self) -> io::Result<()> {
        let number = |rank: usize| self.hosts.iter().position(|h| h.ranks().contains(&(rank as u32)));
        let numbers: Vec<u32> = (0..self.files.len()).map(|rank| number(rank).unwrap_or(0) as u32).collect();
        let mut clocks = Clocks::new(numbers.clone());
        read(&mut self.files, &mut clocks)?;
        let offsets = clocks.offsets();
        let place = |(rank, host): (usize, &u32)| {
            let name = self.hosts[*host as usize].name.clone();
            let clock = offsets.get(host).copied().unwrap_or(0);
            (rank as u32, Place { host: Some((*host, name)), clock })
        };
        self.packets.converter.set_places(numbers.iter().enumerate().map(place).collect());
        read(&mut self.files, &mut self.packets)
    }
}

fn read(files: &mut [File], sink: &mut impl Sink) -> io::Result<()> {
    for (rank, file) in (0..).zip(files) {
        file.rewind()?;
        piece::read(&mut BufReader::new(file), rank, sink)?;
    }
    Ok(())
}
