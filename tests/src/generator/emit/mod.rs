//! Writing a program as C: names, declarations and first contents here, phases in `phases`.

mod phases;

use super::Fault;
use super::model::{Expression, FLOAT_MASK, Index, Model, Place, State, Term, Type};
use std::fmt::Write as _;

/// What all functions of a generated file share.
pub const PROLOGUE: &str = r#"// Generated: see tests/README.md. Each function is one random program with its expected results.
#include <omp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t U;
typedef int64_t I;

static omp_lock_t lock[7];
static omp_nest_lock_t nest;
static int turn[2048];

static int report(long seed, int wrong) {
    if (wrong) printf("seed %ld failed\n", seed);
    else printf("seed %ld ok\n", seed);
    fflush(stdout);
    return wrong;
}

// Says the first few wrong elements in this process; the caller counts all.
static void differs(int seed, int phase, int array, long index, I expected, I found) {
    static _Thread_local int said, last = -1;
    if (last != seed) said = 0, last = seed;
    if (said++ < 3) {
        printf("seed %d phase %d array %d index %ld: expected %ld found %ld (thread %d of %d)\n", seed, phase, array,
               index, (long)expected, (long)found, omp_get_thread_num(), omp_get_num_threads());
        fflush(stdout);
    }
}

static int reached(int *flag, int value) {
    int seen;
#pragma omp atomic read acquire
    seen = *flag;
    return seen == value;
}

"#;

fn c_name(ty: Type) -> &'static str {
    match ty {
        Type::I8 => "int8_t",
        Type::U8 => "uint8_t",
        Type::I16 => "int16_t",
        Type::U16 => "uint16_t",
        Type::I32 => "int32_t",
        Type::U32 => "uint32_t",
        Type::I64 => "int64_t",
        Type::U64 => "uint64_t",
        Type::F32 => "float",
        Type::F64 => "double",
    }
}

struct Emitter<'a> {
    model: &'a Model,
    fault: Fault,
    /// Declarations before the function.
    globals: String,
    body: String,
    /// Number of the phase being written.
    phase: usize,
    /// Whether the fault has been put in.
    faulted: bool,
}

/// The function `seed_<n>` of a program and what it needs; it returns the number of wrong elements.
pub fn function(model: &Model, fault: Fault) -> String {
    let (globals, body) = (String::new(), String::new());
    let mut emitter = Emitter { model, fault, globals, body, phase: 0, faulted: false };
    emitter.declare();
    emitter.open_region();
    let mut state = State::new(model);
    for (number, phase) in model.phases.iter().enumerate() {
        emitter.phase = number;
        emitter.phase(phase, &state);
        state.apply(model, phase);
    }
    emitter.close_region();
    emitter.release();
    let seed = model.seed;
    format!("{}static int seed_{seed}(void) {{\n{}    return wrong;\n}}\n\n", emitter.globals, emitter.body)
}

/// Writes a line of the function's body.
macro_rules! line {
    ($emitter:expr, $($format:tt)*) => {{
        let _ = writeln!($emitter.body, $($format)*);
    }};
}
use line;

impl Emitter<'_> {
    fn name(&self, array: usize) -> String {
        format!("a{}_{array}", self.model.seed)
    }

    /// Element `i` of an array as a C lvalue.
    fn element(&self, array: usize, i: &str) -> String {
        let seed = self.model.seed;
        match self.model.arrays[array].place {
            Place::Global | Place::Heap(_) | Place::Stack => format!("{}[{i}]", self.name(array)),
            Place::GlobalField(record) | Place::HeapField(record) => {
                format!("r{seed}_{record}[{i}].m{array}")
            }
            Place::Rows(row) => format!("{}[({i}) / {row}][({i}) % {row}]", self.name(array)),
        }
    }

    fn indexed(&self, array: usize, index: Index, i: &str) -> String {
        let Index { scale, shift } = index;
        self.element(array, &format!("({i} * {scale} + {shift}) % {}", self.model.arrays[array].len))
    }

    fn expression(&self, expression: &Expression, i: &str) -> String {
        let term = |term: &Term| match *term {
            Term::Iteration(factor) => format!("{i} * {factor}u"),
            Term::Constant(value) => format!("{value}u"),
            Term::Element(array, index, factor) => {
                format!("(U)(I){} * {factor}u", self.indexed(array, index, i))
            }
            Term::Scalar(scalar, factor) => format!("{} * {factor}u", self.scalar(scalar)),
            Term::Pointed(Index { scale, shift }, factor) => {
                let at = format!("({i} * {scale} + {shift}) % {}", self.model.pointers);
                format!("pointed{}({at}) * {factor}u", self.model.seed)
            }
        };
        expression.iter().map(term).collect::<Vec<_>>().join(" + ")
    }

    fn scalar(&self, scalar: usize) -> String {
        if scalar.is_multiple_of(2) { format!("s{}_{scalar}", self.model.seed) } else { format!("s{scalar}") }
    }

    fn stored(&self, ty: Type, value: &str) -> String {
        let name = c_name(ty);
        if ty.is_float() {
            format!("({name})(({value}) & {FLOAT_MASK}u)")
        } else {
            format!("({name})({value})")
        }
    }

    fn declare(&mut self) {
        let seed = self.model.seed;
        let mut records: Vec<(Place, Vec<usize>, u64)> = Vec::new();
        line!(self, "    int wrong = 0;");
        for (number, array) in self.model.arrays.iter().enumerate() {
            let (ty, name, len) = (c_name(array.ty), self.name(number), array.len);
            match array.place {
                Place::Global => self.globals += &format!("static {ty} {name}[{len}];\n"),
                Place::Heap(_) => self.globals += &format!("static {ty} *{name}, *b{name};\n"),
                Place::Rows(row) => self.globals += &format!("static {ty} *{name}[{}];\n", rows(len, row)),
                Place::Stack => line!(self, "    {ty} {name}[{len}];"),
                Place::GlobalField(_) | Place::HeapField(_) => match records.last_mut() {
                    Some((place, members, _)) if *place == array.place => members.push(number),
                    _ => records.push((array.place, vec![number], len)),
                },
            }
        }
        for (place, members, len) in records {
            let fields: String =
                members.iter().map(|m| format!(" {} m{m};", c_name(self.model.arrays[*m].ty))).collect();
            match place {
                Place::GlobalField(r) => {
                    self.globals += &format!("static struct {{{fields} }} r{seed}_{r}[{len}];\n")
                }
                Place::HeapField(r) => {
                    self.globals += &format!("static struct {{{fields} }} *r{seed}_{r};\n");
                    line!(self, "    r{seed}_{r} = malloc(sizeof *r{seed}_{r} * {len});");
                }
                _ => unreachable!("only members are collected"),
            }
        }
        self.declare_scalars_and_pointers();
        self.fill();
    }

    fn declare_scalars_and_pointers(&mut self) {
        let seed = self.model.seed;
        for scalar in 0..self.model.scalars {
            let name = self.scalar(scalar);
            if scalar.is_multiple_of(2) {
                self.globals += &format!("static U {name};\n");
                line!(self, "    {name} = {scalar};");
            } else {
                line!(self, "    U {name} = {scalar};");
            }
        }
        // The table's type changes with the array it points into.
        self.globals += &format!("static void *p{seed}[{}];\nstatic int k{seed};\n", self.model.pointers);
        self.globals += &format!("static U pointed{seed}(U i) {{\n    switch (k{seed}) {{\n");
        for (number, array) in self.model.arrays.iter().enumerate() {
            let read = format!("(U)(I)*({} *)p{seed}[i]", c_name(array.ty));
            self.globals += &format!("    case {number}: return {read};\n");
        }
        self.globals += "    default: abort();\n    }\n}\n";
        line!(
            self,
            "    for (int i = 0; i < 7; i++) omp_init_lock(&lock[i]);\n    omp_init_nest_lock(&nest);"
        );
        line!(self, "    memset(turn, 0xff, sizeof turn);");
    }

    /// Allocation and first contents, in parallel: whoever allocates is not who writes next.
    fn fill(&mut self) {
        let seed = self.model.seed;
        for (number, array) in self.model.arrays.iter().enumerate() {
            let (ty, name, len) = (c_name(array.ty), self.name(number), array.len);
            match array.place {
                Place::Heap(offset) => {
                    let total = len + u64::from(offset);
                    line!(self, "    b{name} = malloc(sizeof({ty}) * {total}), {name} = b{name} + {offset};");
                }
                Place::Rows(row) => {
                    line!(self, "#pragma omp parallel for schedule(static, 1)");
                    let count = rows(len, row);
                    line!(
                        self,
                        "    for (int i = 0; i < {count}; i++) {name}[i] = malloc(sizeof({ty}) * {row});"
                    );
                }
                _ => {}
            }
            let schedule = ["static", "static, 1", "dynamic, 9"][number % 3];
            line!(self, "#pragma omp parallel for schedule({schedule})");
            let value = self.stored(array.ty, &format!("i * 3u + {number}u"));
            line!(self, "    for (U i = 0; i < {len}; i++) {} = {value};", self.element(number, "i"));
        }
        let first = self.element(0, "i");
        line!(
            self,
            "    k{seed} = 0;\n    for (U i = 0; i < {}; i++) p{seed}[i] = &{first};",
            self.model.pointers
        );
    }

    fn release(&mut self) {
        let seed = self.model.seed;
        let mut freed: Vec<Place> = Vec::new();
        for (number, array) in self.model.arrays.iter().enumerate() {
            let name = self.name(number);
            match array.place {
                Place::Heap(_) => line!(self, "    free(b{name});"),
                Place::Rows(row) => {
                    line!(self, "#pragma omp parallel for schedule(static, 2)");
                    line!(self, "    for (int i = 0; i < {}; i++) free({name}[i]);", rows(array.len, row));
                }
                Place::HeapField(r) if !freed.contains(&array.place) => {
                    freed.push(array.place);
                    line!(self, "    free(r{seed}_{r});");
                }
                _ => {}
            }
        }
        line!(
            self,
            "    for (int i = 0; i < 7; i++) omp_destroy_lock(&lock[i]);\n    omp_destroy_nest_lock(&nest);"
        );
    }
}

fn rows(len: u64, row: u32) -> u64 {
    len.div_ceil(u64::from(row))
}

fn literal(value: i64) -> String {
    if value == i64::MIN { "INT64_MIN".into() } else { value.to_string() }
}
