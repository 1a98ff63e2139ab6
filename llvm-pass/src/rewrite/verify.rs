//! `-fdsm-verify`: asserts beside every access that it is allowed, and around every call that is taken not to synchronise that it does not.
//!
//! Two halves. Where the checks are made, they *enter* themselves in the runtime ([`super::check::Emitter::entered`]), and [`state`] attaches
//! to every access what it relies on. Behind all optimisations of LLVM's, [`assertions`] puts a call in front of every access that there is
//! then, whatever the plan says of it: vectors, what loops were unrolled to, accesses that were merged or moved, accesses that
//! the analysis took for private. Only those whose address is that of a variable on the native stack, of a
//! thread-local or of a constant are left out: the runtime would find that it is not shared.
//!
//! What LLVM makes of an access needs no way out. It may execute a load early whose value is not used in the end, but not above a check: a check
//! loads the state with acquire order, and its slow path may write all memory. So what a load executes early relies on is
//! checked as well, for otherwise it would have been wrong to leave its check out.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Mutex;

use dsm_abi::layout::USER_MAIN;

use crate::analysis::access::Reader;
use crate::analysis::callee::{Callee, callee};
use crate::analysis::facts::{Kind, Lanes, Masked, What};
use crate::analysis::graph::Given;
use crate::analysis::pointer::{Privacy, strip};
use crate::analysis::sync::Syncs;
use crate::analysis::{Function, is_instrumented};
use crate::llvm::{Builder, IntPredicate, Linkage, Module, Opcode, Value};
use crate::options::Options;
use crate::plan::{Decision, FunctionPlan};

use super::check::Emitter;
use super::entries::Entries;
use super::{calls, masked};

/// Kind of the metadata with what an access relies on.
const RELIES_ON: &str = "dsm.relies";
const ACCESS: &str = "__dsm_verify_access";

/// What the accesses of a line rely on, by function, line and kind: vectors do not keep metadata.
static LINES: Mutex<BTreeMap<(String, u32, Kind), BTreeSet<String>>> = Mutex::new(BTreeMap::new());

/// Attaches to each access what the plan relies on for it.
pub fn state(facts: &Function, plan: &FunctionPlan) {
    for (&(site, _), &(kind, _, decision)) in &plan.decisions {
        let text = relied_on(facts, decision);
        note(facts, facts.sites[site as usize], kind, text);
    }
    for (site, masked) in &plan.masked {
        note(facts, facts.sites[*site as usize], masked.kind, "a check of each lane that is on".to_owned());
    }
    for (site, range) in &plan.ranges {
        note(facts, facts.sites[*site as usize], range.kind, "a check of what the call touches".to_owned());
    }
}

fn note(facts: &Function, instruction: Value, kind: Kind, text: String) {
    let mut lines = LINES.lock().expect("nobody panics with it");
    lines.entry((facts.value.name(), instruction.line(), kind)).or_default().insert(text.clone());
    let before = instruction.attached_text(RELIES_ON).filter(|before| *before != text);
    let text = before.map_or(text.clone(), |before| format!("{before}; {text}"));
    instruction.set_text(RELIES_ON, &text);
}

fn relied_on(facts: &Function, decision: Decision) -> String {
    let line = |instruction: Option<Value>| match instruction.map_or(0, Value::line) {
        0 => String::new(),
        line => format!(" at line {line}"),
    };
    let of_loop = |l: usize| line(facts.loops[l].preheader().map(|b| b.terminator()));
    match decision {
        Decision::Private(why) => format!("no check, as the memory is private: {}", why.text()),
        Decision::Checked => "a check of its own".to_owned(),
        Decision::Merged(site) => {
            format!("merged into the check of the access{}", line(facts.sites.get(site as usize).copied()))
        }
        Decision::Available => "a check that every path to it has made".to_owned(),
        Decision::Callers => "the checks of all callers of the function".to_owned(),
        Decision::Hoisted(l) => format!("a check that was moved in front of the loop{}", of_loop(l)),
        Decision::Protected => "the protection of its page".to_owned(),
        Decision::Versioned(l) => format!("the test in front of the versions of the loop{}", of_loop(l)),
    }
}

/// Tells the runtime that the function verifies itself, in builds that do.
pub fn begin(emitter: &Emitter<'_>, function: Value) {
    if emitter.verify {
        emitter.builder.before_records(function.entry_block().instructions()[0]);
        emitter.builder.call_fn(emitter.entries.get("__dsm_verify_begin"), &[]);
    }
}

/// Asserts that no call synchronises that is taken not to: checks made before it are relied on behind it.
pub fn calls_that_do_not_synchronise(module: Module, emitter: &Emitter<'_>, function: Value, syncs: &Syncs) {
    let builder = emitter.builder;
    let all: Vec<Value> = function.blocks().into_iter().flat_map(|b| b.instructions()).collect();
    for call in all {
        if !call.is_call() || syncs.instruction(call) || call.call_must_tail() || call.call_returns_twice() {
            continue;
        }
        let called = match callee(call) {
            Callee::Libc(name, _) | Callee::OpenMp(name) | Callee::Replaced(name) | Callee::Extern(name) => {
                name
            }
            Callee::Own(called) => called.name(),
            _ => continue,
        };
        let behind = match call.opcode() {
            Opcode::LLVMCall => call.next(),
            Opcode::LLVMInvoke => {
                let usual = call.block().successors()[0];
                usual.single_predecessor().map(|_| usual.first_insertion_point())
            }
            _ => None,
        };
        let Some(behind) = behind else { continue };
        builder.before(call).locate_as(call);
        let interval = builder.call_fn(emitter.entries.get("__dsm_verify_interval"), &[]);
        builder.before(behind).locate_as(call);
        let text = format!("{}\n{called}\0", source_place(call));
        let place = string(module, &text);
        builder.call_fn(emitter.entries.get("__dsm_verify_same_interval"), &[interval, place]);
    }
}

/// Where an instruction is. The program's `main` has another name by now.
fn source_place(instruction: Value) -> String {
    instruction.place_text().replace("__dsm_program_main", "main").replace(USER_MAIN, "main")
}

fn string(module: Module, text: &str) -> Value {
    let value = module.context().const_bytes(text.as_bytes());
    let global = module.add_global("dsm.place", value.ty());
    global.set_initializer(value);
    global.set_linkage(Linkage::LLVMPrivateLinkage);
    global.set_global_constant();
    global
}

/// Puts the assertions into all functions of the module; true if it changed.
pub fn assertions(module: Module, options: &Options) -> bool {
    if module.function(ACCESS).is_some() || module.function("__dsm_verify_begin").is_none() {
        return false;
    }
    let (builder, entries) = (Builder::new(module), Entries::new(module));
    let emitter = Emitter {
        builder: &builder,
        entries: &entries,
        line_shift: options.line_shift,
        count: false,
        verify: false,
    };
    let (privacy, given) = (Privacy::new(module), Given::new());
    let mut writer = Writer { module, emitter: &emitter, places: HashMap::new() };
    for function in module.functions().into_iter().filter(|f| is_instrumented(*f)) {
        let reader = Reader { module, function, privacy: &privacy, given: &given };
        let all: Vec<Value> = function.blocks().into_iter().flat_map(|b| b.instructions()).collect();
        all.into_iter().for_each(|instruction| writer.instruction(&reader, instruction));
    }
    true
}

struct Writer<'a> {
    module: Module,
    emitter: &'a Emitter<'a>,
    places: HashMap<String, Value>,
}

impl Writer<'_> {
    fn instruction(&mut self, reader: &Reader<'_>, instruction: Value) {
        let operand = |index: u32| instruction.operand(index);
        match instruction.opcode() {
            Opcode::LLVMLoad => self.plain(instruction, Kind::Load, operand(0), instruction.ty()),
            Opcode::LLVMStore => self.plain(instruction, Kind::Store, operand(1), operand(0).ty()),
            Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg => {
                self.plain(instruction, Kind::Store, operand(0), operand(1).ty());
            }
            Opcode::LLVMCall | Opcode::LLVMInvoke => {
                for what in reader.events(instruction) {
                    self.event(instruction, what);
                }
            }
            _ => {}
        }
    }

    fn plain(&mut self, instruction: Value, kind: Kind, pointer: Value, ty: crate::llvm::Type) {
        if ty.is_fixed_size() && may_be_shared(pointer) {
            let bytes = self.emitter.builder.context.i64().constant(self.module.store_size(ty));
            self.assert(instruction, instruction, kind, pointer, bytes);
        }
    }

    fn event(&mut self, call: Value, what: What) {
        let builder = self.emitter.builder;
        match what {
            What::Access(access) if may_be_shared(call.operand(access.operand)) => {
                builder.before(call).locate_as(call);
                let lead = builder.context.i64().constant(access.lead as u64);
                let pointer = builder.offset(call.operand(access.operand), lead);
                let bytes = builder.context.i64().constant(access.size);
                self.assert(call, call, access.kind, pointer, bytes);
            }
            What::Masked(masked) => self.masked(call, &masked),
            What::Ranges(ranges) => {
                for range in ranges.iter().filter(|r| may_be_shared(call.operand(r.argument))) {
                    builder.before(call).locate_as(call);
                    if let Some(bytes) = calls::bytes(self.emitter, call, &range.length) {
                        self.assert(call, call, range.kind, call.operand(range.argument), bytes);
                    }
                }
            }
            _ => {}
        }
    }

    /// An assertion a lane; packed lanes are one range. Lanes that are off have no bytes.
    fn masked(&mut self, call: Value, masked: &Masked) {
        let builder = self.emitter.builder;
        let i64_type = builder.context.i64();
        if let (Lanes::Packed, Some(mask)) = (masked.lanes, masked.mask) {
            builder.before(call).locate_as(call);
            let bytes = masked::packed_bytes(self.module, self.emitter, call.operand(mask), masked);
            return self.assert(call, call, masked.kind, call.operand(masked.address), bytes);
        }
        for lane in 0..masked.count {
            builder.before(call).locate_as(call);
            let pointer = masked::address(self.emitter, call, masked, lane);
            let all = i64_type.constant(masked.element);
            let bytes = match masked::is_on(self.emitter, call, masked, lane) {
                None => all,
                Some(on) => {
                    let off = builder.icmp(IntPredicate::LLVMIntEQ, on, builder.context.int(1).constant(0));
                    builder.select(off, i64_type.constant(0), all)
                }
            };
            self.assert(call, call, masked.kind, pointer, bytes);
        }
    }

    fn assert(&mut self, access: Value, before: Value, kind: Kind, pointer: Value, bytes: Value) {
        let store = self.emitter.builder.context.i32().constant((kind == Kind::Store).into());
        let place = self.place(access, kind);
        self.emitter.call(before, ACCESS, &[pointer, bytes, store, place]);
    }

    /// The string about an access.
    fn place(&mut self, access: Value, kind: Kind) -> Value {
        let of_line = || {
            let lines = LINES.lock().expect("nobody panics with it");
            let found = lines.get(&(access.parent_function().name(), access.line(), kind))?;
            Some(found.iter().map(String::as_str).collect::<Vec<_>>().join(", or "))
        };
        let relied = access.attached_text(RELIES_ON).or_else(of_line);
        let relied = relied.unwrap_or_else(|| "unknown: an optimisation has made the access".to_owned());
        let text = format!("{}\n{relied}\0", source_place(access));
        let module = self.module;
        *self.places.entry(text.clone()).or_insert_with(|| string(module, &text))
    }
}

/// False of addresses that are not shared by what they are made from, whatever the analysis thinks of it.
fn may_be_shared(pointer: Value) -> bool {
    if !pointer.ty().is_plain_pointer() {
        return pointer.ty().kind() == crate::llvm::TypeKind::LLVMVectorTypeKind;
    }
    let base = strip(pointer);
    if base.is_global_variable() {
        return !base.is_thread_local() && !base.is_global_constant();
    }
    if base.is_constant_expr() {
        return base.const_opcode() != Opcode::LLVMIntToPtr;
    }
    let native = |value: Value| match value.opcode() {
        Opcode::LLVMAlloca => true,
        Opcode::LLVMCall => {
            value.is_intrinsic_call() && value.callee().name().starts_with("llvm.threadlocal.address")
        }
        _ => false,
    };
    !(base.is_function()
        || base.is_null_pointer()
        || base.is_undef()
        || base.is_instruction() && native(base))
}
