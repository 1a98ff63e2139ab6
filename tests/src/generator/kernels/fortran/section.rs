//! Independent iterations as assignments of array sections: what is affine in the variable becomes a section with a stride, all else is
//! the same for all elements.

use super::super::line;
use super::super::program::{
    Affine, Each, Expression, Kernel, Number, Operand, Part, Subscript, Term, Type, Variable,
};
use super::Emitter;
use super::body::{compared, number};
use std::fmt::Write as _;

impl Emitter<'_> {
    pub(super) fn array_assignment(&self, text: &mut String, kernel: &Kernel, each: &Each, pad: &str) {
        let Each { variable, count, target, at, when, value } = each;
        let operand = Operand::Target(*target);
        let ty = self.ty(kernel, operand);
        let part = if ty == Type::Record { Part::V(1) } else { Part::Whole };
        let section = self.operand(kernel, operand, &format!("{at}:{at} + {count} - 1"));
        let store = self.write(&section, part, ty, &self.sections(kernel, value, *variable, *count));
        match when {
            Some(condition) => {
                let mask = compared(condition, &self.sections(kernel, &condition.value, *variable, *count));
                line!(text, "{pad}where ({mask})\n{pad}    {store}\n{pad}end where");
            }
            None => line!(text, "{pad}{store}"),
        }
    }

    /// An expression over `count` values of a variable. It has the extent of the section even if nothing in it depends on the variable.
    fn sections(&self, kernel: &Kernel, expression: &Expression, variable: Variable, count: i64) -> String {
        let all = |factor: i64| format!("[(i{variable} * {factor}_8, i{variable} = 0, {count} - 1)]");
        let mut terms = vec![all(0)];
        terms.extend(expression.iter().map(|term| match term {
            Term::Variable(factor, v) if *v == variable => all(*factor),
            Term::Element(access) => match &access.subscript {
                Subscript::Affine(sum) => match triplet(sum, variable, count) {
                    Some(section) => self.read(&self.operand(kernel, access.operand, &section), access.part),
                    None => self.term(kernel, term),
                },
                Subscript::Indirect(sum, other) => match triplet(sum, variable, count) {
                    Some(section) => {
                        let table = if *other { "oix" } else { "ix" };
                        let subscript = format!("iand({table}({section}), last)");
                        self.read(&self.operand(kernel, access.operand, &subscript), access.part)
                    }
                    None => self.term(kernel, term),
                },
            },
            _ => self.term(kernel, term),
        }));
        terms.join(" + ")
    }
}

/// The subscript triplet of a sum that depends on the variable.
fn triplet(sum: &Affine, variable: Variable, count: i64) -> Option<String> {
    let factor: i64 = sum.terms.iter().filter(|(_, v)| *v == variable).map(|(factor, _)| factor).sum();
    if factor == 0 {
        return None;
    }
    let others = sum.terms.iter().filter(|(_, v)| *v != variable);
    let rest: String = others.map(|(factor, v)| format!("({factor}) * i{v} + ")).collect();
    // Evaluated twice: a parameter does not change meanwhile.
    let offset = match sum.offset {
        Number::Literal(value) => format!("({value})"),
        parameter => number(parameter),
    };
    Some(format!("{rest}{offset}:{rest}{offset} + ({}):({factor})", factor * (count - 1)))
}
