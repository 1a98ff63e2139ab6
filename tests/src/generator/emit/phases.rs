//! Phases and loops as C.

use super::super::Fault;
use super::super::model::{
    Array, Chain, Commutative, Expression, FLOAT_STEP_MASK, Guard, Index, Owner, Phase, Place, Reduction,
    State, Sweep, Update,
};
use super::{Emitter, c_name, line, literal};
use std::fmt::Write as _;

impl Emitter<'_> {
    pub(super) fn open_region(&mut self) {
        line!(self, "#pragma omp parallel reduction(+ : wrong)\n    {{");
        line!(
            self,
            "        U me = (U)omp_get_thread_num(), team = (U)omp_get_num_threads();\n        (void)me, (void)team;"
        );
    }

    pub(super) fn close_region(&mut self) {
        line!(self, "    }}");
    }

    fn barrier(&mut self) {
        if self.fault == Fault::MissingBarrier && !self.faulted && self.phase > 2 {
            self.faulted = true;
            return;
        }
        line!(self, "#pragma omp barrier");
    }

    pub(super) fn phase(&mut self, phase: &Phase, before: &State) {
        line!(self, "        // phase {}", self.phase);
        match phase {
            Phase::Sweeps(sweeps) => {
                for sweep in sweeps {
                    let owner = sweep.owner;
                    self.sweep(sweep, Some(owner), before);
                }
                self.barrier();
            }
            Phase::Sections(sweeps) => {
                line!(self, "#pragma omp sections\n        {{");
                for sweep in sweeps {
                    line!(self, "#pragma omp section");
                    self.sweep(sweep, None, before);
                }
                line!(self, "        }}");
            }
            Phase::Guarded(guard, owner, iterations, updates) => {
                self.guarded(*guard, *owner, *iterations, updates)
            }
            Phase::Reduce(scalar, operator, owner, iterations, value) => {
                self.reduce(*scalar, *operator, *owner, *iterations, value);
            }
            Phase::Recurrence(array, chain, value) => self.recurrence(*array, *chain, value),
            Phase::Repoint(array, index) => {
                let (seed, target) = (self.model.seed, self.indexed(*array, *index, "i"));
                line!(
                    self,
                    "#pragma omp single\n        k{seed} = {array};\n#pragma omp for schedule(static, 1)"
                );
                line!(
                    self,
                    "        for (U i = 0; i < {}; i++) p{seed}[i] = &{target};",
                    self.model.pointers
                );
            }
            Phase::Move(array) => self.renew(*array),
            Phase::Check(array) => self.check(*array, before),
            Phase::NewRegion => {
                self.close_region();
                self.open_region();
            }
        }
    }

    /// Opens the loop `for i in start, start + step, ... end` as its owner says; one statement follows.
    fn open_loop(&mut self, owner: Option<Owner>, start: u64, end: &str, step: u64, clauses: &str) {
        let header = format!("for (U i = {start}; i < {end}; i += {step})");
        match owner {
            None => line!(self, "        {header} {{"),
            Some(Owner::Schedule(kind, chunk)) => {
                let chunk = if chunk == 0 { String::new() } else { format!(", {chunk}") };
                line!(self, "#pragma omp for schedule({kind}{chunk}) {clauses}\n        {header} {{");
            }
            Some(Owner::Rotated(grain, shift)) => {
                line!(
                    self,
                    "        {header} {{\n            if ((i / {step} / {grain} + {shift}) % team != me) continue;"
                );
            }
            Some(Owner::BlocksReversed) => {
                line!(
                    self,
                    "        {header} {{\n            if (i * team / ({end}) != team - 1 - me) continue;"
                );
            }
        }
    }

    fn sweep(&mut self, sweep: &Sweep, owner: Option<Owner>, before: &State) {
        let seed = self.model.seed;
        let array = if sweep.pointed { before.pointed.0 } else { sweep.array };
        let ty = self.model.arrays[array].ty;
        let (target, end) = if sweep.pointed {
            (format!("*({} *)p{seed}[i]", c_name(ty)), self.model.pointers)
        } else {
            (self.element(array, "i"), self.model.arrays[array].len)
        };
        let value = format!("(U)(I){target} * {}u + {}", sweep.keep, self.expression(&sweep.value, "i"));
        self.open_loop(owner, sweep.residue, &end.to_string(), sweep.stride, "nowait");
        if self.fault == Fault::LostWrite && !self.faulted && self.phase > 2 {
            self.faulted = true;
            line!(self, "            if (i == {}) continue;", sweep.residue + sweep.stride);
        }
        line!(self, "            {target} = {};\n        }}", self.stored(ty, &value));
    }

    fn update(&mut self, update: &Update) {
        let ty = self.model.arrays[update.array].ty;
        let target = self.indexed(update.array, update.index, "i");
        let value = self.expression(&update.value, "i");
        let name = c_name(ty);
        match update.operation {
            Commutative::Add if ty.is_float() => {
                line!(self, "            {target} += ({name})(({value}) & {FLOAT_STEP_MASK}u);");
            }
            Commutative::Add => line!(self, "            {target} += ({name})({value});"),
            Commutative::Xor => line!(self, "            {target} ^= ({name})({value});"),
        }
    }

    fn guarded(&mut self, guard: Guard, owner: Owner, iterations: u64, updates: &[Update]) {
        self.open_loop(Some(owner), 0, &iterations.to_string(), 1, "nowait");
        let guard = if self.fault == Fault::MissingLocks { None } else { Some(guard) };
        let whole: (String, String) = match guard {
            Some(Guard::Critical(None)) => {
                ("#pragma omp critical\n            {\n".into(), "            }\n".into())
            }
            Some(Guard::Critical(Some(n))) => {
                (format!("#pragma omp critical(name{n})\n            {{\n"), "            }\n".into())
            }
            Some(Guard::Lock(n)) => (
                format!("            omp_set_lock(&lock[{n}]);\n"),
                format!("            omp_unset_lock(&lock[{n}]);\n"),
            ),
            Some(Guard::NestLock) => (
                "            omp_set_nest_lock(&nest), omp_set_nest_lock(&nest);\n".into(),
                "            omp_unset_nest_lock(&nest), omp_unset_nest_lock(&nest);\n".into(),
            ),
            _ => (String::new(), String::new()),
        };
        self.body += &whole.0;
        for update in updates {
            let len = self.model.arrays[update.array].len;
            let Index { scale, shift } = update.index;
            let stripe = format!("&lock[3 + (i * {scale} + {shift}) % {len} % 4]");
            match guard {
                Some(Guard::Atomic) => line!(self, "#pragma omp atomic"),
                Some(Guard::Striped) => line!(self, "            omp_set_lock({stripe});"),
                _ => {}
            }
            self.update(update);
            if let Some(Guard::Striped) = guard {
                line!(self, "            omp_unset_lock({stripe});");
            }
        }
        self.body += &whole.1;
        line!(self, "        }}");
        self.barrier();
    }

    fn reduce(
        &mut self,
        scalar: usize,
        operator: Reduction,
        owner: Owner,
        iterations: u64,
        value: &Expression,
    ) {
        let (name, value) = (self.scalar(scalar), self.expression(value, "i"));
        let symbol = match operator {
            Reduction::Add => "+",
            Reduction::Xor => "^",
            Reduction::Or => "|",
            Reduction::Max => "max",
            Reduction::Min => "min",
        };
        self.open_loop(Some(owner), 0, &iterations.to_string(), 1, &format!("reduction({symbol} : {name})"));
        match operator {
            Reduction::Max => {
                line!(self, "            U v = {value};\n            {name} = {name} > v ? {name} : v;")
            }
            Reduction::Min => {
                line!(self, "            U v = {value};\n            {name} = {name} < v ? {name} : v;")
            }
            _ => line!(self, "            {name} {symbol}= {value};"),
        }
        line!(self, "        }}");
    }

    fn recurrence(&mut self, array: usize, chain: Chain, value: &Expression) {
        let Array { ty, len, .. } = self.model.arrays[array];
        let (this, before) = (self.element(array, "i"), self.element(array, "i - 1"));
        let sum = format!("(U)(I){this} + (U)(I){before} * 3u + {}", self.expression(value, "i"));
        let statement = format!("{this} = {};", self.stored(ty, &sum));
        let header = format!("for (U i = 1; i < {len}; i++)");
        let phase = self.phase;
        match chain {
            Chain::Single => line!(self, "#pragma omp single\n        {header} {statement}"),
            Chain::Serial => {
                self.close_region();
                line!(self, "    {header} {statement}");
                self.open_region();
            }
            Chain::Ordered(schedule) => line!(
                self,
                "#pragma omp for ordered schedule({schedule})\n        {header} {{\n#pragma omp ordered\n            \
                 {statement}\n        }}"
            ),
            Chain::Pipeline(flush) => {
                let (after, clause) = if flush { ("#pragma omp flush\n", "") } else { ("", " release") };
                line!(self, "#pragma omp for schedule(static, 1)\n        {header} {{");
                line!(self, "            while (i > 1 && !reached(&turn[i - 1], {phase})) sched_yield();");
                self.body += after;
                line!(self, "            {statement}");
                self.body += after;
                line!(self, "#pragma omp atomic write{clause}\n            turn[i] = {phase};\n        }}");
            }
        }
    }

    fn renew(&mut self, array: usize) {
        let (name, Array { ty, len, place }) = (self.name(array), self.model.arrays[array].clone());
        let Place::Heap(offset) = place else { unreachable!("only heap arrays move") };
        let (ty, total) = (c_name(ty), len + u64::from(offset));
        line!(
            self,
            "        {ty} *old{0} = b{name};\n#pragma omp barrier\n#pragma omp single\n        {{",
            self.phase
        );
        line!(self, "            {ty} *fresh = malloc(sizeof({ty}) * {total});");
        line!(self, "            memcpy(fresh + {offset}, {name}, sizeof({ty}) * {len});");
        line!(self, "            b{name} = fresh, {name} = fresh + {offset};\n        }}");
        line!(self, "        if (me == team - 1) free(old{});", self.phase);
        self.barrier();
    }

    fn check(&mut self, array: usize, state: &State) {
        let (seed, phase) = (self.model.seed, self.phase);
        let table = format!("e{seed}_{phase}");
        let values: Vec<String> = state.arrays[array].iter().map(|v| literal(*v)).collect();
        let len = values.len();
        self.globals += &format!("static const I {table}[{len}] = {{{}}};\n", values.join(","));
        let found = self.element(array, "i");
        line!(self, "        for (U i = 0; i < {len}; i++)\n            if ((I){found} != {table}[i]) {{");
        line!(self, "                differs({seed}, {phase}, {array}, (long)i, {table}[i], (I){found});");
        line!(self, "                wrong++;\n            }}");
        self.barrier();
    }
}
