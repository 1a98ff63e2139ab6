//! Relocatable arrays and `dsm_place`: the same elements in all layouts and over requests, from C, C++ and Fortran, and a message for what is wrong.

use super::case::Case;

const ELEMENTS: &str = include_str!("../arrays/elements.c");
const MISTAKES: &str = include_str!("../arrays/mistakes.c");
const TYPED: &str = include_str!("../arrays/typed.cpp");
const ITEMS: &str = include_str!("../arrays/items.f90");

/// Runs `./x` in layouts, each with an environment.
fn verified(case: &Case, runs: &[(&str, &str)]) {
    for (environment, layout) in runs {
        let line = format!("{environment} {} {layout} ./x", case.dsm.run.display());
        assert_eq!(case.must("dsm", "env", &line), "verified\n", "{line}");
    }
}

#[test]
fn elements_are_those_that_were_put_last() {
    let Some(case) = Case::new("arrays", &[("elements.c", ELEMENTS)]) else { return };
    case.compiled("-O2 -fopenmp ../elements.c -o x");
    let runs = [
        ("", "-n 1 -t 2"),
        ("", "-n 2"),
        ("", "-n 2 -t 2"),
        ("", "-n 4"),
        ("DSM_ARRAY_CACHE=0", "-n 2"),
        ("DSM_TRANSPORT=stream", "-n 2"),
        ("DSM_TRANSPORT=stream:7", "-n 2 -t 2"),
        ("DSM_TRANSPORT=stream DSM_ARRAY_CACHE=0", "-n 2"),
        ("DSM_TRANSPORT=stream", "-n 4"),
    ];
    verified(&case, &runs);
}

#[test]
fn other_compilers_have_the_functions_too() {
    let Some(case) = Case::new("arrays_plain", &[("elements.c", ELEMENTS), ("typed.cpp", TYPED)]) else {
        return;
    };
    let include = dsm_tests::toolchain::workspace().join("runtime/include");
    case.native(&format!("-O2 -Wall -Wextra -Werror -fopenmp -I {} ../elements.c -o x", include.display()));
    assert_eq!(case.must("clang", "./x", ""), "verified\n");
    let plain = format!("-O2 -Wall -Wextra -Werror -fopenmp -I {} ../typed.cpp -o y", include.display());
    case.must("clang", dsm_tests::toolchain::clangxx(), &plain);
    assert_eq!(case.must("clang", "./y", ""), "verified\n");
}

#[test]
fn cxx_and_fortran_have_faces() {
    let Some(case) = Case::new("arrays_faces", &[("typed.cpp", TYPED), ("items.f90", ITEMS)]) else { return };
    let runs = [("", "-n 2"), ("", "-n 2 -t 2"), ("DSM_TRANSPORT=stream", "-n 2")];
    case.must("dsm", &case.dsm.cxx, "-O2 -fopenmp ../typed.cpp -o x");
    verified(&case, &runs);
    case.must("dsm", &case.dsm.fc, "-O2 -fopenmp ../items.f90 -o x");
    verified(&case, &runs);
}

/// A message with the cause and what to do about it, of the process that makes the mistake.
#[test]
fn mistakes_end_in_one_message() {
    let Some(case) = Case::new("arrays_mistakes", &[("mistakes.c", MISTAKES)]) else { return };
    case.compiled("-O2 -fopenmp ../mistakes.c -o x");
    let mistakes = [
        ("foreign", "dsm_array_get: 0x10 is no array; pass what dsm_array_create returned"),
        ("null", "dsm_array_own: 0x0 is no array"),
        ("range", "dsm_array_put: the range [99, 101) is not in the array, which has 100 elements"),
        ("huge", "dsm_array_get: the range [18446744073709551615, 18446744073709551617) is not in the array"),
        ("location", "dsm_array_location: the range [100, 101) is not in the array"),
        ("destroyed", "dsm_array_get: the array was destroyed; call dsm_array_destroy behind its last use"),
        ("twice", "dsm_array_destroy: the array was destroyed"),
        ("memory", "dsm_array_get: there is no memory to copy at a null pointer"),
        ("empty", "dsm_array_create: 0 elements of 8 bytes are no array"),
        ("page", "dsm_array_create: pages of 100 bytes do not go with elements of 8"),
        ("element", "dsm_array_create: pages of 64 bytes do not go with elements of 65"),
        ("space", "dsm_array_create: there is no space for 1152921504606846976 elements of 8 bytes"),
        ("process", "dsm_place: there is no process 7; processes are 0 to "),
        ("stack", "are not in one global variable or heap allocation"),
        ("none", "dsm_place: 0 bytes at "),
    ];
    for (mistake, message) in mistakes {
        for layout in ["-n 1", "-n 2"] {
            let outcome = case.run("dsm", &case.dsm.run, &format!("{layout} ./x {mistake}"));
            let said = outcome.errors();
            assert_eq!(outcome.status, Some(1), "{mistake}: {said}");
            assert!(said.starts_with("dsm: error: ") && said.contains(message), "{mistake}: {said}");
            // The launcher names the process, if it is another one than the first.
            let others = said.lines().skip(1).filter(|line| !line.starts_with("dsm-run: process 1 (pid "));
            assert_eq!(others.count(), 0, "{layout} {mistake}: {said}");
        }
    }
    let region = case.run("dsm", &case.dsm.run, "-n 2 ./x region");
    let said = region.errors();
    assert!(
        region.status == Some(1)
            && said.contains("dsm_place: inside a parallel region process 1 brings homes to itself alone"),
        "{said}"
    );
}
