//! Layout of a function's frame on the shared stack, which grows down.

use dsm_abi::layout::STACK_ALIGN;

use crate::analysis::facts::{Site, StackFacts};

/// A variable in the frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Where it comes from.
    pub source: Source,
    /// Name for printing.
    pub name: String,
    /// Bytes from the frame's lowest address.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// Origin of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// An alloca.
    Alloca(Site),
    /// The copy of a parameter passed in memory.
    Byval(u32),
}

/// The frame.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StackPlan {
    /// Variables of fixed size.
    pub slots: Vec<Slot>,
    /// Bytes of the frame, a multiple of the stack's alignment.
    pub size: u64,
    /// Alignment of the frame.
    pub align: u64,
    /// Allocas of run-time size.
    pub dynamic: Vec<Site>,
    /// Calls of `stacksave` and `stackrestore` that work on the shared stack.
    pub saves: Vec<Site>,
    /// See `saves`.
    pub restores: Vec<Site>,
    /// Places where control comes back from deeper frames that did not return.
    pub reentries: Vec<Site>,
}

impl StackPlan {
    /// True if the function does not touch the shared stack.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.dynamic.is_empty() && self.reentries.is_empty()
    }

    /// True if the function moves the stack pointer and must put it back.
    pub fn moves_pointer(&self) -> bool {
        !self.slots.is_empty() || !self.dynamic.is_empty()
    }
}

/// Lays out the frame: largest alignment first, so that no hole is larger than the tail.
pub fn layout(facts: &StackFacts) -> StackPlan {
    let locals = facts.fixed.iter().map(|s| (s.align, s.size, Source::Alloca(s.site), s.name.clone()));
    let copies =
        facts.byval.iter().map(|&(i, size, align)| (align, size, Source::Byval(i), format!("byval {i}")));
    let mut all: Vec<_> = locals.chain(copies).collect();
    all.sort_by_key(|(align, ..)| std::cmp::Reverse(*align));
    let mut out = StackPlan { align: STACK_ALIGN, ..StackPlan::default() };
    for (align, size, source, name) in all {
        let align = align.max(1);
        let offset = out.size.next_multiple_of(align);
        out.align = out.align.max(align);
        out.size = offset + size.max(1);
        out.slots.push(Slot { source, name, offset, size });
    }
    out.size = out.size.next_multiple_of(STACK_ALIGN);
    // The shared pointer takes over from the native one in `stacksave`, so all dynamic allocas move or none.
    if facts.dynamic.iter().any(|&(_, escapes)| escapes) {
        out.dynamic = facts.dynamic.iter().map(|&(site, _)| site).collect();
        out.saves = facts.saves.clone();
        out.restores = facts.restores.clone();
    }
    out.reentries = facts.reentries.clone();
    out
}
