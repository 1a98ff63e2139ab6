//! Basic blocks.

use inkwell::llvm_sys::core;
use inkwell::llvm_sys::prelude::LLVMBasicBlockRef;

use crate::llvm::{Opcode, Value};

use super::{some, text};

/// A basic block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Block(pub(in crate::llvm) LLVMBasicBlockRef);

impl Value {
    /// Block of an instruction.
    pub fn block(self) -> Block {
        // SAFETY: callers ask this of instructions only.
        Block(unsafe { core::LLVMGetInstructionParent(self.0) })
    }

    /// First block of a function with a body.
    pub fn entry_block(self) -> Block {
        // SAFETY: callers pass definitions only.
        Block(unsafe { core::LLVMGetEntryBasicBlock(self.0) })
    }

    /// Blocks of a function in layout order.
    pub fn blocks(self) -> Vec<Block> {
        let mut out = Vec::new();
        // SAFETY: live handle of a function.
        unsafe {
            let mut block = core::LLVMGetFirstBasicBlock(self.0);
            while !block.is_null() {
                out.push(Block(block));
                block = core::LLVMGetNextBasicBlock(block);
            }
        }
        out
    }

    /// The function that an instruction lies in.
    pub fn parent_function(self) -> Value {
        self.block().function()
    }
}

impl Block {
    /// Function of the block.
    pub fn function(self) -> Value {
        // SAFETY: live handle.
        Value(unsafe { core::LLVMGetBasicBlockParent(self.0) })
    }

    /// Name of the block.
    pub fn name(self) -> String {
        // SAFETY: live handle.
        text(unsafe { core::LLVMGetBasicBlockName(self.0) })
    }

    /// Instructions in order.
    pub fn instructions(self) -> Vec<Value> {
        let mut out = Vec::new();
        // SAFETY: live handle.
        let mut next = some(unsafe { core::LLVMGetFirstInstruction(self.0) });
        while let Some(instruction) = next {
            out.push(instruction);
            next = instruction.next();
        }
        out
    }

    /// The terminator.
    pub fn terminator(self) -> Value {
        // SAFETY: blocks of a well-formed function have one.
        Value(unsafe { core::LLVMGetBasicBlockTerminator(self.0) })
    }

    /// What the branch at its end depends on, if it is a conditional one; it goes to the first successor if that holds.
    pub fn condition(self) -> Option<Value> {
        let terminator = self.terminator();
        if terminator.opcode() != Opcode::LLVMBr {
            return None;
        }
        // SAFETY: kind checked; the condition is asked of conditional branches only.
        unsafe {
            (core::LLVMIsConditional(terminator.0) != 0).then(|| Value(core::LLVMGetCondition(terminator.0)))
        }
    }

    /// Successors, one entry an edge.
    pub fn successors(self) -> Vec<Block> {
        let terminator = self.terminator().0;
        // SAFETY: live handle of a terminator.
        unsafe {
            (0..core::LLVMGetNumSuccessors(terminator))
                .map(|i| Block(core::LLVMGetSuccessor(terminator, i)))
                .collect()
        }
    }

    /// Where a switch at its end goes: by default, and for each of its values.
    pub fn switch(self) -> Option<(Block, Vec<(i64, Block)>)> {
        let terminator = self.terminator();
        if terminator.opcode() != Opcode::LLVMSwitch {
            return None;
        }
        let successors = self.successors();
        let cases = successors.iter().enumerate().skip(1).map(|(number, block)| {
            // SAFETY: kind checked; successor 0 is the default.
            let value = Value(unsafe { core::LLVMGetSwitchCaseValue(terminator.0, number as u32) });
            Some((value.int()?, *block))
        });
        Some((successors[0], cases.collect::<Option<_>>()?))
    }

    /// Blocks that branch here.
    pub fn predecessors(self) -> Vec<Block> {
        // SAFETY: live handle; a block's users are terminators and block addresses.
        let as_value = Value(unsafe { core::LLVMBasicBlockAsValue(self.0) });
        as_value.users().into_iter().filter(|u| u.is_instruction()).map(Value::block).collect()
    }

    /// The block that alone leads here, over one edge.
    pub fn single_predecessor(self) -> Option<Block> {
        match self.predecessors()[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// First instruction that is not a phi (nor a landing pad, behind which code may be put).
    pub fn first_insertion_point(self) -> Value {
        self.instructions()
            .into_iter()
            .find(|i| !matches!(i.opcode(), Opcode::LLVMPHI | Opcode::LLVMLandingPad))
            .expect("a block ends in a terminator")
    }
}
