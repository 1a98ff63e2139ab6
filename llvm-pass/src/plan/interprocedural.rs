//! Checks of internal functions that their callers make, and copies of functions for some of their calls. Switches: `callers` and `clone`.
//!
//! ```text
//! for (i ...) for (j ...) {                              for (...) check(all of a)         once, in front of the nest
//!     matmul(a[i][j], b[i][j]);          becomes         for (i ...) for (j ...)
//! }                                                          matmul(a[i][j], b[i][j]);     without checks
//! ```
//! *Callers.* What every call of a function touches at constant distances from its parameters counts as accesses of the call to whoever
//! plans the caller: they are hoisted out of its loops, merged with its own accesses, or checked in front of the call.
//! The function itself finds them checked on entry.
//!
//! Soundness. Only functions that nothing but direct calls of this module can enter, and that cannot acquire, are chosen. Each call has the accesses
//! among its events, in front of it, so by the arguments of the other optimisations their lines are valid when the call
//! is made; nothing that runs in the function, or in what it calls, invalidates them. So an access anywhere in the function to a line of these
//! bytes needs no check. A parameter has one value during a call. Where the caller relies on its own callers in turn, the same holds
//! by induction over the chain of calls. The accesses of a call are exact or nearly so (see `analysis::graph`), so that not
//! much is fetched that is not used, but no correctness rests on that; nothing is taken to be overwritten by them.
//!
//! *Clones.* A function that can be entered by others, or gets private pointers from some calls only, is copied: the calls that gain call the
//! internal copy, on which what is known of these calls holds. A copy does what the function does.
//!
//! Worth it: a call in a loop whose address walks with the loop, or does not change in it, for then the check can leave the loop; or a private
//! pointer that accesses go through. Functions of many calls or many extents stay as they are, and so do large functions that would have to be
//! copied.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use crate::analysis::facts::{Argument, CallEdge, CallId, Extent, FunctionFacts, FunctionId, Graph, Kind};
use crate::options::Options;

use super::{Decision, FunctionPlan, Item};

/// Most calls of a function whose callers check for it.
const MAX_CALLS: usize = 16;
/// Most extents that a caller checks for one call.
const MAX_EXTENTS: usize = 6;
/// Most instructions of a function that is copied.
const MAX_COPY: u32 = 600;
/// Most copies of one function.
const MAX_CLONES: usize = 2;
/// Longest chain of calls whose accesses are passed up.
const MAX_CHAIN: usize = 4;

/// What callers check for a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Given {
    /// The function.
    pub function: FunctionId,
    /// Checked by every call of it.
    pub extents: Vec<Extent>,
}

/// A copy of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clone {
    /// The function.
    pub function: FunctionId,
    /// Calls that call the copy.
    pub calls: Vec<CallId>,
    /// Why.
    pub why: Why,
}

/// Why a function is copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// These calls pass private pointers.
    Private,
    /// Other code may call the function itself.
    Callers,
}

/// Chooses the functions to copy.
pub fn clones(graph: &Graph, options: &Options) -> Vec<Clone> {
    if !options.enabled("clone") {
        return vec![];
    }
    let touches = touches(graph, options);
    let gains = gains(graph, &touches, |_| true);
    let mut out = Vec::new();
    for function in 0..graph.functions.len() {
        let node = &graph.functions[function];
        if node.copy_cost == 0 || node.copy_cost > MAX_COPY || node.syncs {
            continue;
        }
        let calls = calls_of(graph, function);
        let mut groups: BTreeMap<Vec<u32>, Vec<CallId>> = BTreeMap::new();
        for &call in &calls {
            let edge = &graph.calls[call];
            let private = private_parameters(graph, edge);
            if edge.in_loop && !private.is_empty() && options.enabled("private") {
                groups.entry(private).or_default().push(call);
            }
        }
        // A local function that gets the same from all its calls needs no copy.
        groups.retain(|_, group| !(node.local && group.len() == calls.len()));
        let taken: Vec<CallId> = groups.values().take(MAX_CLONES).flatten().copied().collect();
        let private = groups.into_values().take(MAX_CLONES);
        out.extend(private.map(|calls| Clone { function, calls, why: Why::Private }));
        let rest = calls.into_iter().filter(|c| !taken.contains(c) && gains.contains(c));
        let rest: Vec<CallId> = rest.collect();
        if !node.local && !rest.is_empty() && options.enabled("callers") {
            out.push(Clone { function, calls: rest, why: Why::Callers });
        }
    }
    out
}

/// Chooses what callers check.
pub fn given(graph: &Graph, options: &Options) -> Vec<Given> {
    if !options.enabled("callers") {
        return vec![];
    }
    let touches = touches(graph, options);
    let fit = |f: FunctionId| graph.functions[f].local && calls_of(graph, f).len() <= MAX_CALLS;
    let gains = gains(graph, &touches, fit);
    let chosen = |f: &FunctionId| fit(*f) && gains.iter().any(|&c| graph.calls[c].callee == *f);
    let with = |function| Given { function, extents: touches[function].clone() };
    (0..graph.functions.len()).filter(chosen).map(with).collect()
}

fn calls_of(graph: &Graph, function: FunctionId) -> Vec<CallId> {
    (0..graph.calls.len()).filter(|&c| graph.calls[c].callee == function).collect()
}

/// Parameters that accesses go through and that get a private pointer.
fn private_parameters(graph: &Graph, edge: &CallEdge) -> Vec<u32> {
    let through = &graph.functions[edge.callee].through;
    let private =
        |(_, (argument, n)): &(usize, (&Argument, &u32))| **argument == Argument::Private && **n > 0;
    edge.arguments.iter().zip(through).enumerate().filter(private).map(|(i, _)| i as u32).collect()
}

/// What each call of a function touches, in the calls that it makes too.
fn touches(graph: &Graph, options: &Options) -> Vec<Vec<Extent>> {
    let mut all: Vec<Vec<Extent>> = graph.functions.iter().map(|f| f.touches.clone()).collect();
    for _ in 0..MAX_CHAIN {
        let before = all.clone();
        for edge in graph.calls.iter().filter(|e| e.always && e.caller != e.callee) {
            for extent in &before[edge.callee] {
                if let Some(&Argument::Parameter { index, offset }) =
                    edge.arguments.get(extent.parameter as usize)
                    && let Some((lo, hi)) = extent.lo.checked_add(offset).zip(extent.hi.checked_add(offset))
                {
                    let passed = Extent { parameter: index, kind: extent.kind, lo, hi };
                    if !all[edge.caller].contains(&passed) {
                        all[edge.caller].push(passed);
                    }
                }
            }
        }
        if all == before {
            break;
        }
    }
    let line = options.line_bytes() as i64;
    let private_to_all = |function, parameter: u32| {
        let calls = calls_of(graph, function);
        let private =
            |c: &CallId| graph.calls[*c].arguments.get(parameter as usize) == Some(&Argument::Private);
        calls.iter().all(private)
    };
    for (function, extents) in all.iter_mut().enumerate() {
        extents.retain(|e| !private_to_all(function, e.parameter));
        *extents = unite(std::mem::take(extents), line);
    }
    all
}

/// Unites extents between which no line lies; stores absorb loads inside of them. None is longer than what a check before a call tests.
fn unite(mut extents: Vec<Extent>, line: i64) -> Vec<Extent> {
    extents.sort_by_key(|e| (e.parameter, e.kind, e.lo, e.hi));
    let mut out: Vec<Extent> = Vec::new();
    for extent in extents {
        match out.last_mut() {
            Some(last)
                if (last.parameter, last.kind) == (extent.parameter, extent.kind)
                    && extent.lo < last.hi.saturating_add(line)
                    && extent.hi.max(last.hi).saturating_sub(last.lo) <= super::merge::longest(line) =>
            {
                last.hi = last.hi.max(extent.hi);
            }
            _ => out.push(extent),
        }
    }
    out.retain(|e| e.hi.saturating_sub(e.lo) <= super::merge::longest(line));
    let stores: Vec<Extent> = out.iter().copied().filter(|e| e.kind == Kind::Store).collect();
    let inside =
        |e: &Extent| stores.iter().any(|s| s.parameter == e.parameter && s.lo <= e.lo && e.hi <= s.hi);
    out.retain(|e| e.kind == Kind::Store || !inside(e));
    out.truncate(MAX_EXTENTS);
    out
}

/// Calls in front of which checks can go further out.
fn gains(graph: &Graph, touches: &[Vec<Extent>], fit: impl Fn(FunctionId) -> bool) -> Vec<CallId> {
    let mut out: Vec<CallId> = Vec::new();
    loop {
        let before = out.len();
        for (call, edge) in graph.calls.iter().enumerate() {
            let upwards = out.iter().any(|&c| graph.calls[c].callee == edge.caller) && fit(edge.caller);
            let outwards = |e: &Extent| match edge.arguments.get(e.parameter as usize) {
                Some(Argument::Walks) => edge.in_loop,
                Some(Argument::Parameter { .. }) => edge.in_loop || edge.always && upwards,
                _ => false,
            };
            if !graph.functions[edge.callee].syncs
                && !out.contains(&call)
                && touches[edge.callee].iter().any(outwards)
            {
                out.push(call);
            }
        }
        if out.len() == before {
            return out;
        }
    }
}

/// Takes what the callers have checked out of `items`.
pub(crate) fn apply(facts: &FunctionFacts, items: &mut Vec<Item<'_>>, plan: &mut FunctionPlan) {
    items.retain(|item| {
        let access = item.access;
        // What it touches each time, or while a loop runs.
        let walks = access.loop_ranges.iter().filter_map(|h| {
            let lo = h.start_offset.saturating_add(access.lead);
            Some((h.start_key, lo, lo.saturating_add(h.bytes?)))
        });
        let covered = walks.chain([(access.key, access.offset, access.offset)]).any(|(key, lo, last)| {
            let end = last.saturating_add(access.size as i64);
            facts.given.iter().any(|g| g.key == key && g.lo <= lo && end <= g.hi && g.kind >= access.kind)
        });
        if covered {
            plan.decide(item.site, access, Decision::Callers);
        }
        !covered
    });
}

/// The choices as text.
pub struct Printed<'a> {
    /// Names.
    pub graph: &'a Graph,
    /// Copies.
    pub clones: &'a [Clone],
    /// Checks of callers.
    pub given: &'a [Given],
}

impl Display for Printed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for Clone { function, calls, why } in self.clones {
            let name = &self.graph.functions[*function].name;
            let why = match why {
                Why::Private => "that pass private pointers",
                Why::Callers => "that can check for it",
            };
            writeln!(f, "copy of {name} for {} calls {why}", calls.len())?;
        }
        for Given { function, extents } in self.given {
            writeln!(f, "callers of {} check", self.graph.functions[*function].name)?;
            for Extent { parameter, kind, lo, hi } in extents {
                writeln!(f, "  arg{parameter} {} [{lo}, {hi})", super::print::kind(*kind))?;
            }
        }
        Ok(())
    }
}
