//! What functions of the C library touch, by the [table][crate::analysis::libc] and by their formats.

use crate::fault::{self, Fault};
use crate::llvm::{TypeKind, Value};

use super::{Reader, VA_LIST_BYTES};
use crate::analysis::facts::{Arguments, FormatCall, Kind, Length, Limit, Purpose, Range, What};
use crate::analysis::format::{FormatArg, print_arguments, scan_arguments};
use crate::analysis::libc::{Format, Function};

impl Reader<'_> {
    pub(super) fn libc(&self, call: Value, name: &str, function: &Function) -> Vec<What> {
        let mut ranges = Vec::new();
        for (mut kind, argument, mut length) in function.effects() {
            if fault::is(Fault::LibraryNothing) {
                continue;
            }
            if fault::is(Fault::LibraryKind) {
                kind = Kind::Load;
            }
            if fault::is(Fault::LibraryLength) {
                length = Length::Bytes(1);
            }
            // A declaration with another signature is not the function of the table.
            let operands = length.arguments();
            if operands.iter().chain([&argument]).any(|&i| i >= call.arg_count())
                || !call.operand(argument).ty().is_plain_pointer()
                || !lengths_are_integers(call, &length)
            {
                let text = format!(
                    "the effects that are stated of `{name}` do not fit this call: the memory is at a pointer, and an argument that is its length \
                     is an integer"
                );
                return if function.stated {
                    vec![What::Unsupported(text)]
                } else {
                    self.external(call, name)
                };
            }
            ranges.push(match kind {
                Kind::Store if function.fills => self.filled(call, argument, length),
                _ => self.range(call, kind, argument, length),
            });
        }
        let fixed = match function.format {
            Format::None => Some((0, vec![])),
            Format::PrintList(..) | Format::PrintToList(..) | Format::ScanList(..) => None,
            // Whether or not they are constant.
            Format::WidePrint(..)
            | Format::WidePrintList(..)
            | Format::WideScan(..)
            | Format::WideScanList(..) => None,
            Format::Print(format, first) => {
                constant_format(call, format).map(|f| (first, print_arguments(&f)))
            }
            Format::Scan(format, first, source) => constant_format(call, format)
                .map(|f| (first, scan_arguments(&f, source)))
                .filter(|(_, arguments)| arguments.iter().all(|a| a.length.is_some())),
        };
        if let Some((first, arguments)) = fixed {
            self.fixed_format(call, first, &arguments, &mut ranges);
            return vec![What::Ranges(ranges)];
        }
        let to = ranges.iter().find_map(|r| match r.length {
            Length::Formatted { .. } => Some(Purpose::PrintTo(r.argument)),
            Length::FormattedWithin { limit, .. } => Some(Purpose::PrintWithin(r.argument, limit)),
            _ => None,
        });
        ranges.retain(|r| !r.length.is_formatted());
        let mut out = Vec::new();
        if let Some(format) = self.format_call(call, function.format, to) {
            if let Arguments::List(list) = format.arguments {
                ranges.push(self.range(call, Kind::Store, list, Length::Bytes(VA_LIST_BYTES)));
            }
            out.push(What::Format(format));
        }
        out.insert(0, What::Ranges(ranges));
        out
    }

    /// The memory arguments of a format that is known here.
    fn fixed_format(&self, call: Value, first: u32, arguments: &[FormatArg], ranges: &mut Vec<Range>) {
        for argument in arguments {
            let index = first + argument.position;
            if index >= call.arg_count() || !call.operand(index).ty().is_plain_pointer() {
                continue;
            }
            let length = match argument.precision {
                Some(at) => Length::StrWithin(Limit::Arg(first + at)),
                None => argument.length.clone().expect("other formats are read at run time"),
            };
            ranges.push(self.range(call, argument.kind, index, length));
        }
        // Outputs last: the strings that bound them must be readable first.
        ranges.sort_by_key(|r| r.length.is_formatted());
    }

    /// A format that has to be read at run time; `None` if no argument behind it can be shared memory.
    fn format_call(&self, call: Value, format: Format, to: Option<Purpose>) -> Option<FormatCall> {
        use Format::{WidePrint, WidePrintList, WideScan, WideScanList};
        let print = to.unwrap_or(Purpose::Print);
        let wide = matches!(format, WidePrint(..) | WidePrintList(..) | WideScan(..) | WideScanList(..));
        let (purpose, format, arguments) = match format {
            Format::None => return None,
            Format::Print(format, first) | WidePrint(format, first) => {
                (print, format, Arguments::From(first))
            }
            Format::PrintList(format, list) | WidePrintList(format, list) => {
                (print, format, Arguments::List(list))
            }
            Format::PrintToList(format, list, to) => (Purpose::PrintTo(to), format, Arguments::List(list)),
            Format::Scan(format, first, source) | WideScan(format, first, source) => {
                (Purpose::Scan(source), format, Arguments::From(first))
            }
            Format::ScanList(format, list, source) | WideScanList(format, list, source) => {
                (Purpose::Scan(source), format, Arguments::List(list))
            }
        };
        let forwards = call.call_must_tail() && matches!(arguments, Arguments::From(_));
        let arguments = if forwards { Arguments::Forwarded } else { arguments };
        let shared = |i: u32| {
            let argument = call.operand(i);
            argument.ty().is_plain_pointer() && self.private(argument).is_none()
        };
        let needed = match (arguments, purpose) {
            (Arguments::List(list), _) => list < call.arg_count(),
            (Arguments::Forwarded, _) => true,
            (Arguments::From(first), Purpose::PrintTo(to) | Purpose::PrintWithin(to, _)) => {
                shared(to) || (first..call.arg_count()).any(shared)
            }
            (Arguments::From(first), _) => (first..call.arg_count()).any(shared),
        };
        needed.then_some(FormatCall { purpose, format, arguments, wide })
    }
}

/// Whether the arguments that a length is computed from are numbers.
fn lengths_are_integers(call: Value, length: &Length) -> bool {
    let arguments = match length {
        Length::Arg(a) | Length::Scaled(a, _) | Length::Vectors(a) | Length::WideStr { most: Some(a) } => {
            vec![*a]
        }
        Length::Product(x, y, _) => vec![*x, *y],
        _ => vec![],
    };
    arguments.iter().all(|&i| call.operand(i).ty().kind() == TypeKind::LLVMIntegerTypeKind)
}

/// Text of a format that is a constant.
fn constant_format(call: Value, argument: u32) -> Option<Vec<u8>> {
    let global = call.operand(argument);
    if !global.is_global_variable() || !global.is_global_constant() {
        return None;
    }
    let initializer = global.initializer()?;
    if let Some(text) = initializer.constant_string() {
        return Some(text);
    }
    // An empty string is a zero initialiser.
    (initializer.ty().kind() == TypeKind::LLVMArrayTypeKind && initializer.is_constant()).then(Vec::new)
}
