//! Subscripts that are computed in 32 bits and then extended are computed in 64 bits. Switch: `widen`.
//!
//! ```text
//! %sum = add nsw i32 %i, %row        ->   %i.wide = sext i32 %i to i64        %row.wide = sext i32 %row to i64
//! %index = sext i32 %sum to i64           %index  = add nsw i64 %i.wide, %row.wide
//! ```
//! In C a subscript `i + j * stride` is an `int`. That it does not overflow stands in its instructions, until LLVM's reassociation orders the
//! operands of sums by rank and drops the flags: from then on the address is no linear function of the iteration as far as anybody knows, and no
//! check of it leaves the loop. So this runs where LLVM has simplified the code for the first time, before it reassociates.
//!
//! Soundness. An operation that is marked as free of signed overflow has the result that it has on integers, or poison. Its operands' extensions have
//! that result in 64 bits, too: sums and products of two numbers of 32 bits fit. Where it was poison, any value will do. The
//! extensions stand behind what they extend, which dominates all that used the narrow result. Operations without the mark stay.

use std::cell::Cell;
use std::collections::HashMap;

use crate::fault::{self, Fault};
use crate::llvm::{Builder, Module, Opcode, Type, TypeKind, Value};
use crate::options::Options;

thread_local! {
    /// Operations that were widened in the module at hand.
    static WIDENED: Cell<u64> = const { Cell::new(0) };
}

/// Deepest chain of operations that is followed.
const MAX_DEPTH: u32 = 16;
/// Bits of an address.
const WIDTH: u32 = 64;

/// True if subscripts are to be widened.
pub fn enabled(options: &Options) -> bool {
    options.enabled("widen")
}

/// How many operations of the module were widened since the last time that this was asked.
pub fn taken() -> u64 {
    WIDENED.take()
}

/// Widens the subscripts of a function; true if it changed.
pub fn subscripts(module: Module, function: Value) -> bool {
    let instructions = function.blocks().into_iter().flat_map(|b| b.instructions());
    let extensions: Vec<Value> = instructions.filter(|i| is_extension(*i) && is_subscript(*i)).collect();
    let builder = Builder::new(module);
    let mut widener =
        Widener { wide: builder.context.i64(), builder, function, known: HashMap::new(), count: 0 };
    for extension in extensions {
        let narrow = extension.operand(0);
        if is_exact(narrow)
            && let Some(wide) = widener.extended(narrow, 0)
        {
            extension.replace_uses(wide);
            extension.erase();
        }
    }
    WIDENED.with(|total| total.set(total.get() + widener.count));
    widener.count > 0
}

/// A signed extension, or one of what is not negative, to the width of an address.
fn is_extension(instruction: Value) -> bool {
    let signed = match instruction.opcode() {
        Opcode::LLVMSExt => true,
        Opcode::LLVMZExt => instruction.is_non_negative(),
        _ => false,
    };
    signed
        && instruction.ty().kind() == TypeKind::LLVMIntegerTypeKind
        && instruction.ty().int_width() == WIDTH
}

/// True if an address is computed from the value, directly or by one more operation.
fn is_subscript(value: Value) -> bool {
    let addresses = |user: &Value| user.opcode() == Opcode::LLVMGetElementPtr;
    let users = value.users();
    let further = |user: &Value| is_arithmetic(user.opcode()) && user.users().iter().any(addresses);
    users.iter().any(|user| addresses(user) || further(user))
}

fn is_arithmetic(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::LLVMAdd | Opcode::LLVMSub | Opcode::LLVMMul | Opcode::LLVMShl | Opcode::LLVMOr)
}

/// True of an operation whose result is that on integers.
fn is_exact(value: Value) -> bool {
    value.is_instruction()
        && match value.opcode() {
            Opcode::LLVMAdd | Opcode::LLVMSub | Opcode::LLVMMul => {
                value.is_free_of_signed_overflow() || fault::is(Fault::WidenWrapping)
            }
            Opcode::LLVMShl => value.is_free_of_signed_overflow() && value.operand(1).int().is_some(),
            Opcode::LLVMOr => value.is_disjoint(),
            _ => false,
        }
}

struct Widener {
    builder: Builder,
    wide: Type,
    function: Value,
    /// Narrow values whose extensions stand right behind them.
    known: HashMap<Value, Value>,
    count: u64,
}

impl Widener {
    /// The extension of a narrow value, at a place that dominates all of its uses.
    fn extended(&mut self, narrow: Value, depth: u32) -> Option<Value> {
        if let Some(constant) = narrow.int() {
            return Some(self.wide.constant(constant as u64));
        }
        if let Some(&known) = self.known.get(&narrow) {
            return Some(known);
        }
        let place = self.behind(narrow)?;
        let operands = match is_exact(narrow) && depth < MAX_DEPTH {
            true => {
                self.extended(narrow.operand(0), depth + 1).zip(self.extended(narrow.operand(1), depth + 1))
            }
            false => None,
        };
        self.builder.before(place);
        match narrow.is_instruction() {
            true => self.builder.locate_as(narrow),
            false => self.builder.locate_nowhere(),
        };
        let extended = match operands {
            Some((x, y)) => {
                self.count += 1;
                self.operation(narrow.opcode(), x, y)
            }
            None => self.builder.int_cast(narrow, self.wide, true),
        };
        self.known.insert(narrow, extended);
        Some(extended)
    }

    /// What the instruction does, in 64 bits.
    fn operation(&self, opcode: Opcode, x: Value, y: Value) -> Value {
        let builder = &self.builder;
        let result = match opcode {
            Opcode::LLVMAdd => builder.add(x, y),
            Opcode::LLVMSub => builder.sub(x, y),
            Opcode::LLVMMul => builder.mul(x, y),
            Opcode::LLVMShl => builder.shl(x, y),
            _ => builder.or(x, y),
        };
        if result.is_instruction() && opcode != Opcode::LLVMOr {
            result.set_free_of_signed_overflow();
        } else if result.is_instruction() {
            result.set_disjoint();
        }
        result
    }

    /// The instruction in front of which something that depends on the value alone can be put, if there is one.
    fn behind(&self, value: Value) -> Option<Value> {
        if !value.is_instruction() {
            return Some(self.function.entry_block().first_insertion_point());
        }
        match value.opcode() {
            Opcode::LLVMPHI => {
                let first =
                    value.block().instructions().into_iter().find(|i| i.opcode() != Opcode::LLVMPHI)?;
                // Where exceptions arrive, places are rare.
                (!matches!(first.opcode(), Opcode::LLVMLandingPad | Opcode::LLVMCatchSwitch)).then_some(first)
            }
            _ => value.next(),
        }
    }
}
