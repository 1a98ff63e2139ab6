//! Programs of kernels as Fortran: types, data and files here; kernels in [`body`], array expressions in [`section`], phases in [`phases`].
//!
//! Windows are passed as assumed-shape, contiguous and explicit-shape arguments, columns of items as sections with strides; the bodies have
//! counted, conditional and concurrent loops, array assignments and `where`.

mod body;
mod phases;
mod section;

use super::program::{Array, Kernel, Opacity, Operand, Part, Passing, Place, Program, Type, WINDOW};
use super::{File, line};
use std::fmt::Write as _;

/// Writes one program.
pub(super) struct Emitter<'a> {
    program: &'a Program,
}

fn name(ty: Type) -> &'static str {
    match ty {
        Type::U8 => "integer(1)",
        Type::I16 => "integer(2)",
        Type::I32 => "integer(4)",
        Type::I64 => "integer(8)",
        Type::F32 => "real(4)",
        Type::F64 => "real(8)",
        Type::Record => "type(rec)",
    }
}

/// The files of a program, in the order in which they have to be compiled.
pub fn files(program: &Program) -> Vec<File> {
    let emitter = Emitter { program };
    let mut texts = vec![emitter.data()];
    let helpers = emitter.helpers();
    let rest = emitter.kernels() + &emitter.run();
    match program.files {
        1 => texts[0] += &(helpers + &rest),
        2 => {
            texts[0] += &helpers;
            texts.push(rest);
        }
        _ => texts.extend([helpers, rest]),
    }
    let name = |number: usize| format!("seed-{}-{number}.f90", program.seed);
    texts.into_iter().enumerate().map(|(number, text)| (name(number), text)).collect()
}

/// The main program of several seeds.
pub fn main_file(seeds: &[u64]) -> File {
    let mut text =
        String::from("program main\n    use omp_lib\n    implicit none\n    character(32) :: word\n");
    text.push_str("    integer :: only\n    only = -1\n    call get_command_argument(1, word)\n");
    text.push_str("    if (len_trim(word) > 0) read (word, *) only\n    call omp_set_max_active_levels(2)\n");
    for seed in seeds {
        line!(text, "    if (only < 0 .or. only == {seed}) then\n        print '(a)', 'seed {seed}'");
        line!(text, "        flush (6)\n        call s{seed}_run()\n    end if");
    }
    text.push_str("end program\n");
    ("main.f90".into(), text)
}

impl Emitter<'_> {
    fn seed(&self) -> u64 {
        self.program.seed
    }

    /// The module of types and arrays.
    fn data(&self) -> String {
        let (program, seed) = (self.program, self.seed());
        let mut text = format!(
            "! Generated: seed {seed}. See tests/README.md.\nmodule s{seed}_data\n    implicit none\n"
        );
        line!(
            text,
            "    integer, parameter :: nw = {}, pitch = {}, last = {}",
            program.items,
            program.pitch,
            WINDOW - 1
        );
        let sequence = if program.packed { "        sequence\n" } else { "" };
        line!(
            text,
            "    type inner\n{sequence}        integer(2) :: h\n        integer(1) :: g(3)\n    end type"
        );
        line!(
            text,
            "    type rec\n{sequence}        real(8) :: x\n        integer(4) :: a\n        integer(1) :: c(0:4)"
        );
        text.push_str("        type(inner) :: n(0:1)\n        integer(8) :: v(0:2)\n        integer(2) :: b\n    end type\n");
        let volatile = if program.opacity == Opacity::Volatile { ", volatile" } else { "" };
        line!(text, "    integer(8){volatile} :: p(0:{})", program.parameters.len());
        text.push_str("    integer(4) :: ixs(0:pitch - 1, 0:nw - 1)\n    integer(8) :: round_, tally = 0, total = 0, turn(0:nw - 1) = 0\n");
        for (number, Array { ty, place }) in program.arrays.iter().enumerate() {
            let ty = name(*ty);
            match place {
                Place::Global => line!(text, "    {ty} :: a{number}(0:pitch - 1, 0:nw - 1)"),
                Place::Heap if number.is_multiple_of(2) => {
                    line!(text, "    {ty}, allocatable :: a{number}(:, :)")
                }
                Place::Heap => line!(text, "    {ty}, pointer :: a{number}(:, :)"),
                Place::Member(before) => {
                    line!(text, "    type m{number}\n        character({before}) :: before");
                    line!(
                        text,
                        "        {ty} :: d(0:pitch - 1, 0:nw - 1)\n    end type\n    type(m{number}) :: a{number}"
                    );
                }
                Place::Rows => {
                    let kind = if number.is_multiple_of(2) { "allocatable" } else { "pointer" };
                    line!(text, "    type r{number}\n        {ty}, {kind} :: d(:)\n    end type");
                    line!(text, "    type(r{number}) :: a{number}(0:nw - 1)");
                }
                Place::Columns => line!(text, "    {ty} :: a{number}(0:nw - 1, 0:last)"),
            }
        }
        line!(text, "end module\n");
        text
    }

    /// Element or section `index` of an item's window.
    fn element(&self, array: usize, item: &str, index: &str) -> String {
        match self.program.arrays[array].place {
            Place::Global | Place::Heap => format!("a{array}({index}, {item})"),
            Place::Member(_) => format!("a{array}%d({index}, {item})"),
            Place::Rows => format!("a{array}({item})%d({index})"),
            Place::Columns => format!("a{array}({item}, {index})"),
        }
    }

    /// Element or section of an operand, in a kernel that gets it as it does.
    fn operand(&self, kernel: &Kernel, operand: Operand, index: &str) -> String {
        let (name, item) = match operand {
            Operand::Target(n) => (format!("d{n}"), "me"),
            Operand::Source(n) => (format!("s{n}"), "other"),
        };
        match kernel.passing {
            Passing::Direct => self.element(kernel.array(operand), item, index),
            _ => format!("{name}({index})"),
        }
    }

    fn part(&self, element: &str, part: Part) -> String {
        match part {
            Part::Whole => element.to_owned(),
            Part::X => format!("{element}%x"),
            Part::A => format!("{element}%a"),
            Part::C(n) => format!("{element}%c({n})"),
            Part::V(n) => format!("{element}%v({n})"),
            Part::Inner(n) => format!("{element}%n({n})%h"),
            Part::Bits => format!("{element}%b"),
        }
    }

    /// What is read of an element.
    fn read(&self, element: &str, part: Part) -> String {
        format!("int({}, 8)", self.part(element, part))
    }

    /// A value as it is stored to a part of an element of `ty`.
    fn stored(&self, part: Part, ty: Type, value: &str) -> String {
        let masked = format!("iand({value}, {}_8)", part.mask(ty));
        match part.of(ty) {
            Type::U8 => format!("int({masked}, 1)"),
            Type::I16 => format!("int({masked}, 2)"),
            Type::I32 => format!("int({masked}, 4)"),
            Type::I64 | Type::Record => masked,
            Type::F32 => format!("real({masked}, 4)"),
            Type::F64 => format!("real({masked}, 8)"),
        }
    }

    fn write(&self, element: &str, part: Part, ty: Type, value: &str) -> String {
        format!("{} = {}", self.part(element, part), self.stored(part, ty, value))
    }
}
