//! What known C library functions read and write through their pointer arguments.
//!
//! The library is not instrumented, so the memory is made valid before the call. None of the functions lets other
//! threads of the program reach its pointers; a result may alias an argument. Functions that call back into the
//! program are marked, because the callback may synchronise.

/// A match on names: functions in lines, with what they touch and their format.
macro_rules! functions {
    ($name:expr; $($($f:literal)|+ => [$($effect:expr),*] $(, $format:expr)?;)*) => {
        match $name {
            $($($f)|+ => Some(({ const LIST: &[Effect] = &[$($effect),*]; LIST }, functions!(@format $($format)?))),)*
            _ => None,
        }
    };
    (@format) => { Format::None };
    (@format $format:expr) => { $format };
}

mod families;
mod kept;
mod lists;
pub mod stated;
mod streams;
mod table;

pub use kept::{Kept, kept};
pub use streams::{DESCRIPTORS, STREAMS};

use lists::{FILLING, MATH, PLAIN, RESERVED};
use table::{callback_table, table};

use super::facts::{Kind, Length, Limit};
use super::fortran;
use crate::fault::{self, Fault};

/// Length rule of a table entry.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// Constant number of bytes.
    N(u64),
    /// The argument's value.
    A(u32),
    /// Product of two arguments.
    P(u32, u32),
    /// Product of two arguments and a constant.
    Volume(u32, u32, u64),
    /// To the terminating NUL.
    S,
    /// Strings at one argument, with NUL.
    L(u32),
    /// Strings at two arguments, with one NUL.
    L2(u32, u32),
    /// What `sprintf` with the format at this argument writes.
    F(u32),
    /// An array descriptor of Fortran and its elements.
    D,
    /// An array descriptor of Fortran and its elements, of which nothing is defined: components need not hold anything yet.
    O,
    /// The objects of a namelist.
    Namelist,
    /// An array constructor of Fortran: space for this many elements more.
    Constructor(u64),
    /// The argument's value times a constant.
    M(u32, u64),
    /// As many `struct iovec` as the argument says, and what they name.
    V(u32),
    /// To the terminating NUL, and at most the argument's value.
    B(u32),
    /// To the byte of the value at the second argument in the memory at the first, with a limit.
    U(u32, u32, Limit),
    /// What a comparison with the string at the first argument looks at, with the limit at the second; of either case?
    Q(u32, u32, bool),
    /// Strings with limits and one NUL, and a limit for the whole.
    J(&'static [(u32, Limit)], Limit),
    /// What `snprintf` writes with the space at the first argument and the format at the second.
    G(u32, u32),
    /// The argument's value, but never more than the constant.
    C(u32, u64),
    /// Wide characters to the terminating null.
    WideString,
    /// The same, at most as many as the argument says.
    WideWithin(u32),
    /// Wide strings at these arguments, with one null.
    WideLength(&'static [u32]),
    /// Addresses of strings up to a null pointer, and the strings.
    Strings,
    /// To the address that is the argument's value.
    End(u32),
}

use Rule::{A, B, C, F, G, J, L, L2, M, N, P, Q, S, U, V};

/// Kind, argument with the address, length.
pub type Effect = (Kind, u32, Rule);
/// Reads.
pub const R: Kind = Kind::Load;
/// Writes.
pub const W: Kind = Kind::Store;

/// How the arguments behind the format are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// No format.
    None,
    /// `printf`: the format at this argument, its arguments from that one on.
    Print(u32, u32),
    /// `vprintf`: the format at this argument, the `va_list` at that one.
    PrintList(u32, u32),
    /// `vsprintf`: likewise; the third is where the text goes.
    PrintToList(u32, u32, u32),
    /// `scanf`: as `Print`; the third is the source string, which bounds `%s`.
    Scan(u32, u32, Option<u32>),
    /// `vscanf`, likewise.
    ScanList(u32, u32, Option<u32>),
    /// The same with formats of wide characters.
    WidePrint(u32, u32),
    /// See above.
    WidePrintList(u32, u32),
    /// See above.
    WideScan(u32, u32, Option<u32>),
    /// See above.
    WideScanList(u32, u32, Option<u32>),
}

/// What a function does.
pub struct Function {
    effects: &'static [Effect],
    /// Format arguments.
    pub format: Format,
    /// True if it calls functions of the program, and hands them its arguments.
    pub calls_back: bool,
    /// True if it may synchronise.
    pub syncs: bool,
    /// Argument whose address it stores.
    pub keeps: Option<u32>,
    /// True if it always stores to every byte of what it writes, and first reads what it reads.
    pub fills: bool,
    /// True if the user says so.
    pub stated: bool,
}

/// The function that `__name_chk` of `_FORTIFY_SOURCE` stands for. It has the object's size as an argument more behind those of `name`;
/// where the size is elsewhere, the table has the function itself.
fn unfortified(name: &str) -> Option<&str> {
    name.strip_prefix("__")?.strip_suffix("_chk")
}

/// True of functions that may return a second time, into a frame that has to be there still.
pub fn returns_twice(name: &str) -> bool {
    ["setjmp", "_setjmp", "__sigsetjmp", "sigsetjmp", "vfork"].contains(&name)
}

/// True of functions that compute a number, and whose only memory is `errno`.
pub fn is_mathematical(name: &str) -> bool {
    MATH.contains(&name) || MATH.contains(&name.strip_suffix(['f', 'l']).unwrap_or(name))
}

/// The function's description, if it is in the table.
pub fn function(name: &str) -> Option<Function> {
    if let Some(stated) = stated::function(name) {
        return Some(stated);
    }
    let calls_back = callback_table(name).or_else(|| families::callback_table(name));
    if let Some(effects) = calls_back.or_else(|| super::libstdcxx::synchronising(name)) {
        return Some(Function {
            effects,
            format: Format::None,
            calls_back: true,
            syncs: true,
            keeps: None,
            fills: false,
            stated: false,
        });
    }
    if let Some(function) = fortran::function(name) {
        return Some(function);
    }
    let plain = name.strip_prefix("__isoc23_").or(name.strip_prefix("__isoc99_")).unwrap_or(name);
    if let Some(effects) = super::libstdcxx::effects(name) {
        return Some(Function {
            effects,
            format: Format::None,
            calls_back: false,
            syncs: false,
            keeps: None,
            fills: false,
            stated: false,
        });
    }
    let table = |name: &str| table(name).or_else(|| families::table(name));
    // Functions that take a locale have it behind the arguments of those that do not.
    let local = || name.strip_prefix("__").unwrap_or(name).strip_suffix("_l");
    let (effects, format) = table(name)
        .or_else(|| table(plain))
        .or_else(|| table(unfortified(name)?))
        .or_else(|| table(local()?))
        .or_else(|| {
            let name = local().unwrap_or(name);
            let known = is_mathematical(name) || PLAIN.contains(&name);
            known.then_some((&[] as &[Effect], Format::None))
        })?;
    let fills = FILLING.contains(&unfortified(name).unwrap_or(name));
    let syncs = may_be_of_program(name) && !fault::is(Fault::SyncNamesake);
    Some(Function { effects, format, calls_back: false, syncs, keeps: None, fills, stated: false })
}

/// Whether a function of this name may be the program's: ISO C leaves POSIX's names and others to programs. One of another module may synchronise.
fn may_be_of_program(name: &str) -> bool {
    !name.starts_with('_') && !is_mathematical(name) && !FILLING.contains(&name) && !RESERVED.contains(&name)
}

impl Function {
    /// An entry of the Fortran runtime library.
    pub fn fortran(effects: &'static [Effect], syncs: bool, keeps: Option<u32>) -> Function {
        Function {
            effects,
            format: Format::None,
            calls_back: false,
            syncs,
            keeps,
            fills: false,
            stated: false,
        }
    }

    /// Memory touched, as (kind, argument, length).
    pub fn effects(&self) -> impl Iterator<Item = (Kind, u32, Length)> + '_ {
        self.effects.iter().map(|&(kind, argument, rule)| {
            let length = match rule {
                N(bytes) => Length::Bytes(bytes),
                A(argument) => Length::Arg(argument),
                P(x, y) => Length::Product(x, y, 1),
                Rule::Volume(x, y, scale) => Length::Product(x, y, scale),
                S => Length::Str,
                L(argument) => Length::StrLen(vec![argument]),
                L2(x, y) => Length::StrLen(vec![x, y]),
                F(format) => Length::Formatted { format },
                Rule::D => Length::Descriptor,
                Rule::O => Length::Undefined,
                Rule::Namelist => Length::Namelist,
                Rule::Constructor(elements) => Length::Constructor { elements },
                M(argument, scale) => Length::Scaled(argument, scale),
                V(count) => Length::Vectors(count),
                B(limit) => Length::StrWithin(Limit::Arg(limit)),
                U(of, value, limit) => Length::Until { of, value, limit },
                Q(with, limit, fold) => Length::Compared { with, limit: Limit::Arg(limit), fold },
                J(strings, most) => Length::Joined { strings, most },
                G(limit, format) => Length::FormattedWithin { format, limit },
                C(argument, most) => Length::Capped(argument, most),
                Rule::WideString => Length::WideStr { most: None },
                Rule::WideWithin(most) => Length::WideStr { most: Some(most) },
                Rule::WideLength(arguments) => Length::WideLen(arguments.to_vec()),
                Rule::Strings => Length::Strings,
                Rule::End(end) => Length::End(end),
            };
            (kind, argument, length)
        })
    }
}
