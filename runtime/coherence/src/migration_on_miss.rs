//! Migration on miss: a miss takes the home, before anything is stored. Then no twin is made, no diff is computed, and the release publishes in place.
//!
//! A miss for stores of a block that is not here migrates every home that it can; of a block of which there is a copy here, only if the last stores were *silent*, twice in a row (K. M. Lepak, M. H. Lipasti, "Silent
//! Stores for Free", MICRO 2000): the release found what the twin had, so the home did not come, and would not after the next ones either. A miss for loads does so for *migratory* blocks (A. L. Cox, R. J. Fowler, "Adaptive Cache Coherency for Detecting Migratory Shared
//! Data", ISCA 1993; P. Stenström et al., ISCA 1993): this process wrote the block last time after it had read it, as is usual for data that a lock protects. Mostly it gets the permission to
//! store, too; a block that is not stored to then is not migratory any more. Homes that others store to at present are not migrated, nor are those of blocks that several processes
//! store to all the time (*contended*): they would come back at the next release.
//!
//! A miss never queues: it looks at the home once, takes the blocks that are free, with the chunk locked, and reads the others. It is therefore no part of
//! any circle of waiting processes, and needs no publish gate.

use crate::calls::take::{self, Claim, Taken};
use crate::fabric::{Fabric, MarkKind, Word};
use crate::hash::fibonacci;
use crate::link::Link;
use crate::overwrite::Purpose;
use crate::records::{Blocked, Records};
use crate::scratch::Scratch;
use crate::segment::{Busy, Seen};
use crate::types::{Block, CHUNK_BLOCKS, Chunk, Extent, Notice, Rank, Timestamp, first_bits};
use crate::{Coherence, Fault, Part, abi, marks};

/// Longest notice, in blocks, whose migrations are prefetched at the acquire: longer ones would fill the cache, and hide the latency by their number.
const EXPECTED: u64 = 4;

/// Blocks of the next chunk that are taken with its first one where the process got the last ones of a chunk that nobody had touched.
const FIRST_TOUCHES: u64 = 16;

/// Whether a miss for loads that migrates a home in this version leaves it write-protected, to find out whether the block is still stored to: one version in 16.
pub(crate) fn is_trial(version: Timestamp) -> bool {
    fibonacci(version, 4) == 0
}

pub(crate) fn hint(kind: MarkKind, chunk: Chunk) -> Word {
    Word::Mark { kind, level: 0, index: chunk.0 }
}

impl<F: Fabric> Coherence<F> {
    /// Whether misses take homes at all. Not where stores are watched: then every store needs a twin.
    #[inline]
    pub(crate) fn misses_take_homes(&self) -> bool {
        let fabric = &self.fabric;
        !fabric.watches_writes()
            && !fabric.leaves_out(Part::MigrationOnMiss)
            && !fabric.leaves_out(Part::MovingHomes)
    }

    /// Blocks of a run in a state that is not writable whose homes a miss should migrate. The chunk is locked.
    pub(crate) fn worth_migrating(&self, run: Extent, state: u8, purpose: Purpose) -> u64 {
        let fabric = &self.fabric;
        if !self.misses_take_homes() {
            return 0;
        }
        if self.insists_on_home(purpose) {
            return run.mask();
        }
        let chunk = run.first.chunk();
        if state == abi::READABLE {
            return purpose.whole(run) | self.take_silent(run, purpose);
        }
        // What has been fetched ahead needs no call: the release takes its home, together with others.
        let ahead = self.is_ahead(chunk, state);
        let free = run.mask() & !ahead & (!fabric.own(hint(MarkKind::Contended, chunk)) | purpose.whole(run));
        if purpose.write {
            return free;
        }
        let migratory = fabric.own(hint(MarkKind::Migratory, chunk)) & free;
        if migratory == 0 {
            return 0;
        }
        // Those that migrated last time and were not stored to.
        let wrong = migratory & fabric.own(hint(MarkKind::MigratedOnMiss, chunk));
        if wrong != 0 {
            for kind in [MarkKind::Migratory, MarkKind::MigratedOnMiss] {
                fabric.set_own(hint(kind, chunk), fabric.own(hint(kind, chunk)) & !wrong);
            }
        }
        migratory & !wrong
    }

    /// Takes the homes of blocks of a run in a state that is not writable, as far as that is worth while and they are free. They become
    /// readable, and writable if the purpose is to write or they are likely to be written. Returns them. The chunk is locked.
    pub(crate) async fn migrate_on_miss(
        &self,
        run: Extent,
        state: u8,
        purpose: Purpose,
        scratch: &mut Scratch,
    ) -> Result<u64, Blocked> {
        let wanted = self.worth_migrating(run, state, purpose);
        if wanted == 0 {
            return Ok(0);
        }
        self.fabric.own_records(run, scratch.own.run_mut(run));
        let mut taken = 0;
        let mut at = run.first;
        while at < run.end() {
            let word = scratch.own.of(at).link;
            let rest = Extent::new(at, run.end().0 - at.0);
            let mut part = Extent::new(at, scratch.own.alike(rest, word));
            if word == 0 {
                // That of untouched blocks means their default homes.
                let default_home = self.fabric.default_home(at);
                let leads_there = |block: &Block| self.fabric.default_home(*block) == default_home;
                part.count = part.blocks().take_while(leads_there).count() as u64;
            }
            let link = self.decode(word, self.me(), at);
            if part.mask() & wanted != 0 && matches!(link, Link::Link { pending: false, .. }) {
                let missed = part.mask() & wanted;
                let is_first_touch =
                    word == 0 && state == abi::COLD && purpose.write && part.end() == run.end();
                let next = if is_first_touch { self.likely_first_touches(run, missed, scratch) } else { 0 };
                taken |= self.take_part(at.chunk(), (missed, next), state, purpose, scratch).await?;
            }
            at = part.end();
        }
        Ok(taken)
    }

    /// Blocks behind a run that the process is likely to be the first to touch, too, as it was with the ones before: as many as it got of these in a row. Their own records become those in `scratch`, and they
    /// are marked as a miss marks its blocks. The chunk is locked.
    fn likely_first_touches(&self, run: Extent, missed: u64, scratch: &mut Scratch) -> u64 {
        let fabric = &self.fabric;
        let (chunk, home) = (run.first.chunk(), fabric.default_home(run.first));
        let came_here = |chunk| self.own_homes(chunk).all & !fabric.default_homes(self.me(), chunk);
        let place = run.first.bit().trailing_zeros();
        let before = match place {
            0 => {
                let before = run.first.0.checked_sub(1).map(|last| Block(last).chunk());
                let before = before.filter(|chunk| fabric.has_chunk(*chunk));
                let goes_on = before.is_some_and(|chunk| came_here(chunk) >> (CHUNK_BLOCKS - 1) != 0);
                if goes_on { FIRST_TOUCHES } else { 0 }
            }
            _ => (came_here(chunk) << (CHUNK_BLOCKS - u64::from(place))).leading_ones().into(),
        };
        if before == 0 {
            return 0;
        }
        let end = Block(run.first.0 - u64::from(place) + CHUNK_BLOCKS);
        let space = self.most_blocks(home, run.first).saturating_sub(u64::from(missed.count_ones()));
        let most = (before + run.count).min(space).min(end.0 - run.end().0);
        let most = fabric.existing_run(Extent::new(run.first, run.count + most)).saturating_sub(run.count);
        if most == 0 {
            return 0;
        }
        let behind = Extent::new(run.end(), most);
        fabric.own_records(behind, scratch.own.run_mut(behind));
        let contended = fabric.own(hint(MarkKind::Contended, chunk));
        let is_untouched = |block: &Block| {
            contended & block.bit() == 0
                && scratch.own.of(*block).link == 0
                && fabric.state(*block) == abi::COLD
                && fabric.default_home(*block) == home
        };
        let untouched = behind.blocks().take_while(is_untouched).fold(0, |mask, block| mask | block.bit());
        if untouched != 0 {
            marks::set_own(fabric, MarkKind::Cached, chunk, untouched);
        }
        untouched
    }

    /// Takes what it can of blocks whose links are the same, without obligations, and in the own records; of the second ones if they are holes.
    async fn take_part(
        &self,
        chunk: Chunk,
        (missed, if_holes): (u64, u64),
        state: u8,
        purpose: Purpose,
        scratch: &mut Scratch,
    ) -> Result<u64, Blocked> {
        let fabric = &self.fabric;
        let wanted = missed | if_holes;
        let link = scratch.own.of(chunk.span(wanted).first).link;
        // Whoever comes here along an old link waits until this process knows what it has got.
        chunk.runs(wanted).for_each(|run| fabric.set_own_links(run, Link::Taking.encode()));
        let (mut left, mut taken, mut outcome) = (wanted, 0, Ok(()));
        while left != 0 && outcome.is_ok() {
            let some;
            (some, left) = self.split_call(chunk, left, link);
            match self.take_some(chunk, (some, if_holes), link, state, purpose, scratch).await {
                Ok(blocks) => taken |= blocks,
                Err(blocked) => outcome = Err(blocked),
            }
        }
        chunk.runs(wanted & !taken).for_each(|run| fabric.set_own_links(run, link));
        // What was taken before somebody else had to be waited for is here.
        if taken == 0 { outcome.map(|()| 0) } else { Ok(taken) }
    }

    /// Of some blocks, those that one call may be about where the link leads, and the others.
    fn split_call(&self, chunk: Chunk, blocks: u64, link: u64) -> (u64, u64) {
        let first = chunk.span(blocks).first;
        let Link::Link { to, .. } = self.decode(link, self.me(), first) else { return (blocks, 0) };
        let some = first_bits(blocks, self.most_blocks(to, first));
        (some, blocks & !some)
    }

    /// Follows the links of the first of the `wanted` blocks to its home, looks there once, and takes what is free, of those of `if_holes` the holes.
    async fn take_some(
        &self,
        chunk: Chunk,
        (wanted, if_holes): (u64, u64),
        link: u64,
        state: u8,
        purpose: Purpose,
        scratch: &mut Scratch,
    ) -> Result<u64, Blocked> {
        let fabric = &self.fabric;
        let span = chunk.span(wanted);
        let claim = Claim::Miss { whole: purpose.whole(span), if_holes: wanted & if_holes };
        let at_least = self.above_own_leases(chunk, wanted, self.clock() + 1, &scratch.own);
        let mut request = take::Request { to: self.me(), chunk, wanted, at_least, claim };
        let insists = self.insists_on_home(purpose);
        let mut lookup = self.begin_lookup();
        self.follow_link(&mut lookup, span.first, Seen { link, sequence: 1 }, false)?;
        let checkpoint = fabric.checkpoint();
        let taken = loop {
            fabric.live_since(checkpoint, || Self::lookup_state(&lookup));
            let Scratch { peer, snapshot, .. } = scratch;
            let place = |run, contents: &[u8]| {
                if state != abi::READABLE || !fabric.fault(Fault::SilentCopyKept) {
                    fabric.overwrite(run, contents);
                }
            };
            match self.call_take(lookup.at, &request, peer, true, snapshot, place).await {
                Ok(Taken { away: Some(seen), .. }) if state != abi::NOTICED || insists => {
                    self.follow_link(&mut lookup, span.first, seen, false)?;
                    // Somebody has touched them. The process there may be reached by messages, which the first one was not.
                    let missed = wanted & !if_holes;
                    request.wanted = first_bits(missed, self.most_blocks(lookup.at, span.first));
                    request.claim = Claim::Miss { whole: claim.whole(), if_holes: 0 };
                }
                Ok(taken) => break taken,
                Err(Busy { word, seen }) => {
                    self.wait_for(lookup.at, word, seen).await;
                }
            }
        };
        self.note_contended(chunk, taken.contended, taken.contended);
        if taken.blocks != 0 {
            self.end_lookup(lookup, span.first).await;
            self.note_taken(
                lookup.at,
                chunk,
                taken.blocks & !claim.whole(),
                state == abi::NOTICED,
                &scratch.own,
            );
            self.install(chunk, claim, taken, purpose, scratch).await;
        } else if insists {
            return Err(self.ask_to_revoke(lookup.at, span.first).await);
        }
        Ok(taken.blocks)
    }

    /// A miss has taken homes with their contents, of blocks that had a notice, which is in `own`, or not. The chunk is locked.
    pub(crate) fn note_taken(&self, at: Rank, chunk: Chunk, blocks: u64, noticed: bool, own: &Records) {
        match noticed {
            true => self.note_reread(at, chunk, blocks, own),
            false => self.note_fetched(at, chunk, blocks),
        }
        self.note_stores(chunk, blocks, 0);
    }

    /// What a miss has taken, whose contents are here, becomes usable. The chunk is locked.
    pub(crate) async fn install(
        &self,
        chunk: Chunk,
        claim: Claim,
        taken: Taken,
        purpose: Purpose,
        scratch: &mut Scratch,
    ) {
        let Taken { blocks, writable, version, .. } = taken;
        // Stores at a writable home are published by a notice of the version that the block gets here, and this process passes no notice of its
        // own on: then it has to publish.
        let write = purpose.write || writable != 0 || !is_trial(version);
        self.install_in(chunk, claim, taken, write, if write { blocks } else { 0 }, scratch).await;
    }

    /// What has been taken ahead becomes readable, and what stores at its old home have to be told of is published.
    pub(crate) async fn install_ahead(
        &self,
        chunk: Chunk,
        claim: Claim,
        taken: Taken,
        scratch: &mut Scratch,
    ) {
        self.keep_ahead(chunk, taken.blocks);
        self.install_in(chunk, claim, taken, false, taken.writable, scratch).await;
    }

    /// Makes what has been taken accessible. `publish`: the blocks that the next release publishes. The chunk is locked.
    async fn install_in(
        &self,
        chunk: Chunk,
        claim: Claim,
        taken: Taken,
        write: bool,
        publish: u64,
        scratch: &mut Scratch,
    ) {
        let fabric = &self.fabric;
        let Taken { blocks, version, .. } = taken;
        fabric.or_own(hint(MarkKind::MigratedOnMiss, chunk), blocks);
        if publish != 0 && !fabric.fault(Fault::MigratedNotDirty) {
            marks::set_own(fabric, MarkKind::Dirty, chunk, publish);
        }
        let [readable, _] = taken.contents(claim);
        let contents = taken.contents(claim).into_iter().fold(0, |all, blocks| all | blocks);
        let stats = self.stats.mine();
        stats.add(|count| &count.blocks_fetched, u64::from(readable.count_ones()));
        let block_bytes = fabric.block_bytes(chunk.span(blocks).first) as u64;
        let bytes = |blocks: u64| u64::from(blocks.count_ones()) * block_bytes;
        stats.add(|count| &count.bytes_moved, bytes(contents));
        let holes = taken.holes & !claim.whole();
        chunk.runs(holes).for_each(|run| fabric.clear(run));
        stats.add(|count| &count.blocks_of_holes, u64::from(holes.count_ones()));
        let overwritten = blocks & !contents & !holes;
        chunk.runs(overwritten).for_each(|run| fabric.not_fetched(run));
        stats.add(|count| &count.blocks_overwritten, u64::from(overwritten.count_ones()));
        stats.add(|count| &count.bytes_not_fetched, bytes(overwritten));
        let taken = u64::from(blocks.count_ones());
        stats.add(|count| &count.homes_taken, taken);
        stats.add(|count| &count.homes_taken_on_miss, taken);
        let state = if write { abi::WRITABLE } else { abi::READABLE };
        chunk.runs(blocks).for_each(|run| fabric.set_state(run, state));
        self.label(chunk, blocks, version);
        self.not_replaced(chunk, blocks).await;
        self.unlock(chunk, blocks, write, version, &mut scratch.own).await;
    }

    /// Which of the blocks that a release publishes migrated here on a miss: most likely another process wants them next. Clears their marks. The chunk is locked.
    pub(crate) fn take_migrated(&self, chunk: Chunk, published: u64) -> u64 {
        let word = hint(MarkKind::MigratedOnMiss, chunk);
        let migrated = self.fabric.own(word);
        if migrated & published != 0 {
            self.fabric.set_own(word, migrated & !published);
        }
        migrated & published
    }

    /// Prefetches what migrating the migratory blocks of a notice will need.
    pub(crate) fn prefetch_move(&self, notice: Notice) {
        let (writer, extent) = (notice.writer, notice.extent);
        if extent.count > EXPECTED || writer == self.me() {
            return;
        }
        for part in extent.chunks() {
            let chunk = part.first.chunk();
            let migratory = self.fabric.own(hint(MarkKind::Migratory, chunk)) & part.mask();
            chunk.runs(migratory).for_each(|run| self.fabric.prefetch_move(writer, run));
        }
    }

    /// Of blocks of which there are copies here, those that a miss for stores takes home because the stores before were silent: another twin would most likely be wasted, too. Clears their marks. The
    /// chunk is locked.
    fn take_silent(&self, run: Extent, purpose: Purpose) -> u64 {
        let (fabric, chunk) = (&self.fabric, run.first.chunk());
        let silent = fabric.own(hint(MarkKind::SilentTwice, chunk)) & run.mask();
        if silent == 0 || !purpose.write {
            return 0;
        }
        self.note_silent(chunk, silent, 0);
        silent & !fabric.own(hint(MarkKind::Contended, chunk))
    }

    /// A release has compared blocks that stores were asked for with their twins. `silent`: those that are as they were. The chunk is locked.
    pub(crate) fn note_silent(&self, chunk: Chunk, compared: u64, silent: u64) {
        let [once, twice] = [MarkKind::Silent, MarkKind::SilentTwice].map(|kind| hint(kind, chunk));
        let before = [once, twice].map(|word| self.fabric.own(word));
        let now = [before[0] & !compared | silent, before[1] & !compared | silent & before[0]];
        for ((word, before), now) in [once, twice].into_iter().zip(before).zip(now) {
            if before != now {
                self.fabric.set_own(word, now);
            }
        }
    }

    /// Of `blocks`, those that others store to in the same intervals as this process. The chunk is locked.
    pub(crate) fn note_contended(&self, chunk: Chunk, blocks: u64, contended: u64) {
        let word = hint(MarkKind::Contended, chunk);
        let old = self.fabric.own(word);
        let new = old & !blocks | contended;
        if new != old {
            self.fabric.set_own(word, new);
        }
    }

    /// Blocks that are written after they were read elsewhere. The chunk is locked.
    pub(crate) fn note_migratory(&self, chunk: Chunk, blocks: u64) {
        if blocks != 0 {
            self.fabric.or_own(hint(MarkKind::Migratory, chunk), blocks);
        }
    }
}
