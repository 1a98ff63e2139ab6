//! A read miss at the writer of a notice: its version is known, so there is no lease to get.

use super::Landing;
use super::lend::Witness;
use crate::Fault;
use crate::fabric::{Fabric, MarkKind, Word};
use crate::open::is_open;
use crate::records::Records;
use crate::segment::Segment;
use crate::types::Extent;

/// What a reader asks for: blocks of one chunk in the versions that notices told it of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) part: Extent,
    pub(crate) versions: &'a Records,
}

impl Request<'_> {
    /// Makes a message of it; returns the length.
    pub(crate) fn encode(&self, into: &mut [u8]) -> usize {
        super::wire::request::copy(self, into)
    }
}

impl<F: Fabric> Segment<'_, F> {
    /// Sets the read marks and copies contents. Returns the blocks that were at home here all the time; what was copied of others is worth nothing.
    pub(crate) async fn copy(&self, request: &Request<'_>, landing: &mut Landing<'_>) -> u64 {
        let Request { part, versions } = *request;
        let chunk = part.first.chunk();
        let checkpoint = self.fabric.checkpoint();
        if !self.fault(Fault::NoReadMarkAtWriter) {
            self.mark(MarkKind::Read, chunk, part.mask()).await;
        }
        let sequence = self.load(Word::Records(chunk)).await;
        if is_open(sequence) {
            // Who has begun an operation may not have seen the mark.
            return 0;
        }
        // Before the contents: a home that is on its way here comes with the version of the notice, which the process that it left has told of.
        let homes = self.load(Word::Homes(chunk)).await ^ self.fabric.default_homes(self.at, chunk);
        landing.fetch(self, part, false).await;
        if self.fault(Fault::ReadFormerHome) {
            return part.mask();
        }
        let homes = match self.fault(Fault::CopyBesideArrival) {
            true => self.load(Word::Homes(chunk)).await ^ self.fabric.default_homes(self.at, chunk),
            false => homes,
        };
        let read = homes & self.stayed(part, Witness { sequence, versions }).await;
        self.fabric.live_since(checkpoint, || (read, landing.held()));
        read
    }
}
