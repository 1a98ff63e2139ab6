//! Libraries that the plain compilers made, and that use OpenMP themselves: LLVM's runs in the calling process, GCC's is their own.

use dsm_tests::toolchain;

use super::case::Case;

const LIBRARY: &str = "#include <omp.h>
static int count;
double library_sum(const double *a, long n)
{
    double s = 0;
#pragma omp parallel for reduction(+ : s)
    for (long i = 0; i < n; i++) s += a[i];
    return s;
}
int library_number(void) { return omp_get_thread_num(); }
int library_team(int n)
{
    int sum = 0, tasks = 0;
#pragma omp parallel num_threads(n)
    {
#pragma omp critical
        sum += omp_get_thread_num();
#pragma omp barrier
#pragma omp single
        for (int i = 0; i < 10; i++) {
#pragma omp task shared(tasks)
#pragma omp atomic
            tasks += i;
        }
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 7; i++) {
#pragma omp atomic
            count++;
        }
    }
    return 10000 * count + 100 * sum + tasks;
}
";

const USER: &str = "#include <stdio.h>
double library_sum(const double *a, long n);
int library_team(int n);
int library_number(void);
static double a[100000];
int main(void)
{
    double here = 0;
    int numbers = 0, inner = 0;
#pragma omp parallel for
    for (long i = 0; i < 100000; i++) a[i] = i % 10;
    // Touching them makes them valid for the library.
    for (long i = 0; i < 100000; i++) here += a[i];
    printf(\"%.0f %.0f %d\\n\", here, library_sum(a, 100000), library_team(3));
#pragma omp parallel num_threads(4) reduction(+ : numbers)
    NUMBERS;
#pragma omp parallel num_threads(4) reduction(+ : inner)
    {
        double own[10] = {1, 2, 3};
        inner += (int)library_sum(own, 10);
    }
    printf(\"%d %d\\n\", numbers, inner);
    return 0;
}
";

/// Builds the library by a plain compiler, the program by both, and compares.
fn check(name: &str, compiler: &str, numbers: &str) {
    let user = USER.replace("NUMBERS", numbers);
    let Some(case) = Case::new(name, &[("plain.c", LIBRARY), ("user.c", &user)]) else { return };
    let link = "-O2 -fopenmp ../user.c -o x -L. -lplain -Wl,-rpath,$ORIGIN";
    for directory in ["clang", "dsm"] {
        case.must(directory, compiler, "-O2 -fPIC -shared -fopenmp ../plain.c -o libplain.so");
    }
    case.native(link);
    let outcome = case.cc(link);
    assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
    case.agrees("x");
    for layout in ["-n 1 -t 4", "-n 2 -t 2", "-n 4"] {
        let line = format!("{layout} ./x");
        assert_eq!(case.must("dsm", &case.dsm.run, &line), case.must("clang", "./x", ""), "{layout}");
    }
}

#[test]
fn of_llvm() {
    check("plain_llvm", &toolchain::clang(), "numbers += library_number()");
}

/// Its library tells the threads of its own regions apart, and no others.
#[test]
fn of_gcc() {
    check("plain_gcc", "gcc", "numbers += 1");
}
