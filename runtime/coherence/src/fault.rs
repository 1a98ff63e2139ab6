//! Known ways to get the protocol wrong. The schedule explorer asks for one at a time and has to find it; in production
//! [`crate::Fabric::fault`] is constantly false and the branches disappear.

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A seeded fault; each names the rule that is broken.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Fault { $($(#[$doc])* $name,)* }

        impl Fault {
            /// All of them.
            pub const ALL: &[Fault] = &[$(Fault::$name,)*];
        }
    };
}

faults! {
    /// A release looks at the marks before the program's stores are visible. For the fabric to obey.
    NoReleaseFence,
    /// A release that finds no marks does not wait for another thread's release that may be about to set a summary again.
    ReleaseUnderway,
    /// A summary that leads to nothing is cleared without another look at what it led to.
    SummaryNotRestored,
    /// An acquirer remembers what it has read before it has applied it.
    CursorEarly,
    /// Of several peers that are asked together, the first one's reply is taken for all.
    FirstReplyForAll,
    /// An acquiring read of an atomic variable asks for the signature before it reads the variable.
    SignatureBeforeRead,
    /// A reader of a home's live data sets no read mark.
    NoReadMark,
    /// A reader of a notice's writer sets no read mark.
    NoReadMarkAtWriter,
    /// The read mark is set after the data was read.
    MarkAfterRead,
    /// The reader does not look whether its mark still stood when it had its lease.
    NoMarkRecheck,
    /// The reader does not look whether the home was still home when it had its lease.
    NoLinkRecheck,
    /// The taker of a writable home sets no taken mark.
    NoTakenMark,
    /// The taker of a writable home leaves no twin.
    NoTwin,
    /// The link of a writable home leads on before the twin is placed there.
    NoTwinFlush,
    /// The taker of a writable home that takes no memory leaves no twin.
    NoTwinOfHole,
    /// The taker looks whether a home takes memory before its records are locked.
    HolesBeforeLock,
    /// Twins' memory is given back without a look at who is leaving one there.
    FreeExpectedTwin,
    /// A home's link leads on, and its records are unlocked, before the contents are read and the twin is left.
    LinkBeforeContents,
    /// A reader extends a lease without the lock of the home's records.
    ExtendUnlocked,
    /// A reader does not look whether the records that it read belong together.
    TornRecords,
    /// The lock of a home's records is given back before what was posted to them is placed.
    UnlockBeforeFlush,
    /// The lease of a chunk at home stays below the version of a block that arrives.
    LeaseNotRaised,
    /// A reader ignores the version of a chunk that was published as a whole.
    IgnoreChunkVersion,
    /// Blocks obtained are published after the last one is, not before waiting for the next.
    HoldWhileWaiting,
    /// The records of blocks that are being taken tell of the new version before the contents are merged.
    StampBeforeMerge,
    /// The taker ignores the bound that the old home has checked its copies against.
    IgnoreOldBound,
    /// A bound passes over homes that are just leaving with the records locked.
    BoundBesideMove,
    /// The taker overwrites own unpublished bytes.
    NoMerge,
    /// A new version equals the longest lease on the old one.
    EqualTimestamps,
    /// A taken block without changes owes no notice.
    DirtyNotSticky,
    /// A release passes over read marks.
    IgnoreReadMarks,
    /// A miss that takes the home of a block with a copy here keeps that.
    SilentCopyKept,
    /// A permission to store is taken back without a version for what was stored.
    RevokeUnpublished,
    /// With one writer at a time, a home is taken whose process may store to it.
    TakeFromWriter,
    /// A release believes that no other thread is about to store.
    AlwaysExclusive,
    /// A release that waited for the other threads of the process believes that they are held, though one is about to store.
    HeldAfterWait,
    /// A release token names a list that another thread of the process has not published yet. For the fabric to obey.
    TokenUnlocked,
    /// Blocks that are given up, as others are to be where they were, leave their marks behind.
    DiscardKeepsMarks,
    /// A process from which blocks are taken that all begin to use anew stays noted as their home.
    AdoptKeepsHomes,
    /// The number of a block that is there no more stands for what is where it was. For the fabric to obey.
    OldNumbers,
    /// A block cleaned by a release keeps the version of the contents that it lacks.
    CleanKeepsVersion,
    /// Overflow drops notices without raising the bound.
    SilentOverflow,
    /// A peer's bound is not passed on.
    BoundNotPassedOn,
    /// A peer's bound is not applied to the own copies.
    BoundNotApplied,
    /// An acquirer takes a version of its own process for known while another thread waits for the contents.
    ArrivalNotAwaited,
    /// Applied notices are not passed on.
    NoticesNotPassedOn,
    /// The garbage collection of notices after a barrier drops those that came since the last barrier but one.
    KnownNoticesDropped,
    /// What was published in a newer list counts as read.
    NewListRead,
    /// Where a list has begun anew, its readers go on behind all that was in the one before.
    CarriedUnread,
    /// Where readers of the list before go on in the new one is said in the same place for all lists.
    CarriedInPlace,
    /// A notice that is older than the copy's lease turns the link back.
    LinkBackwards,
    /// A copy is renewed though its version is not the home's.
    RenewBlindly,
    /// A bound expires cached copies, but not those left behind by a taken home.
    ExpireOnlyCached,
    /// A bound looks at all blocks between those that it may end, although the bytes there may be in blocks of another size.
    ExpireBetween,
    /// A bound forgets the copies that it leaves valid.
    LeaseNotListed,
    /// A bound forgets the shared homes, whose takers leave copies behind.
    SharedHomeNotListed,
    /// A miss marks its copies after it read the bound.
    CachedLate,
    /// A home taken at a miss for stores has no dirty mark.
    MigratedNotDirty,
    /// A miss takes the home of a block that another process is just taking from there.
    MigratedFromTaken,
    /// A block that is overwritten in part is not fetched.
    OverwritePart,
    /// A block that is overwritten is not fetched, although its home was not free.
    OverwriteUntaken,
    /// The taker of a writable home that is overwritten says nothing of the missing twin.
    NoReplacedBit,
    /// What was said of a missing twin stays when a twin is made, and when the home returns.
    ReplacedForGood,
    /// An acquirer takes the notices in a release token for all that it has missed.
    TailOnly,
    /// Who takes a home leaves it among those that are noted for the old place.
    HomeStays,
    /// A home that is stored to again still counts as write-protected for processes that take it.
    UpgradeUnseen,
    /// A home is made writable without the lock of its records.
    UpgradeUnlocked,
    /// A release takes a single block that is marked for one whose home is here.
    FastPathNotAtHome,
    /// An acquirer takes a single block from the writer of a notice without a look whether its home is free there.
    FastPathNotFree,
    /// An acquirer takes a single block without locking the records at the new home.
    FastPathUnlocked,
    /// A release that finds one block stored to passes over what was read in its chunk.
    FastPathIgnoresReads,
    /// A read miss of a single block sets no read mark.
    SingleReadUnmarked,
    /// A read miss of a single block does not look whether its mark still stood when it had its lease.
    SingleReadNoRecheck,
    /// A read miss of a single block is content with a lease or a version that its copies' bound is above.
    SingleReadUnbounded,
    /// A read miss of a single block does not look whether the home was locked or has left meanwhile.
    SingleReadUnwitnessed,
    /// A read miss of a single block takes the home to be where the own link leads.
    SingleReadAnywhere,
    /// A write miss of a single block at home does not lock the records.
    SingleUpgradeUnlocked,
    /// A write miss of a single block at home does not look again, with the records locked, whether it is there.
    SingleUpgradeAnywhere,
    /// A write miss of a single block at home leaves it among the write-protected ones.
    SingleUpgradeUnseen,
    /// A write miss of a single block at home does not mark it *dirty*.
    SingleUpgradeUnmarked,
    /// Who copies from the writer of a notice looks whether the home is there behind the contents only: it may just be coming, in the version of the notice.
    CopyBesideArrival,
    /// A release leaves read marks in the rings.
    RingsNotDrained,
    /// A release that finds nothing else marked, or one block stored to, does not look at the rings.
    RingsPassedOver,
    /// Read marks that are taken out of a ring count as taken out before they are set.
    ConsumedEarly,
    /// A reader puts a mark where one is that the home has not taken out yet.
    RingOverrun,
    /// An atomic operation at a home makes no version though the block was read there by a reader whose mark is still in a ring.
    UpdateBesideRing,
    /// A one-sided read sets no mark.
    OneSidedUnmarked,
    /// A one-sided read sets its mark before it first looks at the records: a release may have taken it by then.
    OneSidedMarkFirst,
    /// A one-sided read sets its mark behind the contents.
    OneSidedMarkLast,
    /// A one-sided read looks at the records for the first time together with the contents, which may have been read before.
    OneSidedLookBeside,
    /// A one-sided read looks at the records for the last time together with the contents, which may be read later.
    OneSidedWitnessBeside,
    /// A one-sided read does not look at the records behind the contents.
    OneSidedUnwitnessed,
    /// A one-sided read takes the home to be where the own link leads.
    OneSidedAnywhere,
    /// A one-sided read is content with a lease or a version that its copies' bound is above.
    OneSidedUnbounded,
    /// A reader takes what the writer of a notice has, though the home was taken from there: it may be stored back in no version.
    ReadFormerHome,
    /// Links of others are shortened without the lock of their records.
    ShortenUnlocked,
    /// Links of others are shortened without another look whether the home is still there.
    ShortenBlindly,
    /// Who looks for a home without the chunk's lock changes its own link.
    OwnLinkUnlocked,
    /// What was read or merged at a home gets its label without a look whether the home was still there behind the contents.
    FetchWhileTaken,
    /// Of several notices of the same blocks an acquirer applies the oldest.
    KeepOldest,
    /// An acquirer takes the others for known before it has listed the newest.
    SupersededEarly,
    /// A release that publishes any block drops all deferred notices of others.
    SupersedeOthers,
    /// A release without anything of its own leaves notices of others deferred.
    HeldBackForGood,
    /// A release writes its changes into a home's contents without the lock of the records there.
    DiffUnlocked,
    /// What a release has merged at a home goes on to differ from the twin. For the fabric to obey.
    DiffTwinStays,
    /// A copy whose changes were merged at home counts as that version, whatever others have merged there before.
    DiffAhead,
    /// Changes are merged at a process without a look whether the home still is there.
    MergeAtFormerHome,
    /// A home whose contents others' changes were merged into keeps its version.
    MergeVersionStays,
    /// The lease of a chunk stays below the version of what was merged there.
    MergeLeaseStays,
    /// A release lets acquirers see a notice of what it is going to merge at a home before that has replied.
    MergeNoticeEarly,
    /// A request to merge is executed once more after its reply. For the fabric to obey.
    MergeRepeated,
    /// What a home does not merge, of merges that are under way together, is not published either.
    MergesMarksLost,
    /// A home does not pass notices of others on that merged their changes into its contents.
    MergedNotPassedOn,
    /// An acquire takes the notices that have come though it is to know newer ones.
    PiggybackOld,
    /// Notices come without the bound that covers those which the list does not have any more.
    PiggybackUnbounded,
    /// What is fetched ahead is put in its place without the lock of the chunk, which another thread's acquire may have invalidated meanwhile.
    AheadUnlocked,
    /// What was fetched ahead of a notice counts for the next one as well.
    AheadKept,
    /// A copy gets a label beside lookups that redirect its link.
    LabelUnlocked,
    /// Blocks that are discarded are fetched ahead as before.
    DiscardKeepsExpected,
    /// What was fetched ahead from a home counts although its lease ends below the bound.
    AheadExpired,
    /// What was fetched ahead counts although an operation of this process has been executed at the home since.
    AheadBesideUpdate,
    /// Blocks that a release asks for together with those of other chunks, and does not get, are not marked again.
    TakesMarksLost,
    /// The links of such blocks still say that they are being taken.
    TakesStayTaking,
    /// What calls for a range bring is put in its place without the locks of the chunks.
    RangeUnlocked,
    /// The link of a block whose home was asked for with those of a range, and not taken, still says that it is being taken.
    RangeStaysTaking,
    /// Of the replies to calls that are under way together, only the contents of the first one are put in their place.
    FirstReplyPlaced,
    /// An atomic operation is executed at a home without the lock of the records there.
    UpdateUnlocked,
    /// An atomic operation is executed at a write-protected home.
    UpdateShared,
    /// An atomic operation at a home makes no version though the block was read there.
    UpdateBesideReader,
    /// An atomic operation at a home makes no version though the block was stored to there, after it had been read.
    UpdateBesideStore,
    /// A release takes the marks of a chunk before it locks the records: an atomic operation of a peer at that time sees neither marks nor the version.
    MarksTakenEarly,
    /// Who executes an atomic operation at a home does not list the version that the result is part of.
    UpdateNotListed,
    /// An atomic read takes what it finds without another look whether the home was there all the time.
    AtomicReadUnchecked,
    /// Changes in one call are executed at a process where only the home of the first one's block is.
    BatchAtFormerHome,
    /// Changes in one call make a version of one block though several were read there.
    BatchOneVersion,
    /// Who has several changes executed in one call lists the version of one block only.
    BatchNotListed,
    /// Who has changes executed elsewhere keeps its copy, out of which they are missing.
    BatchCopyStays,
    /// A release leaves the additions that the process keeps where they are.
    KeptNotSent,
    /// A miss makes a block accessible for which the process keeps additions.
    MissBesideKept,
    /// Who asks whether there are own stores does not wait for the twin that the taker of the home is leaving.
    TwinNotAwaited,
    /// Nor for a home that comes here, with which the twin goes.
    DroppedTwinCompared,
    /// An atomic operation at the own home does not lock the records.
    UpdateHereUnlocked,
    /// Records are closed without a look at who is executing an operation.
    ClosedBesideOperation,
    /// An operation is executed although the records were not open any more when the process had said that it executes one.
    OpenUnchecked,
    /// An operation is executed where an earlier one has found the home with open records, though these were closed since.
    OpenHomeNotCompared,
    /// Homes of a chunk at two processes count as homes at one, if their records have the same word.
    OpenHomesMixed,
    /// An operation is executed at a write-protected home whose records are open.
    OpenShared,
    /// An operation is executed at a home whose records are open, without a version, though the block was read there.
    OpenBesideReader,
    /// An operation that releases does not look whether there is something to publish.
    OrderedUnreleased,
    /// An operation with the records locked looks for who may have copies in front of its change, not behind it.
    CopiedLookedEarly,
    /// The home whose stores are allowed again is marked *dirty* with its records unlocked.
    UpgradeMarkedLate,
    /// Who executes an atomic operation at a home leaves its own copy as it is.
    UpdateBesideCopy,
    /// The same of its twin: the result counts as a store of this process.
    UpdateBesideTwin,
    /// Who executes an operation at a home that stores nothing, as a compare-and-swap that fails, leaves its own copy as it is.
    ComparedBesideCopy,
    /// The same of a copy that has expired.
    ComparedBesideExpired,
    /// Who reads a variable atomically at its home leaves its own copy as it is.
    ReadBesideCopy,
    /// Who keeps an addition leaves its own copy as it is.
    KeptBesideCopy,
    /// The copy of who executes an atomic operation at a home counts as the only one, however many processes there are.
    OnlyCopyOfMany,
    /// A load is made at the home though this process has stored to the block, and not published that.
    LoadBesideStores,
    /// A load is made where the home was.
    LoadAnywhere,
    /// The same with an atomic read.
    ReadAnywhere,
    /// An atomic read at the home passes over a copy that has another value.
    ReadBesideOlderCopy,
    /// A home that queued processes wait for is unlocked without handing over.
    NoHandOver,
}
