//! Why accesses are checked where they are, and how often each loop checks: what printed plans and remarks say.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::facts::{Access, FunctionFacts, HoistObstacle, LoopId, Site, What};

use super::{Decision, FunctionPlan};

/// What the source calls things, as far as it is known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names {
    /// Places of instructions, "file:line:column".
    pub sites: BTreeMap<Site, String>,
    /// Places of loops.
    pub loops: BTreeMap<LoopId, String>,
    /// Variables, by the accesses to them.
    pub variables: BTreeMap<(Site, u32), String>,
    /// Instructions that may synchronise, "call of f".
    pub syncs: BTreeMap<Site, String>,
}

impl Names {
    /// " at PLACE", if the place is known.
    pub fn at(&self, site: Site) -> String {
        at(self.sites.get(&site))
    }

    /// The same of a loop.
    pub fn at_loop(&self, id: LoopId) -> String {
        at(self.loops.get(&id))
    }

    /// " of VARIABLE", if the variable is known.
    pub fn of(&self, site: Site, part: u32) -> String {
        self.variables.get(&(site, part)).map(|name| format!(" of {name}")).unwrap_or_default()
    }
}

fn at(place: Option<&String>) -> String {
    place.map(|place| format!(" at {place}")).unwrap_or_default()
}

/// How often an access is checked, the most often first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Frequency {
    /// Where it is executed.
    PerElement,
    /// The same, unless all that the loop can touch is found valid before it.
    PerElementUnlessValid,
    /// Each time the loop starts where its range leaves what is known to be valid.
    PerWindow,
    /// Each time a loop inside of another one starts.
    PerLoop,
    /// In front of a loop around it where its range turns out to be regular, else each time it starts.
    OnceIfRegular,
    /// In front of the outermost loop.
    Once,
    /// By a check on every path to the loop.
    Before,
}

impl Frequency {
    /// For records.
    pub fn name(self) -> &'static str {
        match self {
            Frequency::PerElement => "PerElement",
            Frequency::PerElementUnlessValid => "PerElementUnlessValid",
            Frequency::PerWindow => "PerWindow",
            Frequency::PerLoop => "PerLoop",
            Frequency::OnceIfRegular => "OnceIfRegular",
            Frequency::Once => "Once",
            Frequency::Before => "Before",
        }
    }

    /// For messages.
    pub fn text(self) -> &'static str {
        match self {
            Frequency::PerElement => "checked per element",
            Frequency::PerElementUnlessValid => {
                "checked per element unless all that they can touch is valid before the loop"
            }
            Frequency::PerWindow => "checked each time the loop starts outside of what is known to be valid",
            Frequency::PerLoop => "checked each time the loop starts",
            Frequency::OnceIfRegular => {
                "checked in front of a loop around it if that is regular at run time, else each time the loop starts"
            }
            Frequency::Once => "checked once in front of the outermost loop",
            Frequency::Before => "covered by earlier checks",
        }
    }
}

/// How the accesses whose innermost loop it is are checked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LoopSummary {
    /// Number of accesses to memory that may be shared.
    pub accesses: u32,
    /// Number of accesses by frequency.
    pub frequencies: BTreeMap<Frequency, u32>,
    /// What keeps checks from leaving the loop, or the loops around it.
    pub obstacles: BTreeSet<HoistObstacle>,
}

/// A text in parts: under a name, or without one.
pub type Pieces = Vec<(&'static str, String)>;

/// The parts as one text.
pub fn joined(pieces: &Pieces) -> String {
    pieces.iter().map(|(_, text)| text.as_str()).collect()
}

impl FunctionPlan {
    /// Why an access is checked in each iteration of its innermost loop, or why its check is not further out than in front of it.
    fn hoist_obstacle(
        &self,
        facts: &FunctionFacts,
        inner: LoopId,
        access: &Access,
        decision: Decision,
    ) -> Option<HoistObstacle> {
        let next_out = match decision {
            Decision::Checked | Decision::Merged(_) | Decision::Versioned(_) => Some(inner),
            Decision::Hoisted(over) => facts.loops[over].parent,
            Decision::Private(_) | Decision::Available | Decision::Callers | Decision::Protected => None,
        }?;
        if facts.loops[next_out].syncs {
            return Some(HoistObstacle::Sync);
        }
        let in_loop = matches!(decision, Decision::Checked | Decision::Merged(_));
        access.hoist_obstacle.or(in_loop.then_some(HoistObstacle::Bounds))
    }

    /// Accesses that are checked in every iteration of a loop, and why.
    pub fn left_in_loops(&self, facts: &FunctionFacts) -> Vec<(Site, HoistObstacle)> {
        let hoist_obstacle = |(site, inner, access): (Site, Option<LoopId>, &Access)| {
            let (_, _, decision) = self.decisions.get(&(site, access.part))?;
            let hoist_obstacle = self.hoist_obstacle(facts, inner?, access, *decision)?;
            (*decision == Decision::Checked).then_some((site, hoist_obstacle))
        };
        accesses(facts).filter_map(hoist_obstacle).collect()
    }

    fn frequency(&self, facts: &FunctionFacts, access: &Access, decision: Decision) -> Option<Frequency> {
        let over = match decision {
            Decision::Private(_) | Decision::Protected => return None,
            Decision::Checked | Decision::Merged(_) => return Some(Frequency::PerElement),
            Decision::Versioned(_) => return Some(Frequency::PerElementUnlessValid),
            Decision::Available | Decision::Callers => return Some(Frequency::Before),
            Decision::Hoisted(over) => over,
        };
        let conditional = access.loop_ranges.iter().any(|h| h.over == over && !h.conditions.is_empty());
        let window = self.loop_checks.iter().any(|c| c.over == over && c.window.is_some());
        Some(match (conditional, facts.loops[over].parent) {
            (true, _) => Frequency::OnceIfRegular,
            (false, None) => Frequency::Once,
            (false, Some(_)) if window => Frequency::PerWindow,
            (false, Some(_)) => Frequency::PerLoop,
        })
    }

    /// The loops with accesses of their own to memory that may be shared.
    pub fn loop_summaries(&self, facts: &FunctionFacts) -> BTreeMap<LoopId, LoopSummary> {
        let mut out: BTreeMap<LoopId, LoopSummary> = BTreeMap::new();
        for (site, inner, access) in accesses(facts) {
            let Some(inner) = inner else { continue };
            let Some(&(_, _, decision)) = self.decisions.get(&(site, access.part)) else { continue };
            let Some(frequency) = self.frequency(facts, access, decision) else { continue };
            let summary = out.entry(inner).or_default();
            summary.accesses += 1;
            *summary.frequencies.entry(frequency).or_default() += 1;
            summary.obstacles.extend(self.hoist_obstacle(facts, inner, access, decision));
        }
        out
    }

    /// The summary of a loop in words: how often it checks, why not less often, and what would help.
    pub fn describe_loop(
        &self,
        facts: &FunctionFacts,
        names: &Names,
        id: LoopId,
        summary: &LoopSummary,
    ) -> Pieces {
        let plural = if summary.accesses == 1 { "" } else { "es" };
        let mut out = vec![
            ("Accesses", summary.accesses.to_string()),
            ("", format!(" access{plural} to memory that may be shared: ")),
        ];
        for (number, (frequency, count)) in summary.frequencies.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            out.push(("", comma.to_owned()));
            out.push((frequency.name(), count.to_string()));
            out.push(("", format!(" {}", frequency.text())));
        }
        let list = |texts: Vec<String>| texts.join("; ");
        if !summary.obstacles.is_empty() {
            out.push(("", "; because ".to_owned()));
            let reason = |hoist_obstacle: &HoistObstacle| reason(facts, names, Some((id, *hoist_obstacle)));
            out.push(("Reason", list(summary.obstacles.iter().map(reason).collect())));
            out.push(("", "; what would help: ".to_owned()));
            out.push(("Help", list(summary.obstacles.iter().map(|s| s.help().to_owned()).collect())));
        }
        out
    }

    /// Why each access that has a check of its own, or shares that of a neighbour, has it.
    pub fn reasons(&self, facts: &FunctionFacts, names: &Names) -> BTreeMap<(Site, u32), String> {
        let mut out = BTreeMap::new();
        for (site, inner, access) in accesses(facts) {
            let key = (site, access.part);
            if let Some(&(_, _, decision @ Decision::Checked)) = self.decisions.get(&key) {
                let hoist_obstacle =
                    inner.and_then(|l| Some((l, self.hoist_obstacle(facts, l, access, decision)?)));
                out.insert(key, reason(facts, names, hoist_obstacle));
            }
        }
        out
    }
}

/// Accesses with their innermost loops, in the order of execution within a block.
fn accesses(facts: &FunctionFacts) -> impl Iterator<Item = (Site, Option<LoopId>, &Access)> {
    facts.blocks.iter().flat_map(|block| {
        block.events.iter().filter_map(|event| match &event.what {
            What::Access(access) => Some((event.site, block.inner, access)),
            _ => None,
        })
    })
}

/// Why there is a check in a loop, or in straight-line code.
fn reason(facts: &FunctionFacts, names: &Names, hoist_obstacle: Option<(LoopId, HoistObstacle)>) -> String {
    match hoist_obstacle {
        None => "no check before it covers it".to_owned(),
        Some((inner, hoist_obstacle @ HoistObstacle::Sync)) => match sync_point(facts, inner) {
            Some(site) => {
                let what = names.syncs.get(&site).map(|name| format!(": {name}{}", names.at(site)));
                format!("{}{}", hoist_obstacle.text(), what.unwrap_or_default())
            }
            None => hoist_obstacle.text().to_owned(),
        },
        Some((_, hoist_obstacle)) => hoist_obstacle.text().to_owned(),
    }
}

/// The first sync point of the loop, or of the nearest loop around it that has one.
fn sync_point(facts: &FunctionFacts, mut at: LoopId) -> Option<Site> {
    while !facts.loops[at].syncs {
        at = facts.loops[at].parent?;
    }
    let blocks = facts.blocks.iter().filter(|b| b.inner.is_some_and(|inner| facts.within(inner, at)));
    let synchronises = |what: &What| matches!(what, What::Sync | What::Atomic(_));
    blocks.flat_map(|b| &b.events).find(|e| synchronises(&e.what)).map(|e| e.site)
}
