//! Known ways to get the protocol wrong. The schedule explorer asks for one at a time and has to find it; in production [`crate::Memory::fault`] is constantly false and the branches
//! disappear.

/// A seeded fault; each names the rule that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A page that has moved leaves its old header as it was: who remembers the old place goes on using it.
    StaleCache,
    /// The page is copied while puts are under way.
    LostPut,
    /// A put does not look whether the page is leaving.
    PutWhileLeaving,
    /// A get does not look at the header again when it has copied.
    FreedRead,
    /// The new place lets puts in before the old one is cleared.
    EarlyAdmission,
    /// A page keeps its version when it moves.
    SameVersion,
    /// Whoever takes a page without a place does not look whether another process came first.
    BlindClaim,
    /// The old memory is given back when the page may be on its way back.
    LateClear,
    /// The entry is written when the old header has been cleared: gets run in circles meanwhile.
    LateEntry,
    /// A page that is arriving is moved on.
    MoveArriving,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 10] = [
        Fault::StaleCache,
        Fault::LostPut,
        Fault::PutWhileLeaving,
        Fault::FreedRead,
        Fault::EarlyAdmission,
        Fault::SameVersion,
        Fault::BlindClaim,
        Fault::LateClear,
        Fault::LateEntry,
        Fault::MoveArriving,
    ];
}
