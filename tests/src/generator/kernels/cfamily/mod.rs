//! Programs of kernels as C and C++: declarations, data and files here; kernels in [`body`], phases in [`phases`], what C++ writes in
//! its own way in [`cxx`].

mod body;
mod cxx;
mod phases;

use super::program::{Array, Kernel, Opacity, Operand, Part, Passing, Place, Program, Type, WINDOW};
use super::{File, line};
use crate::program::Language;
use std::fmt::Write as _;

/// Writes one program.
pub(super) struct Emitter<'a> {
    program: &'a Program,
    cxx: bool,
}

fn c_name(ty: Type) -> &'static str {
    match ty {
        Type::U8 => "unsigned char",
        Type::I16 => "short",
        Type::I32 => "int",
        Type::I64 => "long",
        Type::F32 => "float",
        Type::F64 => "double",
        Type::Record => "rec",
    }
}

/// The files of a program. The first has its data and phases.
pub fn files(program: &Program) -> Vec<File> {
    let emitter = Emitter { program, cxx: program.language == Language::Cxx };
    let extension = if emitter.cxx { "cpp" } else { "c" };
    let name = |file: usize| format!("seed-{}-{file}.{extension}", program.seed);
    (0..program.files).map(|file| (name(file), emitter.file(file))).collect()
}

/// The main program of several seeds.
pub fn main_file(seeds: &[u64], language: Language) -> File {
    let mut text = String::from("#include <omp.h>\n#include <stdio.h>\n#include <stdlib.h>\n");
    let cxx = language == Language::Cxx;
    for seed in seeds {
        match cxx {
            true => line!(text, "namespace s{seed} {{ void run(); }}"),
            false => line!(text, "void s{seed}_run(void);"),
        }
    }
    line!(text, "int main(int argc, char **argv) {{\n    long only = argc > 1 ? atol(argv[1]) : -1;");
    line!(text, "    omp_set_max_active_levels(2);");
    for seed in seeds {
        let call = if cxx { format!("s{seed}::run()") } else { format!("s{seed}_run()") };
        line!(text, "    if (only < 0 || only == {seed}) {{\n        printf(\"seed {seed}\\n\");");
        line!(text, "        fflush(stdout);\n        {call};\n    }}");
    }
    text.push_str("    return 0;\n}\n");
    (format!("main.{}", if cxx { "cpp" } else { "c" }), text)
}

impl Emitter<'_> {
    fn several_files(&self) -> bool {
        self.program.files > 1
    }

    fn file(&self, file: usize) -> String {
        let program = self.program;
        let mut text = format!("// Generated: seed {}, file {file}. See tests/README.md.\n", program.seed);
        text.push_str("#include <omp.h>\n#include <sched.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n");
        if self.cxx {
            text.push_str(cxx::INCLUDES);
            line!(text, "namespace s{} {{", program.seed);
            text.push_str(cxx::CLASSES);
        } else {
            self.names(&mut text);
        }
        line!(text, "enum {{ W = {}, PITCH = {}, S = {WINDOW} }};", program.items, program.pitch);
        text.push_str("static inline long mix(long a, long b) { return a * 31 + b; }\n");
        self.record(&mut text);
        self.data(&mut text, file);
        for (number, helper) in program.helpers.iter().enumerate() {
            let head = self.helper_head(number);
            if helper.file == file {
                let linkage = if self.several_files() { "" } else { "static " };
                line!(text, "__attribute__((noinline)) {linkage}{head} {{");
                self.helper_body(&mut text, helper);
                text.push_str("}\n");
            } else {
                line!(text, "{head};");
            }
        }
        for (number, kernel) in program.kernels.iter().enumerate() {
            self.view(&mut text, number, kernel);
            let template = self.is_template(kernel);
            let home = if template { 0 } else { kernel.file };
            if home == file {
                self.kernel(&mut text, number, kernel);
            } else if !template {
                line!(text, "{};", self.kernel_head(number, kernel));
            }
        }
        if file == 0 {
            self.run(&mut text);
        }
        if self.cxx {
            text.push_str("}\n");
        }
        text
    }

    /// Names of a program's own for what its files share.
    fn names(&self, text: &mut String) {
        let program = self.program;
        let of = |prefix: &str, count: usize| (0..count).map(|n| format!("{prefix}{n}")).collect::<Vec<_>>();
        let mut names: Vec<String> =
            ["P", "IX", "round_", "tally", "total", "turn", "run"].map(str::to_owned).into();
        names.extend(of("a", program.arrays.len()));
        names.extend(of("h", program.helpers.len()));
        names.extend(of("k", program.kernels.len()));
        for name in names {
            line!(text, "#define {name} s{}_{name}", program.seed);
        }
    }

    fn record(&self, text: &mut String) {
        let packed = if self.program.packed { " __attribute__((packed))" } else { "" };
        let inner = "short h; unsigned char g[3];";
        let members = "double x; int a; unsigned char c[5]; inner n[2]; long v[3]; unsigned b : 5, e : 11;";
        if self.cxx {
            line!(text, "struct{packed} inner {{ {inner} }};\nstruct{packed} rec {{ {members}");
            text.push_str(cxx::METHODS);
            text.push_str("};\n");
        } else {
            line!(
                text,
                "typedef struct{packed} {{ {inner} }} inner;\ntypedef struct{packed} {{ {members} }} rec;"
            );
        }
    }

    /// Whether a C++ array on the heap is a vector.
    fn is_vector(&self, number: usize) -> bool {
        self.cxx && self.program.arrays[number].place == Place::Heap && number.is_multiple_of(2)
    }

    /// Declares what all files share, or defines it in the first.
    fn data(&self, text: &mut String, file: usize) {
        let linkage = match (self.several_files(), file) {
            (false, _) => "static ",
            (true, 0) => "",
            _ => "extern ",
        };
        let volatile = if self.program.opacity == Opacity::Volatile { "volatile " } else { "" };
        let parameters = self.program.parameters.len().max(1);
        line!(text, "{linkage}{volatile}long P[{parameters}];\n{linkage}unsigned IX[W * PITCH];");
        line!(text, "{linkage}long round_, tally, total, turn[W];");
        for (number, Array { ty, place }) in self.program.arrays.iter().enumerate() {
            let ty = c_name(*ty);
            match place {
                Place::Heap if self.is_vector(number) => line!(text, "{linkage}std::vector<{ty}> a{number};"),
                Place::Rows if self.cxx => line!(text, "{linkage}std::vector<{ty}> a{number}[W];"),
                Place::Global => line!(text, "{linkage}{ty} a{number}[W * PITCH];"),
                Place::Heap => line!(text, "{linkage}{ty} *a{number};"),
                Place::Member(before) => {
                    line!(
                        text,
                        "struct m{number} {{ char before[{before}]; {ty} d[W * PITCH]; long after; }};"
                    );
                    line!(text, "{linkage}struct m{number} a{number};");
                }
                Place::Rows => line!(text, "{linkage}{ty} *a{number}[W];"),
                Place::Columns => line!(text, "{linkage}{ty} a{number}[S * W];"),
            }
        }
    }

    /// Element `index` of an item's window.
    fn element(&self, array: usize, item: &str, index: &str) -> String {
        match self.program.arrays[array].place {
            Place::Global | Place::Heap => format!("a{array}[({item}) * PITCH + {index}]"),
            Place::Member(_) => format!("a{array}.d[({item}) * PITCH + {index}]"),
            Place::Rows => format!("a{array}[{item}][{index}]"),
            Place::Columns => format!("a{array}[({index}) * W + {item}]"),
        }
    }

    /// Element of an operand, in a kernel that gets it as it does.
    fn operand(&self, kernel: &Kernel, operand: Operand, index: &str) -> String {
        let array = kernel.array(operand);
        let (name, item) = match operand {
            Operand::Target(n) => (format!("d{n}"), "me"),
            Operand::Source(n) => (format!("s{n}"), "other"),
        };
        let scaled = match self.program.arrays[array].place {
            Place::Columns => format!("({index}) * W"),
            _ => index.to_owned(),
        };
        match kernel.passing {
            Passing::Pointers(_) => format!("{name}[{scaled}]"),
            Passing::Structure if self.cxx => format!("view.{name}[{scaled}]"),
            Passing::Structure => format!("view->{name}[{scaled}]"),
            Passing::Direct => self.element(array, item, index),
        }
    }

    /// What is read of an element, as a `long`.
    fn read(&self, element: &str, part: Part) -> String {
        match part {
            Part::Bits if self.cxx => format!("{element}.low_bits()"),
            _ => format!("(long){}", self.part(element, part)),
        }
    }

    fn part(&self, element: &str, part: Part) -> String {
        match part {
            Part::Whole => element.to_owned(),
            Part::X => format!("{element}.x"),
            Part::A => format!("{element}.a"),
            Part::C(n) => format!("{element}.c[{n}]"),
            Part::V(n) => format!("{element}.v[{n}]"),
            Part::Inner(n) => format!("{element}.n[{n}].h"),
            Part::Bits => format!("{element}.b"),
        }
    }

    /// The assignment of a value to a part of an element of `ty`.
    fn write(&self, element: &str, part: Part, ty: Type, value: &str) -> String {
        let (name, mask) = (c_name(part.of(ty)), part.mask(ty));
        match part {
            Part::A if self.cxx => format!("{element}.set_a(({value}) & {mask});"),
            Part::Bits => format!("{}.b = (unsigned)(({value}) & {mask});", element),
            _ => format!("{} = ({name})(({value}) & {mask});", self.part(element, part)),
        }
    }
}
