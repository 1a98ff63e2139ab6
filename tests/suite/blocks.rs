//! Block sizes of single variables and allocations.

use dsm_tests::compile::{self, Built, Target};
use dsm_tests::differential::run_command;
use dsm_tests::execute::{self, Outcome, Scratch};
use dsm_tests::matrix::{Build, Shape};
use dsm_tests::program::Program;
use dsm_tests::toolchain;

fn program(name: &str) -> Program {
    let path = toolchain::package().join(format!("blocks/{name}.c"));
    let mut program = Program::from_source(name, &path);
    program.flags = vec!["-g".into()];
    program
}

fn build(name: &str, line: u32) -> Option<Built> {
    toolchain::dsm()?;
    Some(compile::compile(&program(name), target(line)).unwrap_or_else(|e| panic!("{e}")))
}

fn target(line: u32) -> Target {
    Target::Dsm(Build { level: 2, line })
}

fn run(built: &Built, line: u32, shape: Shape, environment: &[(&str, &str)]) -> Outcome {
    let mut command = run_command(built, target(line), shape, &Program::default());
    command.envs(environment.iter().copied());
    execute::run(&mut command, "", execute::time_limit())
}

/// A file with these rules, and its path.
fn rules(text: &str) -> (Scratch, String) {
    let file = Scratch::new("blocks");
    std::fs::write(file.path(), text).expect("a scratch file can be written");
    let path = file.path().display().to_string();
    (file, path)
}

fn line_of(name: &str, text: &str) -> usize {
    let path = toolchain::package().join(format!("blocks/{name}.c"));
    let source = std::fs::read_to_string(path).expect("the program is there");
    1 + source.lines().position(|l| l.contains(text)).expect("the program contains the line")
}

#[test]
fn a_file_gives_variables_and_allocations_their_sizes() {
    let Some(built) = build("regions", 64) else { return };
    let site = line_of("regions", "the rule for this line");
    let (_file, path) = rules(&format!(
        "symbol fine 256\nsymbol coarse 64K\nsymbol few 64\nalloc regions.c:{site} 2048\nsize >=1M 65536\nsize <4K 128\n"
    ));
    for (shape, general) in [
        (Shape::new(2, 1), "4096"),
        (Shape::new(3, 1), "1024"),
        (Shape::new(2, 2), "65536"),
        (Shape::new(1, 2), "64"),
    ] {
        let outcome = run(&built, 64, shape, &[("DSM_BLOCK_FILE", &path), ("DSM_BLOCK", general)]);
        let expected = "0 wrong; blocks 256 65536 64 65536 128 2048\n";
        assert_eq!(
            (outcome.status, outcome.text().as_str()),
            (Some(0), expected),
            "{shape} {general}: {}",
            outcome.errors()
        );
        assert_eq!(outcome.errors(), "", "{shape}");
    }
}

#[test]
fn every_size_works_for_everything() {
    let Some(built) = build("regions", 64) else { return };
    for bytes in ["64", "1K", "16K", "64K"] {
        let outcome = run(&built, 64, Shape::new(2, 1), &[("DSM_BLOCK", bytes)]);
        assert!(outcome.text().starts_with("0 wrong"), "{bytes}: {}{}", outcome.text(), outcome.errors());
    }
}

/// Heaps of processes, and the parts of these for sizes of blocks, begin at multiples of 4 MiB.
#[test]
fn large_alignments_are_those_of_addresses() {
    let Some(built) = build("alignments", 1024) else { return };
    let (_file, path) = rules("size >=1M 65536\n");
    let outcome = run(&built, 1024, Shape::new(3, 1), &[("DSM_BLOCK_FILE", &path), ("DSM_HEAP", "180M")]);
    assert_eq!(outcome.text(), "0 wrong, 0 refused\n", "{}", outcome.errors());
    assert_eq!((outcome.status, outcome.errors().as_str()), (Some(0), ""));
}

#[test]
fn a_malformed_file_gives_one_message_and_ends_the_job() {
    let Some(built) = build("regions", 64) else { return };
    for (text, expected) in [
        (
            "symbol fine 256\nsymbol few 100\n",
            "2: \"100\" is no block size; write a power of two from 64 to 65536",
        ),
        ("variable fine 256\n", "1: \"variable\" is no kind of rule; write symbol, alloc or size"),
    ] {
        let (_file, path) = rules(text);
        let outcome = run(&built, 64, Shape::new(3, 1), &[("DSM_BLOCK_FILE", &path)]);
        assert_eq!(outcome.status, Some(1), "{}", outcome.errors());
        assert_eq!(outcome.errors(), format!("dsm: error: {path}:{expected}\n"));
    }
    let outcome = run(&built, 64, Shape::new(2, 1), &[("DSM_BLOCK_FILE", "/nonexistent/rules")]);
    assert_eq!(outcome.status, Some(1));
    assert!(
        outcome.errors().starts_with("dsm: error: cannot read /nonexistent/rules"),
        "{}",
        outcome.errors()
    );
}

#[test]
fn what_cannot_be_is_said_once() {
    let Some(built) = build("regions", 1024) else { return };
    let (_file, path) = rules("symbol missing 4096\n");
    let outcome = run(&built, 1024, Shape::new(2, 1), &[("DSM_BLOCK_FILE", &path), ("DSM_BLOCK", "256")]);
    assert_eq!(outcome.status, Some(0));
    let errors = outcome.errors();
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!(lines.len(), 2, "{errors}");
    assert!(lines[0].contains("DSM_BLOCK=256 is less than the line of 1024 bytes"), "{errors}");
    assert!(
        lines[1].contains(&format!("{path}:1: symbol missing: no shared global variable has this name")),
        "{errors}"
    );
}

#[test]
fn rules_about_places_that_allocate_nothing_are_named_at_the_end() {
    let Some(built) = build("regions", 64) else { return };
    let (_file, path) = rules("size <1 64\nalloc regions.c:1 256\n");
    let outcome = run(&built, 64, Shape::new(2, 1), &[("DSM_BLOCK_FILE", &path)]);
    let expected = format!(
        "dsm: warning: {path}:2: alloc regions.c:1: no allocation was made there that no earlier rule fits; the rule had no effect\n"
    );
    assert_eq!((outcome.status, outcome.errors()), (Some(0), expected));
}

#[test]
fn sizes_can_change_while_the_program_runs() {
    let Some(built) = build("change", 64) else { return };
    for shape in [Shape::new(2, 1), Shape::new(3, 1), Shape::new(2, 2), Shape::new(1, 2)] {
        let outcome = run(&built, 64, shape, &[]);
        assert_eq!(
            (outcome.status, outcome.text().as_str()),
            (Some(0), "0 wrong; 1 2 2 3\n"),
            "{shape}: {}",
            outcome.errors()
        );
    }
    let outcome = run(&built, 64, Shape::new(2, 1), &[("DSM_RACE", "abort")]);
    assert_eq!(outcome.text(), "0 wrong; 1 2 2 3\n", "{}", outcome.errors());
    assert!(outcome.errors().contains("outside parallel regions only"), "{}", outcome.errors());
}

#[test]
fn first_touches_end_where_sizes_change() {
    let Some(built) = build("first_touch", 64) else { return };
    for size in [256, 65536] {
        let (_file, path) = rules(&format!("symbol second {size}\n"));
        for transport in ["shm", "stream"] {
            let environment = [("DSM_BLOCK_FILE", path.as_str()), ("DSM_TRANSPORT", transport)];
            let outcome = run(&built, 64, Shape::new(2, 1), &environment);
            let text = outcome.text();
            assert_eq!(
                (outcome.status, text.as_str()),
                (Some(0), "0 wrong, sizes set\n"),
                "{}",
                outcome.errors()
            );
        }
    }
}

#[test]
fn memory_beside_the_data_is_bounded() {
    let Some(built) = build("twins", 64) else { return };
    const DATA: u64 = 64 << 20;
    // Twins of blocks that are no smaller than a page lie in a pool, as far as there is one.
    for (shape, block, bound, given_back) in [
        (Shape::new(2, 1), "256", "1M", true),
        (Shape::new(2, 2), "256", "0", true),
        (Shape::new(2, 1), "256", "1G", false),
        (Shape::new(2, 1), "4096", "0", true),
        (Shape::new(2, 2), "4096", "1M", true),
        (Shape::new(2, 1), "16384", "1M", true),
        (Shape::new(2, 1), "4096", "1G", false),
    ] {
        let environment = [("DSM_BLOCK", block), ("DSM_TWINS", bound), ("DSM_STATS", "1")];
        let outcome = run(&built, 64, shape, &environment);
        let errors = outcome.errors();
        assert_eq!((outcome.status, outcome.text().as_str()), (Some(0), "0 wrong\n"), "{shape}: {errors}");
        let [data, metadata, ratio, twins, peak] =
            ["data_bytes", "metadata_bytes", "metadata_per_1000", "twin_bytes", "twin_bytes_peak"]
                .map(|n| outcome.counter(n));
        for rank in 0..2 {
            assert!(data[rank] >= DATA && ratio[rank] <= 130, "{shape} {bound}:\n{errors}");
            assert!(
                (metadata[rank] * 1000).div_ceil(data[rank]) == ratio[rank],
                "{shape} {bound}:\n{errors}"
            );
            let expected = if given_back { twins[rank] <= DATA / 4 } else { twins[rank] == peak[rank] };
            assert!(expected && peak[rank] >= twins[rank], "{shape} {bound}:\n{errors}");
        }
        // Each block has a home and a writer elsewhere.
        assert!(peak.iter().sum::<u64>() >= DATA, "{shape} {bound}:\n{errors}");
    }
}

#[test]
fn plain_clang_takes_the_header() {
    let mut program = program("change");
    program.flags.push(format!("-I{}", toolchain::workspace().join("runtime/include").display()));
    let built = compile::compile(&program, Target::Native).unwrap_or_else(|e| panic!("{e}"));
    let mut command = run_command(&built, Target::Native, Shape::alone(2), &program);
    let outcome = execute::run(&mut command, "", execute::time_limit());
    assert_eq!((outcome.status, outcome.text().as_str()), (Some(0), "0 wrong; 1 0 0 0\n"));
}
