//! Memory that calls touch behind the pass's back.

use super::{Kind, Private};

/// Length of a range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Length {
    /// Constant.
    Bytes(u64),
    /// Value of an argument of the call.
    Arg(u32),
    /// Product of two arguments and a constant.
    Product(u32, u32, u64),
    /// The NUL-terminated string at the address.
    Str,
    /// One more than the summed lengths of the strings at these arguments.
    StrLen(Vec<u32>),
    /// One more than the characters that this `sprintf` call will write.
    Formatted {
        /// Argument with the format.
        format: u32,
    },
    /// The elements that the array descriptor of Fortran at the address names.
    Descriptor,
    /// The same without what components of the elements hold: they are undefined.
    Undefined,
    /// The objects of the namelist of Fortran at the address.
    Namelist,
    /// The next elements of the array constructor of Fortran at the address.
    Constructor {
        /// How many at most.
        elements: u64,
    },
    /// Value of an argument times a constant.
    Scaled(u32, u64),
    /// The string at the address, to its NUL or as many bytes as the limit.
    StrWithin(Limit),
    /// To the first byte of a value in the memory at the argument `of`, or as many bytes as the limit.
    Until {
        /// Argument with the memory that is searched.
        of: u32,
        /// Argument with the value.
        value: u32,
        /// At most so many.
        limit: Limit,
    },
    /// What a comparison with the string at another argument looks at: to a NUL, a difference, or as many bytes as the limit.
    Compared {
        /// The other string.
        with: u32,
        /// At most so many.
        limit: Limit,
        /// Upper and lower case are the same.
        fold: bool,
    },
    /// One more than the summed lengths of strings, each with its own limit; altogether at most as much as the argument `most`.
    Joined {
        /// Arguments, and their limits.
        strings: &'static [(u32, Limit)],
        /// At most so many.
        most: Limit,
    },
    /// One more than the characters that this `snprintf` call will write, and at most the limit.
    FormattedWithin {
        /// Argument with the format.
        format: u32,
        /// Argument with the space.
        limit: u32,
    },
    /// Value of an argument, but the function never touches more than this.
    Capped(u32, u64),
    /// As many `struct iovec` as the argument says, and the memory that they name.
    Vectors(u32),
    /// The null-terminated wide string at the address.
    WideStr {
        /// Argument with the number of characters that are read at most.
        most: Option<u32>,
    },
    /// Bytes of one wide character more than in the wide strings at these arguments.
    WideLen(Vec<u32>),
    /// Addresses of strings up to a null pointer, and the strings.
    Strings,
    /// To the address that is this argument's value.
    End(u32),
}

/// Most bytes that a function looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// It stops only at what it looks for.
    None,
    /// A constant.
    Bytes(u64),
    /// The value of an argument; a negative number is none.
    Arg(u32),
}

impl Limit {
    /// The argument, if it is one.
    pub fn argument(self) -> Option<u32> {
        match self {
            Limit::Arg(argument) => Some(argument),
            Limit::None | Limit::Bytes(_) => None,
        }
    }
}

impl Length {
    /// Arguments of the call that the length depends on.
    pub fn arguments(&self) -> Vec<u32> {
        use Length::*;
        match self {
            Arg(a) | Formatted { format: a } | Scaled(a, _) | Vectors(a) | Capped(a, _) | End(a) => vec![*a],
            Product(x, y, _) => vec![*x, *y],
            WideStr { most } => most.iter().copied().collect(),
            WideLen(list) => list.clone(),
            FormattedWithin { format, limit } => vec![*format, *limit],
            StrLen(list) => list.clone(),
            StrWithin(limit) => limit.argument().into_iter().collect(),
            Until { of, value, limit } => [*of, *value].into_iter().chain(limit.argument()).collect(),
            Compared { with, limit, .. } => [*with].into_iter().chain(limit.argument()).collect(),
            Joined { strings, most } => {
                let limits = strings.iter().flat_map(|(string, limit)| [Some(*string), limit.argument()]);
                limits.chain([most.argument()]).flatten().collect()
            }
            Bytes(_) | Str | Strings | Descriptor | Undefined | Namelist | Constructor { .. } => vec![],
        }
    }

    /// True if text that is going to be written decides, which is known when all strings are readable.
    pub fn is_formatted(&self) -> bool {
        matches!(self, Length::Formatted { .. } | Length::FormattedWithin { .. })
    }

    /// True if the memory lies elsewhere than at the address.
    pub fn is_indirect(&self) -> bool {
        use Length::{Constructor, Descriptor, Namelist, Strings, Undefined, Vectors};
        matches!(self, Descriptor | Undefined | Namelist | Constructor { .. } | Vectors(_) | Strings)
    }
}

/// What a format is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Output.
    Print,
    /// Output to memory at this argument, as long as it gets.
    PrintTo(u32),
    /// Output to memory at this argument, of at most as many bytes as the second says.
    PrintWithin(u32, u32),
    /// Input, from the string at this argument or else from a stream.
    Scan(Option<u32>),
}

/// Where the arguments of a format are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arguments {
    /// From this argument on.
    From(u32),
    /// Behind the `va_list` at this argument.
    List(u32),
    /// The calling function's own variable arguments, which a `musttail` call hands on.
    Forwarded,
}

/// A call whose format is read at run time to make the memory behind the arguments valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormatCall {
    /// What for.
    pub purpose: Purpose,
    /// Argument with the format.
    pub format: u32,
    /// The arguments.
    pub arguments: Arguments,
    /// The format is of wide characters.
    pub wide: bool,
}

/// Memory that a call touches behind the pass's back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Range {
    /// Read or write.
    pub kind: Kind,
    /// Argument with the address.
    pub argument: u32,
    /// How long.
    pub length: Length,
    /// Every byte is stored to; what is read, it was made valid for before.
    pub fills: bool,
    /// Set if it needs no check.
    pub private: Option<Private>,
}

/// Shape of an access under a mask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lanes {
    /// Lane `i` at `address + i * element`, if its mask bit is set.
    Contiguous,
    /// Lane `i` at its own address, if its mask bit is set.
    Scattered,
    /// As many elements from the address on as mask bits are set.
    Packed,
    /// Lane `i` at the address plus element `i` of the operand `index`, signed, times the operand `scale`.
    Indexed {
        /// Operand with a vector of integers.
        index: u32,
        /// Operand with a number of bytes.
        scale: u32,
    },
    /// Lane `i` at the address plus `i` times the operand `stride` times `unit` bytes.
    Strided {
        /// Operand with an integer.
        stride: u32,
        /// Bytes that it counts.
        unit: u64,
    },
}

/// A masked access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Masked {
    /// Read or write.
    pub kind: Kind,
    /// Placement of the lanes.
    pub lanes: Lanes,
    /// Number of lanes.
    pub count: u32,
    /// Bytes of a lane.
    pub element: u64,
    /// Operand with the address or the vector of addresses.
    pub address: u32,
    /// Operand with the mask: a vector of bits, or of numbers whose signs are the bits. All lanes without one.
    pub mask: Option<u32>,
    /// Operand with the number of lanes that count.
    pub limit: Option<u32>,
    /// Set if it needs no check.
    pub private: Option<Private>,
}
