//! What a process says of a block, for who looks at a job from outside: a debugger. Only loads words: takes no lock, waits for nobody, changes nothing.

use crate::Coherence;
use crate::fabric::{Fabric, MarkKind, Word};
use crate::link::Link;
use crate::types::{Block, Rank, Timestamp};

/// The words of a block at one process. They may have changed while they were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Where the process believes the home to be.
    pub link: Link,
    /// Version of the contents there.
    pub version: Timestamp,
    /// Lease on it.
    pub lease: Timestamp,
    /// Whether the process has allowed stores that it has not published yet.
    pub dirty: bool,
}

impl<F: Fabric> Coherence<F> {
    /// The words of a block at process `at`.
    pub async fn inspect(&self, at: Rank, block: Block) -> Inspection {
        let (fabric, chunk) = (&self.fabric, block.chunk());
        let (_, link) = self.load_link(at, block).await;
        let dirty = Word::Mark { kind: MarkKind::Dirty, level: 0, index: chunk.0 };
        let mut out = Inspection {
            link,
            version: fabric.load(at, Word::Wr(block)).await,
            lease: fabric.load(at, Word::Rd(block)).await,
            dirty: fabric.load(at, dirty).await & block.bit() != 0,
        };
        if link == Link::Home {
            // Blocks at home have what their chunk has, if that is more.
            out.version = out.version.max(fabric.load(at, Word::ChunkVersion(chunk)).await);
            out.lease = out.lease.max(fabric.load(at, Word::Lease(chunk)).await);
        }
        out
    }
}
