//! Kernels and helpers as Fortran.

use super::super::line;
use super::super::program::{
    Access, Affine, Condition, Destination, Each, Exit, Expression, Form, Helper, Integer, Kernel, LOCAL,
    Loop, Number, Operand, Part, Passing, Place, REACH, Statement, Subscript, Task, Term, Type, Update,
    Variable,
};
use super::{Emitter, name};
use std::fmt::Write as _;

pub(super) fn number(number: Number) -> String {
    match number {
        Number::Literal(value) if value < 0 => format!("({value})"),
        Number::Literal(value) => value.to_string(),
        Number::Parameter(which) => format!("p({which})"),
    }
}

fn affine(sum: &Affine) -> String {
    let term = |(factor, variable): &(i64, Variable)| match factor {
        1 => format!("i{variable} + "),
        _ if *factor < 0 => format!("({factor}) * i{variable} + "),
        _ => format!("{factor} * i{variable} + "),
    };
    sum.terms.iter().map(term).collect::<String>() + &number(sum.offset)
}

/// Subscript of the local array.
fn local(sum: &Affine) -> String {
    format!("iand(int({}, 8), {}_8)", affine(sum), LOCAL.1 - 1)
}

fn integer(ty: Integer) -> &'static str {
    match ty {
        Integer::Short => "integer(2)",
        Integer::Int | Integer::Unsigned => "integer(4)",
        Integer::Long | Integer::UnsignedLong => "integer(8)",
    }
}

/// Declarations of all loop variables.
fn variables(text: &mut String, statements: &[Statement]) {
    for statement in statements {
        match statement {
            Statement::Loop(l) => {
                line!(text, "        {} :: i{}", integer(l.ty), l.variable);
                variables(text, &l.body);
            }
            // flang takes 32-bit variables of `simd` loops only.
            Statement::Each(each) if each.variable % 3 == 2 => {
                line!(text, "        integer(4) :: i{}", each.variable)
            }
            Statement::Each(each) => line!(text, "        integer(8) :: i{}", each.variable),
            Statement::If(_, inner) => variables(text, std::slice::from_ref(inner)),
            _ => {}
        }
    }
}

impl Emitter<'_> {
    /// The module of helpers.
    pub(super) fn helpers(&self) -> String {
        let seed = self.seed();
        let mut text = format!("module s{seed}_helpers\n    use s{seed}_data\n    implicit none\ncontains\n");
        for (number, helper) in self.program.helpers.iter().enumerate() {
            // Whatever restrict means in C: here sections that are known to be contiguous.
            let shape = if helper.restrict { ("", format!("0:{}", REACH - 1)) } else { ("", "0:".into()) };
            line!(text, "    subroutine h{number}(d, s, n)");
            line!(text, "        {}, intent(inout){} :: d({})", name(helper.target), shape.0, shape.1);
            line!(text, "        {}, intent(in) :: s(0:)", name(helper.source));
            text.push_str("        integer(8), intent(in) :: n\n        integer(8) :: q, r, sum_\n");
            self.helper(&mut text, helper);
            line!(text, "    end subroutine");
        }
        text + "end module\n\n"
    }

    fn helper(&self, text: &mut String, helper: &Helper) {
        let read = |at: &str| self.read(&format!("s({at})"), helper.source_part);
        let old = |at: &str| self.read(&format!("d({at})"), helper.target_part);
        let write =
            |at: &str, value: &str| self.write(&format!("d({at})"), helper.target_part, helper.target, value);
        match helper.task {
            Task::Loop(count) => {
                let store = write("q", &format!("{} * 31_8 + n", read("q")));
                line!(text, "        do q = 0, {count} - 1\n            {store}\n        end do");
            }
            Task::Choose(other) => {
                let other = other.to_string();
                let (first, second) =
                    (write("0", &read(&other)), write(&other, &format!("{} * 31_8 + n", read("0"))));
                line!(
                    text,
                    "        if (iand(n, 1_8) == 1) then\n            {first}\n        else\n            {second}\n        end if"
                );
            }
            Task::Sum => {
                let store = write("0", &format!("{} * 31_8 + sum_", old("0")));
                line!(
                    text,
                    "        sum_ = 0\n        do q = 0, mod(n, 8_8) - 1\n            sum_ = sum_ + {}\n        end do",
                    read("q")
                );
                line!(text, "        {store}");
            }
            Task::Meet => {
                let store = write("0", &format!("{} * 31_8 + sum_", old("0")));
                let (low, high) = (read("q"), read("r"));
                line!(text, "        sum_ = 0\n        q = 0\n        r = 6\n        do while (q < r)");
                line!(
                    text,
                    "            if ({low} < {high}) then\n                sum_ = sum_ + {low}\n                q = q + 1"
                );
                line!(
                    text,
                    "            else\n                sum_ = sum_ + {high}\n                r = r - 1\n            end if\n        end do"
                );
                line!(text, "        {store}");
            }
        }
    }

    /// The module of kernels.
    pub(super) fn kernels(&self) -> String {
        let seed = self.seed();
        let mut text = format!(
            "module s{seed}_kernels\n    use s{seed}_data\n    use s{seed}_helpers\n    implicit none\ncontains\n"
        );
        for (number, kernel) in self.program.kernels.iter().enumerate() {
            self.kernel(&mut text, number, kernel);
        }
        text + "end module\n\n"
    }

    fn dummy(&self, kernel: &Kernel, operand: Operand) -> String {
        let array = self.program.arrays[kernel.array(operand)];
        let (of, intent) = match operand {
            Operand::Target(n) => (format!("d{n}"), "inout"),
            Operand::Source(n) => (format!("s{n}"), "in"),
        };
        let (attribute, shape) = match (array.place, kernel.passing) {
            // No copies of what other items write beside it.
            (Place::Columns, _) | (_, Passing::Pointers(false)) => ("", "0:"),
            (_, Passing::Pointers(true)) => (", contiguous", "0:"),
            _ => ("", "0:last"),
        };
        format!("        {}, intent({intent}){attribute} :: {of}({shape})", name(array.ty))
    }

    fn operands(kernel: &Kernel) -> Vec<Operand> {
        let targets = (0..kernel.targets.len()).map(Operand::Target);
        targets.chain((0..kernel.sources.len()).map(Operand::Source)).collect()
    }

    fn kernel(&self, text: &mut String, number: usize, kernel: &Kernel) {
        let passed = if kernel.passing == Passing::Direct { Vec::new() } else { Self::operands(kernel) };
        let named = passed.iter().map(|o| match o {
            Operand::Target(n) => format!("d{n}, "),
            Operand::Source(n) => format!("s{n}, "),
        });
        line!(
            text,
            "    integer(8) function k{number}({}ix, oix, me, other) result(res)",
            named.collect::<String>()
        );
        for operand in &passed {
            line!(text, "{}", self.dummy(kernel, *operand));
        }
        text.push_str("        integer(4), intent(in) :: ix(0:), oix(0:)\n        integer(8), intent(in) :: me, other\n");
        line!(text, "        integer(8) :: acc, late, t(0:{})", LOCAL.0 - 1);
        variables(text, &kernel.body);
        text.push_str("        acc = 0\n        t = 0\n");
        let (last, body) = kernel.body.split_last().expect("every kernel ends with a store");
        self.statements(text, kernel, body, 2);
        if let Statement::Store(access, _, value) = last {
            let sum = format!("acc + {}", self.expression(kernel, value));
            line!(text, "        {}", self.store(kernel, access, &sum));
        } else {
            self.statements(text, kernel, std::slice::from_ref(last), 2);
        }
        text.push_str("        res = iand(acc, 16777215_8)\n    end function\n");
    }

    fn index(&self, subscript: &Subscript) -> String {
        match subscript {
            Subscript::Affine(sum) => affine(sum),
            Subscript::Indirect(sum, other) => {
                format!("iand({}({}), last)", if *other { "oix" } else { "ix" }, affine(sum))
            }
        }
    }

    pub(super) fn ty(&self, kernel: &Kernel, operand: Operand) -> Type {
        self.program.arrays[kernel.array(operand)].ty
    }

    fn variable(&self, kernel: &Kernel, access: &Access) -> String {
        self.operand(kernel, access.operand, &self.index(&access.subscript))
    }

    fn load(&self, kernel: &Kernel, access: &Access) -> String {
        self.read(&self.variable(kernel, access), access.part)
    }

    fn store(&self, kernel: &Kernel, access: &Access, value: &str) -> String {
        self.write(&self.variable(kernel, access), access.part, self.ty(kernel, access.operand), value)
    }

    fn expression(&self, kernel: &Kernel, expression: &Expression) -> String {
        expression.iter().map(|term| self.term(kernel, term)).collect::<Vec<_>>().join(" + ")
    }

    pub(super) fn term(&self, kernel: &Kernel, term: &Term) -> String {
        match term {
            Term::Constant(value) => format!("{value}_8"),
            Term::Item(factor) => format!("me * {factor}_8"),
            Term::Round => "round_".into(),
            Term::Variable(factor, variable) => format!("int(i{variable}, 8) * {factor}_8"),
            Term::Element(access) => self.load(kernel, access),
            Term::Local(sum) => format!("t({})", local(sum)),
        }
    }

    fn condition(&self, kernel: &Kernel, condition: &Condition) -> String {
        compared(condition, &self.expression(kernel, &condition.value))
    }

    fn statements(&self, text: &mut String, kernel: &Kernel, statements: &[Statement], depth: usize) {
        for statement in statements {
            self.statement(text, kernel, statement, depth);
        }
    }

    fn statement(&self, text: &mut String, kernel: &Kernel, statement: &Statement, depth: usize) {
        let pad = "    ".repeat(depth);
        let value = |expression: &Expression| self.expression(kernel, expression);
        let section = |operand: Operand, at: &str, count: &str| {
            self.operand(kernel, operand, &format!("{at}:{at} + {count} - 1"))
        };
        match statement {
            Statement::Store(access, Update::Set, v) => {
                line!(text, "{pad}{}", self.store(kernel, access, &value(v)))
            }
            Statement::Store(access, Update::Mix, v) => {
                let sum = format!("{} * 31_8 + {}", self.load(kernel, access), value(v));
                line!(text, "{pad}{}", self.store(kernel, access, &sum));
            }
            Statement::Store(access, Update::Late, v) => {
                line!(text, "{pad}late = {}\n{pad}{}", value(v), self.store(kernel, access, "late"));
            }
            Statement::Keep(at, v) => line!(text, "{pad}t({}) = iand({}, 4294967295_8)", local(at), value(v)),
            Statement::Accumulate(v) => line!(text, "{pad}acc = iand(acc + {}, 281474976710655_8)", value(v)),
            Statement::If(condition, inner) => {
                line!(text, "{pad}if ({}) then", self.condition(kernel, condition));
                self.statement(text, kernel, inner, depth + 1);
                line!(text, "{pad}end if");
            }
            Statement::Call(helper, destination, source, n) => {
                let window = |access: &Access| {
                    let at = self.index(&access.subscript);
                    self.operand(kernel, access.operand, &format!("{at}:{at} + {}", REACH - 1))
                };
                let destination = match destination {
                    Destination::Shared(access) => window(access),
                    Destination::Local(at) => format!("t({0}:{0} + {1})", local(at), REACH - 1),
                };
                line!(text, "{pad}call h{helper}({destination}, {}, me + {n})", window(source));
            }
            Statement::Copy(target, at, source, from, count) => {
                let count = number(*count);
                let to = section(Operand::Target(*target), &number(*at), &count);
                line!(text, "{pad}{to} = {}", section(*source, &from.to_string(), &count));
            }
            Statement::Fill(target, at, count) => {
                let operand = Operand::Target(*target);
                let zero = match self.ty(kernel, operand) {
                    Type::Record => "rec(0d0, 0, 0_1, inner(0_2, 0_1), 0_8, 0_2)",
                    _ => "0",
                };
                line!(text, "{pad}{} = {zero}", section(operand, &number(*at), &number(*count)));
            }
            Statement::Move(target, at, from, count) => {
                let place = |at: i64| section(Operand::Target(*target), &at.to_string(), &number(*count));
                line!(text, "{pad}{} = {}", place(*at), place(*from));
            }
            Statement::Assign(to, from) => {
                line!(text, "{pad}{} = {}", self.variable(kernel, to), self.variable(kernel, from))
            }
            Statement::Each(each) => self.each(text, kernel, each, &pad),
            Statement::Exit(condition, exit) => {
                let condition = self.condition(kernel, condition);
                match exit {
                    Exit::Break => line!(text, "{pad}if ({condition}) exit"),
                    Exit::Continue => line!(text, "{pad}if ({condition}) cycle"),
                    Exit::Return => line!(
                        text,
                        "{pad}if ({condition}) then\n{pad}    res = iand(acc, 16777215_8)\n{pad}    return\n{pad}end if"
                    ),
                }
            }
            Statement::Synchronise => {
                let name = format!("tally_{}", self.seed());
                line!(
                    text,
                    "{pad}!$omp critical ({name})\n{pad}tally = tally + 1\n{pad}!$omp end critical ({name})"
                );
            }
            Statement::Loop(l) => self.repeat(text, kernel, l, depth),
        }
    }

    fn each(&self, text: &mut String, kernel: &Kernel, each: &Each, pad: &str) {
        let Each { variable, count, target, at, when, value } = each;
        if variable % 3 == 0 {
            return self.array_assignment(text, kernel, each, pad);
        }
        let operand = Operand::Target(*target);
        let ty = self.ty(kernel, operand);
        let part = if ty == Type::Record { Part::V(1) } else { Part::Whole };
        let element = self.operand(kernel, operand, &format!("{at} + i{variable}"));
        let store = self.write(&element, part, ty, &self.expression(kernel, value));
        let when = when.as_ref().map(|c| self.condition(kernel, c));
        if variable % 3 == 1 {
            let mask = when.map_or(String::new(), |c| format!(", {c}"));
            line!(
                text,
                "{pad}do concurrent (i{variable} = 0:{count} - 1{mask})\n{pad}    {store}\n{pad}end do"
            );
        } else {
            let condition = when.map_or(String::new(), |c| format!("if ({c}) "));
            line!(
                text,
                "{pad}!$omp simd\n{pad}do i{variable} = 0, {count} - 1\n{pad}    {condition}{store}\n{pad}end do"
            );
        }
    }

    fn repeat(&self, text: &mut String, kernel: &Kernel, l: &Loop, depth: usize) {
        let pad = "    ".repeat(depth);
        let v = format!("i{}", l.variable);
        let (low, high, step) = (number(l.low), number(l.high), number(l.step));
        match l.form {
            Form::Up => line!(text, "{pad}do {v} = {low}, {high} - 1, {step}"),
            Form::Down => line!(text, "{pad}do {v} = {high} - 1, {low}, -({step})"),
            // The variable moves first: `cycle` may come anywhere.
            Form::CountDown => {
                line!(text, "{pad}{v} = {high}\n{pad}do while ({v} > {low})\n{pad}    {v} = {v} - 1")
            }
            Form::NotEqual => line!(
                text,
                "{pad}{v} = {low} - 1\n{pad}do\n{pad}    {v} = {v} + 1\n{pad}    if ({v} == {high}) exit"
            ),
            Form::Do => line!(
                text,
                "{pad}{v} = {low} - 1\n{pad}do\n{pad}    {v} = {v} + 1\n{pad}    if ({v} > {low} .and. {v} >= {high}) exit"
            ),
            Form::Within(outer, extra) => line!(text, "{pad}do {v} = i{outer}, i{outer} + {extra}"),
            Form::Below(outer) => line!(text, "{pad}do {v} = 0, i{outer} - 1"),
        }
        if let Some(condition) = &l.during {
            line!(text, "{pad}    if (.not. ({})) exit", self.condition(kernel, condition));
        }
        self.statements(text, kernel, &l.body, depth + 1);
        line!(text, "{pad}end do");
    }
}

/// A comparison of a value that is already text.
pub(super) fn compared(condition: &Condition, value: &str) -> String {
    let compare = if condition.compare == "!=" { "/=" } else { condition.compare };
    format!("mod({value}, {}_8) {compare} {}_8", condition.modulus, condition.against)
}
