//! Emits checks.
//!
//! ```text
//! head:  %a = ptrtoint ptr %p to i64                 one line            two ends
//!        %l = lshr i64 %a, SHIFT                                         + the same for
//!        %s = load atomic i8, STATE_BASE[%l] acquire                     a + length - 1
//!        %bad = icmp uge i8 %s, READ_LIMIT (store: ne 0)                 or
//!        br i1 %bad, label %miss, label %tail, !prof rare
//! miss:  call @__dsm_load_miss(%p, length)                               @__dsm_load_range
//!        br label %tail
//! tail:  the access
//! ```
//! Short lines, and lengths known at run time only: one load of eight states, shifted so that those of the range remain, see [`Emitter::word`]. Where
//! there are more lines, the entry looks at them.
//!
//! The state is loaded with acquire order, so no later pass may move the access above its check.

use dsm_abi::layout::STATE_BASE;
use dsm_abi::state::{READ_LIMIT, WRITABLE};

use crate::analysis::facts::Kind;
use crate::fault::{self, Fault};
use crate::llvm::{Block, Builder, IntPredicate, Opcode, Ordering, TypeKind, Value};
use crate::plan::{Test, WORD_LINES};

use super::entries::Entries;

// The masks below take these values apart bit by bit.
const _: () = assert!(READ_LIMIT == 2 && WRITABLE == 0);

/// Emits code into one module.
pub struct Emitter<'a> {
    /// The builder.
    pub builder: &'a Builder,
    /// The runtime.
    pub entries: &'a Entries,
    /// Base-two logarithm of the line size.
    pub line_shift: u32,
    /// True if executed accesses and checks are counted.
    pub count: bool,
    /// True if checks enter themselves for later assertions.
    pub verify: bool,
}

impl Emitter<'_> {
    /// Counts accesses and checks that are about to be executed, in builds that count.
    pub fn counted(&self, before: Value, accesses: u64, shared: u64, checks: u64) {
        if self.count && accesses + checks > 0 {
            let number = |n| self.builder.context.i64().constant(n);
            self.call(before, "__dsm_count", &[number(accesses), number(shared), number(checks)]);
        }
    }

    /// Enters a check that is about to look at the states of all lines of a range, in builds that verify.
    pub fn entered(&self, before: Value, pointer: Value, length: Value, kind: Kind) {
        if self.verify {
            let store = self.builder.context.i32().constant((kind == Kind::Store).into());
            self.call(before, "__dsm_verify_checked", &[pointer, length, store]);
        }
    }

    /// The same of a check that only looks at the line of one byte.
    fn entered_line(&self, before: Value, pointer: Value, kind: Kind) {
        self.entered(before, pointer, self.builder.context.i64().constant(1), kind);
    }

    /// Checks `[pointer, pointer + length)` before an instruction, for a constant length.
    pub fn fixed(&self, before: Value, pointer: Value, length: u64, kind: Kind, test: Test) {
        self.counted(before, 0, 0, 1);
        self.builder.before(before).locate_as(before);
        let i64_type = self.builder.context.i64();
        let (bad, entry) = match test {
            Test::Line => {
                self.entered_line(before, pointer, kind);
                (self.bad(self.line(self.builder.address(pointer)), kind), Self::miss_entry(kind))
            }
            Test::Ends => {
                let first = self.builder.address(pointer);
                let last = self.builder.add(first, i64_type.constant(length - 1));
                self.entered_line(before, pointer, kind);
                self.entered_line(before, self.builder.int_to_ptr(last), kind);
                (self.bad_ends(first, length, kind), Self::range_entry(kind, false))
            }
            Test::Word => {
                self.entered(before, pointer, i64_type.constant(length), kind);
                let (states, _) = self.word(self.builder.address(pointer), i64_type.constant(length), kind);
                self.builder.fence(Ordering::LLVMAtomicOrderingAcquire);
                let bad = self.builder.icmp(IntPredicate::LLVMIntNE, states, i64_type.constant(0));
                (bad, Self::range_entry(kind, false))
            }
            Test::Range => {
                return self.range_of_lines(before, pointer, i64_type.constant(length), kind, false);
            }
        };
        self.slow_path(before, bad, entry, pointer, i64_type.constant(length));
    }

    /// Whether the states of the lines of the first and the last of some bytes do not allow an access.
    fn bad_ends(&self, first: Value, length: u64, kind: Kind) -> Value {
        let last = self.builder.add(first, self.builder.context.i64().constant(length - 1));
        let states = self.builder.or(self.state(self.line(first)), self.state(self.line(last)));
        self.refuses(states, kind)
    }

    /// True if a state of one line or two refuses.
    fn bad_short(&self, pointer: Value, length: u64, kind: Kind, test: Test) -> Value {
        let first = self.builder.address(pointer);
        match test {
            Test::Ends => self.bad_ends(first, length, kind),
            _ => self.bad(self.line(first), kind),
        }
    }

    /// Checks a load of `length` bytes of one line or two, whose slow path returns the value. Returns false, having done nothing, for what does not fit into an integer.
    pub fn load_value(&self, load: Value, pointer: Value, length: u64, test: Test) -> bool {
        let i64_type = self.builder.context.i64();
        let ty = load.ty();
        let whole = self.builder.context.int(8 * length as u32);
        let is_number = match ty.kind() {
            TypeKind::LLVMPointerTypeKind => ty.is_plain_pointer(),
            TypeKind::LLVMIntegerTypeKind => ty == whole,
            TypeKind::LLVMFloatTypeKind | TypeKind::LLVMDoubleTypeKind => true,
            _ => false,
        };
        let Some(next) = load.next().filter(|_| load.opcode() == Opcode::LLVMLoad && is_number) else {
            return false;
        };
        self.counted(load, 0, 0, 1);
        self.builder.before(load).locate_as(load);
        let bad = self.bad_short(pointer, length, Kind::Load, test);
        let (miss, here) = self.branch_rare(load, bad, "dsm.miss");
        let tail = next.split_before();
        self.builder.at_end(miss).locate_as(load);
        let value = self.call_here("__dsm_load_value_miss", &[pointer, i64_type.constant(length)]);
        let number = self.builder.int_cast(value, whole, false);
        let value = match ty.kind() {
            TypeKind::LLVMPointerTypeKind => self.builder.int_to_ptr(number),
            TypeKind::LLVMIntegerTypeKind => number,
            _ => self.builder.bitcast(number, ty),
        };
        self.builder.br(tail);
        self.builder.before(next).locate_as(load);
        let loaded = self.builder.phi(ty, &[]);
        load.replace_uses(loaded);
        self.builder.add_incoming(loaded, &[(load, here), (value, miss)]);
        true
    }

    /// Checks a store to `length` bytes of one line or two, whose slow path gets the value. Returns false, having done nothing, for what does not fit into an integer.
    pub fn store_value(&self, store: Value, pointer: Value, length: u64, test: Test) -> bool {
        let i64_type = self.builder.context.i64();
        let stored = store.operand(0);
        let kind = stored.ty().kind();
        let is_number = match kind {
            TypeKind::LLVMPointerTypeKind => stored.ty().is_plain_pointer(),
            TypeKind::LLVMIntegerTypeKind | TypeKind::LLVMFloatTypeKind | TypeKind::LLVMDoubleTypeKind => {
                true
            }
            _ => false,
        };
        if store.opcode() != Opcode::LLVMStore || !is_number {
            return false;
        }
        self.counted(store, 0, 0, 1);
        self.builder.before(store).locate_as(store);
        let bad = self.bad_short(pointer, length, Kind::Store, test);
        let (miss, tail) = self.branch_rare(store, bad, "dsm.miss");
        self.builder.at_end(miss).locate_as(store);
        let value = match kind {
            TypeKind::LLVMPointerTypeKind => self.builder.address(stored),
            TypeKind::LLVMFloatTypeKind => self.builder.bitcast(stored, self.builder.context.i32()),
            TypeKind::LLVMDoubleTypeKind => self.builder.bitcast(stored, i64_type),
            _ => stored,
        };
        let value = self.builder.int_cast(value, i64_type, false);
        self.call_here("__dsm_store_value_miss", &[pointer, i64_type.constant(length), value]);
        self.builder.br(tail);
        true
    }

    /// Checks `[pointer, pointer + length)` before an instruction, for an i64 length. `overwrites`: all of it is stored to.
    pub fn range(&self, before: Value, pointer: Value, length: Value, kind: Kind, overwrites: bool) {
        if let Some(bytes) = length.int() {
            match u64::try_from(bytes) {
                Ok(0) => {}
                Ok(bytes) if bytes <= 1 << self.line_shift => {
                    self.fixed(before, pointer, bytes, kind, Test::Ends)
                }
                Ok(bytes) if bytes <= (WORD_LINES - 1) << self.line_shift => {
                    self.counted(before, 0, 0, 1);
                    self.range_of_lines(before, pointer, length, kind, overwrites);
                }
                _ => {
                    self.counted(before, 0, 0, 1);
                    self.call(before, Self::range_entry(kind, overwrites), &[pointer, length]);
                }
            }
            return;
        }
        self.counted(before, 0, 0, 1);
        self.range_of_lines(before, pointer, length, kind, overwrites);
    }

    /// Checks a range with one load of states if it has few lines; an empty one seems to have many.
    fn range_of_lines(&self, before: Value, pointer: Value, length: Value, kind: Kind, overwrites: bool) {
        let i64_type = self.builder.context.i64();
        self.entered(before, pointer, length, kind);
        self.builder.before(before).locate_as(before);
        let (states, lines) = self.word(self.builder.address(pointer), length, kind);
        self.builder.fence(Ordering::LLVMAtomicOrderingAcquire);
        let bad = self.builder.icmp(IntPredicate::LLVMIntNE, states, i64_type.constant(0));
        let far = self.builder.icmp(IntPredicate::LLVMIntUGE, lines, i64_type.constant(WORD_LINES));
        let bad = self.builder.or(bad, far);
        self.slow_path(before, bad, Self::range_entry(kind, overwrites), pointer, length);
    }

    /// Number of the line with this address.
    pub fn line(&self, address: Value) -> Value {
        self.builder.lshr(address, self.builder.context.i64().constant(self.line_shift.into()))
    }

    fn bad(&self, line: Value, kind: Kind) -> Value {
        self.refuses(self.state(line), kind)
    }

    /// Address of a line's state in the table at `base`. The base is a number that is added: as the address of a constant it would be kept in a register in front of all checks, where the processor adds it for nothing.
    fn entry(&self, base: u64, line: Value) -> Value {
        let base = self.builder.context.i64().constant(base);
        self.builder.int_to_ptr(self.builder.add(line, base))
    }

    /// The state of a line of the table.
    pub fn state(&self, line: Value) -> Value {
        let context = self.builder.context;
        let base = STATE_BASE + if fault::is(Fault::StateAddress) { 4096 } else { 0 };
        let address = self.entry(base, line);
        if fault::is(Fault::StateOrder) {
            return self.builder.load(context.i8(), address, 1);
        }
        self.builder.load_acquire(context.i8(), address, 1)
    }

    /// True if a state, or one of several that were combined by `or`, refuses: the limits are powers of two.
    pub fn refuses(&self, state: Value, kind: Kind) -> Value {
        let limit = |value: u8| self.builder.context.i8().constant(value.into());
        match kind {
            Kind::Load if fault::is(Fault::StateLimit) => {
                self.builder.icmp(IntPredicate::LLVMIntUGT, state, limit(READ_LIMIT))
            }
            Kind::Load => self.builder.icmp(IntPredicate::LLVMIntUGE, state, limit(READ_LIMIT)),
            Kind::Store => self.builder.icmp(IntPredicate::LLVMIntNE, state, limit(WRITABLE)),
        }
    }

    /// The states of the lines of a range of at least one byte, 0 if none refuses, and the number of lines without the first. The
    /// states are right if that is less than [`WORD_LINES`]. They are not ordered before later loads.
    pub fn word(&self, first_address: Value, length: Value, kind: Kind) -> (Value, Value) {
        let builder = self.builder;
        let i64_type = builder.context.i64();
        let past = builder.sub(length, i64_type.constant(1));
        let first = self.line(first_address);
        let more = builder.sub(self.line(builder.add(first_address, past)), first);
        let word = builder.load_volatile(i64_type, self.entry(STATE_BASE, first), 1);
        // (7 - more) * 8, for more <= 7.
        let unused = builder.xor(more, i64_type.constant(WORD_LINES - 1));
        let bits = builder.shl(unused, i64_type.constant(3));
        let bits = builder.and(bits, i64_type.constant(56));
        let state = builder.shl(word, bits);
        let state = match kind {
            Kind::Load => builder.and(state, i64_type.constant(0xfefe_fefe_fefe_fefe)),
            Kind::Store => state,
        };
        (state, more)
    }

    fn slow_path(&self, before: Value, bad: Value, entry: &str, pointer: Value, length: Value) {
        let (miss, tail) = self.branch_rare(before, bad, "dsm.miss");
        self.builder.at_end(miss).locate_as(before);
        let one = self.builder.context.i64().constant(1);
        let length = if fault::is(Fault::MissLength) { one } else { length };
        self.builder.call_fn(self.entries.get(entry), &[pointer, length]);
        self.builder.br(tail);
    }

    /// Splits before an instruction; the new block runs only if the condition holds, which it rarely does, and must branch to the second.
    pub fn branch_rare(&self, before: Value, condition: Value, name: &str) -> (Block, Block) {
        self.split(before, name, |side, tail| self.builder.br_rare(condition, side, tail))
    }

    /// As [`Emitter::branch_rare`] for an even condition.
    pub fn branch(&self, before: Value, condition: Value, name: &str) -> (Block, Block) {
        self.split(before, name, |side, tail| self.builder.br_if(condition, side, tail))
    }

    fn split(&self, before: Value, name: &str, branch: impl FnOnce(Block, Block) -> Value) -> (Block, Block) {
        let (head, function) = (before.block(), before.parent_function());
        let tail = before.split_before();
        let side = self.builder.new_block(function, name);
        let old = head.terminator();
        self.builder.before(old).locate_as(before);
        branch(side, tail);
        old.erase();
        (side, tail)
    }

    /// Calls an entry before an instruction.
    pub fn call(&self, before: Value, entry: &str, args: &[Value]) {
        self.builder.before(before).locate_as(before);
        self.call_here(entry, args);
    }

    /// Calls an entry where the builder is.
    pub fn call_here(&self, entry: &str, args: &[Value]) -> Value {
        self.builder.call_fn(self.entries.get(entry), args)
    }

    /// The range entry for the kind, or for stores to all of the range.
    pub fn range_entry(kind: Kind, overwrites: bool) -> &'static str {
        match kind {
            Kind::Store if overwrites => "__dsm_overwrite_range",
            Kind::Load => "__dsm_load_range",
            Kind::Store => "__dsm_store_range",
        }
    }

    fn miss_entry(kind: Kind) -> &'static str {
        match kind {
            Kind::Load => "__dsm_load_miss",
            Kind::Store => "__dsm_store_miss",
        }
    }
}
