//! `dsm-compare`: what it finds, says and leaves behind.

use std::path::Path;
use std::process::Command;

use dsm_tests::execute::{self, Outcome, Scratch};
use dsm_tests::toolchain;

const SAME: &str = "#include <stdio.h>
int main(void) {
    int sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 100; i++) sum += i;
    printf(\"%d\\n\", sum);
}
";
/// The drivers say who compiles.
const DIFFERENT: &str = "#include <stdio.h>
#ifdef __DSM__
int main() { puts(\"not plain\"); }
#else
int main() { puts(\"plain\"); }
#endif
";
const VARYING: &str = "#include <stdio.h>
#include <unistd.h>
int main(void) { printf(\"%d\\n\", getpid()); }
";
const FORTRAN: &str = "program p\n  integer :: i, s\n  s = 0\n  !$omp parallel do reduction(+:s)
  do i = 1, 10\n    s = s + i\n  end do\n  print *, s\nend program\n";

fn run(directory: &Path, scratch: &Path, words: &[&str]) -> Option<Outcome> {
    run_with(directory, scratch, words, None)
}

fn run_with(
    directory: &Path,
    scratch: &Path,
    words: &[&str],
    variable: Option<(&str, &str)>,
) -> Option<Outcome> {
    let command = toolchain::dsm()?.run.with_file_name("dsm-compare");
    let mut command = Command::new(command);
    execute::hide_own_variables(&mut command);
    command.arg(directory).args(words).env("TMPDIR", scratch).envs(variable);
    Some(execute::run(&mut command, "", execute::time_limit()))
}

#[test]
fn a_planted_difference_is_found_and_nothing_stays() {
    let sources = Scratch::directory("compare");
    let scratch = Scratch::directory("compare-scratch");
    let path = sources.path();
    std::fs::create_dir(path.join("below")).unwrap();
    for (name, text) in [
        ("same.c", SAME),
        ("below/different.cpp", DIFFERENT),
        ("varying.c", VARYING),
        ("fortran.f90", FORTRAN),
        ("fails.c", "int main(void) { return 3; }\n"),
        ("broken.c", "int main(void) { return; x }\n"),
        ("part.c", "int part(void) { return 3; }\n"),
    ] {
        std::fs::write(path.join(name), text).unwrap();
    }
    let json = path.join("results.json");
    let words = ["-l", "1x2,2x1", "-r", "2", "-q", "--json", json.to_str().unwrap(), "--", "-O1", "-fopenmp"];
    let Some(outcome) = run(path, scratch.path(), &words) else { return };
    let text = outcome.text();
    assert_eq!(outcome.status, Some(1), "{text}\n{}", outcome.errors());
    for part in [
        "7 sources, 4 compared",
        "| same output and status               |      2 |      2 |",
        "| same status, the plain output varies |      1 |      1 |",
        "| output differs                       |      1 |      1 |",
        "| status differs                       |      0 |      0 |",
        "1 (the plain compiler rejects it), 1 (no main program), 1 (fails when built plainly)",
        "below/different.cpp",
        "2x1: output differs: line 1 is `not plain` instead of `plain`",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let written = std::fs::read_to_string(&json).unwrap();
    for part in
        ["\"kind\": \"output differs\"", "\"compared\": \"status\"", "\"reason\": \"no main program\""]
    {
        assert!(written.contains(part), "{part}\n{written}");
    }
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn without_differences_the_status_is_0_and_without_programs_2() {
    let sources = Scratch::directory("compare-same");
    let scratch = Scratch::directory("compare-same-scratch");
    let words = ["-l", "1x1", "-r", "1"];
    let Some(outcome) = run(sources.path(), scratch.path(), &words) else { return };
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.errors().contains("no C, C++ or Fortran source in"), "{}", outcome.errors());
    std::fs::write(sources.path().join("same.c"), SAME).unwrap();
    let outcome = run(sources.path(), scratch.path(), &words).unwrap();
    assert_eq!(outcome.status, Some(0), "{}\n{}", outcome.text(), outcome.errors());
    assert!(outcome.errors().contains("same.c: same"), "{}", outcome.errors());
}

#[test]
fn a_variable_of_the_caller_does_not_switch_the_pass_off() {
    let sources = Scratch::directory("compare-disabled");
    let scratch = Scratch::directory("compare-disabled-scratch");
    std::fs::write(sources.path().join("same.c"), SAME).unwrap();
    let words = ["-l", "2x1", "-r", "1", "-q"];
    let disabled = Some(("DSM_DISABLE", "1"));
    let Some(outcome) = run_with(sources.path(), scratch.path(), &words, disabled) else { return };
    assert_eq!(outcome.status, Some(0), "{}\n{}", outcome.text(), outcome.errors());
    std::fs::remove_file(sources.path().join("same.c")).unwrap();
    std::fs::write(sources.path().join("different.cpp"), DIFFERENT).unwrap();
    let outcome = run_with(sources.path(), scratch.path(), &words, disabled).unwrap();
    assert_eq!(outcome.status, Some(1), "{}\n{}", outcome.text(), outcome.errors());
}

#[test]
fn a_file_that_cannot_be_written_ends_the_comparison_at_its_start() {
    let sources = Scratch::directory("compare-json");
    let scratch = Scratch::directory("compare-json-scratch");
    std::fs::write(sources.path().join("same.c"), SAME).unwrap();
    let words = ["-l", "1x1", "--json", "/nowhere/results.json"];
    let Some(outcome) = run(sources.path(), scratch.path(), &words) else { return };
    assert_eq!(outcome.status, Some(2));
    let message = outcome.errors();
    assert!(message.starts_with("dsm-compare: cannot write /nowhere/results.json: "), "{message}");
    assert_eq!((message.lines().count(), outcome.text().as_str()), (1, ""), "{message}");
}
