//! Kernels and helpers as C and C++.

use super::super::body::local;
use super::super::line;
use super::super::program::{
    Access, Affine, Condition, Destination, Each, Exit, Expression, Form, Helper, Integer, Kernel, LOCAL,
    Loop, Number, Operand, Part, Passing, Statement, Subscript, Task, Term, Type, Update, Variable,
};
use super::{Emitter, c_name};
use std::fmt::Write as _;

fn number(number: Number) -> String {
    match number {
        Number::Literal(value) => value.to_string(),
        Number::Parameter(which) => format!("P[{which}]"),
    }
}

fn affine(sum: &Affine) -> String {
    let mut text = String::new();
    for (factor, variable) in &sum.terms {
        // Unsigned variables: a negative factor would make the product huge.
        let _ = match factor {
            1 => write!(text, "i{variable} + "),
            _ if *factor > 0 => write!(text, "{factor} * i{variable} + "),
            _ => write!(text, "{factor} * (long)i{variable} + "),
        };
    }
    text + &number(sum.offset)
}

fn integer(ty: Integer) -> &'static str {
    match ty {
        Integer::Int => "int",
        Integer::Long => "long",
        Integer::Unsigned => "unsigned",
        Integer::UnsignedLong => "unsigned long",
        Integer::Short => "short",
    }
}

impl Emitter<'_> {
    pub(super) fn helper_head(&self, number: usize) -> String {
        let helper = &self.program.helpers[number];
        let restrict = if helper.restrict { "__restrict__ " } else { "" };
        let (target, source) = (c_name(helper.target), c_name(helper.source));
        format!("void h{number}({target} *{restrict}d, const {source} *{restrict}s, long n)")
    }

    pub(super) fn helper_body(&self, text: &mut String, helper: &Helper) {
        let read = |at: &str| self.read(&format!("s[{at}]"), helper.source_part);
        let old = |at: &str| self.read(&format!("d[{at}]"), helper.target_part);
        let write =
            |at: &str, value: &str| self.write(&format!("d[{at}]"), helper.target_part, helper.target, value);
        match helper.task {
            Task::Loop(count) => {
                let store = write("q", &format!("mix({}, n)", read("q")));
                line!(text, "    for (int q = 0; q < {count}; q++) {store}");
            }
            Task::Choose(other) => {
                let (first, second) = (
                    write("0", &read(&other.to_string())),
                    write(&other.to_string(), &format!("mix({}, n)", read("0"))),
                );
                line!(text, "    if (n & 1) {{ {first} }} else {{ {second} }}");
            }
            Task::Sum => {
                let store = write("0", &format!("mix({}, sum)", old("0")));
                line!(text, "    long sum = 0;\n    for (long q = 0; q < n % 8; q++) sum += {};", read("q"));
                line!(text, "    {store}");
            }
            Task::Meet => {
                let store = write("0", &format!("mix({}, sum)", old("0")));
                let (low, high) = (read("q"), read("r"));
                line!(text, "    long sum = 0, q = 0, r = 6;");
                line!(text, "    while (q < r) {{");
                line!(
                    text,
                    "        if ({low} < {high}) {{ sum += {low}; q++; }} else {{ sum += {high}; r--; }}"
                );
                line!(text, "    }}\n    {store}");
            }
        }
    }

    /// The structure through which a kernel gets its operands, if it does.
    pub(super) fn view(&self, text: &mut String, number: usize, kernel: &Kernel) {
        if kernel.passing != Passing::Structure {
            return;
        }
        line!(text, "struct view{number} {{ {} }};", self.pointers(kernel, "").join("; ") + ";");
    }

    /// Declarations of the operands as pointers.
    fn pointers(&self, kernel: &Kernel, restrict: &str) -> Vec<String> {
        let ty = |array: usize| c_name(self.program.arrays[array].ty);
        let targets = kernel.targets.iter().enumerate().map(|(n, a)| format!("{} *{restrict}d{n}", ty(*a)));
        let sources =
            kernel.sources.iter().enumerate().map(|(n, a)| format!("const {} *{restrict}s{n}", ty(*a)));
        targets.chain(sources).collect()
    }

    /// Whether a kernel is a template of the types of its operands.
    pub(super) fn is_template(&self, kernel: &Kernel) -> bool {
        self.cxx && kernel.file == 0 && matches!(kernel.passing, Passing::Pointers(_))
    }

    pub(super) fn kernel_head(&self, number: usize, kernel: &Kernel) -> String {
        let mut arguments = match kernel.passing {
            Passing::Pointers(_) if self.is_template(kernel) => return self.template_head(number, kernel),
            Passing::Pointers(true) => self.pointers(kernel, "__restrict__ "),
            Passing::Pointers(false) => self.pointers(kernel, ""),
            Passing::Structure if self.cxx => vec![format!("const view{number} &view")],
            Passing::Structure => vec![format!("const struct view{number} *view")],
            Passing::Direct => Vec::new(),
        };
        arguments.push("const unsigned *ix".into());
        arguments.push("const unsigned *oix".into());
        arguments.push("long me".into());
        arguments.push("long other".into());
        format!("long k{number}({})", arguments.join(", "))
    }

    pub(super) fn kernel(&self, text: &mut String, number: usize, kernel: &Kernel) {
        let noinline = if kernel.noinline { "__attribute__((noinline)) " } else { "" };
        // The template's own first line comes before all.
        let (template, head) = match self.kernel_head(number, kernel).split_once('\n') {
            Some((template, head)) => (format!("{template}\n"), head.to_owned()),
            None => (String::new(), self.kernel_head(number, kernel)),
        };
        let linkage = if self.several_files() && template.is_empty() { "" } else { "static " };
        line!(text, "{template}{noinline}{linkage}{head} {{");
        line!(text, "    long acc = 0, t[{}] = {{0}};", LOCAL.0);
        text.push_str("    (void)t, (void)ix, (void)oix, (void)other;\n");
        let (last, body) = kernel.body.split_last().expect("every kernel ends with a store");
        self.statements(text, kernel, body, 1);
        if let Statement::Store(access, _, value) = last {
            let sum = format!("acc + {}", self.expression(kernel, value));
            line!(text, "    {}", self.store(kernel, access, &sum));
        } else {
            self.statements(text, kernel, std::slice::from_ref(last), 1);
        }
        line!(text, "    return acc & 0xffffff;\n}}");
    }

    fn index(&self, subscript: &Subscript) -> String {
        match subscript {
            Subscript::Affine(sum) => affine(sum),
            Subscript::Indirect(sum, other) => {
                format!("({}[{}] & (S - 1))", if *other { "oix" } else { "ix" }, affine(sum))
            }
        }
    }

    fn ty(&self, kernel: &Kernel, operand: Operand) -> Type {
        self.program.arrays[kernel.array(operand)].ty
    }

    fn lvalue(&self, kernel: &Kernel, access: &Access) -> String {
        self.operand(kernel, access.operand, &self.index(&access.subscript))
    }

    fn load(&self, kernel: &Kernel, access: &Access) -> String {
        self.read(&self.lvalue(kernel, access), access.part)
    }

    fn store(&self, kernel: &Kernel, access: &Access, value: &str) -> String {
        self.write(&self.lvalue(kernel, access), access.part, self.ty(kernel, access.operand), value)
    }

    fn expression(&self, kernel: &Kernel, expression: &Expression) -> String {
        let term = |term: &Term| match term {
            Term::Constant(value) => value.to_string(),
            Term::Item(factor) => format!("me * {factor}"),
            Term::Round => "round_".into(),
            Term::Variable(factor, variable) => format!("(long)i{variable} * {factor}"),
            Term::Element(access) => self.load(kernel, access),
            Term::Local(sum) => format!("t[{}]", local(&affine(sum))),
        };
        expression.iter().map(term).collect::<Vec<_>>().join(" + ")
    }

    fn condition(&self, kernel: &Kernel, condition: &Condition) -> String {
        let Condition { value, modulus, compare, against } = condition;
        format!("({}) % {modulus} {compare} {against}", self.expression(kernel, value))
    }

    fn statements(&self, text: &mut String, kernel: &Kernel, statements: &[Statement], depth: usize) {
        for statement in statements {
            self.statement(text, kernel, statement, depth);
        }
    }

    fn statement(&self, text: &mut String, kernel: &Kernel, statement: &Statement, depth: usize) {
        let pad = "    ".repeat(depth);
        let value = |expression: &Expression| self.expression(kernel, expression);
        match statement {
            Statement::Store(access, Update::Set, v) => {
                line!(text, "{pad}{}", self.store(kernel, access, &value(v)));
            }
            Statement::Store(access, Update::Mix, v) => {
                let sum = format!("mix({}, {})", self.load(kernel, access), value(v));
                line!(text, "{pad}{}", self.store(kernel, access, &sum));
            }
            Statement::Store(access, Update::Late, v) => {
                line!(text, "{pad}{{ long late = {}; {} }}", value(v), self.store(kernel, access, "late"));
            }
            Statement::Keep(at, v) => {
                line!(text, "{pad}t[{}] = ({}) & 0xffffffff;", local(&affine(at)), value(v));
            }
            Statement::Accumulate(v) => line!(text, "{pad}acc = (acc + {}) & 0xffffffffffff;", value(v)),
            Statement::If(condition, inner) => {
                line!(text, "{pad}if ({}) {{", self.condition(kernel, condition));
                self.statement(text, kernel, inner, depth + 1);
                line!(text, "{pad}}}");
            }
            Statement::Call(helper, destination, source, n) => {
                let destination = match destination {
                    Destination::Shared(access) => format!("&{}", self.lvalue(kernel, access)),
                    Destination::Local(at) => format!("&t[{}]", local(&affine(at))),
                };
                line!(text, "{pad}h{helper}({destination}, &{}, me + {n});", self.lvalue(kernel, source));
            }
            Statement::Copy(target, at, source, from, count) => {
                let to = self.operand(kernel, Operand::Target(*target), &number(*at));
                let (from, count) = (self.operand(kernel, *source, &from.to_string()), number(*count));
                match self.cxx {
                    true => line!(text, "{pad}std::copy_n(&{from}, {count}, &{to});"),
                    false => line!(text, "{pad}memcpy(&{to}, &{from}, {count} * sizeof {to});"),
                }
            }
            Statement::Fill(target, at, count) => self.fill(text, kernel, (*target, *at, *count), &pad),
            Statement::Move(target, at, from, count) => {
                let place = |at: i64| self.operand(kernel, Operand::Target(*target), &at.to_string());
                let (to, from) = (place(*at), place(*from));
                line!(text, "{pad}memmove((void *)&{to}, &{from}, {} * sizeof {to});", number(*count));
            }
            Statement::Assign(to, from) => {
                line!(text, "{pad}{} = {};", self.lvalue(kernel, to), self.lvalue(kernel, from));
            }
            Statement::Each(each) => self.each(text, kernel, each, &pad),
            Statement::Exit(condition, exit) => {
                let exit = match exit {
                    Exit::Break => "break",
                    Exit::Continue => "continue",
                    Exit::Return => "return acc & 0xffffff",
                };
                line!(text, "{pad}if ({}) {exit};", self.condition(kernel, condition));
            }
            Statement::Synchronise if self.program.seed % 2 == 1 => {
                let order = "__ATOMIC_SEQ_CST";
                line!(text, "{pad}for (long seen = __atomic_load_n(&tally, {order});");
                let swap = "__atomic_compare_exchange_n(&tally, &seen, seen + 1, 0";
                line!(text, "{pad}     !{swap}, {order}, {order});)");
                line!(text, "{pad}    ;");
            }
            Statement::Synchronise => {
                line!(text, "#pragma omp critical(tally_{})\n{pad}tally++;", self.program.seed);
            }
            Statement::Loop(l) => self.repeat(text, kernel, l, depth),
        }
    }

    fn fill(
        &self,
        text: &mut String,
        kernel: &Kernel,
        (target, at, count): (usize, Number, Number),
        pad: &str,
    ) {
        let operand = Operand::Target(target);
        let (to, count) = (self.operand(kernel, operand, &number(at)), number(count));
        match (self.cxx, self.ty(kernel, operand)) {
            (true, ty) => line!(
                text,
                "{pad}std::fill_n(&{to}, {count}, {}());",
                c_name(ty).replace("unsigned char", "byte")
            ),
            (false, Type::U8) => line!(text, "{pad}memset(&{to}, 1, {count} * sizeof {to});"),
            (false, _) => line!(text, "{pad}memset(&{to}, 0, {count} * sizeof {to});"),
        }
    }

    fn each(&self, text: &mut String, kernel: &Kernel, each: &Each, pad: &str) {
        let Each { variable, count, target, at, when, value } = each;
        let operand = Operand::Target(*target);
        let ty = self.ty(kernel, operand);
        let part = if ty == Type::Record { Part::V(1) } else { Part::Whole };
        let element = self.operand(kernel, operand, &format!("{at} + i{variable}"));
        let when = when.as_ref().map_or(String::new(), |c| format!("if ({}) ", self.condition(kernel, c)));
        line!(
            text,
            "#pragma omp simd\n{pad}for (long i{variable} = 0; i{variable} < {count}; i{variable}++) {{"
        );
        line!(text, "{pad}    {when}{}", self.write(&element, part, ty, &self.expression(kernel, value)));
        line!(text, "{pad}}}");
    }

    fn repeat(&self, text: &mut String, kernel: &Kernel, l: &Loop, depth: usize) {
        let pad = "    ".repeat(depth);
        let v = format!("i{}", l.variable);
        let (low, high, step, ty) = (number(l.low), number(l.high), number(l.step), integer(l.ty));
        let outer = |variable: Variable| format!("i{variable}");
        line!(text, "{pad}{{\n{pad}{ty} low{v} = {low}, high{v} = {high}, step{v} = {step};");
        line!(text, "{pad}(void)low{v}, (void)high{v}, (void)step{v};");
        let during =
            l.during.as_ref().map_or(String::new(), |c| format!(" && ({})", self.condition(kernel, c)));
        let head = match l.form {
            Form::Up if self.cxx && l.during.is_none() && l.variable.is_multiple_of(3) => {
                format!("for ({ty} {v} : range<{ty}>(low{v}, high{v}, step{v}))")
            }
            Form::Up => format!("for ({ty} {v} = low{v}; {v} < high{v}{during}; {v} += step{v})"),
            Form::Down => format!("for ({ty} {v} = high{v} - 1; {v} >= low{v}; {v} -= step{v})"),
            Form::CountDown => format!("for ({ty} {v} = high{v}; {v}-- > low{v};)"),
            Form::NotEqual => format!("for ({ty} {v} = low{v}; {v} != high{v}; {v}++)"),
            Form::Do => format!("{ty} {v} = low{v};\n{pad}do"),
            Form::Within(o, extra) => {
                format!("for (long {v} = {0}; {v} <= (long){0} + {extra}; {v}++)", outer(o))
            }
            Form::Below(o) => format!("for (long {v} = 0; {v} < (long){}; {v}++)", outer(o)),
        };
        line!(text, "{pad}{head} {{");
        self.statements(text, kernel, &l.body, depth + 1);
        match l.form {
            Form::Do => line!(text, "{pad}}} while (++{v} < high{v});\n{pad}}}"),
            _ => line!(text, "{pad}}}\n{pad}}}"),
        }
    }
}
