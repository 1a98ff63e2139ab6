//! Misses: making blocks readable and writable.
//!
//! Where the contents come from: after a write notice, straight from the writer ([`crate::calls::copy`]); else from the home ([`crate::calls::lend`]).

use crate::calls::copy;
use crate::calls::lend::{self, Lent, Refused};
use crate::fabric::{Fabric, MarkKind, Word};
use crate::link::Link;
use crate::overwrite::Purpose;
use crate::records::{Blocked, Records};
use crate::scratch::{Scratch, ScratchGuard};
use crate::segment::{Busy, Seen};
use crate::types::{Block, Chunk, Extent, Rank, Timestamp};
use crate::{Coherence, Fault, abi, marks};

type Outcome = Result<(), Blocked>;

impl<F: Fabric> Coherence<F> {
    /// Makes all blocks of an extent readable. They stay so until the next acquire.
    pub async fn read_miss(&self, extent: Extent) {
        self.stats.read_misses.add(1);
        let is_read = match extent.count == 1 {
            false => false,
            true if self.has_agents => self.read_one_sided(extent.first).await,
            true => self.try_read_single(extent.first).await,
        };
        if !is_read {
            self.miss(extent, Purpose::LOAD).await;
        }
    }

    #[inline]
    async fn try_read_single(&self, block: Block) -> bool {
        if F::SYNCHRONOUS { self.read_single_sync(block) } else { self.read_single(block).await }
    }

    /// Makes all blocks of an extent readable and writable. They stay so until the next acquire or release.
    pub async fn write_miss(&self, extent: Extent) {
        self.store_miss(extent, Purpose::STORE).await;
    }

    pub(crate) async fn store_miss(&self, extent: Extent, purpose: Purpose) {
        self.stats.write_misses.add(1);
        let is_writable = match extent.count == 1 && !self.has_agents {
            false => false,
            true => self.try_upgrade_single(extent.first).await,
        };
        if !is_writable {
            self.miss(extent, purpose).await;
        }
    }

    #[inline]
    async fn try_upgrade_single(&self, block: Block) -> bool {
        if F::SYNCHRONOUS { self.upgrade_single_sync(block) } else { self.upgrade_single(block).await }
    }

    pub(crate) async fn miss(&self, extent: Extent, purpose: Purpose) {
        self.miss_range(extent, purpose).await;
        let mut scratch = ScratchGuard::new();
        for part in extent.chunks() {
            let mut take = Some(purpose);
            let checkpoint = self.fabric.checkpoint();
            loop {
                self.fabric.live_since(checkpoint, || take.is_some());
                let chunk = self.fabric.lock_chunk(part.first.chunk()).await;
                // Who needs the home comes back for it.
                let taken = if self.insists_on_home(purpose) { take } else { take.take() };
                let mut outcome = self.make_readable(part, taken, &mut scratch).await;
                if purpose.write && outcome.is_ok() {
                    outcome = self.make_writable(part, &mut scratch.own).await;
                }
                drop(chunk);
                match outcome {
                    Ok(()) => break,
                    Err(Blocked { at, word, seen }) => {
                        self.wait_for(at, word, seen).await;
                    }
                }
            }
        }
    }

    /// `take`: whether homes may be taken, and what for.
    async fn make_readable(&self, part: Extent, take: Option<Purpose>, scratch: &mut Scratch) -> Outcome {
        let mut at = part.first;
        let checkpoint = self.fabric.checkpoint();
        while at < part.end() {
            self.fabric.live_since(checkpoint, || at);
            let (state, count) = self.run(at, part);
            let run = Extent::new(at, count);
            if state >= abi::READ_LIMIT && !self.fabric.fault(Fault::CachedLate) {
                // Before any lease or bound is looked at: an acquire of another thread that misses this mark has raised the bound, and its
                // notices were published, before this miss asks for them.
                marks::set_own(&self.fabric, MarkKind::Cached, at.chunk(), run.mask());
            }
            match state {
                abi::WRITABLE => {}
                abi::READABLE => {
                    // Else a twin is made, and compared.
                    if let Some(purpose) = take
                        && purpose.write
                    {
                        self.migrate_on_miss(run, state, purpose, scratch).await?;
                    }
                }
                abi::NOTICED | abi::COLD | abi::EXPIRED => {
                    let mut left = run.mask();
                    if let Some(purpose) = take {
                        left &= !self.migrate_on_miss(run, state, purpose, scratch).await?;
                        if self.fabric.fault(Fault::OverwriteUntaken) {
                            let unread = left & purpose.whole(run);
                            at.chunk().runs(unread).for_each(|run| self.fabric.set_state(run, abi::READABLE));
                            left &= !unread;
                        }
                    }
                    for run in at.chunk().runs(left) {
                        match state {
                            abi::NOTICED => self.read_from_writers(run, scratch).await?,
                            _ => self.read_from_homes(run, state, scratch).await?,
                        }
                    }
                }
                abi::INVALID_DIRTY => {
                    for block in run.blocks() {
                        self.merge_from_home(block, scratch).await?;
                    }
                }
                other => unreachable!("state {other} of {at:?}"),
            }
            at = run.end();
        }
        Ok(())
    }

    /// Blocks with a notice: what has been fetched ahead is here.
    async fn read_from_writers(&self, run: Extent, scratch: &mut Scratch) -> Outcome {
        let min = self.signature().min_applied();
        let own = &mut scratch.own;
        self.fabric.own_records(run, own.run_mut(run));
        let here = self.fetched_ahead(run, abi::NOTICED, min, own);
        self.read_noticed(run.first.chunk(), here, own);
        for run in run.first.chunk().runs(run.mask() & !here) {
            self.read_from_writers_there(run, min, scratch).await?;
        }
        Ok(())
    }

    /// Blocks with a notice, whose records are in `own`: one transfer for each run of one writer.
    async fn read_from_writers_there(&self, run: Extent, min: Timestamp, scratch: &mut Scratch) -> Outcome {
        let fabric = &self.fabric;
        let writer = |own: &Records, block| match self.decode(own.of(block).link, self.me(), block) {
            Link::Link { to, pending: false } if own.of(block).wr_ts >= min => Some(to),
            _ => None,
        };
        let mut at = run.first;
        while at < run.end() {
            let own = &mut scratch.own;
            let source = writer(own, at);
            let rest = Extent::new(at, run.end().0 - at.0);
            let count = rest.blocks().take_while(|b| writer(own, *b) == source).count() as u64;
            let part = Extent::new(at, count);
            let mut left = part.mask();
            if let Some(from) = source {
                let read = self.read_from_writer(from, part, own).await;
                left &= !read;
                self.note_reread(from, at.chunk(), part.mask() & read, &scratch.own);
                self.read_noticed(at.chunk(), part.mask() & read, &mut scratch.own);
            }
            for rest in at.chunk().runs(left) {
                fabric.set_state(rest, abi::COLD);
                self.read_from_homes(rest, abi::COLD, scratch).await?;
            }
            at = part.end();
        }
        Ok(())
    }

    /// Blocks with a notice, of a chunk, have the contents of the version that it named, which is in `own`. The chunk is locked.
    pub(crate) fn read_noticed(&self, chunk: Chunk, blocks: u64, own: &mut Records) {
        let fabric = &self.fabric;
        for run in chunk.runs(blocks) {
            for record in own.run_mut(run) {
                record.rd_ts = record.wr_ts;
            }
            fabric.set_own_stamps(run, |block| own.of(block).stamps());
            fabric.set_state(run, abi::READABLE);
        }
    }

    /// Reads from the writer of a notice, whose version is in `own`; returns the blocks that were at home there all the time.
    async fn read_from_writer(&self, from: Rank, part: Extent, own: &Records) -> u64 {
        let mut read = 0;
        for part in part.pieces(self.most_blocks(from, part.first)) {
            read |= self.call_copy(from, &copy::Request { part, versions: own }).await;
            self.count_fetched(part.first, part.count);
        }
        read
    }

    pub(crate) fn count_fetched(&self, first: Block, count: u64) {
        self.stats.blocks_fetched.add(count);
        self.stats.bytes_moved.add(count * self.fabric.block_bytes(first) as u64);
    }

    /// Cold or expired blocks: what has been fetched ahead is here.
    async fn read_from_homes(&self, run: Extent, state: u8, scratch: &mut Scratch) -> Outcome {
        let chunk = run.first.chunk();
        self.fabric.own_records(run, scratch.own.run_mut(run));
        let mut here = self.is_ahead(chunk, state) & run.mask();
        if here != 0 {
            let min = self.signature().min_applied();
            here = self.fetched_ahead(run, state, min, &scratch.own);
        }
        chunk.runs(here).for_each(|run| self.fabric.set_state(run, abi::READABLE));
        for run in chunk.runs(run.mask() & !here) {
            self.read_from_homes_there(run, state, scratch).await?;
        }
        Ok(())
    }

    /// Cold or expired blocks, whose records are in `own`: one transfer for each run with one home.
    async fn read_from_homes_there(&self, run: Extent, state: u8, scratch: &mut Scratch) -> Outcome {
        let mut at = run.first;
        while at < run.end() {
            // Where one link leads, equal ones most likely lead too.
            let link = scratch.own.of(at).link;
            let rest = Extent::new(at, run.end().0 - at.0);
            let part = Extent::new(at, scratch.own.alike(rest, link));
            let read = self.read_from_home(part, state, scratch).await?;
            at = Block(at.0 + read);
        }
        Ok(())
    }

    /// Reads what is at the home of the first block, up to the first block that is not; returns the number of blocks, at least one.
    async fn read_from_home(&self, part: Extent, state: u8, scratch: &mut Scratch) -> Result<u64, Blocked> {
        let Scratch { own, peer, .. } = scratch;
        let held = if state == abi::EXPIRED { Some(&*own) } else { None };
        let (home, lent) = self.borrow_part(part, held, peer, None).await?;
        self.note_fetched(home, part.first.chunk(), Extent::new(part.first, lent.count).mask());
        self.borrowed(home, part, lent, abi::READABLE, scratch).await;
        Ok(lent.count)
    }

    /// What a home has lent, whose contents are here, becomes readable, or gets another state of copies. The home's records are in `peer`, the own ones in `own`, and the chunk is locked.
    pub(crate) async fn borrowed(
        &self,
        home: Rank,
        part: Extent,
        Lent { count, fetched }: Lent,
        state: u8,
        Scratch { peer, .. }: &mut Scratch,
    ) {
        let fabric = &self.fabric;
        let part = Extent::new(part.first, count);
        self.count_fetched(part.first, u64::from(fetched.count_ones()));
        self.stats.blocks_renewed.add(count - u64::from(fetched.count_ones()));
        self.set_copies(part, home, peer).await;
        if fabric.fault(Fault::MarkAfterRead) {
            marks::set(fabric, home, MarkKind::Read, part.first.chunk(), part.mask()).await;
        }
        if fabric.fault(Fault::CachedLate) {
            marks::set_own(fabric, MarkKind::Cached, part.first.chunk(), part.mask());
        }
        fabric.set_state(part, state);
    }

    /// Follows the links of the first block to its home, and has that lend what it can of a part. The chunk is locked.
    async fn borrow_part(
        &self,
        part: Extent,
        held: Option<&Records>,
        records: &mut Records,
        mut private: Option<&mut [u8]>,
    ) -> Result<(Rank, Lent), Blocked> {
        let block = part.first;
        let mut lookup = self.begin_lookup();
        let (word, link) = self.own_link(block);
        if link != Link::Home {
            self.follow_link(&mut lookup, block, Seen { link: word, sequence: 1 }, true)?;
        }
        let checkpoint = self.fabric.checkpoint();
        loop {
            self.fabric.live_since(checkpoint, || Self::lookup_state(&lookup));
            let count = part.count.min(self.most_blocks(lookup.at, block));
            let min = self.signature().min_applied();
            let request = lend::Request { part: Extent::new(block, count), min, held };
            match self.call_lend(lookup.at, &request, records, private.as_deref_mut()).await {
                Ok(lent) => {
                    self.end_lookup(lookup, block).await;
                    return Ok((lookup.at, lent));
                }
                Err(Refused::Busy(Busy { word, seen })) => return Err(Blocked { at: lookup.at, word, seen }),
                // It has come back there meanwhile.
                Err(Refused::Away(seen)) if self.decode(seen.link, lookup.at, block) == Link::Home => {
                    return Err(self.look_again(block));
                }
                Err(Refused::Away(seen)) => self.follow_link(&mut lookup, block, seen, true)?,
            }
        }
    }

    /// The home of a block has moved meanwhile. Nothing has to be waited for.
    pub(crate) fn look_again(&self, block: Block) -> Blocked {
        let word = Word::Link(block);
        Blocked { at: self.me(), word, seen: !self.fabric.own(word) }
    }

    /// Labels copies. The chunk is locked.
    async fn set_copies(&self, run: Extent, home: Rank, records: &Records) {
        let paired = self.begin_pairing(run.first.chunk()).await;
        self.fabric.set_own_stamps(run, |block| records.of(block).stamps());
        for block in run.blocks() {
            // Other links are a taker's, or those of a thread of this process that is moving the home here.
            self.point_to(home, block);
        }
        self.end_pairing(run.first.chunk(), paired);
    }

    /// A block with own unpublished bytes: brings in what changed at the home.
    async fn merge_from_home(&self, block: Block, Scratch { own, peer, .. }: &mut Scratch) -> Outcome {
        let fabric = &self.fabric;
        let (seen, link) = self.own_link(block);
        if matches!(link, Link::Link { pending: true, .. }) {
            return Err(Blocked { at: self.me(), word: Word::Link(block), seen });
        }
        let extent = Extent::single(block);
        fabric.own_records(extent, own.run_mut(extent));
        let mut contents = vec![0; fabric.block_bytes(block)];
        let (home, _) = self.borrow_part(extent, None, peer, Some(&mut contents)).await?;
        fabric.merge(extent, &contents, home);
        self.stats.blocks_merged.add(1);
        self.stats.bytes_moved.add(contents.len() as u64);
        self.set_copies(extent, home, peer).await;
        marks::set_own(fabric, MarkKind::Dirty, block.chunk(), block.bit());
        fabric.set_state(extent, abi::WRITABLE);
        Ok(())
    }

    /// Allows stores to readable blocks.
    async fn make_writable(&self, part: Extent, own: &mut Records) -> Outcome {
        let mut at = part.first;
        while at < part.end() {
            let (state, count) = self.run(at, part);
            let run = Extent::new(at, count);
            if state == abi::READABLE {
                self.upgrade(run, own).await?;
            }
            at = run.end();
        }
        Ok(())
    }

    async fn upgrade(&self, run: Extent, own: &mut Records) -> Outcome {
        let fabric = &self.fabric;
        let chunk = run.first.chunk();
        if fabric.watches_writes() {
            // At a home too, where nobody else leaves a twin before stores are allowed: what differs is what was stored here.
            fabric.make_twin(run);
        }
        let protected = self.own_homes(chunk).write_protected & run.mask();
        if protected != 0 {
            let locked = !fabric.fault(Fault::UpgradeUnlocked);
            let sequence = if locked { self.lock_records(chunk).await } else { 0 };
            if !fabric.fault(Fault::UpgradeUnseen) {
                self.set_write_protected(chunk, run.mask(), false);
            }
            if !fabric.fault(Fault::UpgradeMarkedLate) {
                // Who executes an operation at a home sees one or the other: others may have copies.
                marks::set_own(fabric, MarkKind::Dirty, chunk, protected);
            }
            if locked {
                self.unlock_records(chunk, sequence);
            }
        }
        // Homes are written in place, everything else gets a twin, and what is being taken has to wait.
        let away = self.away(chunk, run.mask(), own).await;
        let mut ready = run.mask() & !away;
        let mut twins = 0;
        let mut outcome = Ok(());
        for block in chunk.blocks(away) {
            let word = own.of(block).link;
            if let Link::Link { pending: true, .. } = self.decode(word, self.me(), block) {
                outcome = Err(Blocked { at: self.me(), word: Word::Link(block), seen: word });
                break;
            }
            if self.has_one_writer() {
                outcome = Err(self.look_again(block));
                break;
            }
            twins |= block.bit();
        }
        ready |= twins;
        for part in chunk.runs(twins) {
            fabric.make_twin(part);
            self.stats.twins_made.add(part.count);
        }
        self.not_replaced(chunk, twins).await;
        self.note_migratory(chunk, twins);
        self.note_stores(chunk, twins, ready & !twins);
        if ready != 0 {
            // The mark comes after the writable bit (a release that finds a shared home drops its read marks) and before the state.
            marks::set_own(fabric, MarkKind::Dirty, chunk, ready);
            chunk.runs(ready).for_each(|part| fabric.set_state(part, abi::WRITABLE));
        }
        outcome
    }
}
