//! What cannot be shared is said, with its place: by the compiler where it sees it, by the program where it happens.

use super::case::Case;

/// Runs the driver, which must succeed; its warnings.
fn warnings(case: &Case, arguments: &str) -> Vec<String> {
    let outcome = case.cc(arguments);
    assert_eq!(outcome.status, Some(0), "{arguments}\n{}", outcome.errors());
    outcome.errors().lines().filter(|l| l.contains("warning:")).map(str::to_owned).collect()
}

#[test]
fn inline_assembly() {
    let source = "int x, a[100];
int main(void)
{
    int own = 0, r;
    __asm__ volatile(\"incl %0\" : \"+m\"(own));
    __asm__ volatile(\"incl %0\" : \"+m\"(x));
    __asm__ volatile(\"movl (%1), %0\" : \"=r\"(r) : \"r\"(a));
    __asm__ volatile(\"\" : : \"r\"(a) : \"memory\");
    __asm__ volatile(\"pause\" : : : \"memory\");
    return own + x + r;
}
";
    let Some(case) = Case::new("assembly", &[("asm.c", source)]) else { return };
    for options in ["-O2", "-O0", "-O2 -g", "-O2 -flto"] {
        let found = warnings(&case, &format!("{options} -c ../asm.c -o asm.o"));
        let [operand, address] = &found[..] else { panic!("{options}: {found:?}") };
        assert!(
            operand.contains("asm.c:6:") && operand.contains("operand in memory"),
            "{options}: {operand}"
        );
        assert!(address.contains("asm.c:7:") && address.contains("gets the address"), "{options}: {address}");
    }
}

/// Without devices target regions are ordinary ones, and right.
#[test]
fn target_regions() {
    let source = "#include <omp.h>
#include <stdio.h>
int a[100];
int main(void)
{
    int s = 0;
#pragma omp target teams distribute parallel for map(tofrom : a)
    for (int i = 0; i < 100; i++) a[i] = i;
#pragma omp target parallel for reduction(+ : s) map(tofrom : s)
    for (int i = 0; i < 100; i++) s += a[i];
    printf(\"%d %d %d\\n\", s, omp_get_num_devices(), omp_is_initial_device());
    return 0;
}
";
    let Some(case) = Case::new("target", &[("target.c", source)]) else { return };
    let found = warnings(&case, "-O2 -fopenmp ../target.c -o x");
    let [first, second] = &found[..] else { panic!("{found:?}") };
    for (warning, line) in [(first, "7"), (second, "9")] {
        let text = format!("target.c:{line}:");
        assert!(warning.contains(&text) && warning.contains("`main`"), "{warning}");
        assert!(warning.contains("omp target") && warning.contains("runs on the host"), "{warning}");
    }
    case.native("-O2 -fopenmp ../target.c -o x");
    case.agrees("x");
    let link = "-O2 -fopenmp -fopenmp-targets=nvptx64 ../target.c -o y";
    case.refused(link, "y", &["-fopenmp-targets=nvptx64", "not supported"]);
}
