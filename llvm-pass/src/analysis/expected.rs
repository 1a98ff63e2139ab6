//! What an access of an innermost loop will touch if the loop goes on up to the bound that is known in front of it.
//!
//! ```text
//! for (k = first; k < bound[i]; k++) count[key[k]]++;
//! ```
//! A store of the loop may change its bound, so it is loaded again in each iteration, and nobody knows how often the loop runs. Most likely the bound stays what it was when it was
//! loaded last in front of the loop, which is for the comparison that enters it.
//!
//! Nothing may rely on such a range, see [`crate::plan::hint`]. So nothing is proved of it: neither that the bound stays, nor that the distance to it does not wrap. What is expected of an access is
//! that it is executed in every iteration.

use crate::llvm::Value;

use super::Function;
use super::facts::{BlockId, ExpectedRange, LoopId};
use super::loops::number;
use super::spans::Spanner;

impl Spanner<'_> {
    /// The range of an access in a block of an innermost loop.
    pub fn expected(
        &self,
        out: &mut Function,
        (block, inner): (BlockId, LoopId),
        pointer: Value,
        size: u64,
    ) -> Option<ExpectedRange> {
        let l = self.loops[inner];
        let is_nest = self.loops.iter().any(|other| other.parent() == Some(l));
        if is_nest || !self.analyses.dominates(out.blocks[block], l.latch()?) {
            return None;
        }
        let (distance, counts_by) = self.analyses.expected_distance(l)?;
        let (first, step) = self.analyses.recurrence(self.analyses.address(pointer)?, l)?;
        let step = self.analyses.constant(step)?;
        let dense = step.unsigned_abs() < size.saturating_add(self.line_bytes);
        if step == 0 || step.checked_rem(counts_by)? != 0 || !dense {
            return None;
        }
        let times = |factor| self.analyses.mul(distance, self.analyses.int(self.context, factor));
        let ratio = step / counts_by;
        let (start, extent) = match step > 0 {
            true => (first, times(ratio)),
            false => (self.analyses.add(first, times(ratio)), times(-ratio)),
        };
        let end = l.preheader()?.terminator();
        if !self.expander.is_safe(start, end) || !self.expander.is_safe(extent, end) {
            return None;
        }
        let (key, start_offset) = self.analyses.split_constant(start);
        let (start_key, start) = (number(&mut out.exprs, key), number(&mut out.exprs, start));
        let extent = number(&mut out.exprs, extent);
        Some(ExpectedRange { over: inner, start_key, start_offset, start, extent })
    }
}
