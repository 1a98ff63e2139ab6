//! Known ways to get synchronisation wrong. The schedule explorer asks for one at a time and has to find it; in production [`crate::Words::fault`] is constantly false
//! and the branches disappear.

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A seeded fault; each names the rule that is broken.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Fault {
            $($(#[$doc])* $name,)*
        }

        impl Fault {
            /// All of them.
            pub const ALL: &[Fault] = &[$(Fault::$name,)*];
        }
    };
}

faults! {
    /// Two threads may draw the same ticket of a lock.
    TicketReused,
    /// Whoever waits for a lock is not woken when its turn comes.
    WakeLeftOut,
    /// Those are woken who wait for the turn that has ended.
    OwnTurnWoken,
    /// The turn comes before it is noted who held the lock, and what that one published.
    TurnBeforeToken,
    /// What the last holder published is not noted.
    TokenLeftOut,
    /// A lock is handed over before the holder has published.
    HandedOverUnreleased,
    /// Who gets the turn in a slot that went to another lock holds that one.
    NameUnseen,
    /// The turn in a slot that went to another lock is never given back.
    TurnKept,
    /// A ticket that is given back ends the turn of another one.
    OthersTurnEnded,
    /// Names are inserted by several threads at once.
    StripeUnlocked,
    /// A name is inserted without a look whether another thread has done so.
    InsertedUnseen,
    /// A name is put elsewhere than at home, and its home does not say so.
    SpillUnmarked,
    /// A slot is taken away from a lock that is held.
    HeldEvicted,
    /// Nobody is thought to have held a lock before that lost its slot.
    LastForgotten,
    /// A process that begins to cache a lock does not say so in the slot.
    CachingUnnamed,
    /// It says so before its own word does: a revocation finds nothing.
    CachingNamedFirst,
    /// It does not look whether somebody has drawn a ticket meanwhile.
    TicketOverlooked,
    /// A thread takes a lock that its process caches, and is about to give up.
    RevocationIgnored,
    /// Who gives back a lock that its process caches does not look whether it is revoked.
    RevocationForgotten,
    /// Nobody is called to give up a lock that is revoked.
    RevocationUnheard,
    /// A lock that another process caches is taken for held.
    CachedTakenForHeld,
    /// A barrier is signalled before the process has published.
    SignalUnreleased,
    /// How far a process has published comes behind its signal.
    StateBehindSignal,
    /// A signal counts for two.
    SignalledTwice,
    /// Any signal of an earlier barrier counts for this one.
    AnySignalTaken,
    /// The last round of a barrier is left out.
    RoundLeftOut,
    /// A fork's message does not say how far process 0 has published.
    ForkStateLeftOut,
    /// Nobody is woken for a fork.
    ForkUnheard,
    /// A process does not look whether the message that it has read is a mixture of two.
    ForkUnchecked,
    /// The message of a fork is overwritten without a sign.
    ForkUnannounced,
    /// A process is counted at the end of a region before it has published.
    JoinUnreleased,
    /// Arrivals at the ends of earlier regions count for this one.
    JoinsForgotten,
    /// A barrier of some processes takes the place of the join of their region.
    JoinLeftOut,
    /// Notifications between the mutex and the wait are missed.
    NotificationMissed,
    /// Tasks are handed over before the process has published what they read.
    GrantUnreleased,
    /// Who gets tasks does not acquire from the process that they come from.
    BatchUnacquired,
    /// The mailbox says that there is a message before there is.
    SenderBeforeMessage,
    /// A mailbox may be written again before its message was read.
    MailboxFreedUnread,
    /// Two processes answer the same request.
    ClaimUnseen,
    /// A request ends behind the answer: the next one may be lost.
    WishClearedLate,
    /// Nobody is woken for tasks that came.
    GrantUnheard,
    /// News of tasks between the look at them and the wait are missed.
    NewsMissed,
    /// Nobody asks processes for tasks all of whose threads compute.
    ServiceUncalled,
    /// The end of tasks is reported before what they wrote is published.
    ReportUnreleased,
    /// Who completes tasks does not acquire from the process that ran them.
    ReportUnacquired,
    /// Nobody is woken for a report.
    ReportUnheard,
    /// A process comes to a barrier when it may still have tasks.
    TerminatedEarly,
    /// Those are not woken who run tasks while they wait for a signal of a barrier.
    SignalUnheard,
    /// A process gets tasks of another region than it has requested some for.
    RegionUnseen,
    /// A batch stays open though the process does not wait for its descendants any more.
    SlotStaysOpen,
    /// A message of a reduction is sent before the last but one was taken.
    ReductionReused,
    /// A message of a reduction counts as taken before it was read.
    ReductionTakenUnread,
    /// Who has taken messages of reductions never says so.
    ReductionUntold,
    /// A message of a reduction is counted before it is there.
    ReductionCountedEarly,
}
