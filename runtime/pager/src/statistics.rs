//! What a pager counts.

/// Counts since the start; pages unless the name says something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Accesses that found nothing, or what they were not allowed: faults.
    pub faults: u64,
    /// Given to the program for the first time: zeros.
    pub zeroed: u64,
    /// Read from disk, or copied from other processes.
    pub read: u64,
    /// Reads that brought them: transfers.
    pub reads: u64,
    /// Those of the pages that another process had in memory.
    pub copied: u64,
    /// Those of the pages that nobody had asked for yet.
    pub read_ahead: u64,
    /// Written to disk.
    pub written: u64,
    /// Writes that brought them there: transfers.
    pub writes: u64,
    /// Left without being written: the disk had the same contents.
    pub left_clean: u64,
    /// Left without being written: nobody needed the contents.
    pub discarded: u64,
    /// Written, and stored to meanwhile, so that they stayed.
    pub stored_while_written: u64,
    /// Stayed when they were to go, because no other process had them in memory.
    pub spared: u64,
    /// Found in use when they were taken out of the program mapping.
    pub in_use: u64,
    /// Faults that waited until there was space.
    pub waited_for_frames: u64,
}
