//! What the misses and waits mean: what happens to which variable, what it costs, and what to do.

pub mod sharing;
mod waits;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering::Relaxed;

use dsm_abi::state;
use serde::Serialize;

use super::collect::{Collected, Misses};
use super::names::{self, Objects};
use dsm_abi::state::Access;
use dsm_geometry::Geometry;
use sharing::{Shares, Sharing};

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Processes use different bytes of one block, and one of them writes.
    FalseSharing,
    /// Several processes write the same bytes, one after the other.
    MovingHome,
    /// What one process wrote first is used by others.
    SerialFirstTouch,
    /// Misses of one block each, at a constant distance.
    StridedMisses,
    /// Misses of one block each, block after block.
    SequentialMisses,
    /// One process writes what others read.
    Transfer,
    /// Stores to blocks that are there, and that somebody else has read.
    Permission,
    /// The first use of blocks that are at home elsewhere.
    FirstUse,
    /// Some wait for those that have more to do.
    Imbalance,
    /// The others wait while process 0 runs alone.
    SerialCode,
    /// Barriers in great number.
    Barrier,
    /// A lock that is handed around.
    Lock,
    /// An atomic variable that is handed around.
    Atomic,
}

impl Kind {
    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Kind::FalseSharing => "false sharing",
            Kind::MovingHome => "a home that moves back and forth",
            Kind::SerialFirstTouch => "serial first touch",
            Kind::StridedMisses => "single misses along a stride",
            Kind::SequentialMisses => "single misses, block after block",
            Kind::Transfer => "written in one process, read in others",
            Kind::Permission => "stores that ask",
            Kind::FirstUse => "first use",
            Kind::Imbalance => "imbalance",
            Kind::SerialCode => "serial code",
            Kind::Barrier => "many barriers",
            Kind::Lock => "a lock that is handed around",
            Kind::Atomic => "an atomic variable that is handed around",
        }
    }
}

/// A line of the program and its part in a finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// `file:line (function)`.
    pub place: String,
    /// What stands there.
    pub text: Option<String>,
    /// What it does.
    pub verb: &'static str,
    /// Misses, or times.
    pub count: u64,
    /// Time.
    pub seconds: f64,
}

/// Something that costs time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What happens.
    pub kind: Kind,
    /// To what.
    pub subject: String,
    /// Time, over all processes.
    pub seconds: f64,
    /// Misses; of waits, times.
    pub count: u64,
    /// Blocks that the misses were for.
    pub blocks: u64,
    /// The calls that led to the allocation, innermost first.
    pub allocated: Vec<String>,
    /// Sentences that say what happens.
    pub what: Vec<String>,
    /// Where, the most expensive line first.
    pub lines: Vec<Cost>,
    /// What to do.
    pub remedy: Vec<String>,
}

/// Lines of a finding that are shown.
const LINES: usize = 4;
/// The part of the time of all misses, or of all waits, that is not worth a finding, and the time that never is.
const LEAST_PART: f64 = 0.005;
const LEAST_SECONDS: f64 = 0.0002;
/// Misses that are not worth a finding.
const FEW: u64 = 16;

/// All findings, the most expensive first.
pub fn all(collected: &Collected, geometry: &Geometry, objects: &mut Objects) -> Vec<Finding> {
    let shares = sharing::shares(&collected.blocks, objects);
    let context = Context { geometry, processes: geometry.processes() };
    let none = Shares::default();
    let mut found = Vec::new();
    for (key, misses) in by_object(&collected.misses, objects) {
        let subject = Subject { key, misses: &misses, shares: shares.get(&key).unwrap_or(&none) };
        found.extend(context.of_object(&subject, objects));
    }
    found.extend(waits::findings(&collected.waits, geometry.processes(), objects));
    drop_small(&mut found);
    found.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    found
}

/// The misses of each object.
pub fn by_object<'m>(all: &'m [Misses], objects: &mut Objects) -> BTreeMap<usize, Vec<&'m Misses>> {
    let mut by_object: BTreeMap<usize, Vec<&Misses>> = BTreeMap::new();
    for misses in all {
        by_object.entry(objects.at(misses.range.0).key).or_default().push(misses);
    }
    by_object
}

/// Leaves out what is next to nothing beside other misses, or beside other waits.
fn drop_small(found: &mut Vec<Finding>) {
    let sum = |are_misses: bool| {
        let alike = found.iter().filter(|f| (f.blocks > 0) == are_misses);
        (LEAST_PART * alike.map(|f| f.seconds).sum::<f64>()).max(LEAST_SECONDS)
    };
    let (waits, misses) = (sum(false), sum(true));
    found.retain(|f| match f.blocks {
        0 => f.seconds >= waits,
        _ => f.seconds >= misses && f.blocks >= FEW,
    });
}

/// What is the same for all objects.
struct Context<'a> {
    geometry: &'a Geometry,
    processes: u32,
}

/// An object and what happened to it.
struct Subject<'a> {
    key: usize,
    misses: &'a [&'a Misses],
    shares: &'a Shares,
}

/// Misses, and which part of their time and number belongs to a finding.
struct Part<'a> {
    misses: Vec<&'a Misses>,
    share: f64,
}

impl Part<'_> {
    fn seconds(&self) -> f64 {
        self.share * self.misses.iter().map(|m| m.seconds).sum::<f64>()
    }

    fn count(&self, of: impl Fn(&Misses) -> u64) -> u64 {
        (self.share * self.misses.iter().map(|m| of(m)).sum::<u64>() as f64).round() as u64
    }
}

/// Whether a copy was there, which somebody else's write or reading has ended.
pub fn is_coherence(misses: &Misses) -> bool {
    misses.state != state::COLD
}

impl Context<'_> {
    fn of_object(&self, subject: &Subject, objects: &mut Objects) -> Vec<Finding> {
        let (coherence, cold): (Vec<&Misses>, Vec<&Misses>) =
            subject.misses.iter().copied().partition(|m| is_coherence(m));
        let mut parts: Vec<(Kind, Part)> = Vec::new();
        let mut rest = 1.0;
        for (kind, sharing) in [(Kind::FalseSharing, Sharing::False), (Kind::MovingHome, Sharing::Written)] {
            let share = subject.shares.part(sharing);
            rest -= share;
            parts.push((kind, Part { misses: coherence.clone(), share }));
        }
        let (asks, invalid): (Vec<&Misses>, Vec<&Misses>) =
            coherence.iter().copied().partition(|m| m.state == state::READABLE);
        parts.push((Kind::Permission, Part { misses: asks, share: rest.max(0.0) }));
        for (kind, misses) in self.by_pattern(&invalid, Kind::Transfer) {
            parts.push((kind, Part { misses, share: rest.max(0.0) }));
        }
        if self.is_first_touch(subject.key, &cold, objects) {
            parts.push((Kind::SerialFirstTouch, Part { misses: cold, share: 1.0 }));
        } else {
            for (kind, misses) in self.by_pattern(&cold, Kind::FirstUse) {
                parts.push((kind, Part { misses, share: 1.0 }));
            }
        }
        merge(parts).into_iter().map(|(kind, parts)| self.finding(kind, &parts, subject, objects)).collect()
    }

    /// Tells accesses that miss along a stride from others.
    fn by_pattern<'m>(&self, misses: &[&'m Misses], otherwise: Kind) -> Vec<(Kind, Vec<&'m Misses>)> {
        let mut by_access: HashMap<usize, Vec<&Misses>> = HashMap::new();
        for m in misses {
            by_access.entry(m.pc).or_default().push(m);
        }
        let mut found: BTreeMap<Kind, Vec<&Misses>> = BTreeMap::new();
        for (pc, group) in by_access {
            let kind = if pc == 0 { None } else { self.pattern(&group) };
            found.entry(kind.unwrap_or(otherwise)).or_default().extend(group);
        }
        found.into_iter().collect()
    }

    fn pattern(&self, group: &[&Misses]) -> Option<Kind> {
        let sum = |of: fn(&Misses) -> u64| group.iter().map(|m| of(m)).sum::<u64>();
        let all = sum(|m| m.misses);
        let stride = stride(group)?;
        let strided: u64 = group.iter().filter(|m| m.stride == stride).map(|m| m.strided).sum();
        let is_regular = all >= FEW && 10 * sum(|m| m.single) >= 8 * all && 2 * strided >= all;
        let block = self.block_bytes(group[0].range.0) as u64;
        let kind = if stride.unsigned_abs() > block { Kind::StridedMisses } else { Kind::SequentialMisses };
        is_regular.then_some(kind)
    }

    fn block_bytes(&self, address: usize) -> usize {
        if !self.geometry.is_shared(address) {
            return 0;
        }
        self.geometry.block_bytes(self.geometry.block(address))
    }

    /// Whether the processes other than the first home found, at their first use, what others had written there; each in a part of its own.
    fn is_first_touch(&self, key: usize, cold: &[&Misses], objects: &Objects) -> bool {
        let object = objects.get(key);
        let used: Vec<&&Misses> =
            cold.iter().filter(|m| m.rank != object.home && m.access != Access::Overwrite).collect();
        let sum = |of: &dyn Fn(&Misses) -> f64| used.iter().map(|m| of(m)).sum::<f64>();
        let blocks = sum(&|m| m.blocks as f64);
        let filled = sum(&|m| m.blocks as f64 * m.filled);
        let overwritten: u64 = cold.iter().filter(|m| m.access == Access::Overwrite).map(|m| m.blocks).sum();
        let written = sum(&|m| if m.access == Access::Write { m.blocks as f64 } else { 0.0 });
        let bytes: f64 = sum(&|m| m.blocks as f64 * self.block_bytes(m.range.0) as f64);
        let all_bytes = (object.bytes * object.count) as f64 * f64::from(self.processes - 1);
        let are_own_parts = 2.0 * written >= blocks || 4.0 * bytes <= 3.0 * all_bytes;
        blocks >= FEW as f64 && 2.0 * filled >= blocks && 2 * overwritten < blocks as u64 && are_own_parts
    }

    fn finding(&self, kind: Kind, parts: &[Part], subject: &Subject, objects: &mut Objects) -> Finding {
        let object = objects.get(subject.key).clone();
        let mut what = Vec::new();
        let block = self.block_bytes(parts[0].misses.first().map_or(0, |m| m.range.0));
        let blocks: u64 = parts.iter().map(|p| p.count(|m| m.blocks)).sum();
        let count: u64 = parts.iter().map(|p| p.count(|m| m.misses)).sum();
        let misses: Vec<&Misses> = parts.iter().flat_map(|p| p.misses.iter().copied()).collect();
        match kind {
            Kind::FalseSharing => what.extend(subject.shares.describe(Sharing::False, objects)),
            Kind::MovingHome => what.extend(subject.shares.describe(Sharing::Written, objects)),
            Kind::StridedMisses | Kind::SequentialMisses => {
                let (stride, bytes) = (stride(&misses).unwrap_or(0), misses.iter().map(|m| m.bytes).sum::<u64>());
                what.push(format!(
                    "each miss fetches one block of {block} bytes, of which the access uses {}; the next one is {stride} bytes further",
                    bytes / misses.iter().map(|m| m.misses).sum::<u64>().max(1)
                ));
            }
            Kind::SerialFirstTouch => what.push(format!(
                "all of it was written in process {} before the others used it; they fetched {blocks} blocks of {block} bytes from there",
                object.home
            )),
            Kind::Transfer => what.extend(subject.shares.describe(Sharing::HandedOver, objects)),
            Kind::Permission => what.push(
                "the blocks are there; their first store after a synchronisation asks, since they were published or others have read them"
                    .into(),
            ),
            _ => what.push(format!("{blocks} blocks of {block} bytes came from process {}", object.home)),
        }
        let released = match kind {
            Kind::FalseSharing => subject.shares.released(Sharing::False),
            Kind::MovingHome => subject.shares.released(Sharing::Written),
            Kind::Transfer => subject.shares.released(Sharing::HandedOver),
            _ => 0.0,
        };
        let seconds: f64 = parts.iter().map(Part::seconds).sum();
        if released > 0.0 {
            what.push(format!("{seconds:.3} s in misses, {released:.3} s in releases that found it changed"));
        }
        Finding {
            kind,
            subject: object.name.clone(),
            seconds: seconds + released,
            count,
            blocks,
            allocated: object.allocated.iter().map(ToString::to_string).collect(),
            what,
            lines: lines(parts),
            remedy: self.remedy(kind, &object, block, &misses, subject.shares),
        }
    }

    fn remedy(
        &self,
        kind: Kind,
        object: &names::Object,
        block: usize,
        misses: &[&Misses],
        shares: &Shares,
    ) -> Vec<String> {
        let rule = |bytes: usize| {
            let rule = object.rule.as_ref()?;
            Some(format!(
                "a block size for it alone: a line `{rule} {bytes}` in a file that DSM_BLOCK_FILE names"
            ))
        };
        let first_line =
            || lines(&[Part { misses: misses.to_vec(), share: 1.0 }]).first().map(|l| l.place.clone());
        let line_bytes = 1 << self.geometry.line_shift();
        match kind {
            Kind::FalseSharing => {
                let mut all = vec![format!(
                    "give what each process writes blocks of its own: pad it to {block} bytes, or collect in local variables and store once"
                )];
                if let Some(wanted) = shares.separating_bytes() {
                    let compile = match wanted < line_bytes {
                        true => format!(", compiled with -fdsm-line={wanted}"),
                        false => String::new(),
                    };
                    all.extend(rule(wanted).map(|text| format!("or {text}{compile}")));
                }
                all.extend(consecutive_chunks());
                all
            }
            Kind::MovingHome => {
                let own = "let one process write it (the schedule of the loop), or collect in private variables: reduction, or one update at the end";
                std::iter::once(own.into()).chain(consecutive_chunks()).collect()
            }
            Kind::SerialFirstTouch => vec![format!(
                "initialise it in a parallel loop with the schedule of the loop that uses it{}: what a process writes first becomes its own",
                first_line().map_or(String::new(), |place| format!(" ({place})"))
            )],
            Kind::StridedMisses => vec![
                "keep what the loop uses together: exchange loops so that the inner one walks through consecutive memory, or put the fields it uses into an array of their own".into(),
            ],
            Kind::SequentialMisses => {
                let larger = rule((16 * block).min(1 << 16)).filter(|_| block < 1 << 16);
                let mut all: Vec<String> = larger.into_iter().collect();
                all.push("loops whose bounds are known in front of them fetch whole ranges: -Rpass-missed=dsm says why this one does not".into());
                all
            }
            Kind::Permission => vec![
                "fewer synchronisations, or larger blocks: each block asks once".into(),
            ],
            Kind::Transfer => vec![
                "let the same process write and read it: the same schedule in both loops; if they use different parts of the block, put these apart".into(),
            ],
            _ => vec![
                "the first use of another process's memory; larger blocks (DSM_BLOCK) fetch more at once, parallel initialisation leaves less to fetch".into(),
            ],
        }
    }
}

/// What helps where neighbouring chunks of a loop are of different processes, if the program has such loops.
fn consecutive_chunks() -> Option<String> {
    let has_loops = super::SHARES_CHUNKS.load(Relaxed);
    has_loops.then(|| {
        "or, if loops with schedule(static, CHUNK) write it, larger chunks; DSM_STATIC_BLOCKS=1 gives threads consecutive ones, if the program does not count on which thread has which".into()
    })
}

/// The distance that most misses of a group have.
fn stride(group: &[&Misses]) -> Option<i64> {
    let mut votes: BTreeMap<i64, u64> = BTreeMap::new();
    for m in group.iter().filter(|m| m.stride != 0) {
        *votes.entry(m.stride).or_default() += m.strided;
    }
    votes.into_iter().max_by_key(|(_, votes)| *votes).map(|(stride, _)| stride)
}

/// Parts of the same kind together; without those that are next to nothing.
fn merge(parts: Vec<(Kind, Part)>) -> BTreeMap<Kind, Vec<Part>> {
    let mut by_kind: BTreeMap<Kind, Vec<Part>> = BTreeMap::new();
    for (kind, part) in parts {
        if part.count(|m| m.misses) > 0 {
            by_kind.entry(kind).or_default().push(part);
        }
    }
    by_kind
}

/// The lines of misses, the most expensive first.
fn lines(parts: &[Part]) -> Vec<Cost> {
    let mut by_place: HashMap<(usize, bool), (f64, f64)> = HashMap::new();
    for part in parts {
        for m in &part.misses {
            let sum = by_place.entry((m.pc, m.access == Access::Read)).or_default();
            *sum = (sum.0 + part.share * m.misses as f64, sum.1 + part.share * m.seconds);
        }
    }
    let mut costs: Vec<Cost> = Vec::new();
    for ((pc, is_read), (count, seconds)) in by_place {
        let line = names::line(pc);
        let verb = if is_read { "reads" } else { "writes" };
        match costs.iter_mut().find(|c| c.place == line.place && c.verb == verb) {
            Some(same) => {
                same.count += count.round() as u64;
                same.seconds += seconds;
            }
            None => {
                costs.push(Cost {
                    place: line.place,
                    text: line.text,
                    verb,
                    count: count.round() as u64,
                    seconds,
                });
            }
        }
    }
    costs.retain(|c| c.count > 0);
    costs.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.place.cmp(&b.place)));
    costs.truncate(LINES);
    costs
}
