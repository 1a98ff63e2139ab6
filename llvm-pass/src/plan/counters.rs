//! Totals over a module, for `-fdsm-stats`.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use crate::analysis::facts::{FunctionFacts, HoistObstacle, Private, What};
use crate::options::SWITCHES;

use super::{CheckCondition, Decision, FunctionPlan, is_always_private};

/// Totals over the module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Fixed accesses seen.
    pub accesses: u64,
    /// Loads and stores of flags, which got acquire and release order.
    pub flags: u64,
    /// Loads and stores that were taken out of loops before the accesses were looked at.
    pub invariant: u64,
    /// Recurrences that were found not to wrap, by the language or by the conditions around their loops, and loops whose numbers of iterations are distances.
    pub linear: u64,
    /// Operations of subscripts that are computed in 64 bits.
    pub widened: u64,
    /// Pointers that loops advance as integers, and that became such.
    pub walks: u64,
    /// Loops over products of index spaces that became nests.
    pub collapsed: u64,
    /// Conditions under which loops are entered, stated once more as assumptions.
    pub guards: u64,
    /// Comparisons that end a loop and became tests for equality.
    pub exits: u64,
    /// Not checked, by reason.
    pub private: BTreeMap<Private, u64>,
    /// With a check of their own.
    pub checked: u64,
    /// Of these, in a loop, by reason.
    pub in_loops: BTreeMap<HoistObstacle, u64>,
    /// Merged into the check of a neighbour.
    pub merged: u64,
    /// Stores whose slow path gets the value.
    pub values: u64,
    /// Covered by an earlier check.
    pub available: u64,
    /// Covered by a check before a loop.
    pub hoisted: u64,
    /// Checks before loops.
    pub loop_checks: u64,
    /// Of these, further out than is certain to be right, if conditions hold at run time.
    pub nests: u64,
    /// Of these, of walks in strides.
    pub strides: u64,
    /// Of these, with a window.
    pub windows: u64,
    /// Of these, with a look at a few states before the runtime looks.
    pub refills: u64,
    /// Of these, before stores that overwrite all of it.
    pub overwrites: u64,
    /// Covered by checks of all callers.
    pub callers: u64,
    /// Accesses that calls make and that are checked for them.
    pub of_callees: u64,
    /// Flushes behind atomic operations that are left out, or do what the operation then leaves out.
    pub flushes: u64,
    /// Barriers beside reductions that are left out.
    pub barriers: u64,
    /// Loops shared out in chunks that any thread may execute.
    pub chunks: u64,
    /// Functions whose callers check for them.
    pub given: u64,
    /// Copies of functions.
    pub clones: u64,
    /// Reductions whose private copies may go to other processes as messages.
    pub reductions: u64,
    /// Atomic and volatile accesses that order more than the program says.
    pub strengthened: u64,
    /// Loads of guard variables that each thread does until they are not 0.
    pub statics: u64,
    /// Loops around a compare-and-swap that are one operation.
    pub cas: u64,
    /// Constructs with `copyprivate` whose variables may go to other processes as messages.
    pub copyprivate: u64,
    /// Free in one of two versions of a loop.
    pub versioned: u64,
    /// Ranges that are expected to be touched and are fetched in front of loops.
    pub hints: u64,
    /// Nests of loops with a version for jobs of one process.
    pub single: u64,
    /// Nests of loops with a version for when the few lines that they touch are valid.
    pub footprints: u64,
    /// Loops that are executed in strips, with checks or without.
    pub strips: u64,
    /// Left to the protection of pages.
    pub protected: u64,
    /// Loops with two versions.
    pub versions: u64,
    /// Atomics turned into runtime calls.
    pub atomics: u64,
    /// Range checks before calls.
    pub ranges: u64,
    /// Of these, before calls that overwrite all of it.
    pub filled: u64,
    /// Variables on the shared stack.
    pub stack_slots: u64,
}

impl FunctionPlan {
    /// Adds this function to the totals.
    pub fn count(&self, facts: &FunctionFacts, totals: &mut Counters) {
        for (_, hoist_obstacle) in self.left_in_loops(facts) {
            *totals.in_loops.entry(hoist_obstacle).or_default() += 1;
        }
        let accesses = facts.blocks.iter().flat_map(|b| &b.events).filter_map(|event| match &event.what {
            What::Access(access) => Some((access, self.decisions.get(&(event.site, access.part))?.2)),
            _ => None,
        });
        for (access, decision) in accesses {
            if access.of_callee {
                totals.of_callees += u64::from(access.private.is_none());
                continue;
            }
            totals.accesses += 1;
            match decision {
                Decision::Callers => totals.callers += 1,
                Decision::Private(why) => *totals.private.entry(why).or_default() += 1,
                Decision::Checked => totals.checked += 1,
                Decision::Merged(_) => totals.merged += 1,
                Decision::Available => totals.available += 1,
                Decision::Hoisted(_) => totals.hoisted += 1,
                Decision::Versioned(_) => totals.versioned += 1,
                Decision::Protected => totals.protected += 1,
            }
        }
        totals.values += self.checks.iter().filter(|c| c.value).count() as u64;
        totals.loop_checks += self.loop_checks.len() as u64;
        totals.windows += self.loop_checks.iter().filter(|c| c.window.is_some()).count() as u64;
        totals.refills += self.loop_checks.iter().filter(|c| c.refills).count() as u64;
        totals.nests +=
            self.loop_checks.iter().filter(|c| matches!(c.condition, CheckCondition::If(_))).count() as u64;
        totals.strides +=
            self.loop_checks.iter().filter(|c| !c.strides.is_empty() || c.runtime_steps.is_some()).count()
                as u64;
        totals.overwrites += self.loop_checks.iter().filter(|c| c.overwrites.is_some()).count() as u64;
        totals.versions += self.versions.len() as u64;
        totals.linear += facts.loops.iter().filter(|l| l.by_distance).count() as u64;
        totals.strips += self.versions.iter().filter(|v| !v.strip.is_empty()).count() as u64;
        totals.hints += self.hints.len() as u64;
        totals.single += self.single.len() as u64;
        totals.footprints += self.footprints.len() as u64;
        totals.guards += self.assumptions.iter().map(|r| r.guards.len() as u64).sum::<u64>();
        totals.exits += self.assumptions.iter().map(|r| r.exits.len() as u64).sum::<u64>();
        totals.atomics += self.atomics.len() as u64;
        totals.filled += self.ranges.iter().filter(|(_, r)| r.fills).count() as u64;
        totals.ranges += (self.ranges.len() + self.formats.len()) as u64;
        totals.stack_slots += (self.stack.slots.len() + self.stack.dynamic.len()) as u64;
    }
}

impl Counters {
    /// How often each optimisation was applied, by the name of its switch.
    pub fn applied(&self) -> impl Iterator<Item = (&'static str, u64)> {
        SWITCHES.iter().map(|switch| (*switch, self.of(switch)))
    }

    fn of(&self, switch: &str) -> u64 {
        match switch {
            "private" => {
                let found = |why: &Private| *why != Private::Declared && !is_always_private(*why);
                self.private.iter().filter(|(why, _)| found(why)).map(|(_, count)| count).sum()
            }
            "invariant" => self.invariant,
            "linear" => self.linear,
            "widen" => self.widened,
            "walk" => self.walks,
            "collapse" => self.collapsed,
            "guards" => self.guards + self.exits,
            "merge" => self.merged,
            "value" => self.values,
            "available" => self.available,
            "hoist" => self.hoisted,
            "nest" => self.nests,
            "window" => self.windows,
            "refill" => self.refills,
            "stride" => self.strides,
            "version" => self.versioned,
            "hint" => self.hints,
            "single" => self.single,
            "footprint" => self.footprints,
            "strip" => self.strips,
            "flags" => self.flags,
            "overwrite" => self.overwrites + self.filled,
            "callers" => self.callers,
            "clone" => self.clones,
            "reduction" => self.reductions,
            "copyprivate" => self.copyprivate,
            "statics" => self.statics,
            "cas" => self.cas,
            "flush" => self.flushes,
            "barrier" => self.barriers,
            "chunks" => self.chunks,
            other => unreachable!("{other} has no counter"),
        }
    }
}

impl Display for Counters {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "accesses {}", self.accesses)?;
        for (why, count) in &self.private {
            write!(f, ", private {why:?} {count}")?;
        }
        write!(
            f,
            ", taken out of loops before {}, recurrences without wrapping {}, subscripts widened {}, pointers made integers {}, loops made nests {}, guards stated {}, exact exits {}",
            self.invariant, self.linear, self.widened, self.walks, self.collapsed, self.guards, self.exits
        )?;
        write!(
            f,
            ", hoisted {} (by {} loop checks, {} with a window, {} for overwriting), versioned {} (in {} loops), ranges expected {}, nests with a version for one process {}, for valid footprints {}, checked by callers {} (of {} functions, {} of them copies, by {} accesses of calls), available {}, merged {}, checked {} (in loops {}, {} stores with their values), left to page protection {}, ranges {} ({} for overwriting), atomics {}, \
             shared stack variables {}, orders strengthened {}",
            self.hoisted,
            self.loop_checks,
            self.windows,
            self.overwrites,
            self.versioned,
            self.versions,
            self.hints,
            self.single,
            self.footprints,
            self.callers,
            self.given,
            self.clones,
            self.of_callees,
            self.available,
            self.merged,
            self.checked,
            self.in_loops.values().sum::<u64>(),
            self.values,
            self.protected,
            self.ranges,
            self.filled,
            self.atomics,
            self.stack_slots,
            self.strengthened
        )?;
        for (why, count) in &self.in_loops {
            write!(f, ", left in a loop because {} {count}", why.text())?;
        }
        f.write_str(", applied:")?;
        self.applied().try_for_each(|(switch, count)| write!(f, " {switch} {count}"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Counters, SWITCHES};

    #[test]
    fn every_switch_has_a_counter() {
        let counters = Counters { clones: 7, ..Counters::default() };
        assert!(counters.applied().map(|(name, _)| name).eq(SWITCHES.iter().copied()));
        assert!(counters.to_string().contains(" clone 7 "), "{counters}");
    }
}
