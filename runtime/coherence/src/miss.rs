//! Misses: making blocks readable and writable.
//!
//! Where the contents come from: after a write notice, straight from the writer; else from the home. In both cases the reader first sets its read
//! mark where it reads, so that the source publishes what it writes later. Reading at a home it also has to see, after its mark, that
//! this is still the home: whoever takes it later publishes a version above the lease that is read here.

use crate::fabric::{Fabric, MarkKind, Word};
use crate::link::Link;
use crate::types::{Block, CLOSED, Extent, Rank, Timestamp};
use crate::{Coherence, Fault, abi, marks};

/// Shortest and longest lease, in versions.
const LEASE_MIN: Timestamp = 16;
const LEASE_MAX: Timestamp = 1 << 16;

/// The miss needs another process (or thread) to go on first: the word of `at` has to differ from `seen`.
#[derive(Clone, Copy, Debug)]
struct Blocked {
    at: Rank,
    block: Block,
    seen: u64,
}

type Outcome = Result<(), Blocked>;

impl<F: Fabric> Coherence<F> {
    /// Makes all blocks of an extent readable. They stay so until the next acquire.
    pub async fn read_miss(&self, extent: Extent) {
        self.stats.read_misses.add(1);
        self.miss(extent, false).await;
    }

    /// Makes all blocks of an extent readable and writable. They stay so until the next acquire or release.
    pub async fn write_miss(&self, extent: Extent) {
        self.stats.write_misses.add(1);
        self.miss(extent, true).await;
    }

    async fn miss(&self, extent: Extent, write: bool) {
        for part in extent.chunks() {
            loop {
                let chunk = self.fabric.lock_chunk(part.first.chunk()).await;
                let mut outcome = self.make_readable(part).await;
                if write && outcome.is_ok() {
                    outcome = self.make_writable(part).await;
                }
                drop(chunk);
                match outcome {
                    Ok(()) => break,
                    Err(Blocked { at, block, seen }) => {
                        self.fabric.wait_change(at, Word::Link(block), seen).await;
                    }
                }
            }
        }
    }

    async fn make_readable(&self, part: Extent) -> Outcome {
        let mut at = part.first;
        while at < part.end() {
            let (state, count) = self.run(at, part);
            let run = Extent::new(at, count);
            if state >= abi::READ_LIMIT && !self.fabric.fault(Fault::CachedLate) {
                // Before any lease or bound is looked at: an acquire of another thread that misses this mark has raised the bound, and its
                // notices were published, before this miss asks for them.
                marks::set_own(&self.fabric, MarkKind::Cached, at.chunk(), run.mask());
            }
            match state {
                abi::WRITABLE | abi::READABLE => {}
                abi::NOTICED => self.read_from_writers(run).await?,
                abi::COLD | abi::EXPIRED => self.read_from_homes(run, state).await?,
                abi::INVALID_DIRTY => {
                    for block in run.blocks() {
                        self.merge_from_home(block).await?;
                    }
                }
                other => unreachable!("state {other} of {at:?}"),
            }
            at = run.end();
        }
        Ok(())
    }

    /// Blocks with a notice: one transfer for each run of one writer.
    async fn read_from_writers(&self, run: Extent) -> Outcome {
        let fabric = &self.fabric;
        let min = self.signature().min_applied();
        let writer = |block| match self.own_link(block).1 {
            Link::Link { to, pending: false } if fabric.own(Word::Wr(block)) >= min => Some(to),
            _ => None,
        };
        let mut at = run.first;
        while at < run.end() {
            let source = writer(at);
            let rest = Extent::new(at, run.end().0 - at.0);
            let count = rest.blocks().take_while(|b| writer(*b) == source).count() as u64;
            let part = Extent::new(at, count);
            if let Some(from) = source {
                if !fabric.fault(Fault::NoReadMarkAtWriter) {
                    marks::set(fabric, from, MarkKind::Read, at.chunk(), part.mask()).await;
                }
                self.fetch(from, part).await;
                for block in part.blocks() {
                    fabric.set_own(Word::Rd(block), fabric.own(Word::Wr(block)) | CLOSED);
                }
                fabric.set_state(part, abi::READABLE);
            } else {
                fabric.set_state(part, abi::COLD);
                self.read_from_homes(part, abi::COLD).await?;
            }
            at = part.end();
        }
        Ok(())
    }

    async fn fetch(&self, from: Rank, part: Extent) {
        self.fabric.fetch(from, part).await;
        self.stats.blocks_fetched.add(part.count);
        self.stats.bytes_moved.add(part.count * self.fabric.block_bytes() as u64);
    }

    /// Cold or expired blocks: one transfer for each run with one home.
    async fn read_from_homes(&self, run: Extent, state: u8) -> Outcome {
        let mut at = run.first;
        while at < run.end() {
            let home = self.find_home(at).await?;
            let mut part = Extent::single(at);
            while part.end() < run.end() && self.find_home(part.end()).await? == home {
                part.count += 1;
            }
            self.read_from_home(home, part, state).await?;
            at = part.end();
        }
        Ok(())
    }

    /// Reads what is still at `home`; the rest stays invalid, and the caller's loop comes back to it through `Blocked`.
    async fn read_from_home(&self, home: Rank, part: Extent, state: u8) -> Outcome {
        let fabric = &self.fabric;
        let (versions, blocked) = self.leases(home, part).await;
        let mut at = part.first;
        let mut versions = versions.as_slice();
        while let Some(&(_, wr_ts)) = versions.first() {
            let held = |block, wr_ts| {
                state == abi::EXPIRED
                    && (fabric.own(Word::Wr(block)) == wr_ts || fabric.fault(Fault::RenewBlindly))
            };
            let renew = held(at, wr_ts);
            let same =
                |(i, v): &(usize, &(Timestamp, Timestamp))| held(Block(at.0 + *i as u64), v.1) == renew;
            let count = versions.iter().enumerate().take_while(same).count();
            let run = Extent::new(at, count as u64);
            if renew {
                self.stats.blocks_renewed.add(run.count);
            } else {
                self.fetch(home, run).await;
            }
            for (block, &(rd_ts, wr_ts)) in run.blocks().zip(versions) {
                self.set_copy(block, home, rd_ts, wr_ts).await;
            }
            if fabric.fault(Fault::MarkAfterRead) {
                marks::set(fabric, home, MarkKind::Read, run.first.chunk(), run.mask()).await;
            }
            if fabric.fault(Fault::CachedLate) {
                marks::set_own(fabric, MarkKind::Cached, run.first.chunk(), run.mask());
            }
            fabric.set_state(run, abi::READABLE);
            versions = &versions[count..];
            at = run.end();
        }
        blocked
    }

    /// Sets the read marks at a home and gets leases, until the first block that has moved.
    async fn leases(&self, home: Rank, part: Extent) -> (Vec<(Timestamp, Timestamp)>, Outcome) {
        let fabric = &self.fabric;
        let chunk = part.first.chunk();
        let word = Word::Mark { kind: MarkKind::Read, level: 0, index: chunk.0 };
        let mut versions = Vec::with_capacity(part.count as usize);
        loop {
            let unmarked = fabric.fault(Fault::MarkAfterRead) || fabric.fault(Fault::NoReadMark);
            if !unmarked {
                marks::set(fabric, home, MarkKind::Read, chunk, part.mask()).await;
            }
            versions.clear();
            let mut blocked = Ok(());
            for block in part.blocks() {
                match self.lease(home, block).await {
                    Ok(version) => versions.push(version),
                    Err(moved) => {
                        blocked = Err(moved);
                        break;
                    }
                }
            }
            // A release of the home may have taken the mark before the lease was read: then a later release would see neither a mark
            // nor a need for a version above this lease.
            if versions.is_empty() || fabric.fault(Fault::NoMarkRecheck) || unmarked {
                return (versions, blocked);
            }
            let mask = Extent::new(part.first, versions.len() as u64).mask();
            if fabric.load(home, word).await & mask == mask {
                return (versions, blocked);
            }
        }
    }

    async fn set_copy(&self, block: Block, home: Rank, rd_ts: Timestamp, wr_ts: Timestamp) {
        self.fabric.set_own(Word::Rd(block), rd_ts | CLOSED);
        self.fabric.set_own(Word::Wr(block), wr_ts);
        let (word, link) = self.own_link(block);
        if let Link::Link { to, pending: false } = link
            && to != home
        {
            // Shortens the path. If it fails, a thread of this process is moving the home here.
            self.cas_link(self.me(), block, word, Link::to(home)).await;
        }
    }

    /// Follows the links to the home.
    async fn find_home(&self, block: Block) -> Result<Rank, Blocked> {
        let mut at = self.me();
        loop {
            let (seen, link) = self.load_link(at, block).await;
            match link {
                Link::Home { .. } => return Ok(at),
                Link::Wait => return Err(Blocked { at, block, seen }),
                Link::Link { to, .. } => {
                    self.stats.link_hops.add(u64::from(at != self.me()));
                    at = to;
                }
            }
        }
    }

    /// Lease and version of a block at its home, with the read mark set. The lease covers at least what this process's copies are checked against.
    async fn lease(&self, home: Rank, block: Block) -> Result<(Timestamp, Timestamp), Blocked> {
        let fabric = &self.fabric;
        let min = self.signature().min_applied();
        loop {
            let rd_ts = fabric.load(home, Word::Rd(block)).await;
            if rd_ts & CLOSED != 0 && !fabric.fault(Fault::NoLinkRecheck) {
                let (seen, _) = self.load_link(home, block).await;
                return Err(Blocked { at: home, block, seen: !seen });
            }
            let wr_ts = fabric.load(home, Word::Wr(block)).await;
            let mut lease = rd_ts;
            if rd_ts < min {
                let length = (2 * (rd_ts - wr_ts.min(rd_ts))).clamp(LEASE_MIN, LEASE_MAX);
                lease = min + length;
                if fabric.cas(home, Word::Rd(block), rd_ts, lease).await != rd_ts {
                    continue;
                }
            }
            let (seen, link) = self.load_link(home, block).await;
            return match link {
                Link::Home { .. } => Ok((lease, wr_ts)),
                _ if fabric.fault(Fault::NoLinkRecheck) => Ok((lease, wr_ts)),
                // Already different from what find_home saw: the caller looks again at once.
                _ => Err(Blocked { at: home, block, seen: !seen }),
            };
        }
    }

    /// A block with own unpublished bytes: brings in what changed at the home.
    async fn merge_from_home(&self, block: Block) -> Outcome {
        let fabric = &self.fabric;
        let (seen, link) = self.own_link(block);
        if matches!(link, Link::Link { pending: true, .. }) {
            return Err(Blocked { at: self.me(), block, seen });
        }
        let home = self.find_home(block).await?;
        let (versions, blocked) = self.leases(home, Extent::single(block)).await;
        blocked?;
        let (rd_ts, wr_ts) = versions[0];
        let mut contents = vec![0; fabric.block_bytes()];
        fabric.snapshot(home, block, &mut contents).await;
        fabric.merge(block, &contents, home);
        self.stats.blocks_merged.add(1);
        self.stats.bytes_moved.add(contents.len() as u64);
        self.set_copy(block, home, rd_ts, wr_ts).await;
        marks::set_own(fabric, MarkKind::Dirty, block.chunk(), block.bit());
        fabric.set_state(Extent::single(block), abi::WRITABLE);
        Ok(())
    }

    /// Allows stores to readable blocks.
    async fn make_writable(&self, part: Extent) -> Outcome {
        let mut at = part.first;
        while at < part.end() {
            let (state, count) = self.run(at, part);
            let run = Extent::new(at, count);
            if state == abi::READABLE {
                self.upgrade(run).await?;
            }
            at = run.end();
        }
        Ok(())
    }

    async fn upgrade(&self, run: Extent) -> Outcome {
        let fabric = &self.fabric;
        for block in run.blocks() {
            let own = Extent::single(block);
            loop {
                let (seen, link) = self.own_link(block);
                match link {
                    Link::Home { writable: true, .. } => break,
                    Link::Home { writable: false, locked } => {
                        let writable = Link::Home { writable: true, locked };
                        if self.cas_link(self.me(), block, seen, writable).await {
                            break;
                        }
                    }
                    Link::Link { pending: true, .. } => return Err(Blocked { at: self.me(), block, seen }),
                    Link::Link { .. } | Link::Wait => {
                        fabric.make_twin(own);
                        self.stats.twins_made.add(1);
                        break;
                    }
                }
            }
            // The mark comes after the writable bit (a release that finds a shared home drops its read marks) and before the state.
            marks::set_own(fabric, MarkKind::Dirty, block.chunk(), block.bit());
            fabric.set_state(own, abi::WRITABLE);
        }
        Ok(())
    }
}
