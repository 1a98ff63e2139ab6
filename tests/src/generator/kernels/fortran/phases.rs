//! First contents, phases and hashes as Fortran.

use super::super::line;
use super::super::program::{Array, Distribution, Kernel, Passing, Phase, Place, Type};
use super::Emitter;
use std::fmt::Write as _;

impl Emitter<'_> {
    /// The subroutine that runs the program.
    pub(super) fn run(&self) -> String {
        let (program, seed) = (self.program, self.seed());
        let mut text = format!(
            "subroutine s{seed}_run()\n    use omp_lib\n    use s{seed}_data\n    use s{seed}_kernels\n"
        );
        text.push_str("    implicit none\n    integer(8) :: rnd, w, v, r, h, from, i, team, me\n");
        text.push_str("    integer :: token(0:nw - 1), other(0:nw - 1), ignored\n    interface\n");
        text.push_str(
            "        integer(4) function sched_yield() bind(c)\n        end function\n    end interface\n",
        );
        for (number, array) in program.arrays.iter().enumerate() {
            self.allocate(&mut text, number, *array);
        }
        for (number, value) in program.parameters.iter().enumerate() {
            line!(text, "    p({number}) = {value}");
        }
        text.push_str(
            "    !$omp parallel do collapse(2)\n    do w = 0, nw - 1\n        do i = 0, pitch - 1\n",
        );
        text.push_str("            ixs(i, w) = int(mod((w * pitch + i) * 7919 + 13, 100003_8), 4)\n        end do\n    end do\n");
        for (number, array) in program.arrays.iter().enumerate() {
            self.first_contents(&mut text, number, array.ty);
        }
        let region = "    !$omp parallel private(w, v, r, h, from, team, me, ignored)\n    team = omp_get_num_threads()\n    me = omp_get_thread_num()\n";
        line!(
            text,
            "{}    do rnd = 0, {} - 1",
            if program.one_region { region.replace("private(", "private(rnd, ") } else { String::new() },
            program.rounds
        );
        text.push_str(if program.one_region {
            "    !$omp single\n    round_ = rnd\n    !$omp end single\n"
        } else {
            "    round_ = rnd\n"
        });
        for (number, phase) in program.phases.iter().enumerate() {
            if !program.one_region {
                text.push_str(region);
            }
            line!(text, "    ! phase {number}");
            self.phase(&mut text, number, *phase);
            if !program.one_region {
                text.push_str("    !$omp end parallel\n");
            }
        }
        let print = "write (*, '(a,i0,a,i0,1x,i0,1x,i0)') 'round ', rnd, ': ', hash(), total, tally";
        if program.one_region {
            line!(
                text,
                "    if (mod(rnd, team) == me) {print}\n    !$omp barrier\n    end do\n    !$omp end parallel"
            );
        } else {
            line!(text, "    {print}\n    end do");
        }
        text.push_str("    flush (6)\ncontains\n");
        self.hash(&mut text);
        text + "end subroutine\n\n"
    }

    fn allocate(&self, text: &mut String, number: usize, Array { place, .. }: Array) {
        match place {
            Place::Heap => line!(text, "    allocate (a{number}(0:pitch - 1, 0:nw - 1))"),
            Place::Rows => {
                text.push_str("    !$omp parallel do schedule(static, 1)\n");
                line!(text, "    do w = 0, nw - 1\n        allocate (a{number}(w)%d(0:last))\n    end do");
            }
            _ => {}
        }
    }

    fn first_contents(&self, text: &mut String, number: usize, ty: Type) {
        let element = self.element(number, "w", "i");
        if number % 2 == 1 {
            let schedule = if number % 4 == 1 { "" } else { " schedule(static, 7)" };
            line!(text, "    !$omp parallel do collapse(2){schedule}");
        }
        text.push_str("    do w = 0, nw - 1\n        do i = 0, last\n");
        if ty == Type::Record {
            line!(
                text,
                "            {element}%x = real(i, 8)\n            {element}%a = int(w * i, 4)\n            {element}%b = int(iand(i, 31_8), 2)"
            );
            line!(text, "            {element}%c = int(iand([i, i + 1, i + 2, i + 3, i + 4], 127_8), 1)");
            line!(
                text,
                "            {element}%n(0)%h = int(w, 2)\n            {element}%n(1)%h = int(w + 1, 2)"
            );
            line!(
                text,
                "            {element}%n(0)%g = 0_1\n            {element}%n(1)%g = 0_1\n            {element}%v = [0_8, i, 2 * i]"
            );
        } else {
            let value =
                self.stored(super::Part::Whole, ty, &format!("iand(i * 7 + w * 13 + {number}, 127_8)"));
            line!(text, "            {element} = {value}");
        }
        text.push_str("        end do\n    end do\n");
    }

    fn hash(&self, text: &mut String) {
        text.push_str("    integer(8) function hash()\n        integer(8) :: w, i\n        hash = 0\n");
        for (number, array) in self.program.arrays.iter().enumerate() {
            let element = self.element(number, "w", "i");
            let value = match array.ty {
                Type::Record => format!(
                    "int({element}%x, 8) + {element}%a + {element}%c(mod(i, 5_8)) + {element}%v(mod(i, 3_8)) + {element}%n(mod(i, 2_8))%h + {element}%b"
                ),
                _ => format!("int({element}, 8)"),
            };
            line!(text, "        do w = 0, nw - 1\n            do i = 0, last");
            line!(
                text,
                "                hash = mod(hash * 31 + {value}, 2147483647_8)\n            end do\n        end do"
            );
        }
        text.push_str("    end function\n");
    }

    /// Calls a kernel for item `w`, then adds its result, atomically or not.
    fn call(&self, number: usize, shift: i64, atomic: bool) -> String {
        let kernel: &Kernel = &self.program.kernels[number];
        let mut operands = String::new();
        if kernel.passing != Passing::Direct {
            let targets = kernel.targets.iter().map(|a| self.element(*a, "w", "0:last"));
            let sources = kernel.sources.iter().map(|a| self.element(*a, "v", "0:last"));
            operands = targets.chain(sources).map(|o| o + ", ").collect();
        }
        let mut text = format!("        v = mod(w + {shift}, int(nw, 8))\n");
        line!(text, "        r = k{number}({operands}ixs(:, w), ixs(:, v), w, v)");
        if atomic {
            text.push_str("        !$omp atomic\n");
        }
        text + "        total = total + r\n"
    }

    fn phase(&self, text: &mut String, number: usize, phase: Phase) {
        let added = self.call(phase.kernel, phase.shift, true);
        let plain = self.call(phase.kernel, phase.shift, false);
        let all = "    do w = 0, nw - 1";
        match phase.distribution {
            Distribution::ByHand => {
                line!(
                    text,
                    "{all}\n        if (mod(w + {number} + rnd, team) /= me) cycle\n{added}    end do\n    !$omp barrier"
                );
            }
            Distribution::For(schedule, true) => {
                line!(
                    text,
                    "    !$omp do schedule({schedule}) reduction(+ : total)\n{all}\n{plain}    end do"
                );
            }
            Distribution::For(schedule, false) => {
                line!(text, "    !$omp do schedule({schedule})\n{all}\n{added}    end do")
            }
            Distribution::Collapse => {
                line!(
                    text,
                    "    !$omp do collapse(2) schedule(dynamic)\n    do h = 0, 1\n{all}\n        if (mod(w, 2_8) == h) then\n{added}        end if\n    end do\n    end do"
                );
            }
            Distribution::Single => {
                line!(text, "    !$omp single\n{all}\n{plain}    end do\n    !$omp end single")
            }
            Distribution::Masked => line!(
                text,
                "    !$omp masked\n{all}\n{plain}    end do\n    !$omp end masked\n    !$omp barrier"
            ),
            Distribution::Sections => {
                text.push_str("    !$omp sections\n");
                for part in 0..3 {
                    line!(text, "    !$omp section\n    do w = {part}, nw - 1, 3\n{added}    end do");
                }
                text.push_str("    !$omp end sections\n");
            }
            Distribution::Tasks => {
                let clauses = ["", " untied", " if(mod(w, 3_8) /= 1)", " priority(2) mergeable"][number % 4];
                line!(
                    text,
                    "    !$omp single\n{all}\n    !$omp task firstprivate(w) private(v, r){clauses}\n{added}    !$omp end task\n    end do\n    !$omp end single"
                );
            }
            Distribution::Taskloop(clause) => {
                line!(
                    text,
                    "    !$omp single\n    !$omp taskloop private(v, r) {clause}\n{all}\n{added}    end do\n    !$omp end single"
                );
            }
            Distribution::Chain(next) => {
                let second = self.call(next, phase.shift, true);
                line!(
                    text,
                    "    !$omp single\n{all}\n    !$omp task firstprivate(w) private(v, r) depend(out : token(w))\n{added}    !$omp end task\n    end do"
                );
                line!(text, "{all}\n    from = mod(w + {}, int(nw, 8))", phase.shift);
                line!(
                    text,
                    "    !$omp task firstprivate(w) private(v, r) depend(in : token(from), token(w)) depend(inout : other(w))"
                );
                line!(
                    text,
                    "{second}    !$omp end task\n    end do\n    !$omp taskwait\n    !$omp end single"
                );
            }
            Distribution::InOrder => {
                // The sum depends on the order.
                let call = self.call(phase.kernel, phase.shift, false);
                let call = call.replace("total = total + r", "total = mod(total * 31 + r, 2147483647_8)");
                line!(text, "{all}\n        if (mod(w, team) /= me) cycle");
                line!(
                    text,
                    "        if (w > 0) then\n        do while (turn(w - 1) /= rnd * 100 + {number} + 1)"
                );
                text.push_str("        !$omp flush\n        ignored = sched_yield()\n        end do\n        end if\n        !$omp flush\n");
                line!(
                    text,
                    "{call}        !$omp flush\n        turn(w) = rnd * 100 + {number} + 1\n        !$omp flush\n    end do\n    !$omp barrier"
                );
            }
            Distribution::Nested => {
                let schedule = ["static", "dynamic", "static, 1"][number % 3];
                text.push_str("    !$omp do schedule(static, 1)\n    do h = 0, 2\n");
                line!(
                    text,
                    "    !$omp parallel do num_threads({}) private(v, r) schedule({schedule})",
                    2 + number % 2
                );
                line!(text, "    do w = h * nw / 3, (h + 1) * nw / 3 - 1\n{added}    end do\n    end do");
            }
        }
    }
}
