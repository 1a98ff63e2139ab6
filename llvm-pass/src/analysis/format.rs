//! Reads constant `printf` and `scanf` formats: which arguments are memory, and how much of it.

use super::facts::{Kind, Length, Limit};

/// Memory behind one format argument: its number counted from the first argument of the format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatArg {
    /// 0-based position behind the format.
    pub position: u32,
    /// Read or write.
    pub kind: Kind,
    /// How much; `None` if nobody can know before the call (`scanf("%s")`).
    pub length: Option<Length>,
    /// Position of the argument that bounds a string, from the first argument of the format on.
    pub precision: Option<u32>,
}

/// Bytes of the integer that a length modifier names.
fn modifier_size(modifier: &[u8]) -> u64 {
    match modifier {
        b"hh" => 1,
        b"h" => 2,
        b"l" | b"ll" | b"j" | b"z" | b"t" | b"q" => 8,
        b"L" => 16,
        _ => 4,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Precision {
    None,
    Number(u64),
    Argument,
}

struct Directive<'a> {
    stars: u32,
    precision: Precision,
    suppressed: bool,
    width: Option<u64>,
    modifier: &'a [u8],
    conversion: u8,
}

/// Splits off the directive behind a `%`; `None` at the end of the format.
fn directive(text: &[u8], scan: bool) -> Option<(Directive<'_>, &[u8])> {
    let mut at = 0;
    let (mut stars, mut suppressed, mut width) = (0, false, None);
    let mut precision = Precision::None;
    while let Some(&c) = text.get(at) {
        match c {
            b'*' if scan => suppressed = true,
            b'*' => {
                stars += 1;
                if precision != Precision::None {
                    precision = Precision::Argument;
                }
            }
            b'.' => precision = Precision::Number(0),
            b'0'..=b'9' if precision != Precision::None => {
                if let Precision::Number(n) = &mut precision {
                    *n = n.saturating_mul(10).saturating_add(u64::from(c - b'0'));
                }
            }
            b'0'..=b'9' => width = Some(width.unwrap_or(0) * 10 + u64::from(c - b'0')),
            b'-' | b'+' | b' ' | b'#' | b'\'' => {}
            _ => break,
        }
        at += 1;
    }
    let from = at;
    while text.get(at).is_some_and(|c| b"hlqjztL".contains(c)) {
        at += 1;
    }
    let modifier = &text[from..at];
    let conversion = *text.get(at)?;
    let mut rest = &text[at + 1..];
    if conversion == b'[' {
        // A `]` directly behind `[` or `[^` is a member of the set.
        let skip = if rest.first() == Some(&b'^') { 2 } else { 1 };
        let end = rest.iter().skip(skip).position(|&c| c == b']').map(|i| i + skip + 1);
        rest = &rest[end.unwrap_or(rest.len())..];
    }
    Some((Directive { stars, precision, suppressed, width, modifier, conversion }, rest))
}

/// Memory arguments of a `printf` format.
pub fn print_arguments(format: &[u8]) -> Vec<FormatArg> {
    let mut out = Vec::new();
    let mut position = 0;
    let mut rest = format;
    while let Some(percent) = rest.iter().position(|&c| c == b'%') {
        let Some((d, tail)) = directive(&rest[percent + 1..], false) else { break };
        rest = tail;
        if d.conversion == b'%' || d.conversion == b'm' {
            continue;
        }
        position += d.stars;
        match d.conversion {
            b's' => {
                let length = match d.precision {
                    Precision::Number(bytes) => Length::StrWithin(Limit::Bytes(bytes)),
                    Precision::None | Precision::Argument => Length::Str,
                };
                let precision = (d.precision == Precision::Argument).then(|| position - 1);
                out.push(FormatArg { position, kind: Kind::Load, length: Some(length), precision });
            }
            b'n' => {
                let length = Some(Length::Bytes(modifier_size(d.modifier)));
                out.push(FormatArg { position, kind: Kind::Store, length, precision: None });
            }
            _ => {}
        }
        position += 1;
    }
    out
}

/// Memory arguments of a `scanf` format; `source` is the argument with the input string of `sscanf`.
pub fn scan_arguments(format: &[u8], source: Option<u32>) -> Vec<FormatArg> {
    let mut out = Vec::new();
    let mut position = 0;
    let mut rest = format;
    while let Some(percent) = rest.iter().position(|&c| c == b'%') {
        let Some((d, tail)) = directive(&rest[percent + 1..], true) else { break };
        rest = tail;
        if d.conversion == b'%' || d.suppressed {
            continue;
        }
        let length = match d.conversion {
            b's' | b'[' => match (d.width, source) {
                (Some(width), _) => Some(Length::Bytes(width + 1)),
                (None, Some(argument)) => Some(Length::StrLen(vec![argument])),
                (None, None) => None,
            },
            b'c' => Some(Length::Bytes(d.width.unwrap_or(1))),
            b'a' | b'e' | b'f' | b'g' | b'A' | b'E' | b'F' | b'G' => Some(Length::Bytes(match d.modifier {
                b"l" => 8,
                b"L" => 16,
                _ => 4,
            })),
            b'p' => Some(Length::Bytes(8)),
            _ => Some(Length::Bytes(modifier_size(d.modifier))),
        };
        out.push(FormatArg { position, kind: Kind::Store, length, precision: None });
        position += 1;
    }
    out
}
