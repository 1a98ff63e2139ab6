//! The drivers as the compilers of build systems that ask them questions first: cmake, configure with automake and libtool, ccache.

use dsm_tests::execute;
use std::path::Path;
use std::process::Command;

use super::case::Case;

/// The environment without what the tests' own run has set, such as make's variables.
fn tool(case: &Case, directory: &str, line: &str, environment: &[(&str, &str)]) -> String {
    let mut words = line.split_whitespace();
    let program = words.next().expect("a command");
    let mut command = Command::new(program);
    command.args(words).current_dir(case.root.join(directory)).envs(environment.iter().copied());
    for name in ["MAKEFLAGS", "MFLAGS", "CFLAGS", "CXXFLAGS", "LDFLAGS", "DESTDIR"] {
        command.env_remove(name);
    }
    execute::hide_own_variables(&mut command);
    let outcome = execute::run(&mut command, "", execute::time_limit());
    assert_eq!(
        outcome.status,
        Some(0),
        "{line} in {}\n{}{}",
        case.root.display(),
        outcome.text(),
        outcome.errors()
    );
    outcome.text()
}

/// Runs a program that a build system has made on two processes; its output.
fn two_processes(case: &Case, program: &str) -> String {
    case.must("dsm", &case.dsm.run, &format!("--unchecked -n 2 {program}"))
}

const FILL: &str = "#include <omp.h>
int table[1000];
void fill(void)
{
#pragma omp parallel for
    for (int i = 0; i < 1000; i++) table[i] = i * (omp_get_num_threads() > 1);
}
";

const PROGRAM: &str = "#include <stdio.h>
extern int table[1000];
void fill(void);
int main(void)
{
    long s = 0;
    fill();
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < 1000; i++) s += table[999 - i];
    printf(\"%ld\\n\", s);
    return 0;
}
";

#[test]
fn cmake() {
    let lists = "cmake_minimum_required(VERSION 3.16)
project(mixed C CXX Fortran)
find_package(OpenMP REQUIRED COMPONENTS C CXX Fortran)
include(CheckCSourceRuns)
check_c_source_runs(\"int x; int main(void) { return x; }\" RUNS)
if(NOT RUNS OR NOT CMAKE_C_COMPILER_ID STREQUAL Clang OR NOT CMAKE_Fortran_COMPILER_ID STREQUAL LLVMFlang)
  message(FATAL_ERROR \"${RUNS} ${CMAKE_C_COMPILER_ID} ${CMAKE_Fortran_COMPILER_ID}\")
endif()
add_library(fill SHARED fill.c)
target_link_libraries(fill OpenMP::OpenMP_C)
add_library(total STATIC total.f90)
target_link_libraries(total OpenMP::OpenMP_Fortran)
add_executable(mixed main.cpp)
target_link_libraries(mixed fill total OpenMP::OpenMP_CXX)
";
    let total = "subroutine total(a, n, s) bind(c)
  use iso_c_binding
  integer(c_int), value :: n
  integer(c_int) :: a(n)
  integer(c_long) :: s
  integer(c_long), allocatable :: copy(:)
  integer :: i
  copy = a
  s = 0
  !$omp parallel do reduction(+:s)
  do i = 1, n
    s = s + copy(n + 1 - i)
  end do
end subroutine
";
    let main = "#include <iostream>
extern \"C\" {
extern int table[1000];
void fill(void);
void total(int *, int, long *);
}
static long sum;
int main()
{
    fill();
    total(table, 1000, &sum);
    std::cout << sum << std::endl;
}
";
    let sources = [("CMakeLists.txt", lists), ("fill.c", FILL), ("total.f90", total), ("main.cpp", main)];
    let Some(case) = Case::new("cmake", &sources) else { return };
    let compiler = |language: &str, path: &Path| format!("-DCMAKE_{language}_COMPILER={}", path.display());
    let options = [
        compiler("C", &case.dsm.cc),
        compiler("CXX", &case.dsm.cxx),
        compiler("Fortran", &case.dsm.fc),
        "-DCMAKE_BUILD_TYPE=Release".into(),
    ];
    let text = tool(&case, "dsm", &format!("cmake .. {}", options.join(" ")), &[]);
    assert!(text.contains("Found OpenMP: TRUE"), "{text}");
    tool(&case, "dsm", "cmake --build .", &[]);
    assert_eq!(two_processes(&case, "./mixed"), "499500\n");
}

#[test]
fn configure_and_libtool() {
    let configure = "AC_INIT([parts], [1.0])
AM_INIT_AUTOMAKE([foreign])
AC_PROG_CC
AM_PROG_AR
LT_INIT
AC_OPENMP
AC_CHECK_FUNCS([getline])
AC_CHECK_LIB([m], [cos])
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
";
    let makefile = "AM_CFLAGS = $(OPENMP_CFLAGS)
lib_LTLIBRARIES = libfill.la
libfill_la_SOURCES = fill.c
bin_PROGRAMS = program
program_SOURCES = program.c
program_LDADD = libfill.la
";
    let sources =
        [("configure.ac", configure), ("Makefile.am", makefile), ("fill.c", FILL), ("program.c", PROGRAM)];
    let Some(case) = Case::new("configure", &sources) else { return };
    tool(&case, ".", "autoreconf -i", &[]);
    let cc = case.dsm.cc.display();
    // Libraries of both kinds, each object compiled twice.
    let text = tool(&case, "dsm", &format!("../configure --prefix={}/usr CC={cc}", case.root.display()), &[]);
    for line in [
        "checking whether the C compiler works... yes",
        "for dsm-cc option to support OpenMP... -fopenmp",
        "checking for getline... yes",
    ] {
        let line = line.replace("dsm-cc", &cc.to_string());
        assert!(text.contains(&line), "not '{line}' in: {text}");
    }
    tool(&case, "dsm", "make -s install", &[]);
    // In the build tree it is a script that sets the path of libraries.
    assert_eq!(two_processes(&case, "./program"), "499500\n");
    assert_eq!(two_processes(&case, "../usr/bin/program"), "499500\n");
    let text = case.must("dsm", "readelf", "--wide --dynamic ../usr/bin/program");
    assert!(text.contains("NEEDED") && text.contains("[libfill.so.0]"), "{text}");
}

#[test]
fn ccache() {
    let Some(case) = Case::new("ccache", &[("fill.c", FILL), ("program.c", PROGRAM)]) else { return };
    let directory = case.root.join("cache").display().to_string();
    let check = "%compiler% --dsm-version";
    let environment = [("CCACHE_DIR", &*directory), ("CCACHE_COMPILERCHECK", check)];
    let cc = case.dsm.cc.display();
    let compile = |arguments: &str, environment: &[(&str, &str)]| {
        tool(&case, "dsm", &format!("ccache {cc} -O2 -fopenmp {arguments}"), environment);
    };
    let check = |object: &str| case.must("dsm", &case.dsm.cc, &format!("--dsm-check {object}"));
    let hits = || {
        let text = tool(&case, "dsm", "ccache --print-stats", &environment);
        let of = |name: &str| {
            let line = text.lines().find_map(|l| l.strip_prefix(name)).expect("ccache counts hits");
            line.trim().parse::<u32>().expect("ccache prints a number")
        };
        of("direct_cache_hit") + of("preprocessed_cache_hit")
    };
    compile("-c ../program.c -o program.o", &environment);
    compile("-c ../fill.c -o fill.o", &environment);
    assert_eq!(hits(), 0);
    std::fs::remove_file(case.root.join("dsm/fill.o")).expect("just made");
    compile("-c ../fill.c -o fill.o", &environment);
    assert_eq!(hits(), 1);
    compile("-fdsm-line=64 -c ../fill.c -o narrow.o", &environment);
    compile("-c ../fill.c -o plain.o", &[&environment[..], &[("DSM_DISABLE", "1")]].concat());
    assert_eq!(hits(), 1);
    assert!(
        check("narrow.o").contains("lines of 64 bytes") && check("fill.o").contains("lines of 4096 bytes")
    );
    assert!(check("plain.o").contains("not compiled by dsm-cc"));
    compile("program.o fill.o -o x", &environment);
    assert_eq!(two_processes(&case, "./x"), "499500\n");
}
