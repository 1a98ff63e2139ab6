//! Memory larger than DRAM (`DSM_MEMORY`, `DSM_SPILL`): the process's copy of heap, stacks and globals, their twins, and what the protocol knows of each block are in a memory file of which a pager
//! ([`dsm_pager`]) keeps a part resident.
//!
//! The pager is below the coherence protocol: a block's contents are where they always are, and who touches them may wait for the disk, be it the program, the protocol, or another process
//! that has this one's segment mapped.

pub mod copies;
pub mod peers;

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use dsm_comm::Segments;
use dsm_comm::segment::MemoryFile;
use dsm_pager::linux::{
    Copies, Disk, FileError, Handle, Mapping, Peers, Service, SingleProcess, SpillFile, UserfaultError, View,
};
use dsm_pager::replacement::{Replacement, S3Fifo, SecondChance};
use dsm_pager::{PAGE_BYTES, Page, Statistics};
use thiserror::Error;

use super::Shared;
use super::geometry::Geometry;
use crate::config::{self, Policy, Transport};
use crate::job::die;
use crate::services::{as_services, spawn_service};
use copies::JobCopies;
use peers::JobPeers;
pub(crate) use peers::{Store, mark_discardable, unmark_discardable};

/// Why there is no pager.
#[derive(Debug, Error)]
pub enum PagingError {
    /// The transport's adapters keep what they have registered.
    #[error(
        "--memory (DSM_MEMORY) does not go with DSM_TRANSPORT=verbs, whose adapters hold on to memory; take stream or ofi between hosts"
    )]
    Pinned,
    /// The system does not hand over page faults.
    #[error("--memory (DSM_MEMORY): {0}")]
    Userfault(#[from] UserfaultError),
    /// There is no file.
    #[error("{0}")]
    File(#[from] FileError),
    /// Pages have numbers of 32 bits.
    #[error(
        "--memory (DSM_MEMORY) does not go with so much address space for data; lower DSM_HEAP, or take fewer processes"
    )]
    TooLarge,
    /// There can be no transfers.
    #[error("--memory (DSM_MEMORY): cannot transfer memory to disk: {0}")]
    Disk(std::io::Error),
}

/// The service's other end, once there is one.
static PAGER: OnceLock<Handle> = OnceLock::new();

/// Most memory for the program's data in each process, bytes, if it is limited.
#[inline]
pub fn limit() -> Option<usize> {
    config::get().memory_bytes
}

/// Whether there is a pager.
#[inline]
pub fn is_on() -> bool {
    PAGER.get().is_some()
}

/// What the pager has counted, by name.
pub fn values() -> Vec<(&'static str, u64)> {
    let Some(handle) = PAGER.get() else { return Vec::new() };
    let Statistics {
        faults,
        zeroed,
        read,
        reads,
        read_ahead,
        copied,
        written,
        writes,
        left_clean,
        discarded,
        stored_while_written,
        in_use,
        spared,
        waited_for_frames,
    } = handle.statistics();
    vec![
        ("paging_faults", faults),
        ("paging_pages_zeroed", zeroed),
        ("paging_pages_read", read),
        ("paging_reads", reads),
        ("paging_pages_read_ahead", read_ahead),
        ("paging_pages_copied", copied),
        ("paging_pages_written", written),
        ("paging_writes", writes),
        ("paging_pages_left_clean", left_clean),
        ("paging_pages_discarded", discarded),
        ("paging_stored_while_written", stored_while_written),
        ("paging_pages_in_use", in_use),
        ("paging_pages_spared", spared),
        ("paging_waits_for_frames", waited_for_frames),
    ]
}

/// Starts the pager, if memory is limited. Its thread starts at once: from now on who touches the data may need it.
///
/// # Errors
/// The system has no userfaultfd, the spill file or its transfers cannot be set up, the transport pins memory, or there
/// are more pages than have numbers: see [`PagingError`].
pub fn start(
    geometry: &'static Geometry,
    segments: Segments,
    (own_file, shared): (&MemoryFile, Option<&'static Shared>),
    rank: u32,
) -> Result<(), PagingError> {
    let Some(limit) = limit() else { return Ok(()) };
    if matches!(config::get().transport, Transport::Verbs { .. }) {
        return Err(PagingError::Pinned);
    }
    let paged = Paged { geometry, segments, own_file, shared, rank, limit };
    match (geometry.processes(), config::get().replacement) {
        (1, Policy::S3Fifo) => paged.start(SingleProcess, S3Fifo::default()),
        (1, Policy::SecondChance) => paged.start(SingleProcess, SecondChance::default()),
        (_, Policy::S3Fifo) => paged.start(JobPeers::new(geometry, segments, rank), S3Fifo::default()),
        (_, Policy::SecondChance) => {
            paged.start(JobPeers::new(geometry, segments, rank), SecondChance::default())
        }
    }
}

/// What is paged.
struct Paged<'a> {
    geometry: &'static Geometry,
    segments: Segments,
    own_file: &'a MemoryFile,
    shared: Option<&'static Shared>,
    rank: u32,
    limit: usize,
}

impl Paged<'_> {
    fn start(
        &self,
        peers: impl Peers + 'static,
        replacement: impl Replacement + Send + 'static,
    ) -> Result<(), PagingError> {
        let paged = self.geometry.paged();
        if paged.end.div_ceil(PAGE_BYTES) > Page::MOST {
            return Err(PagingError::TooLarge);
        }
        let file = SpillFile::create(Path::new(&config::get().spill), paged.end)?;
        // Twins and records of processes differ.
        let copies = self.copies().map(|copies| (copies, self.geometry.data_and_metadata().0.end));
        let disk = as_services(|| Disk::new(file, copies)).map_err(PagingError::Disk)?;
        let own_view = View(self.view(self.rank).expect("the own segment is mapped"));
        let others = (0..self.geometry.processes()).filter(|rank| *rank != self.rank);
        let views = others.filter_map(|rank| Some((rank, View(self.view(rank)?)))).collect();
        let service = Service::new(
            (self.mappings(), own_view),
            views,
            (disk, self.limit),
            peers,
            replacement,
            self.own_file.resident(paged),
        )?;
        assert!(PAGER.set(service.handle()).is_ok(), "one pager a process");
        spawn_service("dsm-pager", "memory that does not fit", move || {
            let Err(error) = service.run();
            die(&error.to_string());
        });
        if self.geometry.processes() > 1 {
            self.serve_requests();
        }
        Ok(())
    }

    /// The other processes' memory.
    fn copies(&self) -> Option<Arc<dyn Copies>> {
        let shared = self.shared.filter(|_| config::get().cooperation)?;
        Some(Arc::new(JobCopies::new(self.geometry, shared, self.rank)))
    }

    /// Where the program has its data.
    fn mappings(&self) -> Vec<Mapping> {
        let region = (self.geometry.region(), self.geometry.region_offset());
        let placed = self.geometry.globals().placed().chain([region]);
        let mut mappings: Vec<_> = placed.map(|(addresses, offset)| Mapping { addresses, offset }).collect();
        mappings.sort_by_key(|mapping| mapping.offset);
        mappings
    }

    /// Where this process has the paged part of a process's segment mapped.
    fn view(&self, rank: u32) -> Option<Range<usize>> {
        self.segments.mapped_addresses(rank, self.geometry.paged())
    }

    /// Has the pager look at other processes' requests, and at their answers to its own.
    fn serve_requests(&self) {
        let bell = peers::bell(self.rank);
        let handle = PAGER.get().expect("it was just started").clone();
        spawn_service("dsm-pager-peers", "requests and answers for memory that does not fit", move || {
            let mut seen = 0;
            loop {
                seen = bell.sleep_until(|count| count != seen);
                handle.notify();
            }
        });
    }
}
