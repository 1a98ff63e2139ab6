//! What other processes have in memory of the pages that this one's pager wants ([`dsm_pager::linux::Copies`]).
//!
//! Processes of this host say of each page whether they have it (`Set::Present`), and their memory files are read by `pread(2)`: where a page has just left, that gives zeros, which do not have
//! the digest, where an access through a mapping would bring it back. Processes of other hosts are asked, and answer without their pagers, too.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use dsm_comm::segment::MemoryFile;
use dsm_comm::{CALL_BYTES, CALL_REPLY_BYTES, Segments};
use dsm_pager::linux::{COPIED_PAGES, Copies, Digest};
use dsm_pager::{PAGE_BYTES, Page};

use super::peers::has_page;
use crate::geometry::Geometry;
use crate::{self as memory, Shared, race};

/// First byte of a request for a page of another host's process.
pub const TAG: u8 = 0xfc;
/// Bytes of a request in front of the digests: the tag, the number of the first page.
const HEADER_BYTES: usize = 1 + 4;
/// Bytes of an answer in front of the contents: which pages were found.
const FOUND_BYTES: usize = 8;
/// Pages of a region that is judged as a whole.
const REGION_PAGES: u32 = 256;
/// Most pages of a region that other hosts are not asked for after they had none of a request's, for each of those.
const MOST_SKIPPED: u32 = 15;

const _: () = assert!(FOUND_BYTES + COPIED_PAGES * PAGE_BYTES <= CALL_REPLY_BYTES);
const _: () = assert!(HEADER_BYTES + COPIED_PAGES * Digest::BYTES <= CALL_BYTES);

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
    /// Who had some of the last pages, or may have the next ones: a place in the list.
    candidate: usize,
    /// Failures since.
    failures: u32,
    /// Pages that they are not asked for.
    skip: u32,
}

impl Region {
    fn succeeded(&mut self) {
        *self = Region { candidate: self.candidate, ..Region::default() };
    }

    /// One of `count` processes had none of so many pages: the next one is asked, and when all have failed, for fewer and fewer pages.
    fn failed(&mut self, count: usize, pages: usize) {
        self.candidate = (self.candidate + 1) % count;
        self.failures += 1;
        let rounds = self.failures / count as u32;
        self.skip = pages as u32 * ((1 << rounds.min(8)) - 1).min(MOST_SKIPPED);
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
        let files = (0u32..).zip(shared.files).filter(|(at, _)| *at != rank);
        let (near, far): (Vec<_>, Vec<_>) = files.partition(|(_, file)| file.is_some());
        JobCopies {
            geometry,
            segments: shared.segments,
            near: near.into_iter().filter_map(|(at, file)| Some((at, file.as_ref()?))).collect(),
            // Where races are looked for, contents are read into paged memory while their thread has its turn with the peer, which nobody may ask meanwhile.
            far: far.into_iter().map(|(at, _)| at).filter(|_| !race::is_on()).collect(),
            turn: AtomicU32::new(rank),
            regions: Mutex::default(),
        }
    }

    fn region<R>(&self, page: Page, with: impl FnOnce(&mut Region) -> R) -> R {
        let mut regions = self.regions.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        with(regions.entry(page.0 / REGION_PAGES).or_default())
    }

    fn copy_near(&self, first: Page, contents: &[Digest], into: &mut [u8]) -> u64 {
        let (before, behind) = self.near.split_at(match self.near.len() {
            0 => 0,
            count => self.turn.fetch_add(1, Ordering::Relaxed) as usize % count,
        });
        let missing = |copied: u64| (0..contents.len()).filter(move |at| copied & 1 << at == 0);
        behind.iter().chain(before).fold(0, |copied, (rank, file)| {
            let present = pages_present(&self.segments, self.geometry, *rank, first, missing(copied));
            copied | read(file, first, contents, present, into)
        })
    }

    /// Asks one process.
    fn copy_far(&self, first: Page, contents: &[Digest], into: &mut [u8]) -> u64 {
        let candidate = self.region(first, |region| region.candidate);
        let mut reply = vec![0; CALL_REPLY_BYTES];
        let length = self.segments.ask(self.far[candidate], &encode(first, contents), &mut reply);
        let found = take_answer(&reply[..length], contents.len(), into).unwrap_or(0);
        self.region(first, |region| match found {
            0 => region.failed(self.far.len(), contents.len()),
            _ => region.succeeded(),
        });
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

    fn copy(&self, first: Page, contents: &[Digest], far: bool, into: &mut [u8]) -> u64 {
        if far { self.copy_far(first, contents, into) } else { self.copy_near(first, contents, into) }
    }
}

/// Which of some pages behind the first a process of this host has in memory, one bit for each.
fn pages_present(
    segments: &Segments,
    geometry: &Geometry,
    rank: u32,
    first: Page,
    pages: impl Iterator<Item = usize>,
) -> u64 {
    let has = |at: &usize| has_page(segments, geometry, rank, Page(first.0 + *at as u32));
    pages.filter(has).fold(0, |present, at| present | 1 << at)
}

/// Reads pages of a memory file. Returns those that have these contents; both are one bit for each page behind the first.
fn read(file: &MemoryFile, first: Page, contents: &[Digest], pages: u64, into: &mut [u8]) -> u64 {
    let (mut copied, mut at) = (0, 0);
    while at < contents.len() && pages >> at != 0 {
        at += (pages >> at).trailing_zeros() as usize;
        let count = (pages >> at).trailing_ones() as usize;
        let end = into.len().min((at + count) * PAGE_BYTES);
        let part = &mut into[at * PAGE_BYTES..end];
        if file.read_at((first.0 as usize + at) * PAGE_BYTES, part) {
            let found = part.chunks(PAGE_BYTES).zip(&contents[at..]).zip(at..);
            copied |= found
                .filter(|((page, contents), _)| Digest::of(page) == **contents)
                .fold(0, |copied, (_, at)| copied | 1 << at);
        }
        at += count;
    }
    copied
}

/// A request for pages that follow each other, with their digests.
fn encode(first: Page, contents: &[Digest]) -> Vec<u8> {
    let header = std::iter::once(TAG).chain(first.0.to_le_bytes());
    header.chain(contents.iter().flat_map(|digest| digest.to_bytes())).collect()
}

/// The first page of a request, the digests, and the length of the pages in data of so many bytes; `None`: there are no such pages.
fn decode(request: &[u8], data_bytes: usize) -> Option<(Page, Vec<Digest>, usize)> {
    let (header, digests) = request.split_first_chunk::<HEADER_BYTES>()?;
    let (digests, rest) = digests.as_chunks::<{ Digest::BYTES }>();
    let first = u32::from_le_bytes(*header.last_chunk().expect("four bytes"));
    let left = data_bytes.checked_sub(first as usize * PAGE_BYTES)?;
    let pages = left.div_ceil(PAGE_BYTES).min(COPIED_PAGES);
    let is_valid = rest.is_empty() && (1..=pages).contains(&digests.len());
    let length = left.min(digests.len() * PAGE_BYTES);
    is_valid
        .then(|| (Page(first), digests.iter().map(|digest| Digest::from_bytes(*digest)).collect(), length))
}

/// Takes the contents of the pages that were found out of an answer for so many pages. Returns which they are, one bit for each; `None`: the answer makes no sense, and nothing is known of `into`.
fn take_answer(answer: &[u8], pages: usize, into: &mut [u8]) -> Option<u64> {
    let (found, mut contents) = answer.split_first_chunk::<FOUND_BYTES>()?;
    let found = u64::from_le_bytes(*found);
    for (_, page) in into.chunks_mut(PAGE_BYTES).enumerate().filter(|(at, _)| found & 1 << at != 0) {
        let (of_page, rest) = contents.split_at_checked(page.len())?;
        page.copy_from_slice(of_page);
        contents = rest;
    }
    let is_valid = contents.is_empty() && (pages == COPIED_PAGES || found >> pages == 0);
    is_valid.then_some(found)
}

/// Answers another host's process that asks for pages: with which of them are in memory here with the contents that it wants, then these. `None`: the request makes no sense.
pub fn serve(shared: &Shared, request: &[u8], reply: &mut [u8]) -> Option<usize> {
    let (geometry, rank) = (memory::get().geometry, memory::get().rank);
    if !geometry.is_paged() {
        return None;
    }
    let (first, contents, length) = decode(request, geometry.data_and_metadata().0.end)?;
    let (found_bytes, into) = reply.split_first_chunk_mut::<FOUND_BYTES>()?;
    let into = into.get_mut(..length)?;
    let present = pages_present(&shared.segments, geometry, rank, first, 0..contents.len());
    let found = read(shared.own_file, first, &contents, present, into);
    *found_bytes = found.to_le_bytes();
    let mut end = 0;
    for at in (0..contents.len()).filter(|at| found & 1 << at != 0) {
        let page = at * PAGE_BYTES..length.min((at + 1) * PAGE_BYTES);
        let bytes = page.len();
        into.copy_within(page, end);
        end += bytes;
    }
    Some(FOUND_BYTES + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_without_pages_is_asked_less_and_less() {
        let mut region = Region::default();
        let asked = |pages: u32, region: &mut Region| {
            let fails = |region: &mut Region| region.asks().then(|| region.failed(2, 1)).is_some();
            (0..pages).filter(|_| fails(region)).count()
        };
        assert_eq!(asked(3, &mut region), 2, "each process once");
        assert!(asked(1000, &mut region) < 80);
        region.succeeded();
        assert!(region.asks());
        assert!(asked(10_000, &mut region) > 10_000 / 20);
    }

    #[test]
    fn a_request_for_many_pages_fails_once() {
        let mut region = Region::default();
        region.failed(1, 64);
        assert_eq!((0..1000).take_while(|_| !region.asks()).count(), 64);
    }

    #[test]
    fn damaged_requests_name_pages_of_the_data_or_none() {
        const DATA: usize = 100 * PAGE_BYTES + 1024;
        let digests = [b"a", b"b", b"c"].map(|contents| Digest::of(contents));
        let request = encode(Page(98), &digests);
        let whole = (Page(98), digests.to_vec(), 2 * PAGE_BYTES + 1024);
        assert_eq!(decode(&request, DATA), Some(whole));
        assert!(decode(&encode(Page(99), &digests), DATA).is_none());
        assert!(decode(&encode(Page(99), &[]), DATA).is_none());
        dsm_mutate::each(&[request], 20_000, |bytes| {
            if let Some((first, contents, length)) = decode(bytes, DATA) {
                assert!(first.0 as usize * PAGE_BYTES + length <= DATA);
                assert_eq!(length.div_ceil(PAGE_BYTES), contents.len());
            }
        });
    }

    #[test]
    fn pages_are_read_if_they_have_the_contents() {
        let file = MemoryFile::create("copies").expect("a file");
        file.set_size(8 * PAGE_BYTES as u64).expect("zeros");
        let page = |contents: u8| [contents; PAGE_BYTES];
        let digests = [7, 0, 0, 9].map(|contents| Digest::of(&page(contents)));
        let mut into = vec![1; 4 * PAGE_BYTES];
        assert_eq!(read(&file, Page(2), &digests, 0b1011, &mut into), 0b10);
        assert!(into[PAGE_BYTES..2 * PAGE_BYTES].iter().all(|byte| *byte == 0));
        assert!(into[2 * PAGE_BYTES..3 * PAGE_BYTES].iter().all(|byte| *byte == 1), "it was not to be read");
    }

    #[test]
    fn damaged_answers_bring_whole_pages_or_none() {
        let mut answer = 0b101u64.to_le_bytes().to_vec();
        answer.extend([1; PAGE_BYTES]);
        answer.extend([2; 1024]);
        let mut into = vec![0; 2 * PAGE_BYTES + 1024];
        assert_eq!(take_answer(&answer, 3, &mut into), Some(0b101));
        assert!(into[..PAGE_BYTES].iter().all(|byte| *byte == 1));
        assert!(into[2 * PAGE_BYTES..].iter().all(|byte| *byte == 2));
        dsm_mutate::each(&[answer], 2000, |bytes| {
            if let Some(found) = take_answer(bytes, 3, &mut into) {
                let last = 1024 * (found >> 2 & 1) as usize;
                let whole = PAGE_BYTES * (found & 0b11).count_ones() as usize;
                assert_eq!(bytes.len(), FOUND_BYTES + whole + last);
            }
        });
    }
}
