//! First contents, phases and hashes as C and C++.

use super::super::line;
use super::super::program::{Array, Distribution, Kernel, Passing, Phase, Place, Type};
use super::{Emitter, c_name};
use std::fmt::Write as _;

impl Emitter<'_> {
    /// The function that runs the program.
    pub(super) fn run(&self, text: &mut String) {
        let program = self.program;
        self.hash(text);
        line!(text, "void run({}) {{", if self.cxx { "" } else { "void" });
        for (number, array) in program.arrays.iter().enumerate() {
            self.allocate(text, number, *array);
        }
        for (number, value) in program.parameters.iter().enumerate() {
            line!(text, "    P[{number}] = {value};");
        }
        text.push_str("#pragma omp parallel for schedule(static, 5)\n");
        text.push_str("    for (int i = 0; i < W * PITCH; i++) IX[i] = 2 * i;\n");
        text.push_str("#pragma omp parallel for\n");
        text.push_str("    for (int i = 0; i < W * PITCH; i++) IX[i] = (i * 7919 + 13) % 100003;\n");
        for (number, array) in program.arrays.iter().enumerate() {
            self.first_contents(text, number, *array);
        }
        let rounds = program.rounds;
        if program.one_region {
            text.push_str("#pragma omp parallel\n    {\n    int team = omp_get_num_threads(), me = omp_get_thread_num();\n");
            text.push_str("    (void)team, (void)me;\n");
            line!(
                text,
                "    for (long rnd = 0; rnd < {rounds}; rnd++) {{\n    long current = -1;\n#pragma omp single copyprivate(current)\n    round_ = current = rnd;"
            );
            text.push_str("    if (current != rnd) printf(\"round %ld is %ld\\n\", rnd, current);\n");
        } else {
            line!(text, "    for (long rnd = 0; rnd < {rounds}; rnd++) {{\n    round_ = rnd;");
        }
        for (number, phase) in program.phases.iter().enumerate() {
            if !program.one_region {
                text.push_str("#pragma omp parallel\n    {\n    int team = omp_get_num_threads(), me = omp_get_thread_num();\n");
                text.push_str("    (void)team, (void)me;\n");
            }
            line!(text, "    // phase {number}");
            self.phase(text, number, *phase);
            if !program.one_region {
                text.push_str("    }\n");
            }
        }
        let who = if program.one_region { "if (rnd % team == me) " } else { "" };
        line!(text, "    {who}printf(\"round %ld: %ld %ld %ld\\n\", rnd, hash(), total, tally);");
        if program.one_region {
            text.push_str("#pragma omp barrier\n    }\n    }\n");
        } else {
            text.push_str("    }\n");
        }
        for (number, array) in program.arrays.iter().enumerate() {
            match array.place {
                Place::Heap if !self.is_vector(number) => {
                    line!(
                        text,
                        "    {}a{number}{};",
                        if self.cxx { "delete[] " } else { "free(" },
                        if self.cxx { "" } else { ")" }
                    );
                }
                Place::Rows if !self.cxx => {
                    line!(
                        text,
                        "#pragma omp parallel for schedule(static, 1)\n    for (int w = 0; w < W; w++) free(a{number}[w]);"
                    );
                }
                _ => {}
            }
        }
        text.push_str("    fflush(stdout);\n}\n");
    }

    fn allocate(&self, text: &mut String, number: usize, Array { ty, place }: Array) {
        let ty = c_name(ty);
        match place {
            Place::Heap if self.is_vector(number) => line!(text, "    a{number}.resize(W * PITCH);"),
            Place::Heap if self.cxx => line!(text, "    a{number} = new {ty}[W * PITCH]();"),
            Place::Heap => line!(text, "    a{number} = ({ty} *)calloc(W * PITCH, sizeof *a{number});"),
            Place::Rows => {
                text.push_str("#pragma omp parallel for schedule(static, 1)\n");
                match self.cxx {
                    true => line!(
                        text,
                        "    for (int w = 0; w < W; w++) a{number}[w].assign(S, {}());",
                        ty.replace("unsigned char", "byte")
                    ),
                    false => line!(
                        text,
                        "    for (int w = 0; w < W; w++) a{number}[w] = ({ty} *)calloc(S, sizeof({ty}));"
                    ),
                }
            }
            _ => {}
        }
    }

    fn first_contents(&self, text: &mut String, number: usize, Array { ty, .. }: Array) {
        let element = self.element(number, "w", "i");
        if number % 2 == 1 {
            let schedule = if number % 4 == 1 { "" } else { " schedule(static, 7)" };
            line!(text, "#pragma omp parallel for collapse(2){schedule}");
        }
        text.push_str("    for (int w = 0; w < W; w++) for (int i = 0; i < S; i++)");
        if ty == Type::Record {
            line!(text, " {{\n        rec *r = &{element};\n        r->x = i, r->a = w * i, r->b = i & 31;");
            text.push_str("        for (int q = 0; q < 5; q++) r->c[q] = (q + i) & 0x7f;\n");
            text.push_str("        for (int q = 0; q < 2; q++) r->n[q].h = q + w;\n");
            text.push_str("        for (int q = 0; q < 3; q++) r->v[q] = i * q;\n    }\n");
        } else {
            line!(text, " {element} = ({})((i * 7 + w * 13 + {number}) & 0x7f);", c_name(ty));
        }
    }

    fn hash(&self, text: &mut String) {
        let first = if self.cxx { "seeds::get().first" } else { "0" };
        line!(text, "static long hash(void) {{\n    long h = {first};");
        for (number, array) in self.program.arrays.iter().enumerate() {
            let element = self.element(number, "w", "i");
            if array.ty != Type::Record && number % 2 == 1 {
                // The same as below, by bytes.
                let (ty, first) = (c_name(array.ty), self.element(number, "w", "0"));
                line!(text, "    for (int w = 0; w < W; w++) {{\n        const {ty} *p = &{first};");
                line!(
                    text,
                    "        for (int i = 0; i < S; i++, p = (const {ty} *)((unsigned long)p + sizeof *p))"
                );
                line!(text, "            h = mix(h, (long)*p) % 2147483647;\n    }}");
                continue;
            }
            text.push_str("    for (int w = 0; w < W; w++) for (int i = 0; i < S; i++)");
            if array.ty == Type::Record {
                line!(text, " {{\n        const rec *r = &{element};");
                text.push_str("        h = mix(h, (long)r->x + r->a + r->c[i % 5] + r->v[i % 3] + r->n[i % 2].h + r->b) % 2147483647;\n    }\n");
            } else {
                line!(text, " h = mix(h, (long){element}) % 2147483647;");
            }
        }
        text.push_str("    return h;\n}\n");
    }

    /// The first element of an operand's window, as an argument.
    fn window(&self, array: usize, item: &str, kernel: &Kernel) -> String {
        let pointer = format!("&{}", self.element(array, item, "0"));
        if self.is_template(kernel) { self.template_argument(array, item, &pointer) } else { pointer }
    }

    /// Calls a kernel for item `w`; its result goes to `into`.
    fn call(&self, number: usize, shift: i64, into: &str) -> String {
        let kernel = &self.program.kernels[number];
        let targets = kernel.targets.iter().map(|a| self.window(*a, "w", kernel));
        let sources = kernel.sources.iter().map(|a| self.window(*a, "v", kernel));
        let operands = targets.chain(sources).collect::<Vec<_>>().join(", ");
        let mut text = format!("long v = (w + {shift}) % W; (void)v; ");
        let rest = "IX + w * PITCH, IX + v * PITCH, w, v";
        let call = match kernel.passing {
            Passing::Pointers(_) => format!("k{number}({operands}, {rest})"),
            Passing::Structure if self.cxx => format!("k{number}(view{number}{{{operands}}}, {rest})"),
            Passing::Structure => {
                let _ = write!(text, "struct view{number} view = {{{operands}}}; ");
                format!("k{number}(&view, {rest})")
            }
            Passing::Direct => format!("k{number}({rest})"),
        };
        let _ = match into {
            "" => write!(text, "total += {call};"),
            name => write!(text, "long {name} = {call};"),
        };
        text
    }

    fn phase(&self, text: &mut String, number: usize, phase: Phase) {
        let order = ["", " seq_cst"][number % 2];
        let added = format!(
            "{{ {}\n#pragma omp atomic{order}\n        total += r; }}",
            self.call(phase.kernel, phase.shift, "r")
        );
        let plain = format!("{{ {} }}", self.call(phase.kernel, phase.shift, ""));
        let all = "for (long w = 0; w < W; w++)";
        match phase.distribution {
            Distribution::ByHand => {
                line!(text, "    {all} if ((w + {number} + rnd) % team == me) {added}\n#pragma omp barrier");
            }
            Distribution::For(schedule, true) => {
                line!(text, "#pragma omp for schedule({schedule}) reduction(+ : total)\n    {all} {plain}");
            }
            Distribution::For(schedule, false) => {
                line!(text, "#pragma omp for schedule({schedule})\n    {all} {added}");
            }
            Distribution::Collapse => {
                text.push_str("#pragma omp for collapse(2) schedule(dynamic)\n");
                line!(text, "    for (long h = 0; h < 2; h++) {all} if (w % 2 == h) {added}");
            }
            Distribution::Single => line!(text, "#pragma omp single\n    {all} {plain}"),
            Distribution::Masked => line!(text, "#pragma omp masked\n    {all} {plain}\n#pragma omp barrier"),
            Distribution::Sections => {
                text.push_str("#pragma omp sections\n    {\n");
                for part in 0..3 {
                    line!(text, "#pragma omp section\n    for (long w = {part}; w < W; w += 3) {added}");
                }
                text.push_str("    }\n");
            }
            Distribution::Tasks => {
                let clauses = ["", " untied", " if(w % 3 != 1)", " priority(2) mergeable"][number % 4];
                line!(
                    text,
                    "#pragma omp single\n    {all} {{\n#pragma omp task firstprivate(w){clauses}\n    {added}\n    }}"
                );
            }
            Distribution::Taskloop(clause) => {
                line!(
                    text,
                    "#pragma omp single\n    {{\n#pragma omp taskloop {clause}\n    {all} {added}\n    }}"
                );
            }
            Distribution::Chain(next) => {
                let second = format!(
                    "{{ {}\n#pragma omp atomic\n        total += r; }}",
                    self.call(next, phase.shift, "r")
                );
                text.push_str(
                    "#pragma omp single\n    {\n    char token[W], other[W]; (void)token, (void)other;\n",
                );
                line!(
                    text,
                    "    {all} {{\n#pragma omp task firstprivate(w) depend(out : token[w])\n    {added}\n    }}"
                );
                line!(text, "    {all} {{\n    long from = (w + {}) % W;", phase.shift);
                line!(
                    text,
                    "#pragma omp task firstprivate(w) depend(in : token[from], token[w]) depend(inout : other[w])"
                );
                line!(text, "    {second}\n    }}\n#pragma omp taskwait\n    }}");
            }
            Distribution::InOrder => {
                // The sum depends on the order.
                let call = self.call(phase.kernel, phase.shift, "r");
                line!(text, "    {all} if (w % team == me) {{\n    long stamp = rnd * 100 + {number} + 1;");
                text.push_str("    while (w > 0 && turn[w - 1] != stamp) {\n#pragma omp flush\n    sched_yield();\n    }\n#pragma omp flush\n");
                line!(text, "    {{ {call} total = (total * 31 + r) % 2147483647; }}");
                text.push_str("#pragma omp flush\n    turn[w] = stamp;\n#pragma omp flush\n    }\n#pragma omp barrier\n");
            }
            Distribution::Nested => {
                text.push_str("#pragma omp for schedule(static, 1)\n    for (long h = 0; h < 3; h++) {\n");
                let schedule = ["static", "dynamic", "static, 1"][number % 3];
                line!(text, "#pragma omp parallel for num_threads({}) schedule({schedule})", 2 + number % 2);
                line!(text, "    for (long w = h * W / 3; w < (h + 1) * W / 3; w++) {added}\n    }}");
            }
        }
    }
}
