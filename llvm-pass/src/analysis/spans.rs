//! What an access of an innermost loop can touch at most: spans over loops, and the global that it lies in.
//!
//! Soundness. A span holds the address of every iteration that the loop can have, executed or not: `start`, and the strides'
//! steps as often as SCEV's upper bound of the back edge count says. The recurrence is exact modulo 2^64; the runtime multiplies
//! with overflow checks and refuses spans that leave the user's addresses, so nothing wraps in a span that it accepts. A span may
//! hold memory that is not there or that the program never touches: it may be tested, but not fetched for its own sake.
//!
//! A global that an address is computed from holds every byte that the access touches: the language has no way from one
//! object to another. What is known of its size here must be true of it: variables with an initialiser, and arrays of known
//! length that are declared only. A thread's copy of a threadprivate variable has the size that the OpenMP runtime is told when it is
//! asked for the copy.
//!
//! Likewise an allocatable array of Fortran holds all that is reached from its base address. Its extents are those that its descriptor has
//! when they are tested, if the descriptor has the same base address then as when the program read it: an array that was
//! deallocated since would have taken a call that may synchronise.
//!
//! What is computed from any other address lies in the object that this one points into or just behind. The runtime tells whether all of its allocation is valid, or that it does not know which one that is.

use crate::llvm::{Analyses, Context, Expander, Expr, Loop, Module, Opcode, TypeKind, Value};

use super::Function;
use super::facts::{Access, Allocation, Array, LoopId, MAX_STRIDES, Object, Span, Stride};
use super::fortran;
use super::loops::number;
use super::openmp;

/// Largest step, bytes.
const MAX_STEP: u64 = 1 << 31;

/// Looks at the accesses of one function.
pub struct Spanner<'a> {
    /// The module.
    pub module: Module,
    /// Its function's analyses.
    pub analyses: &'a Analyses,
    /// Its context.
    pub context: Context,
    /// Asked whether expressions can be computed.
    pub expander: &'a Expander,
    /// Loops by number.
    pub loops: &'a [Loop],
    /// Bytes of a line.
    pub line_bytes: u64,
}

impl Spanner<'_> {
    /// Adds the span and the object of an access.
    pub fn look(&self, out: &mut Function, inner: LoopId, pointer: Value, access: &mut Access) {
        access.object = self.object(out, inner, pointer);
        access.array = self.array(out, inner, pointer);
        if access.object.is_none() && access.array.is_none() {
            access.allocation = self.allocation(out, inner, pointer);
        }
        if access.loop_ranges.is_empty() {
            access.span = self.span(out, inner, pointer);
        }
    }

    fn object(&self, out: &mut Function, inner: LoopId, pointer: Value) -> Option<Object> {
        let global = self.analyses.pointer_base(pointer)?;
        if global.is_call() {
            let bytes = u64::try_from(openmp::threadprivate_bytes(global)?).ok()?;
            let outside = self.is_outside(out, inner, global);
            return outside.then(|| Object { value: number(&mut out.values, global), bytes });
        }
        if !global.is_global_variable() || global.is_thread_local() {
            return None;
        }
        let ty = global.value_type();
        if !ty.is_fixed_size() || global.is_declaration() && ty.kind() != TypeKind::LLVMArrayTypeKind {
            return None;
        }
        let bytes = self.module.alloc_size(ty);
        (bytes > 0).then(|| Object { value: number(&mut out.values, global), bytes })
    }

    fn array(&self, out: &mut Function, inner: LoopId, pointer: Value) -> Option<Array> {
        let base = self.analyses.pointer_base(pointer)?;
        if !fortran::is_fortran(self.module) || !base.is_instruction() || base.opcode() != Opcode::LLVMLoad {
            return None;
        }
        let descriptor = base.operand(0);
        if !descriptor.is_global_variable() || !fortran::is_descriptor(descriptor.value_type()) {
            return None;
        }
        if !self.is_outside(out, inner, base) {
            return None;
        }
        let descriptor = number(&mut out.values, descriptor);
        Some(Array { descriptor, base: number(&mut out.values, base) })
    }

    fn allocation(&self, out: &mut Function, inner: LoopId, pointer: Value) -> Option<Allocation> {
        let base = self.analyses.pointer_base(pointer)?;
        if !base.is_argument() && (!base.is_instruction() || base.opcode() == Opcode::LLVMAlloca) {
            return None;
        }
        let holds = |level: LoopId| base.is_instruction() && self.loops[level].contains(base.block());
        let (mut at, mut over) = (Some(inner), None);
        while let Some(level) = at.filter(|&level| !holds(level) && self.loops[level].preheader().is_some()) {
            over = Some(level);
            at = out.facts.loops[level].parent.filter(|&p| !out.facts.loops[p].syncs);
        }
        Some(Allocation { address: number(&mut out.values, base), over: over? })
    }

    /// True if the instruction is in none of the loops that objects are tested in front of.
    fn is_outside(&self, out: &Function, inner: LoopId, instruction: Value) -> bool {
        let mut at = Some(inner);
        while let Some(level) = at {
            if self.loops[level].contains(instruction.block()) {
                return false;
            }
            at = out.facts.loops[level].parent.filter(|&p| !out.facts.loops[p].syncs);
        }
        true
    }

    fn span(&self, out: &mut Function, inner: LoopId, pointer: Value) -> Option<Span> {
        let mut start = self.analyses.address(pointer)?;
        let mut strides: Vec<(Expr, Expr)> = Vec::new();
        let mut found = None;
        let mut at = Some(inner);
        while let Some(level) = at {
            let l = self.loops[level];
            let fixed = |&(_, count): &(Expr, Expr)| self.analyses.invariant(count, l);
            let Some(preheader) = l.preheader().filter(|_| strides.iter().all(fixed)) else { break };
            if !self.analyses.invariant(start, l) {
                let Some((first, step, count)) = self.walk(start, l) else { break };
                if strides.len() == MAX_STRIDES {
                    break;
                }
                start = first;
                strides.push((step, count));
            }
            let end = preheader.terminator();
            if !self.expander.is_safe(start, end)
                || !strides.iter().all(|&(_, count)| self.expander.is_safe(count, end))
            {
                break;
            }
            found = Some((level, start, strides.clone()));
            at = out.facts.loops[level].parent.filter(|&p| !out.facts.loops[p].syncs);
        }
        let (over, start, strides) = found?;
        let (key, offset) = self.analyses.split_constant(start);
        let strides = strides
            .into_iter()
            .map(|(step, count)| Stride {
                step: number(&mut out.exprs, step),
                count: number(&mut out.exprs, count),
            })
            .collect();
        // The key is compared with those of other spans only.
        let (start_key, start) = (number(&mut out.exprs, key), number(&mut out.exprs, start));
        Some(Span { over, start_key, start_offset: offset, start, strides })
    }

    /// Lowest address, distance and number of steps of a linear address.
    fn walk(&self, address: Expr, l: Loop) -> Option<(Expr, Expr, Expr)> {
        let count = self.analyses.zext64(self.analyses.max_count(l)?)?;
        let (first, step) = self.analyses.recurrence(address, l)?;
        let constant = self.analyses.constant(step)?;
        if constant.unsigned_abs() >= MAX_STEP {
            return None;
        }
        let magnitude = self.analyses.int(self.context, constant.abs());
        let start = if constant >= 0 {
            first
        } else {
            let back = self.analyses.int(self.context, constant);
            self.analyses.add(first, self.analyses.mul(count, back))
        };
        Some((start, magnitude, count))
    }
}
