//! Parsers of values: `None` for what is malformed.

use super::{
    DisplayEnv, RaceMode, STANDARD_ERROR, Schedule, ScheduleKind, StaticBlocks, Transport, WaitPolicy,
};

pub(super) fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

pub(super) fn static_blocks(text: &str) -> Option<StaticBlocks> {
    match boolean(text) {
        Some(true) => Some(StaticBlocks::Always),
        Some(false) => Some(StaticBlocks::Never),
        None => (text == "auto").then_some(StaticBlocks::Auto),
    }
}

pub(super) fn positive(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|n| (1..=i32::MAX as u32).contains(n))
}

pub(super) fn list(text: &str) -> Option<Vec<u32>> {
    text.split(',').map(positive).collect()
}

/// A size with an optional suffix; `unit` is that of a bare number.
pub(super) fn size(text: &str, unit: usize) -> Option<usize> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => unit,
        "B" => 1,
        "K" | "KB" | "KIB" => 1 << 10,
        "M" | "MB" | "MIB" => 1 << 20,
        "G" | "GB" | "GIB" => 1 << 30,
        "T" | "TB" | "TIB" => 1 << 40,
        _ => return None,
    };
    digits.trim().parse::<usize>().ok()?.checked_mul(factor)
}

/// A size in bytes with an optional suffix.
pub fn bytes(text: &str) -> Option<usize> {
    size(text, 1)
}

pub(super) fn kilobytes(text: &str) -> Option<usize> {
    size(text, 1 << 10)
}

pub(super) fn schedule(text: &str) -> Option<Schedule> {
    let lower = text.to_ascii_lowercase();
    let (modifier, rest) = match lower.split_once(':') {
        Some((modifier, rest)) => (Some(modifier.trim()), rest),
        None => (None, lower.as_str()),
    };
    let (name, chunk) = match rest.split_once(',') {
        Some((name, chunk)) => (name, positive(chunk)?),
        None => (rest, 0),
    };
    let kind = match name.trim() {
        "static" => ScheduleKind::Static,
        "dynamic" => ScheduleKind::Dynamic,
        "guided" => ScheduleKind::Guided,
        "auto" => ScheduleKind::Auto,
        _ => return None,
    };
    let monotonic = match modifier {
        Some("monotonic") => Some(true),
        Some("nonmonotonic") => Some(false),
        Some(_) => return None,
        None => None,
    };
    Some(Schedule { kind, chunk, monotonic })
}

pub(super) fn race_mode(text: &str) -> Option<RaceMode> {
    match text.to_ascii_lowercase().as_str() {
        "report" => Some(RaceMode::Report),
        "abort" => Some(RaceMode::Abort),
        other => boolean(other).map(|on| if on { RaceMode::Report } else { RaceMode::Off }),
    }
}

/// Where a report goes: nowhere, to standard error (`-`), or to a file.
pub(super) fn destination(text: &str) -> String {
    match boolean(text) {
        Some(true) => STANDARD_ERROR.to_owned(),
        Some(false) => String::new(),
        None => text.to_owned(),
    }
}

pub(super) fn transport(text: &str) -> Option<Transport> {
    match text.to_ascii_lowercase().as_str() {
        "auto" => Some(Transport::Auto),
        "shm" => Some(Transport::Shm),
        "stream" => Some(Transport::Stream(None)),
        other => match other.strip_prefix("stream:") {
            Some(seed) => seed.parse().ok().map(|seed| Transport::Stream(Some(seed))),
            None => adapter(other),
        },
    }
}

/// `[shm,]ofi[:PROVIDER]` or `[shm,]verbs[:DEVICE]`.
fn adapter(text: &str) -> Option<Transport> {
    let (maps, rest) = match text.strip_prefix("shm,") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (kind, named) = match rest.split_once(':') {
        Some((_, "")) => return None,
        Some((kind, named)) => (kind, named.to_owned()),
        None => (rest, String::new()),
    };
    match kind {
        "ofi" => Some(Transport::Ofi { provider: named, maps }),
        "verbs" => Some(Transport::Verbs { device: named, maps }),
        _ => None,
    }
}

pub(super) fn wait_policy(text: &str) -> Option<WaitPolicy> {
    match text.to_ascii_lowercase().as_str() {
        "active" => Some(WaitPolicy::Active),
        "passive" => Some(WaitPolicy::Passive),
        _ => None,
    }
}

pub(super) fn display_env(text: &str) -> Option<DisplayEnv> {
    if text.eq_ignore_ascii_case("verbose") {
        return Some(DisplayEnv::Verbose);
    }
    boolean(text).map(|on| if on { DisplayEnv::Yes } else { DisplayEnv::No })
}

/// A number of at most `i32::MAX`, 0 included.
pub(super) fn number(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|n| *n <= i32::MAX as u32)
}

/// One of a few words, in any case.
pub(super) fn word(text: &str, known: &[&'static str]) -> Option<&'static str> {
    known.iter().copied().find(|k| text.eq_ignore_ascii_case(k))
}
