//! Drawing a program of kernels. This file keeps the promise that programs are free of data races: in a phase a kernel runs once
//! for each item; it writes its own item's windows of some arrays, and reads windows of other items only in arrays that nobody writes in
//! that phase. A chain of two kernels orders them by the dependences of its tasks.

use super::body::Drawer;
use super::program::{
    Array, Distribution, Helper, Kernel, Opacity, Part, Passing, Phase, Place, Program, Task, Type,
};
use crate::program::Language;
use crate::random::Random;

/// Which programs are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distributions {
    /// Worksharing and single threads.
    Worksharing,
    /// Mostly tasks and nested regions.
    Tasks,
}

const SCHEDULES: [&str; 5] = ["static", "static, 1", "dynamic, 1", "guided", "static, 3"];

/// The program of `seed` in `language`.
pub fn program(seed: u64, language: Language, distributions: Distributions) -> Program {
    // The languages share a seed's structure, the two kinds do not.
    let mut random = Random::new(seed.wrapping_mul(2) + u64::from(distributions == Distributions::Tasks));
    let random = &mut random;
    let arrays: Vec<Array> = (0..random.between(4, 7)).map(|_| array(random)).collect();
    let files = if random.chance(1, 3) { random.between(2, 3) as usize } else { 1 };
    let items = *random.pick(&[5, 7, 12]);
    let mut program = Program {
        seed,
        language,
        items,
        pitch: super::program::WINDOW + *random.pick(&[0, 1, 3, 17, 64]),
        packed: random.chance(1, 3),
        files,
        arrays,
        helpers: Vec::new(),
        kernels: Vec::new(),
        parameters: Vec::new(),
        opacity: *random.pick(&[Opacity::Volatile, Opacity::Shared]),
        phases: Vec::new(),
        rounds: 3,
        one_region: random.chance(2, 3),
    };
    program.helpers = (0..4).map(|_| helper(random, &program.arrays, files)).collect();
    for _ in 0..random.between(4, 6) {
        let kernel = kernel(random, &mut program);
        program.kernels.push(kernel);
    }
    for _ in 0..random.between(6, 9) {
        let phase = phase(random, &program, distributions);
        program.phases.push(phase);
    }
    program
}

fn array(random: &mut Random) -> Array {
    use Type::{F32, F64, I16, I32, I64, Record, U8};
    let ty = *random.pick(&[F64, F64, F32, I32, I64, I16, U8, Record, Record]);
    let place = match random.below(7) {
        0..=1 => Place::Global,
        2 => Place::Heap,
        3 => Place::Member(random.between(1, 70) as i64),
        4..=5 => Place::Rows,
        _ => Place::Columns,
    };
    Array { ty, place }
}

/// Part of an element.
pub(super) fn part(random: &mut Random, ty: Type) -> Part {
    if ty != Type::Record {
        return Part::Whole;
    }
    match random.below(6) {
        0 => Part::X,
        1 => Part::A,
        2 => Part::C(random.below(5) as i64),
        3 => Part::V(random.below(3) as i64),
        4 => Part::Inner(random.below(2) as i64),
        _ => Part::Bits,
    }
}

/// Helpers take the types of arrays that there are, mostly.
fn helper(random: &mut Random, arrays: &[Array], files: usize) -> Helper {
    let target = if random.chance(1, 4) { Type::I64 } else { random.pick(arrays).ty };
    let source = random.pick(arrays).ty;
    let task = match random.below(4) {
        0 => Task::Loop(random.between(1, 8) as i64),
        1 => Task::Choose(random.below(4) as i64),
        2 => Task::Sum,
        _ => Task::Meet,
    };
    Helper {
        target,
        target_part: part(random, target),
        source,
        source_part: part(random, source),
        task,
        file: random.below(files as u64) as usize,
        restrict: random.chance(1, 2),
    }
}

fn shuffled(random: &mut Random, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, random.below(last as u64 + 1) as usize);
    }
    order
}

fn kernel(random: &mut Random, program: &mut Program) -> Kernel {
    let order = shuffled(random, program.arrays.len());
    let targets = random.between(1, 2) as usize;
    let sources = random.between(1, 3).min((order.len() - targets) as u64) as usize;
    let passing = match random.below(6) {
        0..=2 => Passing::Pointers(true),
        3 => Passing::Pointers(false),
        4 => Passing::Structure,
        _ => Passing::Direct,
    };
    let mut kernel = Kernel {
        targets: order[..targets].to_vec(),
        sources: order[targets..targets + sources].to_vec(),
        passing,
        noinline: random.chance(1, 2),
        file: random.below(program.files as u64) as usize,
        body: Vec::new(),
    };
    let mut drawer = Drawer::new(random, program, &kernel);
    let mut body = drawer.block(0);
    body.extend(drawer.last_store());
    program.parameters = drawer.parameters;
    kernel.body = body;
    kernel
}

fn phase(random: &mut Random, program: &Program, distributions: Distributions) -> Phase {
    let kernel = random.below(program.kernels.len() as u64) as usize;
    let shift = random.below(program.items as u64) as i64;
    let tasks = match distributions {
        Distributions::Worksharing => random.chance(1, 12),
        Distributions::Tasks => random.chance(4, 5),
    };
    let distribution = if tasks {
        match random.below(6) {
            0 => Distribution::Tasks,
            1 => Distribution::Taskloop(random.pick::<&str>(&["", "grainsize(2)", "num_tasks(3)"])),
            2 => Distribution::Nested,
            _ => match follower(random, program, kernel) {
                Some(next) => Distribution::Chain(next),
                None => Distribution::Tasks,
            },
        }
    } else {
        match random.below(10) {
            9 => Distribution::InOrder,
            0..=2 => Distribution::ByHand,
            3..=5 => Distribution::For(random.pick::<&str>(&SCHEDULES), random.chance(1, 2)),
            6 => Distribution::Collapse,
            7 => Distribution::Single,
            _ => *random.pick(&[Distribution::Masked, Distribution::Sections]),
        }
    };
    Phase { kernel, shift, distribution }
}

/// A kernel whose tasks may run beside those of `first` once the window that they read is ready: it writes nothing that these
/// touch.
fn follower(random: &mut Random, program: &Program, first: usize) -> Option<usize> {
    let before = &program.kernels[first];
    let free = |k: &usize| {
        let targets = &program.kernels[*k].targets;
        !targets.iter().any(|t| before.targets.contains(t) || before.sources.contains(t))
    };
    let candidates: Vec<usize> = (0..program.kernels.len()).filter(free).collect();
    (!candidates.is_empty()).then(|| *random.pick(&candidates))
}

#[cfg(test)]
mod tests {
    use super::{Distribution, Distributions, program};
    use crate::program::Language;

    #[test]
    fn nobody_reads_windows_of_others_that_are_written() {
        for seed in 0..200 {
            for kind in [Distributions::Worksharing, Distributions::Tasks] {
                let program = program(seed, Language::C, kind);
                for kernel in &program.kernels {
                    assert!(!kernel.targets.iter().any(|t| kernel.sources.contains(t)), "seed {seed}");
                }
                for phase in &program.phases {
                    let Distribution::Chain(next) = phase.distribution else { continue };
                    let (first, next) = (&program.kernels[phase.kernel], &program.kernels[next]);
                    let touched = || first.targets.iter().chain(&first.sources);
                    assert!(!touched().any(|t| next.targets.contains(t)), "seed {seed}");
                }
            }
        }
    }

    #[test]
    fn seeds_and_kinds_differ_and_repeat() {
        let text = |seed, kind| format!("{:?}", program(seed, Language::C, kind));
        assert_eq!(text(5, Distributions::Tasks), text(5, Distributions::Tasks));
        assert_ne!(text(5, Distributions::Tasks), text(6, Distributions::Tasks));
        assert_ne!(text(5, Distributions::Tasks), text(5, Distributions::Worksharing));
    }
}
