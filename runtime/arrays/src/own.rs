//! Moving pages to this process.

use crate::access::{Arrays, Destroyed, Pages};
use crate::array::{Array, RUN_BYTES, Run};
use crate::call::{self, Procedure};
use crate::fault::Fault;
use crate::memory::{Memory, Rank};
use crate::place::{Header, Place};
use crate::segment::{Outcome, Refusal};

impl<M: Memory> Arrays<M> {
    /// Moves the pages with these elements to this process, one step after the other: somebody else may move those on that have come. `index` and `count` are in the array.
    ///
    /// # Errors
    /// Somebody destroys the array.
    pub async fn own(&self, array: &Array, index: u64, count: u64) -> Result<(), Destroyed> {
        let end = array.page_of(index + count - 1) + 1;
        let most = (RUN_BYTES as u64 / array.page_bytes).max(1);
        let (mut page, mut attempt) = (array.page_of(index), 0);
        while page < end {
            let outcome = match self.pages(array, page, (end - page).min(most)).await {
                Pages::Unplaced(_) => self.claim(array, page).await,
                Pages::Placed(run) if run.at == self.memory.rank() => self.check_own_pages(array, &run).await,
                Pages::Placed(run) => self.move_pages(array, run).await,
            };
            page += outcome.done as u64;
            self.recover(array, page, outcome.refusal, &mut attempt).await?;
        }
        Ok(())
    }

    /// The pages that are here and stay, up to the first that is not.
    async fn check_own_pages(&self, array: &Array, run: &Run) -> Outcome {
        let mut done = 0;
        for (page, version) in run.pages() {
            let header = self.segment(run.at).header(array, page).await;
            if !header.has(version) {
                return Outcome { done, refusal: Some(Refusal::Elsewhere) };
            }
            if header.is_moving() {
                return Outcome { done, refusal: Some(Refusal::Moving) };
            }
            done += 1;
        }
        Outcome { done, refusal: None }
    }

    /// Moves pages of another process to here, up to the first that has gone elsewhere or is being moved by somebody else.
    async fn move_pages(&self, array: &Array, mut run: Run) -> Outcome {
        let memory = &self.memory;
        let outcome = self.leave(array, &run).await;
        run.truncate(outcome.done);
        if outcome.done == 0 {
            return outcome;
        }
        let mut attempt = 0;
        while !memory.fault(Fault::LostPut) && self.drained(array, &run).await.done < outcome.done {
            memory.pause(attempt).await;
            attempt += 1;
        }
        let mut arrival = Run::new(memory.rank(), run.first);
        for (page, version) in run.pages() {
            let next = version + u64::from(!memory.fault(Fault::SameVersion));
            self.expect(array, page, next).await;
            arrival.push(next);
        }
        memory.fetch(run.at, array.page(run.first), outcome.done * array.page_bytes as usize).await;
        if memory.fault(Fault::EarlyAdmission) {
            self.open(array, &arrival).await;
        }
        if !memory.fault(Fault::LateEntry) {
            self.enter(array, &arrival).await;
        }
        self.retire(array, &run).await;
        if !memory.fault(Fault::EarlyAdmission) {
            self.open(array, &arrival).await;
        }
        if memory.fault(Fault::LateEntry) {
            self.enter(array, &arrival).await;
        }
        if memory.fault(Fault::LateClear) {
            self.segment(run.at).give_back(array, &run).await;
        }
        self.remember(array, &arrival).await;
        outcome
    }

    async fn leave(&self, array: &Array, run: &Run) -> Outcome {
        match self.memory.asks(run.at) {
            true => call::execute(&self.memory, array, run, Procedure::Leave).await,
            false => self.segment(run.at).leave(array, run).await,
        }
    }

    async fn drained(&self, array: &Array, run: &Run) -> Outcome {
        match self.memory.asks(run.at) {
            true => call::execute(&self.memory, array, run, Procedure::Drained).await,
            false => self.segment(run.at).drained(array, run).await,
        }
    }

    async fn retire(&self, array: &Array, run: &Run) {
        match self.memory.asks(run.at) {
            true => _ = call::execute(&self.memory, array, run, Procedure::Retire).await,
            false => self.segment(run.at).retire(array, run).await,
        }
    }

    /// Says in the own header that the page is coming. Another thread may be about to find out that it cannot claim it.
    async fn expect(&self, array: &Array, page: u64, version: u64) {
        let own = self.segment(self.memory.rank());
        let mut attempt = 0;
        while !own.change(array, page, Header::ABSENT, Header::arriving(version)).await {
            self.memory.pause(attempt).await;
            attempt += 1;
        }
    }

    /// Lets puts in.
    async fn open(&self, array: &Array, run: &Run) {
        for (page, version) in run.pages() {
            self.segment(run.at).set(array, page, Header::open(version)).await;
        }
    }

    /// Writes the places of pages that are arriving here to their entries, with one write for each process that has some of them.
    async fn enter(&self, array: &Array, run: &Run) {
        let processes = self.memory.processes();
        let count = run.versions().len();
        for start in 0..count.min(processes as usize) {
            let mut words = [0; crate::array::RUN_PAGES];
            let mut length = 0;
            for version in run.versions().iter().skip(start).step_by(processes as usize) {
                words[length] = Place { at: run.at, version: *version }.encode();
                length += 1;
            }
            let (directory, offset) = array.entry(run.first + start as u64, processes);
            self.memory.store_words(directory, offset, &words[..length]).await;
        }
    }

    /// Remembers where pages are.
    async fn remember(&self, array: &Array, run: &Run) {
        if !self.memory.caches() {
            return;
        }
        for (page, version) in run.pages() {
            let place = Place { at: run.at, version };
            self.memory.store(self.memory.rank(), array.cached(page), place.encode()).await;
        }
    }

    /// Has the memory of a range of an area given back, of an array that is gone.
    pub(crate) async fn give_back(&self, at: Rank, array: &Array) {
        let (offset, bytes) = (array.range().start, array.range().len());
        match self.memory.asks(at) {
            true => {
                let procedure = Procedure::GiveBack { offset, bytes };
                call::execute(&self.memory, array, &Run::new(at, 0), procedure).await;
            }
            false => self.memory.give_back(at, offset, bytes).await,
        }
    }
}
