//! `OMP_PROC_BIND` and `OMP_PLACES`: policies, and places as the user names them (section "Affinity" of the specification).

use std::fmt;

/// `OMP_AFFINITY_FORMAT` unless given; libomp's.
pub const DEFAULT_FORMAT: &str = "OMP: pid %P tid %i thread %n bound to OS proc set {%A}";

/// How threads of a team are bound to places; the values are `omp_proc_bind_t`'s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Binding {
    /// Not at all.
    False = 0,
    /// To the place of the primary thread.
    Primary = 2,
    /// To consecutive places.
    Close = 3,
    /// To places far from each other.
    Spread = 4,
}

impl Binding {
    /// The policy with this value; true stands for spread, as in libomp.
    pub fn from_code(code: u32) -> Binding {
        match code {
            2 => Binding::Primary,
            3 => Binding::Close,
            1 | 4 => Binding::Spread,
            _ => Binding::False,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Binding::False => "false",
            Binding::Primary => "primary",
            Binding::Close => "close",
            Binding::Spread => "spread",
        }
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// `OMP_PROC_BIND`: a truth value, or policies by nesting level.
pub fn bindings(text: &str) -> Option<Vec<Binding>> {
    let text = text.to_ascii_lowercase();
    match text.as_str() {
        "true" => return Some(vec![Binding::Spread]),
        "false" => return Some(vec![Binding::False]),
        _ => {}
    }
    let policy = |word: &str| match word.trim() {
        "primary" | "master" => Some(Binding::Primary),
        "close" => Some(Binding::Close),
        "spread" => Some(Binding::Spread),
        _ => None,
    };
    text.split(',').map(policy).collect()
}

/// Parts of the machine that abstract names stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the specification's")]
pub enum Part {
    Threads,
    Cores,
    LlCaches,
    Sockets,
    NumaDomains,
}

const PARTS: [(&str, Part); 5] = [
    ("threads", Part::Threads),
    ("cores", Part::Cores),
    ("ll_caches", Part::LlCaches),
    ("sockets", Part::Sockets),
    ("numa_domains", Part::NumaDomains),
];

/// `OMP_PLACES`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Places {
    /// An abstract name, and how many of them at most.
    Abstract(Part, Option<usize>),
    /// Processors of each place, and the text.
    List(Vec<Vec<usize>>, String),
}

impl fmt::Display for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Places::Abstract(part, count) => {
                let (name, _) = PARTS.iter().find(|(_, p)| p == part).expect("every part has a name");
                f.write_str(name)?;
                count.map_or(Ok(()), |n| write!(f, "({n})"))
            }
            Places::List(_, text) => f.write_str(text),
        }
    }
}

/// Most processors that lists may name.
const MOST: i64 = 8192;

/// `OMP_PLACES`.
pub fn places(text: &str) -> Option<Places> {
    let lower: String = text.to_ascii_lowercase().split_whitespace().collect();
    let (name, count) = match lower.split_once('(') {
        Some((name, rest)) => (name, Some(rest.strip_suffix(')')?.parse().ok().filter(|n: &usize| *n > 0)?)),
        None => (lower.as_str(), None),
    };
    if let Some((_, part)) = PARTS.iter().find(|(known, _)| *known == name) {
        return Some(Places::Abstract(*part, count));
    }
    let mut list: Vec<Vec<usize>> = Vec::new();
    let mut rest = lower.as_str();
    loop {
        let (excluded, after) = rest.strip_prefix('!').map_or((false, rest), |r| (true, r));
        let (place, after) = place(after)?;
        let (interval, after) = until_comma(after);
        let (length, stride) = repetition(interval)?;
        for i in 0..length {
            let moved = place.iter().map(|p| p + i * stride);
            let moved: Option<Vec<usize>> =
                moved.map(|p| usize::try_from(p).ok().filter(|p| (*p as i64) < MOST)).collect();
            let moved = moved?;
            if excluded {
                list.retain(|p| *p != moved);
            } else {
                list.push(moved);
            }
        }
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => break,
            None => return None,
        }
    }
    (!list.is_empty()).then_some(Places::List(list, lower))
}

/// A place `{...}` or a single processor at the front of the text: its processors, and the rest of the text.
fn place(text: &str) -> Option<(Vec<i64>, &str)> {
    let Some(inner) = text.strip_prefix('{') else {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        return Some((vec![text[..end].parse().ok()?], &text[end..]));
    };
    let (inner, rest) = inner.split_once('}')?;
    let mut processors = Vec::new();
    for item in inner.split(',') {
        let (excluded, item) = item.strip_prefix('!').map_or((false, item), |i| (true, i));
        let (first, interval) = item.split_at(item.find(':').unwrap_or(item.len()));
        let first: i64 = first.parse().ok().filter(|n| (0..MOST).contains(n))?;
        let (length, stride) = repetition(interval)?;
        for i in 0..length {
            let processor = first + i * stride;
            if excluded {
                processors.retain(|p| *p != processor);
            } else if !processors.contains(&processor) {
                processors.push(processor);
            }
        }
    }
    (!processors.is_empty()).then_some((processors, rest))
}

fn until_comma(text: &str) -> (&str, &str) {
    text.split_at(text.find(',').unwrap_or(text.len()))
}

/// `:LENGTH` or `:LENGTH:STRIDE`; nothing stands for a length of one.
fn repetition(text: &str) -> Option<(i64, i64)> {
    if text.is_empty() {
        return Some((1, 1));
    }
    let (length, stride) = text.strip_prefix(':')?.split_once(':').unwrap_or((&text[1..], "1"));
    let length = length.parse().ok().filter(|n| (1..=MOST).contains(n))?;
    Some((length, stride.parse().ok().filter(|n: &i64| n.abs() < MOST)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<Vec<usize>> {
        match places(text) {
            Some(Places::List(list, _)) => list,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn the_specification_s_ways_to_write_the_same_places() {
        let four: Vec<Vec<usize>> = (0..4).map(|p| (4 * p..4 * p + 4).collect()).collect();
        assert_eq!(list("{0,1,2,3},{4,5,6,7},{8,9,10,11},{12,13,14,15}"), four);
        assert_eq!(list("{0:4}, {4:4}, {8:4}, {12:4}"), four);
        assert_eq!(list("{0:4}:4:4"), four);
        assert_eq!(list("{0:8:2},{1:8:2}")[1], [1, 3, 5, 7, 9, 11, 13, 15]);
        assert_eq!(list("{0}:3,!{1}"), [[0], [2]]);
        assert_eq!(list("3,5"), [[3], [5]]);
        assert_eq!(list("{0:4,!2}"), [[0, 1, 3]]);
        assert_eq!(list("{6:2}:3:-2"), [[6, 7], [4, 5], [2, 3]]);
    }

    #[test]
    fn abstract_names_and_what_is_none() {
        assert_eq!(places("Cores(2)"), Some(Places::Abstract(Part::Cores, Some(2))));
        assert_eq!(places("ll_caches").unwrap().to_string(), "ll_caches");
        for bad in [
            "", "{}", "{0", "0}", "{0}:0", "{0:2:x}", "cores(0)", "cores(2", "{0}{1}", "{0},", "{0}:2:-1",
            "{99999}",
        ] {
            assert_eq!(places(bad), None, "{bad}");
        }
    }

    #[test]
    fn policies_by_level() {
        use Binding::*;
        assert_eq!(bindings("close, SPREAD,master"), Some(vec![Close, Spread, Primary]));
        assert_eq!(bindings("true"), Some(vec![Spread]));
        assert_eq!(bindings("true,close"), None);
    }
}
