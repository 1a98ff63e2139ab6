//! The configurations a program is tested in: processes x threads, optimisation level, line size.

use std::fmt;

/// How a job is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Number of processes.
    pub processes: u32,
    /// Threads per process.
    pub threads: u32,
    /// Started by the launcher; without it the executable runs alone, as one process.
    pub launched: bool,
}

impl Shape {
    /// `processes` x `threads` under the launcher.
    pub const fn new(processes: u32, threads: u32) -> Self {
        Self { processes, threads, launched: true }
    }

    /// One process of `threads` threads without the launcher.
    pub const fn alone(threads: u32) -> Self {
        Self { processes: 1, threads, launched: false }
    }

    /// Size of the default team.
    pub const fn total(self) -> u32 {
        self.processes * self.threads
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}{}", self.processes, self.threads, if self.launched { "" } else { " alone" })
    }
}

/// The shapes of the matrix.
pub const SHAPES: [Shape; 6] = [
    Shape::new(1, 1),
    Shape::new(2, 1),
    Shape::new(1, 2),
    Shape::new(2, 2),
    Shape::new(3, 1),
    Shape::new(4, 1),
];

/// Optimisation level and line size: what a program is compiled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Build {
    /// Digit after `-O`.
    pub level: u8,
    /// Bytes a line.
    pub line: u32,
}

impl Build {
    /// Option that chooses the linker: at level 2 the system's, at the others LLVM's, which takes less time.
    pub fn linker(self) -> &'static str {
        if self.level == 2 { "-fuse-ld=bfd" } else { "-fuse-ld=lld" }
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "-O{} line {}", self.level, self.line)
    }
}

/// The builds of the matrix.
pub const BUILDS: [Build; 6] = [
    Build { level: 0, line: 64 },
    Build { level: 2, line: 4096 },
    Build { level: 3, line: 64 },
    Build { level: 0, line: 4096 },
    Build { level: 2, line: 64 },
    Build { level: 3, line: 4096 },
];

/// The builds of programs that are about what the pass makes of loops: levels at which it optimises, and all line sizes.
pub const KERNEL_BUILDS: [Build; 7] = [
    Build { level: 2, line: 64 },
    Build { level: 3, line: 1024 },
    Build { level: 2, line: 4096 },
    Build { level: 3, line: 64 },
    Build { level: 1, line: 1024 },
    Build { level: 2, line: 1024 },
    Build { level: 3, line: 4096 },
];

/// A point of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Config {
    /// How the program is compiled.
    pub build: Build,
    /// How it is run.
    pub shape: Shape,
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.build, self.shape)
    }
}

/// Whether all is to be tested, and not a sample: `DSM_TEST_MATRIX=full`.
pub fn is_full() -> bool {
    std::env::var("DSM_TEST_MATRIX").is_ok_and(|v| v == "full")
}

/// Every configuration, the launcher-less ones included.
pub fn full() -> Vec<Config> {
    let shapes: Vec<Shape> = SHAPES.into_iter().chain([Shape::alone(1), Shape::alone(2)]).collect();
    let pairs =
        BUILDS.iter().flat_map(|build| shapes.iter().map(|shape| Config { build: *build, shape: *shape }));
    pairs.collect()
}

/// The sample for a short run. A program sees every shape, two levels and both line sizes; three programs with neighbouring numbers see all
/// builds, six all pairs. `-fdsm-verify` gives each a further build, see the suite `verify`.
pub fn sample(number: usize) -> Vec<Config> {
    let builds = &BUILDS[2 * (number % 3)..][..2];
    let mut configs: Vec<Config> = SHAPES
        .iter()
        .enumerate()
        .map(|(i, shape)| Config { build: builds[(i + number / 3) % 2], shape: *shape })
        .collect();
    let alone = Shape::alone(1 + (number / 2) as u32 % 2);
    configs.push(Config { build: builds[number % 2], shape: alone });
    configs
}

#[cfg(test)]
mod tests {
    use super::{BUILDS, SHAPES, full, sample};
    use std::collections::HashSet;

    #[test]
    fn six_programs_cover_all_pairs() {
        let seen: HashSet<_> = (10..16).flat_map(sample).filter(|c| c.shape.launched).collect();
        assert_eq!(seen.len(), BUILDS.len() * SHAPES.len());
    }

    #[test]
    fn each_program_sees_every_shape_and_line() {
        for number in 0..12 {
            let configs = sample(number);
            let shapes: HashSet<_> = configs.iter().map(|c| c.shape).filter(|s| s.launched).collect();
            let levels: HashSet<_> = configs.iter().map(|c| c.build.level).collect();
            let lines: HashSet<_> = configs.iter().map(|c| c.build.line).collect();
            assert_eq!((shapes.len(), levels.len(), lines.len()), (6, 2, 2));
        }
    }

    #[test]
    fn full_has_no_repetition() {
        let all = full();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
        assert_eq!(all.len(), 48);
    }
}
