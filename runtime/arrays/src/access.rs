//! Where pages are, and getting and putting elements.

use crate::array::{Array, RUN_BYTES, RUN_PAGES, Run, Span};
use crate::call::{self, Procedure};
use crate::fault::Fault;
use crate::memory::{Memory, Rank};
use crate::place::{Header, Place};
use crate::segment::{Landing, Outcome, Refusal, Segment, Source};

/// The array was destroyed during an operation on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destroyed;

/// Where an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// Nowhere yet: it is zero.
    Unplaced,
    /// At a process.
    At(Rank),
}

/// The operations on arrays of one process; its threads share it.
#[derive(Debug)]
pub struct Arrays<M> {
    /// The areas.
    pub memory: M,
}

/// Consecutive pages that are alike.
#[derive(Debug)]
pub(crate) enum Pages {
    /// So many have no place yet.
    Unplaced(usize),
    /// These are, or were, at one process.
    Placed(Run),
}

/// Where elements go: to memory of the program, or from there.
enum Direction<'a, B> {
    Get(&'a B),
    Put(&'a B),
}

impl<B> Clone for Direction<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Direction<'_, B> {}

impl<M: Memory> Arrays<M> {
    /// The pages at a process.
    pub(crate) fn segment(&self, at: Rank) -> Segment<'_, M> {
        Segment { memory: &self.memory, at }
    }

    /// Places of pages as words, from the cache or else from the entries, which are read with one look at each process that has some of them.
    async fn places(&self, array: &Array, first: u64, count: usize) -> [u64; RUN_PAGES] {
        let memory = &self.memory;
        let mut places = [0; RUN_PAGES];
        if memory.caches() {
            memory.load_words(memory.rank(), array.cached(first), &mut places[..count]).await;
        }
        if !places[..count].contains(&0) {
            return places;
        }
        let processes = memory.processes() as usize;
        for start in 0..processes.min(count) {
            let mine = || (start..count).step_by(processes);
            if mine().all(|i| places[i] != 0) {
                continue;
            }
            let mut entries = [0; RUN_PAGES];
            let entries = &mut entries[..mine().count()];
            let (directory, offset) = array.entry(first + start as u64, memory.processes());
            memory.load_words(directory, offset, entries).await;
            for (i, entry) in mine().zip(entries) {
                if places[i] == 0 && *entry != 0 && memory.caches() {
                    memory.store(memory.rank(), array.cached(first + i as u64), *entry).await;
                }
                if places[i] == 0 {
                    places[i] = *entry;
                }
            }
        }
        places
    }

    /// What is known of the place of pages from `first` on, of at most so many.
    pub(crate) async fn pages(&self, array: &Array, first: u64, count: u64) -> Pages {
        let count = count.min(RUN_PAGES as u64) as usize;
        let places = self.places(array, first, count).await;
        let places = &places[..count];
        let Some(Place { at, .. }) = Place::decode(places[0]) else {
            return Pages::Unplaced(places.iter().take_while(|word| **word == 0).count());
        };
        let mut run = Run::new(at, first);
        let there = places.iter().map_while(|word| Place::decode(*word).filter(|place| place.at == at));
        for place in there {
            run.push(place.version);
        }
        Pages::Placed(run)
    }

    /// Forgets the place of a page.
    pub(crate) async fn forget(&self, array: &Array, page: u64) {
        if self.memory.caches() {
            self.memory.store(self.memory.rank(), array.cached(page), 0).await;
        }
    }

    /// Goes on where a procedure was refused: forgets the place of the page or lets others go on.
    pub(crate) async fn recover(
        &self,
        array: &Array,
        page: u64,
        refusal: Option<Refusal>,
        attempt: &mut u32,
    ) -> Result<(), Destroyed> {
        match refusal {
            None => *attempt = 0,
            Some(Refusal::Destroyed) => return Err(Destroyed),
            // The entry has the next place already: it is written before the old header is cleared.
            Some(Refusal::Elsewhere) => self.forget(array, page).await,
            Some(Refusal::Moving) => {
                self.memory.pause(*attempt).await;
                *attempt = attempt.saturating_add(1);
            }
        }
        Ok(())
    }

    /// The place of a page, as far as it is cached.
    #[inline]
    async fn cached_place(&self, array: &Array, page: u64) -> Option<Place> {
        match self.memory.caches() {
            true => Place::decode(self.memory.load(self.memory.rank(), array.cached(page)).await),
            false => None,
        }
    }

    /// The page that a range is in, if it is in one whose remembered place is mapped: what most operations are about.
    #[inline]
    async fn mapped_page(&self, array: &Array, index: u64, bytes: usize) -> Option<(Span, Place)> {
        let (page, offset) = array.position(index, 0);
        let place = self.cached_place(array, page).await?;
        let is_mapped = offset + bytes <= array.used_bytes() && !self.memory.asks(place.at);
        is_mapped.then_some((Span { page, offset, bytes }, place))
    }

    /// Copies elements to memory of the program. `index` and `count` are in the array.
    ///
    /// # Errors
    /// Somebody destroys the array.
    #[inline]
    pub async fn get(
        &self,
        array: &Array,
        index: u64,
        count: u64,
        into: &M::Buffer,
    ) -> Result<(), Destroyed> {
        let total = (count * array.element_bytes) as usize;
        if let Some((span, place)) = self.mapped_page(array, index, total).await {
            let landing = Landing::Program(into, 0);
            if self.segment(place.at).read_page(array, span, place.version, landing).await.is_ok() {
                return Ok(());
            }
        }
        self.copy_pages(array, index, total, Direction::Get(into)).await
    }

    /// Copies `total` bytes from an element on, a run of pages at a time.
    async fn copy_pages(
        &self,
        array: &Array,
        index: u64,
        total: usize,
        direction: Direction<'_, M::Buffer>,
    ) -> Result<(), Destroyed> {
        let (mut done, mut attempt) = (0, 0);
        while done < total {
            let (page, offset) = array.position(index, done as u64);
            let bytes = (total - done).min(RUN_BYTES);
            let pages = array.spans((page, offset), bytes).count() as u64;
            let outcome = match (self.pages(array, page, pages).await, direction) {
                (Pages::Unplaced(count), Direction::Get(into)) => {
                    let bytes = array.spans((page, offset), bytes).take(count).map(|span| span.bytes).sum();
                    self.memory.clear(into, done, bytes);
                    Outcome { done: bytes, refusal: None }
                }
                (Pages::Unplaced(_), Direction::Put(_)) => self.claim(array, page).await,
                (Pages::Placed(run), Direction::Get(into)) => {
                    self.read(array, &run, (offset, bytes), (into, done)).await
                }
                (Pages::Placed(run), Direction::Put(source)) => {
                    self.write(array, &run, (offset, bytes), (source, done)).await
                }
            };
            done += outcome.done;
            let (page, _) = array.position(index, done as u64);
            self.recover(array, page, outcome.refusal, &mut attempt).await?;
        }
        Ok(())
    }

    async fn read(
        &self,
        array: &Array,
        run: &Run,
        (offset, bytes): (usize, usize),
        (into, to): (&M::Buffer, usize),
    ) -> Outcome {
        let bytes = bytes_of(array, run, (offset, bytes));
        if self.memory.asks(run.at) {
            return call::transfer(&self.memory, array, run, Procedure::Read { offset, bytes }, (into, to))
                .await;
        }
        self.segment(run.at).read(array, run, (offset, bytes), &mut Landing::Program(into, to)).await
    }

    /// Copies elements from memory of the program. `index` and `count` are in the array.
    ///
    /// # Errors
    /// Somebody destroys the array.
    #[inline]
    pub async fn put(
        &self,
        array: &Array,
        index: u64,
        count: u64,
        source: &M::Buffer,
    ) -> Result<(), Destroyed> {
        let total = (count * array.element_bytes) as usize;
        if let Some((span, place)) = self.mapped_page(array, index, total).await {
            let from = Source::Program(source, 0);
            if self.segment(place.at).write_page(array, span, place.version, from).await.is_ok() {
                return Ok(());
            }
        }
        self.copy_pages(array, index, total, Direction::Put(source)).await
    }

    async fn write(
        &self,
        array: &Array,
        run: &Run,
        (offset, bytes): (usize, usize),
        (source, from): (&M::Buffer, usize),
    ) -> Outcome {
        let bytes = bytes_of(array, run, (offset, bytes));
        if self.memory.asks(run.at) {
            return call::transfer(
                &self.memory,
                array,
                run,
                Procedure::Write { offset, bytes },
                (source, from),
            )
            .await;
        }
        self.segment(run.at).write(array, run, (offset, bytes), &Source::Program(source, from)).await
    }

    /// Takes a page that has no place; nothing of it is done yet.
    pub(crate) async fn claim(&self, array: &Array, page: u64) -> Outcome {
        let memory = &self.memory;
        let own = self.segment(memory.rank());
        let refused = Outcome { done: 0, refusal: Some(Refusal::Moving) };
        if !own.change(array, page, Header::ABSENT, Header::arriving(1)).await {
            return refused;
        }
        let place = Place { at: memory.rank(), version: 1 }.encode();
        let (directory, offset) = array.entry(page, memory.processes());
        if memory.fault(Fault::BlindClaim) {
            memory.store(directory, offset, place).await;
        } else if memory.compare_exchange(directory, offset, 0, place).await != 0 {
            own.set(array, page, Header::ABSENT).await;
            return Outcome { done: 0, refusal: None };
        }
        own.set(array, page, Header::open(1)).await;
        if memory.caches() {
            memory.store(memory.rank(), array.cached(page), place).await;
        }
        Outcome { done: 0, refusal: None }
    }

    /// Where an element is, read from its entry.
    pub async fn location(&self, array: &Array, index: u64) -> Location {
        let (directory, offset) = array.entry(array.page_of(index), self.memory.processes());
        let word = self.memory.load(directory, offset).await;
        Place::decode(word).map_or(Location::Unplaced, |place| Location::At(place.at))
    }
}

/// Bytes of a range that are in the pages of a run.
fn bytes_of(array: &Array, run: &Run, (offset, bytes): (usize, usize)) -> usize {
    array.spans((run.first, offset), bytes).take(run.versions().len()).map(|span| span.bytes).sum()
}
