//! `dsm-run --bind`: the processors of each process, and the places inside.

use std::process::Command;

use dsm_tests::execute::{self, Outcome};

use super::case::Case;

/// Prints the processors of each thread, as the kernel does, and its place.
const PROGRAM: &str = "#include <omp.h>
#include <stdio.h>
#include <string.h>
static char allowed[64][200];
static int place[64];
int main(void)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        char path[50], line[200];
        snprintf(path, sizeof path, \"/proc/thread-self/status\");
        FILE *status = fopen(path, \"r\");
        while (fgets(line, sizeof line, status))
            if (!strncmp(line, \"Cpus_allowed_list:\", 18)) strcpy(allowed[me], line + 19);
        fclose(status);
        place[me] = omp_get_place_num();
    }
    for (int i = 0; i < omp_get_max_threads(); i++) printf(\"%d %s\", place[i], allowed[i]);
}
";

fn run(case: &Case, arguments: &[&str], environment: &[(&str, &str)]) -> Outcome {
    let mut command = Command::new(&case.dsm.run);
    command.current_dir(&case.root).args(arguments).arg("./x");
    execute::hide_own_variables(&mut command);
    command.env_remove("OMP_NUM_THREADS").envs(environment.iter().copied());
    let outcome = execute::run(&mut command, "", execute::time_limit());
    assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
    outcome
}

fn program(name: &str) -> Option<Case> {
    let case = Case::new(name, &[("x.c", PROGRAM)])?;
    let mut command = Command::new(&case.dsm.cc);
    command.current_dir(&case.root).args(["-O1", "-fopenmp", "x.c", "-o", "x"]);
    let outcome = execute::run(&mut command, "", execute::time_limit());
    assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
    Some(case)
}

#[test]
fn processes_are_bound_to_the_cores_that_are_told_and_places_lie_inside() {
    let Some(case) = program("bind") else { return };
    let places = [("OMP_PLACES", "cores"), ("OMP_PROC_BIND", "close")];
    for environment in [&[][..], &places] {
        let outcome = run(&case, &["--bind", "core", "-v", "-n", "2"], environment);
        let errors = outcome.errors();
        let Some((_, told)) = errors.split_once("dsm-run: processes are bound to cores: processors ") else {
            assert!(
                errors.contains("cores for 2 threads: nothing is bound"),
                "a machine of one core: {errors}"
            );
            return;
        };
        let told: Vec<_> = told.split_whitespace().map(|set| set.trim_matches(['{', '}'])).take(2).collect();
        assert_ne!(told[0], told[1]);
        let expected = format!("0 {}\n0 {}\n", told[0], told[1]);
        assert_eq!(outcome.text(), expected, "{environment:?}");
    }
}

#[test]
fn where_cores_are_too_few_nothing_is_bound() {
    let Some(case) = program("bind-few") else { return };
    let unbound = run(&case, &["--bind", "none", "-n", "2"], &[]).text();
    let outcome = run(&case, &["--bind", "core", "-n", "2", "-t", "200"], &[("OMP_NUM_THREADS", "2")]);
    assert_eq!(outcome.text(), unbound);
    let errors = outcome.errors();
    assert!(
        errors.starts_with("dsm-run: warning: ")
            && errors.contains("cores for 400 threads: nothing is bound"),
        "{errors}"
    );
}
