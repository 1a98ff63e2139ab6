//! What other processes have in memory of the pages that this one's pager wants ([`dsm_pager::linux::Copies`]).
//!
//! Processes of this host say of each page whether they have it (`Set::Present`), and their memory files are read by `pread(2)`: where a page has just left, that gives zeros, which do not have
//! the digest, where an access through a mapping would bring it back. Processes of other hosts are asked, and answer without their pagers, too.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use dsm_comm::segment::MemoryFile;
use dsm_comm::{CALL_REPLY_BYTES, Segments};
use dsm_pager::linux::{Copies, Digest};
use dsm_pager::{PAGE_BYTES, Page};

use super::peers::has_page;
use crate::memory::geometry::Geometry;
use crate::memory::{self, Shared};
use crate::sync;

/// First byte of a request for a page of another host's process.
pub const TAG: u8 = dsm_sync::KIND - 1;
/// The tag, the number of the page, its digest.
const REQUEST_BYTES: usize = 1 + 4 + Digest::BYTES;
/// Pages of a region that is judged as a whole.
const REGION_PAGES: u32 = 64;
/// Most pages of a region that other hosts are not asked for after failures.
const MOST_SKIPPED: u32 = 15;

/// Other processes of the job.
pub(super) struct JobCopies {
    geometry: &'static Geometry,
    segments: Segments,
    /// Processes of this host, with their memory files.
    near: Vec<(u32, &'static MemoryFile)>,
    /// Processes of other hosts.
    far: Vec<u32>,
    /// Who is asked first.
    turn: AtomicU32,
    regions: Mutex<BTreeMap<u32, Region>>,
}

/// How it went with the other hosts' processes in a region.
#[derive(Clone, Copy, Debug, Default)]
struct Region {
    /// Who had the last page, or may have the next one: a place in the list.
    who: usize,
    /// Failures since.
    failures: u32,
    /// Pages that they are not asked for.
    skip: u32,
}

impl Region {
    fn succeeded(&mut self) {
        *self = Region { who: self.who, ..Region::default() };
    }

    /// The next one of `count` processes is asked; when all have failed, for fewer and fewer pages.
    fn failed(&mut self, count: usize) {
        self.who = (self.who + 1) % count;
        self.failures += 1;
        let rounds = self.failures / count as u32;
        self.skip = ((1 << rounds.min(8)) - 1).min(MOST_SKIPPED);
    }

    /// Whether a page is one to ask for.
    fn asks(&mut self) -> bool {
        let asks = self.skip == 0;
        self.skip = self.skip.saturating_sub(1);
        asks
    }
}

impl JobCopies {
    pub(super) fn new(geometry: &'static Geometry, shared: &'static Shared, rank: u32) -> JobCopies {
        let files = (0u32..).zip(&shared.peer_files).filter(|(at, _)| *at != rank);
        let (near, far): (Vec<_>, Vec<_>) = files.partition(|(_, file)| file.is_some());
        JobCopies {
            geometry,
            segments: shared.segments,
            near: near.into_iter().filter_map(|(at, file)| Some((at, file.as_ref()?))).collect(),
            far: far.into_iter().map(|(at, _)| at).collect(),
            turn: AtomicU32::new(rank),
            regions: Mutex::default(),
        }
    }

    fn region<R>(&self, page: Page, with: impl FnOnce(&mut Region) -> R) -> R {
        let mut regions = self.regions.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        with(regions.entry(page.0 / REGION_PAGES).or_default())
    }

    /// Asks one process of another host.
    fn ask(&self, page: Page, contents: Digest, into: &mut [u8]) -> bool {
        let who = self.region(page, |region| region.who);
        let request = Request { page, contents }.encode();
        let mut reply = vec![0; CALL_REPLY_BYTES];
        let length = self.segments.ask(self.far[who], &request, &mut reply);
        let found = length == into.len();
        if found {
            into.copy_from_slice(&reply[..length]);
        }
        self.region(page, |region| if found { region.succeeded() } else { region.failed(self.far.len()) });
        found
    }
}

impl Copies for JobCopies {
    fn has_near(&self) -> bool {
        !self.near.is_empty()
    }

    fn is_near(&self, page: Page) -> bool {
        self.near.iter().any(|(rank, _)| has_page(&self.segments, self.geometry, *rank, page))
    }

    fn may_be_far(&self, page: Page) -> bool {
        !self.far.is_empty() && self.region(page, Region::asks)
    }

    fn copy(&self, page: Page, contents: Digest, far: bool, into: &mut [u8]) -> bool {
        let (before, behind) = self.near.split_at(match self.near.len() {
            0 => 0,
            count => self.turn.fetch_add(1, Ordering::Relaxed) as usize % count,
        });
        for (rank, file) in behind.iter().chain(before) {
            if has_page(&self.segments, self.geometry, *rank, page) && read(file, page, contents, into) {
                return true;
            }
        }
        far && self.ask(page, contents, into)
    }
}

/// Reads a page of a memory file, if it has these contents.
fn read(file: &MemoryFile, page: Page, contents: Digest, into: &mut [u8]) -> bool {
    file.read_at(page.0 as usize * PAGE_BYTES, into) && Digest::of(into) == contents
}

/// A request for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request {
    page: Page,
    contents: Digest,
}

impl Request {
    fn encode(self) -> [u8; REQUEST_BYTES] {
        let mut bytes = [TAG; REQUEST_BYTES];
        bytes[1..5].copy_from_slice(&self.page.0.to_le_bytes());
        bytes[5..].copy_from_slice(&self.contents.to_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Request> {
        let bytes: &[u8; REQUEST_BYTES] = bytes.try_into().ok()?;
        Some(Request {
            page: Page(u32::from_le_bytes(bytes[1..5].try_into().expect("four bytes"))),
            contents: Digest::from_bytes(bytes[5..].try_into().expect("a digest")),
        })
    }

    /// Length of the page in data of so many bytes; `None`: there is no such page.
    fn length(self, data_bytes: usize) -> Option<usize> {
        let left = data_bytes.checked_sub(self.page.0 as usize * PAGE_BYTES)?;
        (left > 0).then_some(left.min(PAGE_BYTES))
    }
}

/// Answers another host's process that asks for a page: with its contents if they are in memory here, else with nothing. `None`: the request makes no sense.
pub fn serve(shared: &Shared, request: &[u8], reply: &mut [u8]) -> Option<usize> {
    let (geometry, rank) = (memory::get().geometry, sync::rank());
    let request = Request::decode(request).filter(|_| geometry.is_paged())?;
    let into = reply.get_mut(..request.length(geometry.data_and_metadata().0.end)?)?;
    let Request { page, contents } = request;
    let found =
        has_page(&shared.segments, geometry, rank, page) && read(&shared.own_file, page, contents, into);
    Some(if found { into.len() } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_without_pages_is_asked_less_and_less() {
        let mut region = Region::default();
        let asked = |pages: u32, region: &mut Region| {
            let fails = |region: &mut Region| region.asks().then(|| region.failed(2)).is_some();
            (0..pages).filter(|_| fails(region)).count()
        };
        assert_eq!(asked(3, &mut region), 2, "each process once");
        assert!(asked(1000, &mut region) < 80);
        region.succeeded();
        assert!(region.asks());
        assert!(asked(10_000, &mut region) > 10_000 / 20);
    }

    #[test]
    fn damaged_requests_name_pages_of_the_data_or_none() {
        const DATA: usize = 100 * PAGE_BYTES + 4096;
        let request = Request { page: Page(100), contents: Digest::of(b"contents") };
        assert_eq!(Request::decode(&request.encode()), Some(request));
        assert_eq!(request.length(DATA), Some(4096));
        assert_eq!(Request { page: Page(101), ..request }.length(DATA), None);
        dsm_mutate::each(&[request.encode()], 20_000, |bytes| {
            if let Some(length) = Request::decode(bytes).and_then(|request| request.length(DATA)) {
                assert!((1..=PAGE_BYTES).contains(&length));
            }
        });
    }
}
