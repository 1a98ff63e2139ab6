//! The shapes as C.
//!
//! A variant runs in batches: the threads go through the fresh variables of a batch's rounds with nothing
//! but the shape's own operations between them, meet, and one thread counts the outcomes and clears the
//! variables. Every few rounds they pass a gate, to stay side by side. The team has all threads of the job; who
//! plays which role, and who only joins the barriers, is drawn anew for every batch: each process is home at times, and
//! any two meet.

use super::shapes::{Order, SHAPES, Shape, Step, VARIABLES, Wait};
use std::fmt::Write as _;

/// Where the variables of a round lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Next to each other and to those of the next round.
    Packed,
    /// Each in 64 bytes of its own, side by side.
    Lines,
    /// A page apart.
    Spread,
    /// The data across the boundary between two pages, hence of lines and blocks of all sizes.
    Straddling,
}

/// All placements.
pub const PLACEMENTS: [Placement; 4] =
    [Placement::Packed, Placement::Lines, Placement::Spread, Placement::Straddling];

/// Those in which a shape is tested: atomic variables do not straddle.
pub fn placements(shape: &Shape) -> impl Iterator<Item = Placement> + use<> {
    let data = shape.has_data();
    PLACEMENTS.into_iter().filter(move |placement| data || *placement != Placement::Straddling)
}

impl Placement {
    /// Bytes from one variable of a round to the next.
    fn stride(self) -> usize {
        match self {
            Self::Packed | Self::Straddling => 8,
            Self::Lines => 64,
            Self::Spread => 4096,
        }
    }
}

const PROLOGUE: &str = r#"// Generated: see tests/README.md. Litmus shapes; the arguments are the number of rounds a variant, and the shapes to run (all).
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64, GATE = 4, REGISTERS = 6, VALUES = 10, OUTCOMES = VALUES * VALUES * VALUES * VALUES * VALUES };

static long out[BATCH][REGISTERS];
static omp_lock_t lock;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static _Atomic long gate;

// A variable is read and written as a word whatever its type is; 256 is 1 modulo 255.
#define READ_SUM(variable, sum) do { unsigned long word; memcpy(&word, &(variable), sizeof word); sum = word % 255; } while (0)
#define WRITE_BYTES(variable, byte) do { unsigned long word = byte * 0x101010101010101; memcpy(&(variable), &word, sizeof word); } while (0)
#define BYTE(variable, number) ((unsigned char *)&(variable))[number]

// Lets the threads start together: a barrier wakes them one after the other.
static void align(long *passed, int threads) {
    *passed += threads;
    atomic_fetch_add(&gate, 1);
    for (int spin = 0; atomic_load(&gate) < *passed; spin++)
        if (spin > 200) sched_yield();
}

static void meet(void) {
#pragma omp barrier
}

// A thread's role in a batch, from a permutation that all draw alike. Roles that the shape does not have are idle.
static int role_of(int thread, int team, long batch) {
    int roles[team];
    for (int i = 0; i < team; i++) roles[i] = i;
    unsigned long state = batch;
    for (int i = team - 1; i > 0; i--) {
        state = (state + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
        int other = (state >> 33) % (i + 1), role = roles[i];
        roles[i] = roles[other];
        roles[other] = role;
    }
    return roles[thread];
}

static int wanted(const char *name, int words, char **word) {
    for (int i = 0; i < words; i++)
        if (strcmp(name, word[i]) == 0) return 1;
    return words == 0;
}

static void show(const char *name, const long *count, int width) {
    for (long code = 0; code < OUTCOMES; code++) {
        if (count[code] == 0) continue;
        printf("%s:", name);
        long rest = code;
        for (int i = 0; i < width; i++, rest /= VALUES) printf(" %ld", rest % VALUES);
        printf(" = %ld\n", count[code]);
    }
    fflush(stdout);
}

"#;

/// Name of a variant.
pub fn name(shape: &Shape, order: Order, placement: Placement) -> String {
    format!("{}_{order:?}_{placement:?}", shape.name)
}

/// The program of these memory orders.
pub fn source(orders: &'static [Order]) -> String {
    let mut text = String::from(PROLOGUE);
    for kind in [Kind::C11, Kind::Omp, Kind::Plain, Kind::Volatile] {
        for placement in PLACEMENTS {
            variables(&mut text, kind, placement);
        }
    }
    let mut calls = String::new();
    for shape in SHAPES {
        let _ = writeln!(calls, "    if (wanted(\"{}\", argc - 2, argv + 2)) {{", shape.name);
        for order in shape.orders(orders) {
            for placement in placements(shape) {
                variant(&mut text, shape, order, placement);
                let _ = writeln!(calls, "        run_{}(rounds);", name(shape, order, placement));
            }
        }
        calls.push_str("    }\n");
    }
    let _ = write!(
        text,
        "int main(int argc, char **argv) {{\n    long rounds = argc > 1 ? atol(argv[1]) : 1000;\n    \
         omp_init_lock(&lock);\n{calls}    return 0;\n}}\n"
    );
    text
}

/// The variable that may straddle.
const DATA: &str = "d";

/// A variable of round `i`.
fn member(array: &str, variable: usize) -> String {
    // The name of the array ends with that of the placement.
    let value = if VARIABLES[variable] == DATA && array.ends_with("straddling") { ".value" } else { "" };
    format!("{array}[i].{}{value}", VARIABLES[variable])
}

/// How variables are declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `_Atomic`.
    C11,
    /// Plain; OpenMP's directives make the accesses atomic.
    Omp,
    /// Plain, the third of another type.
    Plain,
    /// The first two volatile.
    Volatile,
}

impl Kind {
    fn of(order: Order) -> Self {
        match order {
            Order::SeqCst | Order::AcqRel | Order::Fenced | Order::Relaxed => Self::C11,
            Order::OmpSeqCst | Order::OmpAcqRel | Order::Flushed => Self::Omp,
            Order::Plain => Self::Plain,
            Order::Volatile => Self::Volatile,
        }
    }

    fn array(self, placement: Placement) -> String {
        format!("{self:?}_{placement:?}").to_lowercase()
    }
}

/// The array of a batch's variables.
fn variables(text: &mut String, kind: Kind, placement: Placement) {
    let types = match kind {
        Kind::C11 => ["_Atomic long", "_Atomic long", "long"],
        Kind::Omp => ["long"; 3],
        Kind::Plain => ["long", "long", "double"],
        Kind::Volatile => ["volatile long", "volatile long", "long"],
    };
    text.push_str("static struct {");
    for (kind, name) in types.into_iter().zip(VARIABLES) {
        if placement == Placement::Straddling && name == DATA {
            let _ = write!(
                text,
                " _Alignas(4096) struct __attribute__((packed)) {{ char before[4092]; {kind} value; }} {name};"
            );
        } else {
            let _ = write!(text, " _Alignas({}) {kind} {name};", placement.stride());
        }
    }
    let _ = writeln!(text, " }} {}[BATCH];", kind.array(placement));
}

fn variant(text: &mut String, shape: &Shape, order: Order, placement: Placement) {
    let (name, threads, width) =
        (name(shape, order, placement), shape.threads.len(), shape.registers + shape.finals.len());
    let array = &Kind::of(order).array(placement);
    let _ = write!(
        text,
        "static void run_{name}(long rounds) {{\n    long *count = calloc(OUTCOMES, sizeof *count), passed = 0;\n    \
         int team = omp_get_max_threads() > {threads} ? omp_get_max_threads() : {threads};\n    \
         gate = 0;\n#pragma omp parallel num_threads(team) firstprivate(passed, team)\n    \
         for (long batch = 0; batch * BATCH < rounds; batch++) {{\n        \
         int role = role_of(omp_get_thread_num(), team, batch);\n        \
         if (role >= {threads}) passed += BATCH / GATE * {threads};\n        \
         for (int i = 0; i < BATCH; i++) {{\n            \
         if (role < {threads} && i % GATE == 0) align(&passed, {threads});\n            \
         long r[REGISTERS] = {{0}};\n            switch (role) {{\n"
    );
    for (role, steps) in shape.threads.iter().enumerate() {
        let _ = writeln!(text, "            case {role}:");
        for (number, step) in steps.iter().enumerate() {
            if number > 0 {
                text.push_str(match order {
                    Order::Fenced => "                atomic_thread_fence(memory_order_seq_cst);\n",
                    Order::Flushed => "#pragma omp flush\n",
                    _ => "",
                });
            }
            emit_step(text, *step, order, array);
        }
        for step in *steps {
            let (Step::Load(r, _)
            | Step::FetchAdd(r, _)
            | Step::Read(r, _)
            | Step::ReadIf(r, _, _)
            | Step::ReadByte(r, ..)
            | Step::ReadSum(r, ..)
            | Step::Obtain(_, r, ..)
            | Step::Increment(r, _)) = step
            else {
                continue;
            };
            let _ = writeln!(text, "                out[i][{r}] = r[{r}];");
        }
        text.push_str("                break;\n");
    }
    text.push_str("            default:;\n");
    for _ in 0..shape.barriers() {
        text.push_str("                meet();\n");
    }
    let _ = write!(
        text,
        "            }}\n        }}\n#pragma omp barrier\n        if (role == 0) {{\n            \
         for (int i = 0; i < BATCH; i++) {{\n"
    );
    for (k, variable) in shape.finals.iter().enumerate() {
        let _ =
            writeln!(text, "                out[i][{}] = {};", shape.registers + k, member(array, *variable));
    }
    let _ = write!(
        text,
        "                long code = 0;\n                \
         for (int k = {width} - 1; k >= 0; k--) code = code * VALUES + out[i][k];\n                count[code]++;\n                \
         {array}[i].x = {array}[i].y = {data} = 0;\n            }}\n        }}\n#pragma omp barrier\n    }}\n    \
         show(\"{name}\", count, {width});\n    free(count);\n}}\n\n",
        data = member(array, VARIABLES.len() - 1)
    );
}

fn emit_step(text: &mut String, step: Step, order: Order, array: &str) {
    let at = |v: usize| member(array, v);
    let only_if = |condition: Option<usize>| condition.map_or(String::new(), |c| format!("if (r[{c}]) "));
    let pad = "                ";
    let line = match step {
        Step::Store(v, value) => store(&at(v), value, order),
        Step::Load(r, v) => load(&format!("r[{r}]"), &at(v), order),
        Step::StoreIf(r, v, value) => {
            format!("{pad}if (r[{r}]) {{\n{}{pad}}}\n", store(&at(v), value, order))
        }
        Step::Await(v, value) if order == Order::Plain => format!(
            "{pad}while ({} != {value}) {{\n#pragma omp flush\n{pad}    sched_yield();\n{pad}}}\n",
            at(v)
        ),
        Step::Await(v, value) => format!(
            "{pad}for (long seen = -1; seen != {value};) {{\n{}{pad}if (seen != {value}) sched_yield();\n{pad}}}\n",
            load("seen", &at(v), order)
        ),
        Step::FetchAdd(r, v) => fetch_add(&format!("r[{r}]"), &at(v), order),
        Step::Write(v, value) => format!("{pad}{} = {value};\n", at(v)),
        Step::Read(r, v) => format!("{pad}r[{r}] = {};\n", at(v)),
        Step::ReadIf(r, condition, v) => format!("{pad}if (r[{condition}]) r[{r}] = {};\n", at(v)),
        Step::Increment(r, v) => format!(
            "{pad}omp_set_lock(&lock);\n{pad}r[{r}] = {0};\n{pad}{0} = r[{r}] + 1;\n{pad}omp_unset_lock(&lock);\n",
            at(v)
        ),
        Step::WriteByte(v, byte, value) => format!("{pad}BYTE({}, {byte}) = {value};\n", at(v)),
        Step::WriteBytes(v, value) => format!("{pad}WRITE_BYTES({}, {value});\n", at(v)),
        Step::ReadByte(r, c, v, byte) => format!("{pad}{}r[{r}] = BYTE({}, {byte});\n", only_if(c), at(v)),
        Step::ReadSum(r, c, v) => format!("{pad}{}READ_SUM({}, r[{r}]);\n", only_if(c), at(v)),
        Step::Announce(Wait::Lock, v, value, flag) => format!(
            "{pad}omp_set_lock(&lock);\n{pad}{} = {value};\n{pad}{} = 1;\n{pad}omp_unset_lock(&lock);\n",
            at(v),
            at(flag)
        ),
        Step::Obtain(Wait::Lock, r, v, flag) => format!(
            "{pad}for (int set = 0; !set;) {{\n{pad}    omp_set_lock(&lock);\n{pad}    set = {} != 0;\n\
             {pad}    if (set) r[{r}] = {};\n{pad}    omp_unset_lock(&lock);\n{pad}    if (!set) sched_yield();\n{pad}}}\n",
            at(flag),
            at(v)
        ),
        Step::Announce(Wait::Condition, v, value, flag) => format!(
            "{pad}pthread_mutex_lock(&mutex);\n{pad}{} = {value};\n{pad}{} = 1;\n\
             {pad}pthread_cond_broadcast(&condition);\n{pad}pthread_mutex_unlock(&mutex);\n",
            at(v),
            at(flag)
        ),
        Step::Obtain(Wait::Condition, r, v, flag) => format!(
            "{pad}pthread_mutex_lock(&mutex);\n{pad}while (!{}) pthread_cond_wait(&condition, &mutex);\n\
             {pad}r[{r}] = {};\n{pad}pthread_mutex_unlock(&mutex);\n",
            at(flag),
            at(v)
        ),
        Step::Barrier => format!("{pad}meet();\n"),
    };
    text.push_str(&line);
}

fn store(target: &str, value: i64, order: Order) -> String {
    let c11 =
        |o: &str| format!("                atomic_store_explicit(&{target}, {value}, memory_order_{o});\n");
    let omp = |o: &str| format!("#pragma omp atomic write {o}\n                {target} = {value};\n");
    match order {
        Order::SeqCst => c11("seq_cst"),
        Order::AcqRel => c11("release"),
        Order::Fenced | Order::Relaxed => c11("relaxed"),
        Order::OmpSeqCst => omp("seq_cst"),
        Order::OmpAcqRel => omp("release"),
        Order::Flushed => omp("relaxed"),
        Order::Volatile => format!("                {target} = {value};\n"),
        Order::Plain => format!("                {target} = {value};\n#pragma omp flush\n"),
    }
}

fn load(into: &str, source: &str, order: Order) -> String {
    let c11 =
        |o: &str| format!("                {into} = atomic_load_explicit(&{source}, memory_order_{o});\n");
    let omp = |o: &str| format!("#pragma omp atomic read {o}\n                {into} = {source};\n");
    match order {
        Order::SeqCst => c11("seq_cst"),
        Order::AcqRel => c11("acquire"),
        Order::Fenced | Order::Relaxed => c11("relaxed"),
        Order::OmpSeqCst => omp("seq_cst"),
        Order::OmpAcqRel => omp("acquire"),
        Order::Flushed => omp("relaxed"),
        Order::Plain | Order::Volatile => format!("                {into} = {source};\n"),
    }
}

fn fetch_add(into: &str, target: &str, order: Order) -> String {
    let c11 = |o: &str| {
        format!("                {into} = atomic_fetch_add_explicit(&{target}, 1, memory_order_{o});\n")
    };
    let omp = |o: &str| format!("#pragma omp atomic capture {o}\n                {into} = {target}++;\n");
    match order {
        Order::SeqCst => c11("seq_cst"),
        Order::AcqRel => c11("acq_rel"),
        Order::Fenced | Order::Relaxed => c11("relaxed"),
        Order::OmpSeqCst => omp("seq_cst"),
        Order::OmpAcqRel => omp("acq_rel"),
        Order::Flushed => omp("relaxed"),
        Order::Volatile => {
            format!("                {into} = __atomic_fetch_add(&{target}, 1, __ATOMIC_RELAXED);\n")
        }
        Order::Plain => unreachable!("shapes that spin have no read-modify-write"),
    }
}
