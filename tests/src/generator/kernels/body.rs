//! Drawing what a kernel does: loops, statements, and subscripts that stay inside of the window because the ranges of all variables
//! are known here, whatever the program's compiler knows of them.

use super::draw::part;
use super::program::{
    Access, Affine, Array, Condition, Destination, Each, Exit, Expression, Form, Helper, Integer, Kernel,
    LOCAL, Loop, Number, Operand, Part, Place, Program, REACH, Statement, Subscript, Term, Type, Update,
    Variable, WINDOW,
};
use crate::program::Language;
use crate::random::Random;

/// Most parameters of a program.
const PARAMETERS: usize = 64;
/// Most iterations of a kernel's innermost loops, all together in a nest.
const ITERATIONS: i64 = 5000;
/// Most iterations around a critical section.
const SYNCHRONISATIONS: i64 = 3;

/// A variable in scope, and the values it takes.
#[derive(Debug, Clone, Copy)]
struct Scoped {
    variable: Variable,
    low: i64,
    high: i64,
}

/// Draws one kernel.
pub(super) struct Drawer<'a> {
    random: &'a mut Random,
    arrays: &'a [Array],
    helpers: &'a [Helper],
    kernel: &'a Kernel,
    language: Language,
    /// Values of the program's parameters, those of this kernel included.
    pub(super) parameters: Vec<i64>,
    scope: Vec<Scoped>,
    /// Iterations of all loops around.
    iterations: i64,
    next: Variable,
}

impl<'a> Drawer<'a> {
    pub(super) fn new(random: &'a mut Random, program: &'a Program, kernel: &'a Kernel) -> Self {
        Self {
            random,
            arrays: &program.arrays,
            helpers: &program.helpers,
            kernel,
            language: program.language,
            parameters: program.parameters.clone(),
            scope: Vec::new(),
            iterations: 1,
            next: 0,
        }
    }

    fn fresh(&mut self) -> Variable {
        self.next += 1;
        self.next
    }

    /// `value`, hidden from the compiler in a `share` of ten cases.
    fn number(&mut self, value: i64, share: u64) -> Number {
        if self.random.below(10) >= share || self.parameters.len() == PARAMETERS {
            return Number::Literal(value);
        }
        self.parameters.push(value);
        Number::Parameter(self.parameters.len() - 1)
    }

    /// Some statements.
    pub(super) fn block(&mut self, depth: usize) -> Vec<Statement> {
        let mut statements = Vec::new();
        for _ in 0..self.random.between(1, 3) {
            let nested = if depth == 0 { self.random.chance(17, 20) } else { self.random.chance(7, 20) };
            let deeper = depth < 3 && self.iterations < ITERATIONS && nested;
            statements.push(if deeper { self.repeat(depth + 1) } else { self.statement() });
        }
        statements
    }

    /// The store that ends a kernel.
    pub(super) fn last_store(&mut self) -> Option<Statement> {
        let access = self.access(Operand::Target(0));
        Some(Statement::Store(access, Update::Set, vec![Term::Item(7), Term::Constant(3), Term::Round]))
    }

    fn repeat(&mut self, depth: usize) -> Statement {
        let sizes: &[i64] = match depth {
            1 => &[0, 1, 2, 5, 16, 33, 60, 100, WINDOW, WINDOW, WINDOW],
            2 => &[0, 1, 3, 5, 8, 16],
            _ => &[0, 1, 2, 3, 5],
        };
        let mut count = *self.random.pick(sizes);
        let low = if self.random.chance(1, 2) {
            self.random.below((WINDOW - count).max(1) as u64) as i64
        } else {
            0
        };
        let (variable, mut form) = (self.fresh(), self.form());
        if form == Form::Do {
            count = count.max(1);
        }
        let (mut first, mut last) = (low, low.max(low + count - 1));
        if let Form::Within(outer, extra) = form {
            let outer = self.scoped(outer);
            (first, last, count) = (outer.low, outer.high + extra, extra + 1);
        }
        if let Form::Below(outer) = form {
            let outer = self.scoped(outer);
            (first, last, count) = (0, (outer.high - 1).max(0), outer.high);
        }
        if last >= WINDOW {
            (form, first, last) = (Form::Up, 0, count.clamp(1, WINDOW) - 1);
            count = last + 1;
        }
        let low = if matches!(form, Form::Within(..) | Form::Below(_)) { 0 } else { first };
        let ty = self.integer(form);
        let step = match form {
            Form::Up | Form::Down => *self.random.pick(&[1, 1, 1, 2, 3, 7]),
            _ => 1,
        };
        self.scope.push(Scoped { variable, low: first, high: last });
        let around = self.iterations;
        self.iterations = around * (count / step).max(1);
        let during = (form == Form::Up && self.random.chance(1, 8)).then(|| self.condition());
        let body = self.block(depth);
        self.iterations = around;
        self.scope.pop();
        let (low, high) = (self.number(low, 6), self.number(low + count, 7));
        let step = self.number(step, 3);
        Statement::Loop(Loop { variable, ty, form, low, high, step, during, body })
    }

    fn scoped(&self, variable: Variable) -> Scoped {
        *self.scope.iter().find(|s| s.variable == variable).expect("only variables in scope are named")
    }

    fn form(&mut self) -> Form {
        let outer: Vec<Scoped> = self.scope.iter().copied().filter(|s| s.high < 20).collect();
        match self.random.below(9) {
            0..=3 => Form::Up,
            4 => Form::Down,
            5 => Form::CountDown,
            6 => *self.random.pick(&[Form::Do, Form::NotEqual]),
            7 if !self.scope.is_empty() => {
                let outer = *self.random.pick(&self.scope);
                Form::Within(outer.variable, self.random.below(4) as i64)
            }
            8 if !outer.is_empty() => Form::Below(self.random.pick(&outer).variable),
            _ => Form::Up,
        }
    }

    fn integer(&mut self, form: Form) -> Integer {
        use Integer::{Int, Long, Short, Unsigned, UnsignedLong};
        match form {
            Form::Down => *self.random.pick(&[Int, Long]),
            Form::CountDown => *self.random.pick(&[Unsigned, UnsignedLong, Int]),
            Form::Within(..) | Form::Below(_) => Long,
            _ => *self.random.pick(&[Int, Long, Unsigned, UnsignedLong, Int, Long, Short]),
        }
    }

    /// A sum of variables that stays in `0..limit`, whatever values they take.
    fn affine(&mut self, limit: i64) -> Affine {
        for _ in 0..20 {
            if self.scope.is_empty() {
                break;
            }
            let mut used: Vec<Scoped> = Vec::new();
            for scoped in self.scope.clone() {
                if self.random.chance(3, 5) {
                    used.push(scoped);
                }
            }
            if used.is_empty() {
                used.push(*self.random.pick(&self.scope));
            }
            let (mut terms, mut low, mut high) = (Vec::new(), 0, 0);
            for Scoped { variable, low: first, high: last } in used {
                let factor = *self.random.pick(&[1, 1, 1, 1, 2, 3, -1, -1, -2, 8, 16, 5]);
                terms.push((factor, variable));
                low += (factor * first).min(factor * last);
                high += (factor * first).max(factor * last);
            }
            if high - low >= limit {
                continue;
            }
            let offset = if self.random.chance(7, 10) {
                self.random.below((limit - (high - low)) as u64) as i64 - low
            } else {
                -low
            };
            return Affine { terms, offset: self.number(offset, 3) };
        }
        if let Some(inner) = self.scope.last().filter(|s| s.high - s.low < limit) {
            return Affine { terms: vec![(1, inner.variable)], offset: Number::Literal(-inner.low) };
        }
        Affine { terms: Vec::new(), offset: Number::Literal(self.random.below(limit as u64) as i64) }
    }

    fn ty(&self, operand: Operand) -> Type {
        self.arrays[self.kernel.array(operand)].ty
    }

    fn access(&mut self, operand: Operand) -> Access {
        let subscript = Subscript::Affine(self.affine(WINDOW));
        Access { operand, part: part(self.random, self.ty(operand)), subscript }
    }

    fn indirect(&mut self, operand: Operand) -> Access {
        let subscript = Subscript::Indirect(self.affine(WINDOW), self.random.chance(1, 2));
        Access { operand, part: part(self.random, self.ty(operand)), subscript }
    }

    fn target(&mut self) -> Operand {
        Operand::Target(self.random.below(self.kernel.targets.len() as u64) as usize)
    }

    fn source(&mut self) -> Operand {
        Operand::Source(self.random.below(self.kernel.sources.len() as u64) as usize)
    }

    fn expression(&mut self, sources_only: bool) -> Expression {
        let mut terms = vec![
            Term::Item(self.random.between(1, 99) as i64),
            Term::Constant(self.random.between(1, 9999) as i64),
        ];
        for scoped in self.scope.clone() {
            if self.random.chance(1, 2) {
                terms.push(Term::Variable(self.random.between(1, 50) as i64, scoped.variable));
            }
        }
        if self.random.chance(1, 6) {
            terms.push(Term::Round);
        }
        for _ in 0..self.random.between(1, 3) {
            let term = match self.random.below(10) {
                0..=5 => Term::Element({
                    let source = self.source();
                    self.access(source)
                }),
                6..=7 if !sources_only => Term::Element({
                    let target = self.target();
                    self.access(target)
                }),
                8 if !sources_only => Term::Local(self.affine(WINDOW)),
                _ => Term::Element({
                    let source = self.source();
                    self.indirect(source)
                }),
            };
            terms.push(term);
        }
        terms
    }

    fn condition(&mut self) -> Condition {
        Condition {
            value: self.expression(false),
            modulus: self.random.between(2, 7) as i64,
            compare: self.random.pick::<&str>(&["==", "<", "!=", ">"]),
            against: self.random.below(3) as i64,
        }
    }

    fn statement(&mut self) -> Statement {
        match self.random.below(100) {
            0..=27 => {
                let (target, value) = (self.target(), self.expression(false));
                Statement::Store(self.access(target), Update::Set, value)
            }
            28..=41 => {
                let (target, value) = (self.target(), self.expression(false));
                Statement::Store(self.access(target), Update::Mix, value)
            }
            42..=55 => Statement::If(self.condition(), Box::new(self.statement())),
            56..=61 => {
                let (target, value) = (self.target(), self.expression(false));
                Statement::Store(self.indirect(target), Update::Set, value)
            }
            62..=69 => self.call().unwrap_or_else(|| self.accumulate()),
            70..=74 => self.accumulate(),
            75..=82 => self.bulk(),
            83..=86 => self.assign().unwrap_or_else(|| self.accumulate()),
            87..=89 if !self.scope.is_empty() => {
                let mut condition = self.condition();
                (condition.modulus, condition.compare, condition.against) = (97, "==", 5);
                let exit = *self.random.pick(&[Exit::Break, Exit::Break, Exit::Continue, Exit::Return]);
                Statement::Exit(condition, exit)
            }
            90..=91 if self.iterations <= SYNCHRONISATIONS => Statement::Synchronise,
            92..=94 => {
                let at = self.affine(WINDOW);
                Statement::Keep(at, self.expression(false))
            }
            _ => {
                let (target, value) = (self.target(), self.expression(false));
                Statement::Store(self.access(target), Update::Late, value)
            }
        }
    }

    fn accumulate(&mut self) -> Statement {
        Statement::Accumulate(self.expression(false))
    }

    /// Whether consecutive elements of an operand's window are consecutive in memory.
    fn dense(&self, operand: &Operand) -> bool {
        self.arrays[self.kernel.array(*operand)].place != Place::Columns
    }

    fn operands(&self, sources: bool) -> Vec<Operand> {
        match sources {
            true => (0..self.kernel.sources.len()).map(Operand::Source).collect(),
            false => (0..self.kernel.targets.len()).map(Operand::Target).collect(),
        }
    }

    /// A call of a helper whose types fit.
    fn call(&mut self) -> Option<Statement> {
        let of = |ty: Type, operands: Vec<Operand>| -> Vec<Operand> {
            operands.into_iter().filter(|o| self.dense(o) && self.ty(*o) == ty).collect()
        };
        let mut fitting = Vec::new();
        for (number, helper) in self.helpers.iter().enumerate() {
            let targets = of(helper.target, self.operands(false));
            let sources = of(helper.source, self.operands(true));
            let local = helper.target == Type::I64;
            if !sources.is_empty() && (local || !targets.is_empty()) {
                fitting.push((number, targets, sources));
            }
        }
        if fitting.is_empty() {
            return None;
        }
        let (number, targets, sources) = self.random.pick(&fitting).clone();
        let whole =
            |operand, affine| Access { operand, part: Part::Whole, subscript: Subscript::Affine(affine) };
        let source = whole(*self.random.pick(&sources), self.affine(WINDOW - REACH));
        let local =
            targets.is_empty() || (self.helpers[number].target == Type::I64 && self.random.chance(1, 2));
        let destination = if local {
            Destination::Local(self.affine(WINDOW))
        } else {
            Destination::Shared(whole(*self.random.pick(&targets), self.affine(WINDOW - REACH)))
        };
        Some(Statement::Call(number, destination, source, self.random.below(6) as i64))
    }

    /// Many elements at once.
    fn bulk(&mut self) -> Statement {
        let target = self.random.below(self.kernel.targets.len() as u64) as usize;
        // Fortran's sections have strides, memory functions do not.
        let any = self.language == Language::Fortran;
        let dense = any || self.dense(&Operand::Target(target));
        let ty = self.ty(Operand::Target(target));
        let same = |o: &Operand| self.ty(*o) == ty && (any || self.dense(o));
        let same: Vec<Operand> = self.operands(true).into_iter().filter(same).collect();
        // The more often, the shorter.
        let longest = if self.iterations > 64 { 16 } else { WINDOW };
        let count = self.random.below(longest as u64 + 1) as i64;
        let mut position = || self.random.below((WINDOW - count) as u64 + 1) as i64;
        let (at, from) = (position(), position());
        match self.random.below(8) {
            0..=1 if dense && !same.is_empty() => {
                let source = *self.random.pick(&same);
                Statement::Copy(target, self.number(at, 5), source, from, self.number(count, 6))
            }
            2..=3 if dense => Statement::Fill(target, self.number(at, 5), self.number(count, 6)),
            4 if dense => Statement::Move(target, at, from, self.number(count, 6)),
            _ => self.each(target, at, count),
        }
    }

    fn each(&mut self, target: usize, at: i64, count: i64) -> Statement {
        let variable = self.fresh();
        // Values of outer variables stay in scope, but its own is what counts.
        self.scope.push(Scoped { variable, low: 0, high: (count - 1).max(0) });
        let value = self.expression(true);
        let when =
            self.random.chance(1, 3).then(|| Condition { value: self.expression(true), ..self.condition() });
        self.scope.pop();
        Statement::Each(Each { variable, count, target, at, when, value })
    }

    fn assign(&mut self) -> Option<Statement> {
        let record = |o: &Operand| self.ty(*o) == Type::Record;
        let targets: Vec<Operand> = self.operands(false).into_iter().filter(record).collect();
        if targets.is_empty() {
            return None;
        }
        let all = self.operands(false).into_iter().chain(self.operands(true));
        let sources: Vec<Operand> = all.filter(record).collect();
        let (target, source) = (*self.random.pick(&targets), *self.random.pick(&sources));
        let whole = |access: Access| Access { part: Part::Whole, ..access };
        Some(Statement::Assign(whole(self.access(target)), whole(self.access(source))))
    }
}

/// The element of the local array that a sum of variables names.
pub(super) fn local(text: &str) -> String {
    format!("({text}) & {}", LOCAL.1 - 1)
}
