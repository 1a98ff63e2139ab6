//! Variables of shared libraries are variables like others: reached through code that has no checks, with block sizes of their own, named in
//! reports of races.

use super::case::Case;
use dsm_tests::execute::Outcome;
use dsm_tests::toolchain;

const INNER: &str = "#include <stdlib.h>
#include <dsm.h>
int counter[9000];
static int *heap;
void fill(int base)
{
    if (!heap) heap = malloc(9000 * sizeof *heap);
#pragma omp parallel for
    for (int i = 0; i < 9000; i++) {
        counter[i] += base + i;
        heap[i] = counter[i];
    }
}
long sum(void)
{
    long s = 0;
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < 9000; i++) s += counter[8999 - i] + heap[i];
    return s;
}
long sizes(void) { return (long)(dsm_block_size(counter) + dsm_block_size(heap)); }
void mark(int i) { counter[0] = i; }
";

/// A library of another compiler, which alone the program names.
const OUTER: &str = "void fill(int);
long sum(void), sizes(void);
void mark(int);
void outer_fill(int base) { fill(base); }
long outer_sum(void) { return sum(); }
long outer_sizes(void) { return sizes(); }
void outer_mark(int i) { mark(i); }
";

const USER: &str = "#include <omp.h>
#include <stdio.h>
void outer_fill(int), outer_mark(int);
long outer_sum(void), outer_sizes(void);
int own[2000];
int main(int argc, char **argv)
{
    long t = 0;
#pragma omp parallel for
    for (int i = 0; i < 2000; i++) own[i] = i;
    for (int k = 0; k < 5; k++) outer_fill(k);
#pragma omp parallel for reduction(+ : t)
    for (int i = 0; i < 2000; i++) t += own[1999 - i];
    printf(\"%ld %ld %ld\\n\", outer_sum(), t, outer_sizes());
    if (argc > 1) {
#pragma omp parallel num_threads(2)
        outer_mark(omp_get_thread_num() + 1);
    }
    return 0;
}
";

fn run(case: &Case, arguments: &str) -> Outcome {
    case.run("dsm", "env", arguments)
}

#[test]
fn library_behind_a_library() {
    let Some(case) = Case::new("behind", &[("inner.c", INNER), ("outer.c", OUTER), ("user.c", USER)]) else {
        return;
    };
    let origin = "-Wl,-rpath,$ORIGIN";
    case.compiled("-g -O2 -fopenmp -fPIC -shared ../inner.c -o libinner.so");
    case.must(
        "dsm",
        toolchain::clang(),
        &format!("-O2 -fPIC -shared ../outer.c -L. -linner {origin} -o libouter.so"),
    );
    case.compiled(&format!("-g -O2 -fopenmp ../user.c -L. -louter {origin} -o x"));
    let launcher = case.dsm.run.display();
    for processes in [1, 2, 3] {
        let outcome = run(&case, &format!("{launcher} -n {processes} ./x"));
        assert_eq!(
            (outcome.status, &*outcome.text()),
            (Some(0), "405135000 1999000 16384\n"),
            "{}",
            outcome.errors()
        );
    }
    let line = 1 + INNER.lines().position(|l| l.contains("malloc(")).expect("the library allocates");
    case.write("rules", &format!("symbol counter 16384\nalloc inner.c:{line} 65536\n"));
    let outcome = run(&case, &format!("DSM_BLOCK_FILE=../rules {launcher} -n 2 ./x"));
    assert_eq!((&*outcome.text(), &*outcome.errors()), ("405135000 1999000 81920\n", ""));
    let line = 1 + INNER.lines().position(|l| l.contains("void mark")).expect("the library races");
    // Which of the two stores first differs from run to run, and in some orders the second one sees the first.
    let messages: Vec<String> = (0..20)
        .map(|_| run(&case, &format!("DSM_RACE=report {launcher} -n 2 ./x race")).errors().to_string())
        .collect();
    let named = |message: &String| {
        message.contains("dsm: race: counter+0") && message.contains(&format!("inner.c:{line} (mark)"))
    };
    assert!(messages.iter().any(named), "{messages:?}");
}
