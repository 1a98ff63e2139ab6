//! What the pass costs at compile time, and in code, on a source of the kind that costs most: solvers with blocks of 5 by 5, in nests of
//! loops with hundreds of accesses.

use dsm_tests::toolchain;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Most time of the compiler, and most code, over plain clang's.
const MOST_TIME: f64 = 1.8;
const MOST_CODE: f64 = 2.0;

const HEAD: &str = "
enum { N = 40 };
static double u[N][N][N][5], rhs[N][N][N][5], f[N][N][N][5][5], g[N][N][N][5][5], lhs[N][N][N][3][5][5];
int size[3];
double result(void) { return rhs[1][2][3][4] + lhs[1][2][3][0][1][2]; }
__attribute__((noinline)) static void eliminate(double a[5][5], double c[5][5], double r[5])
{
    double pivot, factor;
";

/// Elimination in one block, written out.
fn eliminate(out: &mut String) {
    for p in 0..5 {
        writeln!(out, "    pivot = 1.0 / a[{p}][{p}];").expect("a string");
        for k in p + 1..5 {
            writeln!(out, "    a[{p}][{k}] *= pivot;").expect("a string");
        }
        for k in 0..5 {
            writeln!(out, "    c[{p}][{k}] *= pivot;").expect("a string");
        }
        writeln!(out, "    r[{p}] *= pivot;").expect("a string");
        for row in (0..5).filter(|row| *row != p) {
            writeln!(out, "    factor = a[{row}][{p}];").expect("a string");
            for k in p + 1..5 {
                writeln!(out, "    a[{row}][{k}] -= factor * a[{p}][{k}];").expect("a string");
            }
            for k in 0..5 {
                writeln!(out, "    c[{row}][{k}] -= factor * c[{p}][{k}];").expect("a string");
            }
            writeln!(out, "    r[{row}] -= factor * r[{p}];").expect("a string");
        }
    }
    out.push_str("}\n");
}

/// One direction: the matrices of each point, those of its equation, and the sweep.
fn direction(out: &mut String, number: usize) {
    let near = |by: i32| {
        let index =
            |d: usize, name: &str| if d == number { format!("[{name}{by:+}]") } else { format!("[{name}]") };
        format!("{}{}{}", index(0, "i"), index(1, "j"), index(2, "k"))
    };
    let (here, before, behind) = (near(0), near(-1), near(1));
    let nest = |from: u32, less: u32| {
        format!(
            "#pragma omp for\n    for (int i = {from}; i < size[0] - {less}; i++) for (int j = {from}; j < size[1] - {less}; j++) for (int k = {from}; k < size[2] - {less}; k++) {{\n"
        )
    };
    let mut line = |text: String| writeln!(out, "{text}").expect("a string");
    line(format!("static void sweep{number}(double s, double t)\n{{\n{}", nest(0, 0)));
    line(format!("double q = 1.0 / u{here}[0], q2 = q * q;"));
    for r in 0..5 {
        for c in 0..5 {
            let (x, y) = ((r + c) % 5, (2 * r + c + number) % 5);
            line(match (r * 5 + c + number) % 4 {
                0 => format!("f{here}[{r}][{c}] = 0.0; g{here}[{r}][{c}] = s * u{here}[{x}] * q;"),
                1 => format!("f{here}[{r}][{c}] = u{here}[{x}] * q; g{here}[{r}][{c}] = 0.0;"),
                2 => {
                    format!("f{here}[{r}][{c}] = -(u{here}[{x}] * u{here}[{y}]) * q2; g{here}[{r}][{c}] = s;")
                }
                _ => format!("f{here}[{r}][{c}] = t; g{here}[{r}][{c}] = u{here}[{y}] * q2 - s * t;"),
            });
        }
    }
    line(format!("}}\n{}", nest(1, 1)));
    for r in 0..5 {
        for c in 0..5 {
            line(format!("lhs{here}[0][{r}][{c}] = -t * f{before}[{r}][{c}] - s * g{before}[{r}][{c}];"));
            line(format!("lhs{here}[1][{r}][{c}] = {} + 2.0 * s * g{here}[{r}][{c}];", u32::from(r == c)));
            line(format!("lhs{here}[2][{r}][{c}] = t * f{behind}[{r}][{c}] - s * g{behind}[{r}][{c}];"));
        }
    }
    line(format!("}}\n{}", nest(1, 1)));
    line(format!(
        "for (int m = 0; m < 5; m++) for (int n = 0; n < 5; n++) rhs{here}[m] -= lhs{here}[0][m][n] * rhs{before}[n];"
    ));
    line(format!("eliminate(lhs{here}[1], lhs{here}[2], rhs{here});\n}}\n}}"));
}

fn source() -> String {
    let mut out = HEAD.to_owned();
    eliminate(&mut out);
    (0..3).for_each(|d| direction(&mut out, d));
    out.push_str("void step(double s, double t)\n{\n#pragma omp parallel\n    { sweep0(s, t); sweep1(s, t); sweep2(s, t); }\n}\n");
    out
}

/// Seconds of processor time, the least of two runs.
fn seconds(compiler: &str, directory: &Path, object: &str) -> f64 {
    let once = || {
        let mut command = Command::new("sh");
        let line = format!("{compiler} -O3 -fopenmp -c -o {object} solver.c && times");
        dsm_tests::execute::hide_own_variables(&mut command);
        let output = command.args(["-c", &line]).current_dir(directory).output().expect("sh runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
        // The second line is the children's: user, then system, as 0m1.23s.
        let user = text.lines().nth(1).and_then(|l| l.split_whitespace().next()).expect("two lines");
        let (minutes, seconds) = user.trim_end_matches('s').split_once('m').expect("minutes and seconds");
        60.0 * minutes.parse::<f64>().expect("minutes") + seconds.parse::<f64>().expect("seconds")
    };
    once().min(once())
}

/// Bytes of code.
fn code(directory: &Path, object: &str) -> f64 {
    let output = Command::new("size").arg(object).current_dir(directory).output().expect("size runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let bytes = text.lines().nth(1).and_then(|l| l.split_whitespace().next()?.parse().ok());
    bytes.unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn solvers_compile_fast_and_stay_small() {
    let Some(dsm) = toolchain::dsm() else { return };
    let directory = toolchain::scratch().join("compile-costs");
    std::fs::create_dir_all(&directory).expect("scratch directory can be made");
    std::fs::write(directory.join("solver.c"), source()).expect("a file can be written");
    let plain = seconds(&toolchain::clang(), &directory, "plain.o");
    let checked = seconds(&dsm.cc.display().to_string(), &directory, "checked.o");
    assert!(checked < MOST_TIME * plain, "{checked} s instead of {plain} s");
    let (small, large) = (code(&directory, "plain.o"), code(&directory, "checked.o"));
    assert!(large < MOST_CODE * small, "{large} bytes instead of {small}");
    eprintln!("{:.2} of the time, {:.2} of the code", checked / plain, large / small);
}
