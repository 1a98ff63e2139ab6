//! What gdb shows of the programs of `debugger/`: lines and variables at -O0, and the contents of shared memory wherever in the job they are.

use std::path::{Path, PathBuf};
use std::process::Command;

use dsm_tests::compile::{self, Target};
use dsm_tests::execute::{self, Outcome, Scratch};
use dsm_tests::matrix::Build;
use dsm_tests::program::Program;
use dsm_tests::toolchain;

/// Builds a program at -O0 -g; `None` where plain clang stands in for the toolchain.
fn build(name: &str) -> Option<PathBuf> {
    toolchain::dsm()?;
    let mut program = Program::from_source(&name.replace('.', "_"), &source(name));
    program.flags = vec!["-g".to_owned()];
    let target = Target::Dsm(Build { level: 0, line: 1024 });
    Some(compile::compile(&program, target).unwrap_or_else(|failure| panic!("{failure}")).path)
}

fn source(name: &str) -> PathBuf {
    toolchain::package().join("debugger").join(name)
}

/// Number of the only line of a source with the text.
fn line_of(name: &str, text: &str) -> usize {
    let source = std::fs::read_to_string(source(name)).expect("the source is there");
    let found: Vec<usize> =
        (1..).zip(source.lines()).filter(|(_, l)| l.contains(text)).map(|(n, _)| n).collect();
    assert_eq!(found.len(), 1, "{text}");
    found[0]
}

/// A file with gdb's commands.
fn commands(directory: &Scratch, name: &str, lines: &[&str]) -> PathBuf {
    let path = directory.path().join(name);
    let text = format!("set pagination off\nset width 0\n{}\n", lines.join("\n"));
    std::fs::write(&path, text).expect("a scratch file can be written");
    path
}

/// Runs a program on two processes, which have gdb look at them.
fn look(program: &Path, commands: &[&Path], environment: &[(&str, &str)]) -> Outcome {
    let dsm = toolchain::dsm().expect("the program was built");
    let mut command = Command::new(&dsm.run);
    command.args(["-n", "2", "-t", "1"]).arg(program).args(commands).envs(environment.iter().copied());
    execute::hide_own_variables(&mut command);
    execute::run(&mut command, "", execute::time_limit())
}

/// Runs a program of one process under gdb.
fn debug(program: &Path, commands: &Path, options: &[&str]) -> Outcome {
    let mut command = Command::new("gdb");
    command.args(["-q", "-nx", "-batch"]).args(options).arg("-x").arg(commands).arg(program);
    command.env("OMP_NUM_THREADS", "2");
    execute::hide_own_variables(&mut command);
    execute::run(&mut command, "", execute::time_limit())
}

/// Whether gdb can call a function of a program at all. Old ones cannot store the registers of new processors (gdb 13, those with tiles).
fn can_call(program: &Path, main: &str) -> bool {
    let directory = Scratch::directory("debugger-call");
    let lines = [&format!("break {main}"), "run", "set language c", "print ((int (*)(void)) getpid)()"];
    let outcome = debug(program, &commands(&directory, "call", &lines), &[]);
    let can = !outcome.errors().contains("Couldn't write extended state");
    if !can {
        eprintln!("not tested: gdb cannot call functions on this processor\n{}", outcome.errors());
    }
    can
}

/// The lines are in the text in this order, each with nothing else.
fn in_order(outcome: &Outcome, lines: &[&str]) {
    let text = outcome.text();
    let mut rest = text.lines();
    for line in lines {
        assert!(
            rest.any(|l| l.trim_end() == *line),
            "no {line:?}, or too early, in\n{text}{}",
            outcome.errors()
        );
    }
}

#[test]
fn lines_and_variables_are_right_without_optimisation() {
    let Some(program) = build("view.c") else { return };
    let directory = Scratch::directory("debugger");
    let inside = format!("break view.c:{} if rank == 1", line_of("view.c", "return local;"));
    let behind = format!("break view.c:{}", line_of("view.c", "printf(\"%d %d"));
    let lines =
        [&inside, &behind, "run", "info args", "info locals", "print numbers[10]", "print list->value"];
    let lines = [&lines[..], &["continue", "info locals", "print total", "print sum"]].concat();
    let outcome = debug(&program, &commands(&directory, "lines", &lines), &[]);
    let at = |text: &str| format!("{}\t{}", line_of("view.c", text), text);
    let stops = [at("    return local;"), at("    printf(\"%d %d")];
    let text = outcome.text();
    assert!(stops.iter().all(|stop| text.contains(stop.as_str())), "{stops:?}\n{text}");
    in_order(&outcome, &["rank = 1", "local = 10", "$1 = 11", "$2 = 8", "total = 10", "$3 = 10", "$4 = 2.5"]);
}

#[test]
fn lines_and_variables_are_right_in_fortran() {
    let Some(program) = build("view.f90") else { return };
    let directory = Scratch::directory("debugger");
    let inside = format!("break view.f90:{}", line_of("view.f90", "total = 2.5d0"));
    let behind = format!("break view.f90:{}", line_of("view.f90", "print *, local(2)"));
    let lines =
        [&inside, &behind, "run", "print last", "print numbers(3)", "continue", "print local", "print total"];
    let outcome = debug(&program, &commands(&directory, "lines", &lines), &[]);
    in_order(&outcome, &["$1 = 4096", "$2 = 3", "$3 = (7, 7, 7, 7)", "$4 = 2.5"]);
}

#[test]
fn what_is_not_valid_in_a_process_is_read_at_its_home() {
    let Some(program) = build("view.c") else { return };
    let directory = Scratch::directory("debugger");
    if !can_call(&program, "main") {
        return;
    }
    let brought = "(not valid in this process; read from the home in process 1)";
    let lines = ["frame function main", "print numbers[10]", "dsm print numbers[10]", "print numbers[10]"];
    let more =
        ["dsm print list->next->value", "dsm print *list->next", "dsm print/x numbers[10] + 1", "dsm info"];
    let first = commands(&directory, "first", &[&lines[..], &more, &["dsm block numbers[10]"]].concat());
    // Process 1 waits inside the runtime.
    let second =
        commands(&directory, "second", &["dsm info", "dsm print mixed[2000]", "dsm print numbers[10]"]);
    // The program's variables are in blocks of their own then.
    let outcome = look(&program, &[&first, &second], &[("DSM_BLOCK", "4096")]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
    let expected =
        ["$1 = -1", "$2 = 11", brought, "$3 = -1", "$4 = 7", brought, "$5 = {next = 0x0, value = 7}"];
    let numbers = "process 0 of 2, threads of each 1";
    in_order(&outcome, &[&expected[..], &[brought, "$6 = 0xc", brought, numbers]].concat());
    let text = outcome.text();
    let block = text.split(" numbers + 40\n").nth(1).unwrap_or_else(|| panic!("no block in {text}"));
    assert!(
        block.lines().next().is_some_and(|l| l.starts_with("block 0x") && l.contains(" 4096 bytes, ")),
        "{block}"
    );
    // Which of the invalid states it is depends on how many notices process 0 has had of the block: a second one lets it go cold.
    let state = block.split("\nstate in process 0: ").nth(1).unwrap_or_else(|| panic!("no state in {block}"));
    assert!(state.get(1..).is_some_and(|meaning| meaning.starts_with(" (invalid")), "{block}");
    assert!(block.contains("\nhome: process 1; version "), "{block}");
    // Then process 1, and the program goes on as if nobody had looked.
    let from_first = "(not valid in this process; read from the home in process 0)";
    in_order(
        &outcome,
        &["process 1 of 2, threads of each 1", "$1 = -1", from_first, "$2 = 11", "10 11 -1 2.5 8 7"],
    );
    assert!(!text.contains("gdb failed"), "{text}");
}

#[test]
fn what_cannot_be_shown_is_said() {
    let Some(program) = build("view.c") else { return };
    if !can_call(&program, "main") {
        return;
    }
    let directory = Scratch::directory("debugger");
    let lines = ["frame function main", "dsm print total", "dsm print numbers[10]"];
    let first = commands(&directory, "first", &lines);
    // A script ends with its first error.
    let each = "python\nfor e in ['numbers[0]++', 'work(1)']:\n try: gdb.execute('dsm print ' + e)\n except gdb.error as e: print(e)\nend";
    let second = commands(&directory, "second", &[each]);
    let outcome = look(&program, &[&first, &second], &[("DSM_TRANSPORT", "stream")]);
    let text = outcome.text();
    assert!(text.contains("its home is probably process 1, whose memory cannot be read from here"), "{text}");
    assert!(text.contains("it must not change anything"), "{text}");
    assert!(text.contains("Cannot call functions in the program"), "{text}");
    assert!(text.ends_with("10 11 -1 2.5 8 7\n"), "{text}");
    let alone = commands(&directory, "alone", &["dsm info"]);
    let outcome = debug(&program, &alone, &["-iex", "set auto-load safe-path /"]);
    assert!(outcome.errors().contains("the program is not running"), "{}", outcome.errors());
}

#[test]
fn the_same_of_fortran() {
    let Some(program) = build("view.f90") else { return };
    if !can_call(&program, "VIEW") {
        return;
    }
    let directory = Scratch::directory("debugger");
    let first =
        commands(&directory, "first", &["frame function VIEW", "print numbers(10)", "dsm print numbers(10)"]);
    let outcome = look(&program, &[&first], &[]);
    in_order(
        &outcome,
        &["$1 = -1", "$2 = 10", "(not valid in this process; read from the home in process 1)"],
    );
    assert!(!outcome.text().contains("gdb failed"), "{}", outcome.text());
}
