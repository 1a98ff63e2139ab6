//! Loops over the product of two index spaces become nests. Switch: `collapse`.
//!
//! ```text
//! for (k = first; k <= last; k++)           for (q = first / n; q <= last / n; q++)
//!     a[k / n][k % n] = ...          ->         for (k = max(first, q * n); k <= min(last, q * n + n - 1); k++)
//!                                                   a[q][k - q * n] = ...
//! ```
//! Compilers make such loops of nests with `collapse`: an iteration's indices are quotients and remainders, which are no linear functions of its number, so that no
//! check leaves the loop. In the inner loop of the nest they are. The divisions go with them. Only loops that a worksharing construct distributes are changed: those of `omp simd
//! collapse` alone begin with 0, and their rows are often too short to be worth a check of each.
//!
//! Soundness. The counter steps by one and does not wrap, and neither it nor the divisor is negative where division is signed; then quotients do not fall, and each is that of
//! a run of iterations that follow each other. Where it is not known that the divisor is positive, the loop is copied for those that are not. Iterations keep their order. Of counters that begin with a bound that the OpenMP runtime has set it is taken for granted that they
//! are not negative and do not wrap: compilers number the iterations of collapsed loops from 0.

use crate::analysis;
use crate::fault::{self, Fault};
use crate::llvm::{Analyses, Builder, IntPredicate, Loop, Manager, Module, Opcode, TypeKind, Value};
use crate::options::Options;

/// Smallest constant divisor: shorter rows are not worth a loop.
const MIN_ROW: i64 = 16;
/// Most instructions of a loop that is copied.
const MAX_COST: u32 = 600;
/// Bits of the integers that loops count with.
const NARROW: u32 = 32;
const WIDE: u32 = 64;

/// True if loops may become nests.
pub fn enabled(options: &Options) -> bool {
    options.enabled("collapse")
}

/// Makes nests of the loops of a module; returns how many.
pub fn nests(module: Module, manager: Manager) -> u64 {
    let functions = module.functions().into_iter().filter(|f| analysis::is_instrumented(*f));
    functions.map(|function| nests_of(module, manager, function)).sum()
}

fn nests_of(module: Module, manager: Manager, function: Value) -> u64 {
    let mut count = 0;
    let mut known = Known::default();
    loop {
        let all = function.blocks().into_iter().flat_map(|b| b.instructions()).filter(is_division);
        let divisions: Vec<Value> = all.filter(|division| !known.copies.contains(division)).collect();
        if divisions.is_empty() {
            return count;
        }
        let analyses = manager.analyses(function);
        let found = divisions.iter().find_map(|d| Candidate::of(&analyses, *d, &known));
        let Some(candidate) = found else { return count };
        if candidate.is_certain {
            candidate.split(module, analyses, &mut known);
            count += 1;
        } else {
            candidate.version(module, &analyses, &divisions, &mut known);
            drop(analyses);
        }
        manager.invalidate(function);
    }
}

fn is_division(instruction: &Value) -> bool {
    instruction.ty().kind() == TypeKind::LLVMIntegerTypeKind
        && matches!(instruction.ty().int_width(), NARROW | WIDE)
        && divisor_of(*instruction).is_some()
}

/// What an instruction divides its first operand by: LLVM divides numbers without a sign by powers of two by shifts and masks.
fn divisor_of(instruction: Value) -> Option<Value> {
    use Opcode::*;
    let power = |exponent: i64| Some(instruction.ty().constant(1u64.checked_shl(exponent.try_into().ok()?)?));
    match instruction.opcode() {
        LLVMSDiv | LLVMUDiv | LLVMSRem | LLVMURem => Some(instruction.operand(1)),
        LLVMLShr => instruction.operand(1).int().and_then(power),
        LLVMAnd => {
            let mask = instruction.operand(1).int().filter(|mask| *mask > 0 && mask & (mask + 1) == 0)?;
            power(mask.trailing_ones().into())
        }
        _ => None,
    }
}

fn is_signed(division: Value) -> bool {
    matches!(division.opcode(), Opcode::LLVMSDiv | Opcode::LLVMSRem)
}

fn is_remainder(division: Value) -> bool {
    matches!(division.opcode(), Opcode::LLVMSRem | Opcode::LLVMURem | Opcode::LLVMAnd)
}

/// What earlier changes of the function have left.
#[derive(Default)]
struct Known {
    /// Values that are not negative and do not wrap.
    counts_up: Vec<Value>,
    /// Divisions of loops for divisors that are not positive.
    copies: Vec<Value>,
    /// Divisions of loops that such copies were made of.
    versioned: Vec<Value>,
}

/// A loop in which a counter is divided.
struct Candidate {
    around: Loop,
    counter: Value,
    divisor: Value,
    signed: bool,
    /// Whether the divisor, taken as a signed number, is not negative.
    fits: bool,
    /// Whether the divisor is known to be positive where that matters.
    is_certain: bool,
}

impl Candidate {
    /// The loop that a division is in, if it can become a nest by it.
    fn of(analyses: &Analyses, division: Value, known: &Known) -> Option<Candidate> {
        let (counter, divisor) = (division.operand(0), divisor_of(division)?);
        if divisor.int().is_some_and(|n| n < MIN_ROW) {
            return None;
        }
        let mut around = analyses.loop_of(division.block())?;
        let start = loop {
            match analyses.counter_start(around, counter) {
                Some(start) => break start,
                None => around = around.parent()?,
            }
        };
        if divisor.is_instruction() && around.contains(divisor.block()) {
            return None;
        }
        let counts_up = known.counts_up.contains(&counter) || start.as_value().is_some_and(is_openmp_bound);
        let signed = is_signed(division);
        let is_certain = !signed || analyses.is_positive(around, divisor);
        let fits = analyses.is_non_negative(around, divisor);
        let may_be_copied =
            !known.versioned.contains(&division) && (1..=MAX_COST).contains(&around.copy_cost());
        (counts_up && (is_certain || may_be_copied)).then_some(Candidate {
            around,
            counter,
            divisor,
            signed,
            fits,
            is_certain,
        })
    }

    /// Copies the loop for divisors that are not positive, which nobody has.
    fn version(self, module: Module, analyses: &Analyses, divisions: &[Value], known: &mut Known) {
        let builder = Builder::new(module);
        let before = self.around.preheader().expect("counters are those of loops that have one").terminator();
        builder.before(before).locate_as(before);
        let zero = self.divisor.ty().constant(0);
        let is_positive = builder.icmp(IntPredicate::LLVMIntSGT, self.divisor, zero);
        let (copy, _) = analyses.version(self.around, is_positive, true);
        known.copies.extend(divisions.iter().filter_map(|division| copy.of(*division)));
        let tested = |division: &&Value| {
            divisor_of(**division) == Some(self.divisor) && self.around.contains(division.block())
        };
        known.versioned.extend(divisions.iter().filter(tested));
    }

    fn split(self, module: Module, analyses: Analyses, known: &mut Known) {
        let Candidate { around, counter, divisor, signed, fits, .. } = self;
        let divisions: Vec<Value> = counter
            .users()
            .into_iter()
            .filter(|user| is_division(user) && around.contains(user.block()))
            .filter(|user| {
                user.operand(0) == counter && divisor_of(*user) == Some(divisor) && is_signed(*user) == signed
            })
            .collect();
        let (quotient, rest) = analyses.split(around, counter, divisor, signed);
        let builder = Builder::new(module);
        known.counts_up.extend([quotient, rest]);
        for division in divisions {
            let same = match is_remainder(division) {
                true => vec![division],
                false => written_out(division, counter, divisor),
            };
            for same in same {
                replace_remainder(&builder, same, rest, fits, divisor);
            }
            if !is_remainder(division) {
                division.replace_uses(quotient);
                division.erase();
            }
        }
    }
}

/// Puts the remainder in the place of an instruction that computes it.
fn replace_remainder(builder: &Builder, same: Value, rest: Value, fits: bool, divisor: Value) {
    builder.before(same).locate_as(same);
    if fault::is(Fault::CollapseRemainder) {
        same.replace_uses(same.operand(0));
        return same.erase();
    }
    if same.ty() == rest.ty() {
        same.replace_uses(rest);
        same.erase();
        if let Some(slack) = slack(divisor) {
            drop_extensions(builder, rest, slack);
        }
        return;
    }
    // Where only extensions are used, the remainder itself is not.
    let extensions = |value: Value| {
        let is_extension = move |user: &Value| {
            user.ty() == rest.ty()
                && (user.opcode() == Opcode::LLVMZExt || fits && user.opcode() == Opcode::LLVMSExt)
        };
        value.users().into_iter().filter(is_extension)
    };
    // A remainder is smaller than the divisor, so one more has no carry.
    let is_next = |user: &Value| user.opcode() == Opcode::LLVMAdd && user.operand(1).int() == Some(1);
    for next in same.users().into_iter().filter(|user| fits && is_next(user)) {
        for extension in extensions(next) {
            builder.before(extension).locate_as(extension);
            let wide = builder.add(rest, rest.ty().constant(1));
            wide.set_free_of_signed_overflow();
            extension.replace_uses(wide);
            extension.erase();
        }
    }
    for extension in extensions(same) {
        extension.replace_uses(rest);
        extension.erase();
    }
    builder.before(same).locate_as(same);
    same.replace_uses(builder.int_cast(rest, same.ty(), false));
    same.erase();
}

/// The remainders that are computed by a quotient: `counter - quotient * divisor`.
fn written_out(quotient: Value, counter: Value, divisor: Value) -> Vec<Value> {
    let is_product = |user: &Value| {
        user.opcode() == Opcode::LLVMMul && user.operands().all(|o| o == quotient || o == divisor)
    };
    let products = quotient.users().into_iter().filter(is_product);
    let rests = products.flat_map(|product| {
        let is_rest = move |user: &Value| {
            user.opcode() == Opcode::LLVMSub && user.operand(0) == counter && user.operand(1) == product
        };
        product.users().into_iter().filter(is_rest)
    });
    rests.collect()
}

/// True of what begins with a bound that the OpenMP runtime has set.
fn is_openmp_bound(start: Value) -> bool {
    let sets = |user: &Value| {
        user.is_call() && {
            let name = user.callee().name();
            name.starts_with("__kmpc_for_static_init_") || name.starts_with("__kmpc_dispatch_next_")
        }
    };
    start.is_instruction()
        && start.opcode() == Opcode::LLVMLoad
        && start.operand(0).is_instruction()
        && start.operand(0).opcode() == Opcode::LLVMAlloca
        && start.operand(0).users().iter().any(sets)
}

/// Most that may be added to what is smaller than a divisor of 64 bits, and not negative, so that the sum fits into 32 bits with a sign. `None` if already such
/// a remainder may not fit.
fn slack(divisor: Value) -> Option<i64> {
    if let Some(n) = divisor.int() {
        return (n <= i64::from(i32::MAX)).then(|| i64::from(i32::MAX) - n + 1);
    }
    let is_extension = divisor.is_instruction()
        && match divisor.opcode() {
            Opcode::LLVMSExt => true,
            Opcode::LLVMZExt => divisor.is_non_negative(),
            _ => false,
        };
    if !is_extension || divisor.operand(0).ty().int_width() > NARROW {
        return None;
    }
    let narrow = divisor.operand(0);
    let is_sum =
        narrow.is_instruction() && narrow.opcode() == Opcode::LLVMAdd && narrow.is_free_of_signed_overflow();
    let added = if is_sum { narrow.operand(1).int().unwrap_or(0) } else { 0 };
    Some(1 + (-added).max(0))
}

/// A value that is not negative and fits into 31 bits is what is left of it in 32 bits, and so are its sums with constants up to `slack`.
fn drop_extensions(builder: &Builder, value: Value, slack: i64) {
    let is_narrow = |user: &Value| match user.opcode() {
        Opcode::LLVMTrunc => user.ty().int_width() == NARROW,
        Opcode::LLVMShl => user.operand(0) == value && user.operand(1).int() == Some(NARROW.into()),
        _ => false,
    };
    for narrow in value.users().into_iter().filter(is_narrow) {
        let unit = if narrow.opcode() == Opcode::LLVMShl { 1 << NARROW } else { 1 };
        let added = |sum: &Value| match sum.opcode() {
            Opcode::LLVMAdd => sum.operand(1).int().filter(|c| c % unit == 0).map(|c| c / unit),
            _ => None,
        };
        let fitting = |sum: &Value| added(sum).is_some_and(|c| (i64::from(i32::MIN)..=slack).contains(&c));
        for sum in narrow.users().into_iter().filter(fitting) {
            let constant = value.ty().constant(added(&sum).expect("it is a sum") as u64);
            replace_extensions(builder, sum, value, Some(constant));
        }
        replace_extensions(builder, narrow, value, None);
    }
}

/// Puts a value, plus a constant, in the place of the signed extensions of a number of 32 bits, or of one in the upper half of 64: of a multiple of
/// it if they leave it further up.
fn replace_extensions(builder: &Builder, narrow: Value, value: Value, added: Option<Value>) {
    let upper = narrow.ty() == value.ty();
    let up = |user: &Value| match user.opcode() {
        Opcode::LLVMSExt => (!upper && user.ty() == value.ty()).then_some(0),
        Opcode::LLVMAShr if upper && user.operand(0) == narrow => {
            user.operand(1).int().map(|down| i64::from(NARROW) - down).filter(|up| *up >= 0)
        }
        _ => None,
    };
    for (extension, up) in narrow.users().into_iter().filter_map(|user| Some((user, up(&user)?))) {
        builder.before(extension).locate_as(extension);
        let mut wide = value;
        if let Some(added) = added {
            wide = builder.add(value, added);
            wide.set_free_of_signed_overflow();
        }
        if up > 0 {
            wide = builder.shl(wide, value.ty().constant(up as u64));
            wide.set_free_of_signed_overflow();
        }
        extension.replace_uses(wide);
        extension.erase();
    }
}
