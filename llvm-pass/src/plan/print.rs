//! The plan as text, one line a decision, with places and names as far as they are known.

use std::fmt::{self, Display, Formatter};

use crate::analysis::facts::{
    Array, Condition, FunctionFacts, Kind, Length, Masked, RuntimeSteps, Stride, StripOrigin,
};

use super::footprint::{End, FootprintTest, Part};
use super::guards::LoopAssumptions;
use super::reasons::{Names, joined};
use super::stack::{Source, StackPlan};
use super::{
    Check, CheckCondition, Decision, FunctionPlan, Hint, LoopCheck, Note, ReadRange, Start, StripPart, Test,
    ValidityTest,
};

pub(crate) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Load => "load",
        Kind::Store => "store",
    }
}

impl Display for Decision {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Decision::Private(why) => write!(f, "private: {why:?}"),
            Decision::Checked => write!(f, "checked"),
            Decision::Merged(site) => write!(f, "merged into #{site}"),
            Decision::Available => write!(f, "available"),
            Decision::Callers => write!(f, "checked by the callers"),
            Decision::Hoisted(l) => write!(f, "hoisted before loop {l}"),
            Decision::Protected => write!(f, "left to the page's protection"),
            Decision::Versioned(l) => write!(f, "checked in the second version of loop {l}"),
        }
    }
}

impl Display for Check {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let test = match self.test {
            Test::Line => "line",
            Test::Ends => "ends",
            Test::Word => "word",
            Test::Range => "range",
        };
        let Check { site, delta, length, covers, .. } = self;
        write!(f, "check #{site} {} {test} [{delta:+}, {length}) for {covers}", kind(self.kind))?;
        if self.value {
            f.write_str(" with its value")?;
        }
        match self.version {
            Some(over) => write!(f, " in version 2 of loop {over}"),
            None => Ok(()),
        }
    }
}

impl Display for LoopCheck {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let LoopCheck { over, start, delta, extent, length, covers, .. } = self;
        let what = kind(self.kind);
        write!(f, "loop {over} {what} range [e{start}{delta:+}, e{extent} + {length})")?;
        for Stride { step, count } in &self.strides {
            write!(f, " and e{count} times e{step} on")?;
        }
        if let Some(RuntimeSteps { step, count, extent }) = self.runtime_steps {
            write!(f, " in e{count} steps of e{step} after e{extent} + {length}")?;
        }
        write!(f, " for {covers}")?;
        if let Some(reads) = &self.overwrites {
            write!(f, ", overwritten")?;
            for ReadRange { start, delta, extent, length, .. } in reads {
                write!(f, " apart from [e{start}{delta:+}, e{extent} + {length})")?;
            }
        }
        match self.condition {
            CheckCondition::Always => Ok(()),
            CheckCondition::If(flag) => write!(f, " if flag {flag}"),
            CheckCondition::Unless(flag) => write!(f, " unless flag {flag}"),
        }?;
        self.window.map_or(Ok(()), |at| write!(f, ", window from block {at}"))?;
        if self.refills { f.write_str(", refilled") } else { Ok(()) }
    }
}

impl Display for StripPart {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let StripPart { origin: StripOrigin { root, base, scale, .. }, first, past, step, backwards, .. } =
            self;
        write!(f, ", {} [", kind(self.kind))?;
        match (base, root) {
            (Some(base), Some(root)) => write!(f, "v{base} + {scale} * v{root}")?,
            (Some(value), None) | (None, Some(value)) => write!(f, "v{value}")?,
            (None, None) => {}
        }
        let back = if *backwards { " back" } else { "" };
        write!(f, "{first:+}, {past:+}) in steps of {step}{back}")
    }
}

impl Display for Hint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Hint { over, start, delta, extent, length, covers, .. } = self;
        let what = kind(self.kind);
        write!(f, "loop {over} is expected to {what} [e{start}{delta:+}, e{extent} + {length}) by {covers}")
    }
}

impl Display for ValidityTest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let start = match self.start {
            Start::Expr(id) => format!("e{id}"),
            Start::Value(id) => format!("v{id}"),
            Start::Array(Array { descriptor, base }) => {
                format!("array at v{base} of descriptor v{descriptor} ")
            }
            Start::Allocation(id) => format!("allocation of v{id} "),
        };
        let ValidityTest { at, delta, length, .. } = self;
        write!(f, "before block {at}: {} [{start}{delta:+}, {length})", kind(self.kind))?;
        for Stride { step, count } in &self.strides {
            write!(f, " and e{count} times e{step} on")?;
        }
        if let Some(uses) = self.uses {
            write!(f, ", fetched for e{uses} uses")?;
        }
        if let Some(count) = self.worth {
            write!(f, ", if e{count} is worth it")?;
        }
        Ok(())
    }
}

impl Display for FootprintTest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "loop {} has a version without checks for when", self.nest)?;
        for (number, part) in self.parts.iter().enumerate() {
            let and = if number > 0 { " and" } else { "" };
            let Part { lo, first, last, .. } = part;
            let end = match part.end {
                End::Address(hi) => format!("e{hi}"),
                End::Extent(extent) => format!("e{lo} + e{extent}"),
            };
            write!(f, "{and} {} [e{lo}{first:+}, {end}{last:+}]", kind(part.kind))?;
        }
        write!(f, " is valid")?;
        self.counts.iter().try_for_each(|count| write!(f, ", e{count} is small"))
    }
}

impl Display for Length {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Length::Bytes(n) => write!(f, "{n} bytes"),
            Length::Arg(a) => write!(f, "arg{a}"),
            Length::Product(x, y, 1) => write!(f, "arg{x} * arg{y}"),
            Length::Product(x, y, scale) => write!(f, "arg{x} * arg{y} * {scale}"),
            Length::Str => write!(f, "string"),
            Length::StrLen(args) => {
                let args: Vec<String> = args.iter().map(|a| format!("arg{a}")).collect();
                write!(f, "length of {} + 1", args.join(", "))
            }
            Length::Formatted { format } => write!(f, "formatted by arg{format}"),
            Length::FormattedWithin { format, limit } => {
                write!(f, "formatted by arg{format} within arg{limit}")
            }
            Length::StrWithin(limit) => write!(f, "string within {limit:?}"),
            Length::Until { of, value, limit } => write!(f, "to arg{value} in arg{of} within {limit:?}"),
            Length::Compared { with, limit, .. } => write!(f, "compared with arg{with} within {limit:?}"),
            Length::Joined { strings, most } => write!(f, "strings {strings:?} within {most:?}"),
            Length::Capped(argument, most) => write!(f, "arg{argument} up to {most}"),
            Length::Descriptor | Length::Undefined => write!(f, "array"),
            Length::Namelist => write!(f, "namelist"),
            Length::Constructor { .. } => write!(f, "array constructor"),
            Length::Scaled(a, scale) => write!(f, "arg{a} * {scale}"),
            Length::Vectors(count) => write!(f, "arg{count} vectors"),
            Length::WideStr { most: None } => write!(f, "wide string"),
            Length::WideStr { most: Some(most) } => write!(f, "wide string within arg{most}"),
            Length::WideLen(list) => write!(f, "wide strings {list:?}"),
            Length::Strings => write!(f, "strings"),
            Length::End(end) => write!(f, "until arg{end}"),
        }
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Guard { value, holds } => write!(f, "v{value} is {holds}"),
            Condition::Valid { object, kind: k } => {
                write!(f, "v{} is valid for a {}", object.value, kind(*k))
            }
            Condition::Dense { step, extent, slack } => write!(f, "e{step} <= e{extent} + {slack}"),
        }
    }
}

impl Display for LoopAssumptions {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let LoopAssumptions { over, exits, guards } = self;
        for exit in exits {
            writeln!(f, "  loop {over} ends where the sides of #{} are equal", exit.compare)?;
        }
        for guard in guards {
            writeln!(f, "  loop {over} is entered where #{} is {}", guard.compare, guard.holds)?;
        }
        Ok(())
    }
}

impl Display for StackPlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "  shared frame of {} bytes, alignment {}", self.size, self.align)?;
        for slot in &self.slots {
            let source = match slot.source {
                Source::Alloca(site) => format!("#{site}"),
                Source::Byval(index) => format!("parameter {index}"),
            };
            writeln!(f, "    {source} {} at {}, {} bytes", slot.name, slot.offset, slot.size)?;
        }
        for site in &self.dynamic {
            writeln!(f, "    #{site} dynamic")?;
        }
        for site in &self.reentries {
            writeln!(f, "    restored behind #{site}")?;
        }
        Ok(())
    }
}

/// A plan as text.
pub struct Printed<'a> {
    /// The plan.
    pub plan: &'a FunctionPlan,
    /// What it was made from.
    pub facts: &'a FunctionFacts,
    /// Names and places.
    pub names: &'a Names,
}

impl Display for Printed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Printed { plan, facts, names } = self;
        writeln!(f, "function {}", plan.name)?;
        let reasons = plan.reasons(facts, names);
        for ((site, part), (access, size, decision)) in &plan.decisions {
            let (of, at) = (names.of(*site, *part), names.at(*site));
            write!(f, "  #{site} {} {size}{of}{at}: {decision}", kind(*access))?;
            let reason = reasons.get(&(*site, *part));
            writeln!(f, "{}", reason.map(|r| format!(", because {r}")).unwrap_or_default())?;
        }
        for (id, summary) in plan.loop_summaries(facts) {
            let text = joined(&plan.describe_loop(facts, names, id, &summary));
            writeln!(f, "  loop {id}{}: {text}", names.at_loop(id))?;
        }
        for (number, flag) in plan.flags.iter().enumerate() {
            write!(f, "  flag {number} before block {}:", flag.preheader)?;
            flag.conditions.iter().try_for_each(|condition| write!(f, " {condition}"))?;
            writeln!(f)?;
        }
        for (number, test) in plan.validity_tests.iter().enumerate() {
            writeln!(f, "  test {number} {test}")?;
        }
        for version in &plan.versions {
            let single = if version.single { ", or in jobs of one process" } else { "" };
            if version.strip.is_empty() {
                writeln!(f, "  two versions of loop {} by tests {:?}{single}", version.over, version.tests)?;
                continue;
            }
            write!(f, "  two versions of loop {} by strips", version.over)?;
            version.strip.iter().try_for_each(|part| write!(f, "{part}"))?;
            writeln!(f, "{single}")?;
        }
        for hint in &plan.hints {
            writeln!(f, "  {hint}")?;
        }
        for nest in &plan.single {
            writeln!(f, "  loop {nest} has a version without checks for jobs of one process")?;
        }
        for footprint in &plan.footprints {
            writeln!(f, "  {footprint}")?;
        }
        for assumptions in &plan.assumptions {
            write!(f, "{assumptions}")?;
        }
        for check in &plan.loop_checks {
            writeln!(f, "  {check}")?;
        }
        for check in &plan.checks {
            writeln!(f, "  {check}")?;
        }
        for (site, masked) in &plan.masked {
            let Masked { lanes, count, element, .. } = masked;
            let at = names.at(*site);
            writeln!(f, "  masked #{site}{at} {} {lanes:?} {count} x {element}", kind(masked.kind))?;
        }
        for (site, range) in &plan.ranges {
            let at = names.at(*site);
            let filled = if range.fills { ", overwritten" } else { "" };
            let (kind, argument, length) = (kind(range.kind), range.argument, &range.length);
            writeln!(f, "  range #{site}{at} {kind} arg{argument} {length}{filled}")?;
        }
        for (site, format) in &plan.formats {
            let at = names.at(*site);
            writeln!(
                f,
                "  format #{site}{at} arg{} {:?} {:?}",
                format.format, format.purpose, format.arguments
            )?;
        }
        for site in &plan.atomics {
            writeln!(f, "  atomic #{site}{}", names.at(*site))?;
        }
        if !plan.stack.is_empty() {
            write!(f, "{}", plan.stack)?;
        }
        for (site, note, text) in &plan.notes {
            let note = if *note == Note::Unsupported { "unsupported" } else { "unknown function" };
            writeln!(f, "  {note} #{site}{}: {text}", names.at(*site))?;
        }
        Ok(())
    }
}
