//! Misses: making blocks readable and writable.
//!
//! Where the contents come from: after a write notice, straight from the writer; else from the home. In both cases the reader first sets its read
//! mark where it reads, so that the source publishes what it writes later. In both cases it also has to see, after its mark and still behind the contents, that
//! this is the home: whoever takes it later publishes a version above the label that the copy gets, and what was stored here after that, which may be stored back
//! before a release and published in no version, is not in the copy. See `Witness`.

use crate::fabric::{Fabric, MarkKind, Word};
use crate::link::Link;
use crate::overwrite::Purpose;
use crate::records::{Blocked, Lent, Records, Scratch};
use crate::types::{Block, Extent, Rank, Timestamp};
use crate::{Coherence, Fault, abi, marks};

/// Shortest and longest lease, in versions.
const LEASE_MIN: Timestamp = 16;
const LEASE_MAX: Timestamp = 1 << 16;

type Outcome = Result<(), Blocked>;

/// What shows that blocks of a chunk have not left their home since: nobody has locked the records, or the versions are the same. A home that comes back
/// brings a greater one.
#[derive(Clone, Copy)]
struct Witness<'a> {
    /// Of the records, when the blocks were seen there.
    sequence: u64,
    versions: &'a Records,
}

impl<F: Fabric> Coherence<F> {
    /// Makes all blocks of an extent readable. They stay so until the next acquire.
    pub async fn read_miss(&self, extent: Extent) {
        self.stats.read_misses.add(1);
        self.miss(extent, Purpose::LOAD).await;
    }

    /// Makes all blocks of an extent readable and writable. They stay so until the next acquire or release.
    pub async fn write_miss(&self, extent: Extent) {
        self.stats.write_misses.add(1);
        self.miss(extent, Purpose::STORE).await;
    }

    pub(crate) async fn miss(&self, extent: Extent, purpose: Purpose) {
        let mut scratch = Lent::new();
        for part in extent.chunks() {
            let mut take = Some(purpose);
            let moment = self.fabric.moment();
            loop {
                self.fabric.forget(moment, || take.is_some());
                let chunk = self.fabric.lock_chunk(part.first.chunk()).await;
                let mut outcome = self.make_readable(part, take.take(), &mut scratch).await;
                if purpose.write && outcome.is_ok() {
                    outcome = self.make_writable(part, &mut scratch.own).await;
                }
                drop(chunk);
                match outcome {
                    Ok(()) => break,
                    Err(Blocked { at, word, seen }) => {
                        self.fabric.wait_change(at, word, seen).await;
                    }
                }
            }
        }
    }

    /// `take`: whether homes may be taken, and what for.
    async fn make_readable(&self, part: Extent, take: Option<Purpose>, scratch: &mut Scratch) -> Outcome {
        let mut at = part.first;
        let moment = self.fabric.moment();
        while at < part.end() {
            self.fabric.forget(moment, || at);
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
                    // Else a twin would be made, and compared.
                    if let Some(purpose) = take
                        && purpose.whole(run) != 0
                    {
                        self.take_early(run, state, purpose, scratch).await?;
                    }
                }
                abi::NOTICED | abi::COLD | abi::EXPIRED => {
                    let mut left = run.mask();
                    if let Some(purpose) = take {
                        left &= !self.take_early(run, state, purpose, scratch).await?;
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

    /// Blocks with a notice: one transfer for each run of one writer.
    async fn read_from_writers(&self, run: Extent, scratch: &mut Scratch) -> Outcome {
        let fabric = &self.fabric;
        let min = self.signature().min_applied();
        let own = &mut scratch.own;
        fabric.own_records(run, own.run_mut(run));
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
                left &= !self.read_from_writer(from, part, own).await;
                let own = &mut scratch.own;
                for done in at.chunk().runs(part.mask() & !left) {
                    for record in own.run_mut(done) {
                        record.rd_ts = record.wr_ts;
                    }
                    fabric.set_own_stamps(done, own.run(done));
                    fabric.set_state(done, abi::READABLE);
                }
            }
            for rest in at.chunk().runs(left) {
                fabric.set_state(rest, abi::COLD);
                self.read_from_homes(rest, abi::COLD, scratch).await?;
            }
            at = part.end();
        }
        Ok(())
    }

    /// Reads from the writer of a notice, whose version is in `own`; returns the blocks that were at home there all the time.
    async fn read_from_writer(&self, from: Rank, part: Extent, own: &Records) -> u64 {
        let fabric = &self.fabric;
        let chunk = part.first.chunk();
        let moment = fabric.moment();
        if !fabric.fault(Fault::NoReadMarkAtWriter) {
            marks::set(fabric, from, MarkKind::Read, chunk, part.mask()).await;
        }
        let sequence = fabric.load(from, Word::Records(chunk)).await;
        self.fetch(from, part).await;
        if fabric.fault(Fault::ReadFormerHome) {
            return part.mask();
        }
        let homes = fabric.load(from, Word::Homes(chunk)).await ^ fabric.default_homes(from, chunk);
        let read = homes & self.stayed(from, part, Witness { sequence, versions: own }).await;
        fabric.forget(moment, || read);
        read
    }

    /// Blocks of an extent in one chunk that have been at home at `at` ever since a witness saw them there.
    async fn stayed(&self, at: Rank, part: Extent, witness: Witness<'_>) -> u64 {
        let moment = self.fabric.moment();
        let sequence = self.fabric.load(at, Word::Records(part.first.chunk())).await;
        if sequence == witness.sequence && sequence.is_multiple_of(2) {
            self.fabric.forget(moment, || part.mask());
            return part.mask();
        }
        let scratch = &mut *Lent::new();
        let Ok((_, homes)) = self.read_records(at, part, &mut scratch.peer).await else { return 0 };
        let same = |block: &Block| scratch.peer.of(*block).wr_ts == witness.versions.of(*block).wr_ts;
        let stayed = homes.all & part.blocks().filter(same).fold(0, |mask, block| mask | block.bit());
        self.fabric.forget(moment, || stayed);
        stayed
    }

    pub(crate) async fn fetch(&self, from: Rank, part: Extent) {
        self.fabric.fetch(from, part).await;
        self.stats.blocks_fetched.add(part.count);
        self.stats.bytes_moved.add(part.count * self.fabric.block_bytes(part.first) as u64);
    }

    /// Cold or expired blocks: one transfer for each run with one home.
    async fn read_from_homes(&self, run: Extent, state: u8, scratch: &mut Scratch) -> Outcome {
        let fabric = &self.fabric;
        fabric.own_records(run, scratch.own.run_mut(run));
        let mut at = run.first;
        while at < run.end() {
            let home = self.find_home(at).await?;
            // Where one link leads, equal ones most likely lead too.
            let link = scratch.own.of(at).link;
            let rest = Extent::new(at, run.end().0 - at.0);
            let count = rest.blocks().take_while(|b| scratch.own.of(*b).link == link).count() as u64;
            let read = self.read_from_home(home, Extent::new(at, count), state, scratch).await?;
            at = Block(at.0 + read);
        }
        Ok(())
    }

    /// Reads what is at `home`, up to the first block that is not; returns the number of blocks, at least one.
    async fn read_from_home(
        &self,
        home: Rank,
        part: Extent,
        state: u8,
        Scratch { own, peer, .. }: &mut Scratch,
    ) -> Result<u64, Blocked> {
        let fabric = &self.fabric;
        let (part, sequence) = self.leases(home, part, peer).await?;
        let held = |block| {
            state == abi::EXPIRED
                && (own.of(block).wr_ts == peer.of(block).wr_ts || fabric.fault(Fault::RenewBlindly))
        };
        let mut at = part.first;
        while at < part.end() {
            let renew = held(at);
            let rest = Extent::new(at, part.end().0 - at.0);
            let count = rest.blocks().take_while(|b| held(*b) == renew).count() as u64;
            let mut run = Extent::new(at, count);
            if renew {
                self.stats.blocks_renewed.add(run.count);
            } else {
                self.fetch(home, run).await;
                if !fabric.fault(Fault::FetchWhileTaken) {
                    let stayed = self.stayed(home, run, Witness { sequence, versions: peer }).await;
                    run.count = run.blocks().take_while(|b| stayed & b.bit() != 0).count() as u64;
                }
                if run.count == 0 {
                    return if at > part.first { Ok(at.0 - part.first.0) } else { Err(self.look_again(at)) };
                }
            }
            self.set_copies(run, home, peer, own);
            if fabric.fault(Fault::MarkAfterRead) {
                marks::set(fabric, home, MarkKind::Read, run.first.chunk(), run.mask()).await;
            }
            if fabric.fault(Fault::CachedLate) {
                marks::set_own(fabric, MarkKind::Cached, run.first.chunk(), run.mask());
            }
            fabric.set_state(run, abi::READABLE);
            at = run.end();
        }
        Ok(part.count)
    }

    /// Sets the read marks at a home and gets leases, up to the first block that is not there. Returns the part that is, at least one block, and the sequence
    /// number of its records.
    async fn leases(
        &self,
        home: Rank,
        part: Extent,
        records: &mut Records,
    ) -> Result<(Extent, u64), Blocked> {
        let fabric = &self.fabric;
        let chunk = part.first.chunk();
        let word = Word::Mark { kind: MarkKind::Read, level: 0, index: chunk.0 };
        let unmarked = fabric.fault(Fault::MarkAfterRead) || fabric.fault(Fault::NoReadMark);
        let moment = fabric.moment();
        loop {
            fabric.forget(moment, || ());
            if !unmarked {
                marks::set(fabric, home, MarkKind::Read, chunk, part.mask()).await;
            }
            let (mut sequence, _) = self.read_records(home, part, records).await?;
            let mut there = self.at_home(home, part, records)?;
            let min = self.signature().min_applied();
            if records.of(part.first).rd_ts < min {
                (there, sequence) = self.extend_lease(home, there, min, records).await?;
            }
            // A release of the home may have taken the mark before the lease was read: then a later release would see neither a mark
            // nor a need for a version above this lease.
            if fabric.fault(Fault::NoMarkRecheck)
                || unmarked
                || fabric.load(home, word).await & there.mask() == there.mask()
            {
                fabric.forget(moment, || (there, sequence, records.run(there)));
                return Ok((there, sequence));
            }
        }
    }

    /// The home of a block has moved meanwhile. Nothing has to be waited for.
    fn look_again(&self, block: Block) -> Blocked {
        let word = Word::Link(block);
        Blocked { at: self.me(), word, seen: !self.fabric.own(word) }
    }

    /// The blocks from the first on whose home is where the records are from.
    fn at_home(&self, home: Rank, part: Extent, records: &Records) -> Result<Extent, Blocked> {
        let is_home = |block: &Block| {
            matches!(self.decode(records.of(*block).link, home, *block), Link::Home)
                || self.fabric.fault(Fault::NoLinkRecheck)
        };
        match part.blocks().take_while(is_home).count() as u64 {
            // Already different from what find_home saw: the caller looks again at once.
            0 => {
                let seen = !records.of(part.first).link;
                Err(Blocked { at: home, word: Word::Link(part.first), seen })
            }
            count => Ok(Extent::new(part.first, count)),
        }
    }

    /// Makes the lease cover at least what this process's copies are checked against.
    async fn extend_lease(
        &self,
        home: Rank,
        part: Extent,
        min: Timestamp,
        records: &mut Records,
    ) -> Result<(Extent, u64), Blocked> {
        let fabric = &self.fabric;
        let chunk = part.first.chunk();
        let locked = !fabric.fault(Fault::ExtendUnlocked);
        let sequence = if locked { self.lock_records(home, chunk).await } else { 0 };
        self.home_records(home, part, records).await;
        let there = self.at_home(home, part, records);
        let record = *records.of(part.first);
        if let Ok(there) = there
            && record.rd_ts < min
        {
            let length = 2 * (record.rd_ts - record.wr_ts.min(record.rd_ts));
            let lease = min + length.clamp(LEASE_MIN, LEASE_MAX);
            records.run_mut(there).iter_mut().for_each(|record| record.rd_ts = lease);
            fabric.post_store(home, Word::Lease(chunk), lease).await;
        }
        if locked {
            self.unlock_records(home, chunk, sequence).await;
        } else {
            fabric.flush(home).await;
        }
        there.map(|there| (there, sequence + 2))
    }

    /// Labels copies. The chunk is locked.
    fn set_copies(&self, run: Extent, home: Rank, records: &Records, own: &Records) {
        self.fabric.set_own_stamps(run, records.run(run));
        let to_home = Link::to(home);
        for block in run.blocks() {
            // Shortens the path. Other links are a taker's, or those of a thread of this process that is moving the home here.
            if let Link::Link { to, pending: false } = self.decode(own.of(block).link, self.me(), block)
                && to != home
            {
                self.fabric.set_own_links(Extent::single(block), to_home.encode());
            }
        }
    }

    /// A block with own unpublished bytes: brings in what changed at the home.
    async fn merge_from_home(&self, block: Block, Scratch { own, peer, .. }: &mut Scratch) -> Outcome {
        let fabric = &self.fabric;
        let (seen, link) = self.own_link(block);
        if matches!(link, Link::Link { pending: true, .. }) {
            return Err(Blocked { at: self.me(), word: Word::Link(block), seen });
        }
        let extent = Extent::single(block);
        let home = self.find_home(block).await?;
        fabric.own_records(extent, own.run_mut(extent));
        let (_, sequence) = self.leases(home, extent, peer).await?;
        let mut contents = vec![0; fabric.block_bytes(block)];
        fabric.snapshot(home, extent, &mut contents).await;
        if self.stayed(home, extent, Witness { sequence, versions: peer }).await == 0
            && !fabric.fault(Fault::FetchWhileTaken)
        {
            return Err(self.look_again(block));
        }
        fabric.merge(extent, &contents, home);
        self.stats.blocks_merged.add(1);
        self.stats.bytes_moved.add(contents.len() as u64);
        self.set_copies(extent, home, peer, own);
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
        if self.own_homes(chunk).asking & run.mask() != 0 {
            let locked = !fabric.fault(Fault::UpgradeUnlocked);
            let sequence = if locked { self.lock_records(self.me(), chunk).await } else { 0 };
            if !fabric.fault(Fault::UpgradeUnseen) {
                self.set_asking(chunk, run.mask(), false);
            }
            if locked {
                self.unlock_records(self.me(), chunk, sequence).await;
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
            twins |= block.bit();
        }
        ready |= twins;
        for part in chunk.runs(twins) {
            fabric.make_twin(part);
            self.stats.twins_made.add(part.count);
        }
        self.not_replaced(chunk, twins).await;
        self.note_migratory(chunk, twins);
        if ready != 0 {
            // The mark comes after the writable bit (a release that finds a shared home drops its read marks) and before the state.
            marks::set_own(fabric, MarkKind::Dirty, chunk, ready);
            chunk.runs(ready).for_each(|part| fabric.set_state(part, abi::WRITABLE));
        }
        outcome
    }
}
