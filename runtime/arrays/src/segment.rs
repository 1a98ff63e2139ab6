//! What happens to pages at one process. Each procedure is about a run of pages, which it takes one after the other up to the first that is not as expected, and waits for nobody.
//!
//! The requester executes it where it has that process's memory mapped, else the process itself does ([`crate::call`]).

use crate::array::{Array, Run, Span};
use crate::fault::Fault;
use crate::memory::{Memory, Rank};
use crate::place::Header;

/// Why a procedure ends before the last page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The page is not there in that version.
    Elsewhere,
    /// The page is being moved.
    Moving,
    /// There is no such array any more.
    Destroyed,
}

/// How far a procedure came: bytes or pages, and why no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Bytes or pages that are done.
    pub done: usize,
    /// Why not all.
    pub refusal: Option<Refusal>,
}

/// Memory for elements at the requester.
#[derive(Debug)]
pub enum Landing<'a, M: Memory> {
    /// Memory of the program, from a byte on.
    Program(&'a M::Buffer, usize),
    /// A message that the own pages go to.
    Message(&'a mut [u8]),
}

/// Elements of the requester.
#[derive(Debug)]
pub enum Source<'a, M: Memory> {
    /// Memory of the program, from a byte on.
    Program(&'a M::Buffer, usize),
    /// A message, which goes to own pages.
    Message(&'a [u8]),
}

/// The pages at a process.
#[derive(Debug)]
pub struct Segment<'a, M> {
    /// The areas.
    pub memory: &'a M,
    /// The process.
    pub at: Rank,
}

impl<M: Memory> Segment<'_, M> {
    /// Header of a page.
    #[inline]
    pub async fn header(&self, array: &Array, page: u64) -> Header {
        Header(self.memory.load(self.at, array.header(page)).await)
    }

    /// Replaces a header; returns whether it was still the expected one.
    pub async fn change(&self, array: &Array, page: u64, expected: Header, new: Header) -> bool {
        self.memory.compare_exchange(self.at, array.header(page), expected.0, new.0).await == expected.0
    }

    /// Writes a header that nobody else changes.
    pub async fn set(&self, array: &Array, page: u64, header: Header) {
        self.memory.store(self.at, array.header(page), header.0).await;
    }

    /// Copies bytes out of a page.
    #[inline]
    pub async fn read_page(
        &self,
        array: &Array,
        span: Span,
        version: u64,
        landing: Landing<'_, M>,
    ) -> Result<(), Refusal> {
        let from = array.page(span.page) + span.offset;
        if !self.header(array, span.page).await.has(version) {
            return Err(Refusal::Elsewhere);
        }
        match landing {
            Landing::Program(buffer, to) => self.memory.copy_out(self.at, from, buffer, to, span.bytes).await,
            Landing::Message(message) => self.memory.read_own(from, message).await,
        }
        let looks_again = !self.memory.fault(Fault::FreedRead);
        if looks_again && !self.header(array, span.page).await.has(version) {
            return Err(Refusal::Elsewhere);
        }
        Ok(())
    }

    /// Copies bytes into a page.
    #[inline]
    pub async fn write_page(
        &self,
        array: &Array,
        span: Span,
        version: u64,
        source: Source<'_, M>,
    ) -> Result<(), Refusal> {
        self.admit(array, span.page, version).await?;
        let to = array.page(span.page) + span.offset;
        match source {
            Source::Program(buffer, from) => self.memory.copy_in(self.at, to, buffer, from, span.bytes).await,
            Source::Message(message) => self.memory.write_own(to, message).await,
        }
        let mut header = self.header(array, span.page).await;
        while !self.change(array, span.page, header, header.without_put()).await {
            header = self.header(array, span.page).await;
        }
        Ok(())
    }

    /// Copies bytes out of pages. `offset` is that of the first in the first page.
    pub async fn read(
        &self,
        array: &Array,
        run: &Run,
        (offset, bytes): (usize, usize),
        landing: &mut Landing<'_, M>,
    ) -> Outcome {
        let mut done = 0;
        for (span, version) in array.spans((run.first, offset), bytes).zip(run.versions()) {
            let part = match landing {
                Landing::Program(buffer, to) => Landing::Program(*buffer, *to + done),
                Landing::Message(message) => Landing::Message(&mut message[done..done + span.bytes]),
            };
            if let Err(refusal) = self.read_page(array, span, *version, part).await {
                return Outcome { done, refusal: Some(refusal) };
            }
            done += span.bytes;
        }
        Outcome { done, refusal: None }
    }

    /// Copies bytes into pages. `offset` is that of the first in the first page.
    pub async fn write(
        &self,
        array: &Array,
        run: &Run,
        (offset, bytes): (usize, usize),
        source: &Source<'_, M>,
    ) -> Outcome {
        let mut done = 0;
        for (span, version) in array.spans((run.first, offset), bytes).zip(run.versions()) {
            let part = match source {
                Source::Program(buffer, from) => Source::Program(*buffer, *from + done),
                Source::Message(message) => Source::Message(&message[done..done + span.bytes]),
            };
            if let Err(refusal) = self.write_page(array, span, *version, part).await {
                return Outcome { done, refusal: Some(refusal) };
            }
            done += span.bytes;
        }
        Outcome { done, refusal: None }
    }

    /// Counts a put in, if the page is there and lets puts in.
    #[inline]
    async fn admit(&self, array: &Array, page: u64, version: u64) -> Result<(), Refusal> {
        loop {
            let header = self.header(array, page).await;
            if !header.has(version) {
                return Err(Refusal::Elsewhere);
            }
            let is_moving = header.is_moving() && !self.memory.fault(Fault::PutWhileLeaving);
            let Some(more) = header.with_put().filter(|_| !is_moving) else { return Err(Refusal::Moving) };
            if self.change(array, page, header, more).await {
                return Ok(());
            }
        }
    }

    /// Marks pages as leaving: no more puts are let in.
    pub async fn leave(&self, array: &Array, run: &Run) -> Outcome {
        let mut done = 0;
        for (page, version) in run.pages() {
            loop {
                let header = self.header(array, page).await;
                if !header.has(version) {
                    return Outcome { done, refusal: Some(Refusal::Elsewhere) };
                }
                let skips = header.is_arriving() && self.memory.fault(Fault::MoveArriving);
                if header.is_moving() && !skips {
                    return Outcome { done, refusal: Some(Refusal::Moving) };
                }
                if self.change(array, page, header, header.leaving()).await {
                    break;
                }
            }
            done += 1;
        }
        Outcome { done, refusal: None }
    }

    /// The leaving pages that no put is under way on, up to the first that one is.
    pub async fn drained(&self, array: &Array, run: &Run) -> Outcome {
        let mut done = 0;
        for (page, _) in run.pages() {
            if self.header(array, page).await.puts() != 0 {
                break;
            }
            done += 1;
        }
        Outcome { done, refusal: None }
    }

    /// Ends the stay of pages that have left, and gives their memory back.
    pub async fn retire(&self, array: &Array, run: &Run) {
        for (page, version) in run.pages() {
            let stays = self.memory.fault(Fault::StaleCache);
            self.set(array, page, if stays { Header::open(version) } else { Header::ABSENT }).await;
        }
        if !self.memory.fault(Fault::StaleCache) && !self.memory.fault(Fault::LateClear) {
            self.give_back(array, run).await;
        }
    }

    /// Gives the memory of pages that are not there back.
    pub(crate) async fn give_back(&self, array: &Array, run: &Run) {
        let bytes = run.versions().len() * array.page_bytes as usize;
        self.memory.give_back(self.at, array.page(run.first), bytes).await;
    }
}
