//! Optimisation remarks: what became of each access and how often each loop checks, in the compiler's own form.
//!
//! `-Rpass=dsm` shows accesses without a check of their own, `-Rpass-missed=dsm` those that are checked in every iteration of a loop, with the
//! reason, `-Rpass-analysis=dsm` the other checks and a line for each loop. `-fsave-optimization-record` writes all of them to a file. Accesses that
//! are trivially private, such as those to local variables, have no remark; `-fdsm-plan` has them.

use std::collections::BTreeMap;

use crate::analysis::Function;
use crate::analysis::callee::{Callee, callee};
use crate::analysis::facts::{Kind, Private, Site, What};
use crate::llvm::{Opcode, RemarkKind, Value};
use crate::plan::reasons::{Names, Pieces};
use crate::plan::{Decision, FunctionPlan, print};

/// Places and names of everything that plans and remarks speak of.
pub fn names(found: &Function) -> Names {
    let mut names = Names::default();
    let known = |name: String| (!name.is_empty()).then_some(name);
    for event in found.facts.blocks.iter().flat_map(|b| &b.events) {
        let instruction = found.sites[event.site as usize];
        names.sites.extend(known(instruction.position()).map(|place| (event.site, place)));
        match &event.what {
            What::Access(access) => {
                let name = known(instruction.operand(access.operand).source_name());
                names.variables.extend(name.map(|name| ((event.site, access.part), name)));
            }
            What::Sync | What::Atomic(_) => {
                names.syncs.insert(event.site, synchronisation(instruction));
            }
            _ => {}
        }
    }
    let places = found.loops.iter().enumerate();
    names.loops = places.filter_map(|(id, l)| Some((id, known(l.position())?))).collect();
    names
}

fn synchronisation(instruction: Value) -> String {
    match instruction.opcode() {
        _ if instruction.is_call() => match callee(instruction) {
            Callee::Indirect => "a call through a pointer".to_owned(),
            _ => format!("call of {}", instruction.callee().source_name()),
        },
        Opcode::LLVMFence => "a fence".to_owned(),
        _ => "an atomic operation".to_owned(),
    }
}

/// Emits the remarks of a function.
pub fn emit(found: &Function, plan: &FunctionPlan, names: &Names) {
    let facts = &found.facts;
    let reasons = plan.reasons(facts, names);
    let loops: BTreeMap<Site, bool> =
        facts.blocks.iter().flat_map(|b| b.events.iter().map(|e| (e.site, b.inner.is_some()))).collect();
    for (&(site, part), &(kind, size, decision)) in &plan.decisions {
        let reason = reasons.get(&(site, part)).map_or("", String::as_str);
        let in_loop = loops.get(&site).copied().unwrap_or(false);
        let Some((remark, name, what)) = decided(decision, reason, in_loop, names) else { continue };
        let variable = names.variables.get(&(site, part));
        let pieces = [access(kind, size, variable), what].concat();
        found.sites[site as usize].remark(remark, name, &pieces);
    }
    others(found, plan);
    for (id, handle) in found.loops.iter().enumerate() {
        let overwritten = plan.loop_checks.iter().filter(|c| c.over == id && c.overwrites.is_some()).count();
        if overwritten > 0 {
            let text = ("", "ranges that are overwritten, and not fetched: ".to_owned());
            handle.remark(RemarkKind::Passed, "Overwritten", &[text, ("Ranges", overwritten.to_string())]);
        }
    }
    for hint in &plan.hints {
        let kind = ("Access", print::kind(hint.kind).to_owned());
        let text =
            "what the loop is expected to touch up to its bound is fetched in front of it: ".to_owned();
        let count = ("Accesses", hint.covers.to_string());
        found.loops[hint.over].remark(
            RemarkKind::Passed,
            "Expected",
            &[("", text), kind, ("", "s of ".to_owned()), count, ("", " accesses".to_owned())],
        );
    }
    for (id, summary) in plan.loop_summaries(facts) {
        let pieces = plan.describe_loop(facts, names, id, &summary);
        found.loops[id].remark(RemarkKind::Analysis, "Loop", &pieces);
    }
}

/// "load of 8 bytes of x: ".
fn access(kind: Kind, size: u64, variable: Option<&String>) -> Pieces {
    let mut out = vec![
        ("Access", print::kind(kind).to_owned()),
        ("", " of ".to_owned()),
        ("Bytes", size.to_string()),
        ("", " bytes".to_owned()),
    ];
    if let Some(variable) = variable {
        out.extend([("", " of ".to_owned()), ("Variable", variable.clone())]);
    }
    out.push(("", ": ".to_owned()));
    out
}

/// The remark about an access, without what the access is.
fn decided(
    decision: Decision,
    reason: &str,
    in_loop: bool,
    names: &Names,
) -> Option<(RemarkKind, &'static str, Pieces)> {
    use RemarkKind::{Analysis, Missed, Passed};
    let text = |text: String| vec![("", text)];
    Some(match decision {
        Decision::Private(Private::Local | Private::ThreadNumber | Private::ByvalCopy) => return None,
        Decision::Private(why) => {
            (Passed, "Private", vec![("", "no check, ".to_owned()), ("Reason", why.text().to_owned())])
        }
        Decision::Merged(site) => {
            (Passed, "Merged", text(format!("shares the check of its neighbour{}", names.at(site))))
        }
        Decision::Available => (Passed, "Available", text("checked on every path to it".to_owned())),
        Decision::Callers => (Passed, "CheckedByCallers", text("checked by the callers".to_owned())),
        Decision::Protected => (Passed, "Protected", text("left to the page's protection".to_owned())),
        Decision::Hoisted(over) => {
            (Passed, "Hoisted", text(format!("checked in front of the loop{}", names.at_loop(over))))
        }
        Decision::Versioned(over) => {
            let which = names.at_loop(over);
            (Passed, "Versioned", text(format!("no check in the first of two versions of the loop{which}")))
        }
        Decision::Checked => {
            let (kind, name, when) = match in_loop {
                true => (Missed, "CheckInLoop", "checked in every iteration: "),
                false => (Analysis, "Checked", "checked each time: "),
            };
            (kind, name, vec![("", when.to_owned()), ("Reason", reason.to_owned())])
        }
    })
}

/// Memory that is touched otherwise than by loads and stores of a known number of bytes.
fn others(found: &Function, plan: &FunctionPlan) {
    let remark = |site: Site, name: &str, pieces: &[(&str, String)]| {
        found.sites[site as usize].remark(RemarkKind::Analysis, name, pieces);
    };
    for (site, masked) in &plan.masked {
        let kind = ("Access", print::kind(masked.kind).to_owned());
        remark(
            *site,
            "Masked",
            &[kind, ("", " under a mask: checked for the lanes that it touches".to_owned())],
        );
    }
    for (site, range) in &plan.ranges {
        let kind = ("Access", print::kind(range.kind).to_owned());
        let length = ("Length", range.length.to_string());
        let argument = ("Argument", range.argument.to_string());
        let what = [("", "range of a ".to_owned()), kind, ("", " through argument ".to_owned()), argument];
        remark(
            *site,
            "Range",
            &[&what[..], &[("", " of the call, checked before it: ".to_owned()), length]].concat(),
        );
    }
    for (site, _) in &plan.formats {
        remark(*site, "Range", &[("", "what the format says is checked before the call".to_owned())]);
    }
    for site in &plan.atomics {
        remark(*site, "Atomic", &[("", "becomes a call of the runtime, which orders it".to_owned())]);
    }
}
