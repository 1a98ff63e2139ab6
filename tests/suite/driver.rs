//! The compiler driver as build systems use it: what clang accepts works the same.

use dsm_tests::compile::shell_line;
use dsm_tests::execute;
use dsm_tests::toolchain;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::case::{Case, MAIN, PART};

#[test]
fn several_sources_in_one_command() {
    let Some(case) = Case::program("sources") else { return };
    case.both("-O2 -fopenmp ../main.c ../part.c -o x");
    case.agrees("x");
}

#[test]
fn sources_and_objects_mixed() {
    let Some(case) = Case::program("mixed") else { return };
    case.both("-O2 -c ../part.c -o part.o");
    case.both("-O2 -fopenmp part.o ../main.c -o x");
    case.agrees("x");
}

#[test]
fn a_function_with_the_name_of_one_that_the_runtime_calls() {
    let source = "#include <stdio.h>\nvoid write(int i) { printf(\"%d\\n\", i); }\nint main(void) { write(7); return 0; }\n";
    let Some(case) = Case::new("taken", &[("taken.c", source)]) else { return };
    let refused = case.cc("-O2 -fopenmp ../taken.c -o x");
    assert_ne!(refused.status, Some(0));
    for part in ["error: ../taken.c:2:", "the runtime calls", "-Dwrite=program_write"] {
        assert!(refused.errors().contains(part), "not '{part}' in: {}", refused.errors());
    }
    case.both("-O2 -fopenmp -Dwrite=program_write ../taken.c -o x");
    case.agrees("x");
}

#[test]
fn response_file() {
    let Some(case) = Case::new(
        "response",
        &[
            ("say.c", "#include <stdio.h>\nint main(void) { puts(TEXT); return 0; }\n"),
            ("inner.rsp", "'-DTEXT=\"two words\"'\n-o x\n"),
            ("outer.rsp", "-O2 -fopenmp\n@../inner.rsp \"../say.c\"\n"),
        ],
    ) else {
        return;
    };
    case.both("@../outer.rsp");
    case.agrees("x");
    assert_eq!(case.must("dsm", "./x", ""), "two words\n");
}

#[test]
fn assembler_from_the_driver_is_instrumented() {
    let Some(case) = Case::program("assembly_output") else { return };
    case.both("-O2 -fopenmp -S ../main.c -o main.s");
    case.both("-O2 -fopenmp -S ../part.c -o part.s");
    case.both("-c main.s part.s");
    case.both("-fopenmp main.o part.o -o x");
    case.agrees("x");
}

#[test]
fn preprocessed_source() {
    let Some(case) = Case::program("preprocessed") else { return };
    case.both("-fopenmp -E ../main.c -o main.i");
    assert_eq!(case.read("dsm/main.i"), case.read("clang/main.i"));
    case.both("-O2 -fopenmp main.i ../part.c -o x");
    case.agrees("x");
}

#[test]
fn missing_parts_of_the_toolchain() {
    let Some(case) = Case::program("incomplete") else { return };
    let bin = case.root.join("bin");
    std::fs::create_dir_all(&bin).expect("a directory can be made");
    let install = |file: &Path| {
        let to = bin.join(file.file_name().expect("a file has a name"));
        std::fs::copy(file, to).expect("a file can be copied");
    };
    install(&case.dsm.cc);
    let driver = bin.join("dsm-cc");
    let missing = |arguments: &str, file: &str| {
        let outcome = case.run("dsm", &driver, arguments);
        assert_eq!(outcome.status, Some(1), "{arguments}\n{}", outcome.errors());
        let message = outcome.errors();
        assert!(message.starts_with(&format!("dsm-cc: error: cannot find {file} (looked in ")), "{message}");
        assert!(message.contains(&*bin.to_string_lossy()), "{message}");
        assert!(message.contains("make build"), "{message}");
    };
    missing("-c ../part.c", "dsm-include");
    let mut headers = case.dsm.cc.with_file_name("dsm-include");
    if !headers.is_dir() {
        headers = case.dsm.cc.with_file_name("../lib/dsm/dsm-include");
    }
    std::os::unix::fs::symlink(headers, bin.join("dsm-include")).expect("a link can be made");
    missing("-c ../part.c", "libdsm_pass.so");
    let beside = case.dsm.cc.with_file_name("libdsm_pass.so");
    let plugin =
        if beside.is_file() { beside } else { case.dsm.cc.with_file_name("../lib/dsm/libdsm_pass.so") };
    install(&plugin);
    assert_eq!(case.run("dsm", &driver, "-O2 -fopenmp -c ../main.c ../part.c").errors(), "");
    missing("main.o part.o -o x", "dsm-runtime/libdsm_rt.a");
    missing("-fopenmp ../main.c ../part.c -o x", "dsm-runtime/libdsm_rt.a");
    // The runtime is older than what it is made of.
    let beside = case.dsm.cc.with_file_name("dsm-runtime");
    let runtime = if beside.is_dir() { beside } else { case.dsm.cc.with_file_name("../lib/dsm/dsm-runtime") };
    std::os::unix::fs::symlink(runtime, bin.join("dsm-runtime")).expect("a link can be made");
    std::fs::write(bin.join("libdsm_rt.a"), "").expect("the directory is the test's");
    let outcome = case.run("dsm", &driver, "main.o part.o -o x");
    let message = outcome.errors();
    assert_eq!(outcome.status, Some(1), "{message}");
    assert!(message.contains(" is older than ") && message.contains("run 'make build'"), "{message}");
    std::fs::remove_file(bin.join("libdsm_rt.a")).expect("it was written");
    assert_eq!(case.run("dsm", &driver, "main.o part.o -o x").errors(), "");
}

#[test]
fn debug_information() {
    let Some(case) = Case::program("debug") else { return };
    for level in ["-O0", "-O2"] {
        case.both(&format!("-g {level} -fopenmp ../main.c ../part.c -o x"));
        case.agrees("x");
        let text = case.must("dsm", "readelf", "--wide --sections x");
        assert!(text.contains(".debug_info") && text.contains(".debug_line"), "{level}\n{text}");
        // The runtime has its own: the program's must be there too.
        let text = case.run("dsm", "llvm-dwarfdump-22", "--name=sum x").text();
        assert!(text.contains("DW_AT_name\t(\"sum\")") && text.contains("part.c"), "{level}\n{text}");
    }
}

#[test]
fn questions_are_clangs_to_answer() {
    let Some(case) = Case::program("questions") else { return };
    for arguments in [
        "-dumpmachine",
        "-dumpversion",
        "-print-prog-name=ld",
        "-print-file-name=libc.so",
        "-print-search-dirs",
        "-print-resource-dir",
        "-print-libgcc-file-name",
        "-v",
        "-E -P -x c ../part.c",
        "-M -MG ../main.c",
        "-x c -fsyntax-only ../part.c",
    ] {
        let expected = case.run("clang", toolchain::clang(), arguments);
        let found = case.cc(arguments);
        assert_eq!((found.status, expected.status), (Some(0), Some(0)), "{arguments}");
        // Where the compiler is installed depends on how it was called.
        let text = |o: &execute::Outcome| o.text().replace("/usr/bin", "/usr/lib/llvm-22/bin");
        assert_eq!(text(&found), text(&expected), "{arguments}");
        assert_eq!(found.errors(), expected.errors(), "{arguments}");
    }
    let version = case.must("dsm", &case.dsm.cc, "--version");
    let clangs = case.must("clang", toolchain::clang(), "--version");
    assert!(version.contains(&clangs), "{version}");
    // Build systems ask for the first version that is there.
    let first = |text: &str| {
        let is_version =
            |word: &&str| word.split('.').filter(|part| part.parse::<u32>().is_ok()).count() == 3;
        text.split_whitespace().find(is_version).map(str::to_owned)
    };
    assert!(first(&clangs).is_some() && first(&version) == first(&clangs), "{version}");
    // A program, its assembly and its preprocessed text from standard input.
    for (arguments, expected) in
        [("-O1 -x c - -o x", ""), ("-E -x c -", "int part"), ("-S -x c - -o -", "sum:")]
    {
        let mut command = Command::new(&case.dsm.cc);
        command.args(arguments.split_whitespace()).current_dir(case.root.join("dsm"));
        let source = format!("{PART}int main(void) {{ return (int)sum(); }}\n");
        let outcome = execute::run(&mut command, &source, execute::time_limit());
        assert_eq!(outcome.status, Some(0), "{arguments}\n{}", outcome.errors());
        assert!(outcome.text().contains(expected), "{arguments}\n{}", outcome.text());
    }
    case.must("dsm", "./x", "");
}

/// Names and values in any encoding, also in response files.
#[test]
fn arguments_need_not_be_utf8() {
    let Some(case) = Case::program("bytes") else { return };
    let name = |bytes: &'static [u8]| OsStr::from_bytes(bytes);
    let directory = case.root.join("dsm");
    let source =
        format!("{PART}char text[] = TEXT;\nint main(void) {{ return sum() + (text[3] & 0x7f); }}\n");
    std::fs::write(directory.join(name(b"caf\xe9.c")), source).expect("a file can be written");
    std::fs::write(directory.join("more"), b"-DTEXT='\"caf\xe9\"' -lm").expect("a file can be written");
    let link = [name(b"caf\xe9.o"), name(b"-Wl,-rpath,caf\xe9"), name(b"-o"), name(b"x\xe9")];
    for arguments in [&[name(b"@more"), name(b"-O2"), name(b"-c"), name(b"caf\xe9.c")][..], &link] {
        let mut command = Command::new(&case.dsm.cc);
        command.args(arguments).current_dir(&directory);
        let outcome = execute::run(&mut command, "", execute::time_limit());
        assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
    }
    let outcome = execute::run(&mut Command::new(directory.join(name(b"x\xe9"))), "", execute::time_limit());
    assert_eq!(outcome.status, Some(0x69));
    let mut command = Command::new(&case.dsm.cc);
    command.arg(name(b"-fdsm-\xe9")).current_dir(&directory);
    let outcome = execute::run(&mut command, "", execute::time_limit());
    assert_eq!(outcome.status, Some(1));
    assert!(outcome.errors().contains("unknown option"), "{}", outcome.errors());
}

#[test]
fn disabled_drivers_are_the_compilers() {
    let fortran = "program x\n  integer :: i, s = 0\n  !$omp parallel do reduction(+:s)\n  do i = 1, 10\n    s = s + i\n  end do\n\
                   print *, s\nend program\n";
    let Some(case) = Case::new("disabled", &[("x.c", PART), ("x.cpp", PART), ("x.f90", fortran)]) else {
        return;
    };
    let drivers = [
        (&case.dsm.cc, toolchain::clang(), "x.c"),
        (&case.dsm.cxx, toolchain::clangxx(), "x.cpp"),
        (&case.dsm.fc, toolchain::flang(), "x.f90"),
    ];
    for (driver, compiler, source) in drivers {
        let arguments = format!("-O2 -fopenmp -c ../{source}");
        let disabled = format!("DSM_DISABLE=1 {} {arguments} -fdsm-line=64 -o x.o", driver.display());
        case.must("dsm", "env", &disabled);
        case.must("dsm", compiler, &format!("{arguments} -o plain.o"));
        let object = |name: &str| std::fs::read(case.root.join("dsm").join(name)).expect("just made");
        assert!(object("x.o") == object("plain.o"), "{disabled}");
    }
    // What clang refuses, or the drivers do, is up to clang then.
    case.must("dsm", "env", &format!("DSM_DISABLE=1 {} -fopenmp x.o -o x", case.dsm.fc.display()));
    assert!(case.must("dsm", "readelf", "--wide --dynamic x").contains("libomp"), "the link brings libomp");
    assert!(case.must("dsm", &case.dsm.cc, "--dsm-check x").contains("not compiled by dsm-cc"));
}

#[test]
fn dependency_files() {
    let header = ("part.h", "extern int part[1000];\n");
    let main = MAIN.replace("extern int part[1000];", "#include \"part.h\"");
    let Some(case) = Case::new("dependencies", &[header, ("main.c", &main), ("part.c", PART)]) else {
        return;
    };
    case.both("-MMD -MF given.d -MT goal -fopenmp -c ../main.c -o main.o");
    case.both("-MMD -MP -c ../part.c -o part.o");
    case.both("-MD -c ../main.c -o system.o");
    case.both("-MMD -MF link.d -fopenmp ../main.c -c");
    case.both("-MM ../main.c -o rules");
    for file in ["given.d", "part.d", "system.d", "link.d", "rules"] {
        assert_eq!(case.read(&format!("dsm/{file}")), case.read(&format!("clang/{file}")), "{file}");
    }
}

#[test]
fn headers_are_precompiled() {
    let source = "int main(void) { printf(\"%d\\n\", NUMBER); return 3; }\n";
    let header = "#include <stdio.h>\n#define NUMBER 7\n";
    let Some(case) = Case::new("headers", &[("number.h", header), ("main.c", source)]) else { return };
    case.both("-x c-header ../number.h -o typed.pch");
    case.both("../number.h -o number.pch");
    for precompiled in ["typed", "number"] {
        case.both(&format!("-include-pch {precompiled}.pch ../main.c -o {precompiled}"));
        case.agrees(precompiled);
    }
}

#[test]
fn options_have_long_spellings_and_the_last_one_counts() {
    let Some(case) = Case::program("spellings") else { return };
    case.both("-Werror --compile -O2 -fopenmp ../main.c --output main.o");
    case.both("-Werror --compile --language c ../part.c --output=part.o");
    case.both("-Werror -fopenmp -m32 -fsanitize=address -m64 -fno-sanitize=address main.o part.o --output x");
    case.agrees("x");
    case.both("-Werror --assemble ../part.c --output part.s");
    case.both("-Werror --preprocess ../part.c --output part.i");
    case.both("-Wno-unused-command-line-argument -fuse-ld=mold -c ../part.c");
}

#[test]
fn what_cannot_become_a_program_is_refused() {
    let Some(case) = Case::new("refused", &[("x.c", "int main(void) { return 0; }\n"), ("y.f90", "end\n")])
    else {
        return;
    };
    for option in ["-nostdlib", "-nostartfiles", "-nodefaultlibs"] {
        case.refused(
            &format!("{option} ../x.c -o x"),
            "x",
            &[option, "needs the runtime", "without the option"],
        );
    }
    case.refused("-femulated-tls ../x.c -o x", "x", &["-femulated-tls", "leave the option out"]);
    case.refused("-c ../y.f90 -o y.o", "y.o", &["y.f90", "compiles C and C++", "dsm-fc"]);
    let outcome = case.run("dsm", &case.dsm.fc, "-c ../x.c -o x.o");
    assert_eq!(outcome.status, Some(1));
    assert!(outcome.errors().contains("x.c: dsm-fc compiles Fortran; use dsm-cc"), "{}", outcome.errors());
    case.compiled("-c ../x.c -o x.o");
    case.compiled("-nostdlib -shared x.o -o libx.so");
    case.compiled("-nostdlib -r x.o -o part.o");
}

/// Build systems try what an option does by a link, which must not succeed without the program.
#[test]
fn a_program_without_main_is_not_linked() {
    let Some(case) = Case::new("no_main", &[("part.c", "int part(void) { return 0; }\n")]) else { return };
    case.compiled("-c ../part.c -o part.o");
    for linker in ["", "-fuse-ld=bfd ", "-fopenmp "] {
        let outcome = case.cc(&format!("{linker}part.o -o x"));
        let message = outcome.errors();
        assert_eq!(outcome.status, Some(1), "{linker}: {message}");
        assert!(message.contains("dsm-cc: note: the program has no main function"), "{message}");
        assert!(!case.root.join("dsm/x").exists(), "{linker}");
    }
}

/// Standard output may be a full disk.
#[test]
fn answers_that_cannot_be_written_are_errors() {
    let Some(case) = Case::program("full") else { return };
    case.compiled("-c ../part.c -o part.o");
    for arguments in ["--version", "--dsm-version", "--help", "--dsm-check part.o"] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("there is a full device");
        let mut command = Command::new(&case.dsm.cc);
        command.args(arguments.split(' ')).current_dir(case.root.join("dsm")).stdout(full);
        execute::hide_own_variables(&mut command);
        let output = command.output().expect("the driver can be started");
        assert_eq!(output.status.code(), Some(1), "{arguments}");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.starts_with("dsm-cc: error: cannot write to standard output: "), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn compile_errors_are_clangs() {
    let faulty = "int main(void)\n{\n    int x = y;\n    return z(;\n}\n";
    let warns = "#warning careful\nint main(int n, char **v) { int unused; return n = 0; }\n";
    let Some(case) = Case::new("errors", &[("faulty.c", faulty), ("warns.c", warns)]) else { return };
    for arguments in [
        "-c ../faulty.c",
        "../faulty.c -o x",
        "-fopenmp -O2 ../faulty.c -o x",
        "-fsyntax-only ../faulty.c",
        "-Wall -Wextra -c ../warns.c",
        "-Wall -Werror -c ../warns.c",
        "-c ../missing.c",
        "-fno-such-option -c ../warns.c",
    ] {
        let expected = case.run("clang", toolchain::clang(), arguments);
        let found = case.cc(arguments);
        assert_eq!(found.errors(), expected.errors(), "{arguments}");
        assert_eq!(found.status, expected.status, "{arguments}");
        assert!(!expected.stderr.is_empty(), "{arguments} shows nothing");
    }
}

#[test]
fn nothing_is_unused() {
    let Some(case) = Case::program("unused") else { return };
    let flags = "-Wall -Wextra -Werror -O2 -fopenmp";
    case.both(&format!("{flags} -c ../main.c -o main.o"));
    case.both(&format!("{flags} -c ../part.c -o part.o"));
    case.both(&format!("{flags} -S ../main.c -o main.s"));
    case.both(&format!("{flags} -E ../main.c -o main.i"));
    case.both(&format!("{flags} -fsyntax-only ../main.c"));
    case.both(&format!("{flags} main.o part.o -o linked"));
    case.agrees("linked");
    case.both(&format!("{flags} ../main.c ../part.c -o x"));
    case.agrees("x");
}

/// A loop that the program wants vectorised and that has checks is no error where warnings are, unless the user wants to know.
#[test]
fn loops_that_stay_scalar_are_no_errors() {
    let source = "void f(double *a, const double *b, int n, int m, int s, int t) {
#pragma omp parallel for
    for (int k = 0; k < n; k++)
#pragma omp simd collapse(2)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++) a[k * t + i * s + j] = b[i * s + j + 1] + b[i * s + j - 1];
}
";
    let Some(case) = Case::new("scalar", &[("loops.c", source)]) else { return };
    let flags = "-O2 -fopenmp -Werror -c ../loops.c";
    case.both(flags);
    // The checks stay in the loop.
    let flags = format!("-fdsm-disable=version {flags}");
    case.compiled(&flags);
    let outcome = case.cc(&format!("-Wpass-failed {flags}"));
    assert!(
        outcome.status != Some(0) && outcome.errors().contains("loop not vectorized"),
        "{}",
        outcome.errors()
    );
}

#[test]
fn large_globals() {
    let source = "#include <stdio.h>
#define SIZE (300u << 20)
char big[SIZE];
int behind = 7;
int main(void)
{
#pragma omp parallel for
    for (int i = 0; i < 64; i++) {
        big[i] = (char)i;
        big[SIZE - 1 - i] = (char)(2 * i);
    }
    int n = 0;
    for (int i = 0; i < 64; i++)
        n += big[i] + big[SIZE - 1 - i];
    printf(\"%d %d %d\\n\", n, big[SIZE / 2], behind);
    return 0;
}
";
    let Some(case) = Case::new("large", &[("big.c", source)]) else { return };
    case.both("-O2 -fopenmp -fPIE -pie ../big.c -o pie");
    case.agrees("pie");
    case.both("-O2 -fopenmp -fno-pie -no-pie ../big.c -o fixed");
    case.agrees("fixed");
}

#[test]
fn make_with_implicit_rules() {
    let Some(case) = Case::program("make") else { return };
    case.write("Makefile", "VPATH = ..\nmain: main.o part.o\n");
    let compilers = [("clang", toolchain::clang()), ("dsm", case.dsm.cc.display().to_string())];
    for (directory, compiler) in compilers {
        let mut make = Command::new("make");
        make.args(["-s", "-f", "../Makefile", "CFLAGS=-O2 -fopenmp", "LDFLAGS=-fopenmp"]);
        make.arg(format!("CC={compiler}")).current_dir(case.root.join(directory));
        let outcome = execute::run(&mut make, "", execute::time_limit());
        assert_eq!(outcome.status, Some(0), "{}\n{}", shell_line(&make), outcome.errors());
    }
    case.agrees("main");
}

/// A program whose checks are in front of loops, and merged.
const CHECKED: &str = "#include <stdio.h>
struct pair { long a, b; } pairs[1000];
long sum(const struct pair *p, int n)
{
    long s = 0;
    for (int i = 0; i < n; i++)
        s += p[i].a * p[i].b;
    return s;
}
void swap(struct pair *p)
{
    long a = p->a;
    p->a = p->b;
    p->b = a;
}
int main(void)
{
    long total = 0;
#pragma omp parallel for reduction(+ : total)
    for (int i = 0; i < 1000; i++) {
        pairs[i].a = i;
        pairs[i].b = 2 * i + 1;
        swap(&pairs[i]);
        total += pairs[i].a;
    }
    printf(\"%ld %ld\\n\", total, sum(pairs, 1000));
    return 0;
}
";

/// A case whose compiler notes each of its runs, and keeps its temporary files in a directory of the case.
struct Watched {
    case: Case,
    compiler: String,
}

impl Watched {
    fn new(name: &str, sources: &[(&str, &str)], compiler: &str) -> Option<Watched> {
        let case = Case::new(name, sources)?;
        let path = compiler;
        case.write(
            "compiler",
            &format!("#!/bin/sh\necho run >> {}/runs\nexec {path} \"$@\"\n", case.root.display()),
        );
        let compiler = case.root.join("compiler");
        std::fs::set_permissions(&compiler, PermissionsExt::from_mode(0o755)).expect("it is there");
        std::fs::create_dir_all(case.root.join("tmp")).expect("a directory can be made");
        Some(Watched { case, compiler: compiler.display().to_string() })
    }

    /// What the driver says, after how many runs of the compiler.
    fn run(&self, driver: &Path, arguments: &str) -> (execute::Outcome, usize) {
        let _ = std::fs::remove_file(self.case.root.join("runs"));
        let mut command = Command::new(driver);
        command.args(arguments.split_whitespace()).current_dir(self.case.root.join("dsm"));
        execute::hide_own_variables(&mut command);
        for variable in ["DSM_CLANG", "DSM_CLANGXX", "DSM_FLANG"] {
            command.env(variable, &self.compiler);
        }
        command.env("TMPDIR", self.case.root.join("tmp"));
        let outcome = execute::run(&mut command, "", execute::time_limit());
        let left: Vec<_> = std::fs::read_dir(self.case.root.join("tmp")).expect("it is there").collect();
        assert!(left.is_empty(), "{arguments} leaves {left:?}");
        (outcome, self.case.read("runs").lines().count())
    }
}

#[test]
fn code_that_the_compiler_fails_at_is_compiled_without_optimisations() {
    let Some(watched) = Watched::new("failures", &[("x.c", CHECKED)], &toolchain::clang()) else { return };
    let case = &watched.case;
    case.native("-O2 -fopenmp ../x.c -o x");
    let failures = [
        ("invalid-code", 2, "the checks do not fit into the code of this function"),
        ("crash", 2, "it crashed"),
        ("fatal-code", 3, "unsupported GC: dsm-fault"),
    ];
    for (fault, runs, cause) in failures {
        let arguments = format!("-O2 -fopenmp -fdsm-fault={fault} ../x.c -o x");
        let (outcome, count) = watched.run(&case.dsm.cc, &arguments);
        let said = outcome.errors();
        assert_eq!((outcome.status, count), (Some(0), runs), "{arguments}\n{said}");
        assert_eq!(said.lines().count(), 1, "{arguments}\n{said}");
        for part in ["dsm-cc: warning: ../x.c: compiled without optimisations", "hoist", cause] {
            assert!(said.contains(part), "{arguments}\nnot '{part}' in: {said}");
        }
        assert_eq!(said.contains("merge"), runs == 3, "{said}");
        case.agrees("x");
        let (outcome, _) = watched.run(&case.dsm.cc, &format!("-w {arguments}"));
        assert_eq!((outcome.status, outcome.errors()), (Some(0), String::new()), "{arguments}");
    }
    // What goes to standard output is that of the run that counts.
    let (outcome, _) = watched.run(&case.dsm.cc, "-O2 -fopenmp -fdsm-fault=fatal-code -S ../x.c -o -");
    assert_eq!((outcome.status, outcome.text().matches("\nsum:").count()), (Some(0), 1));
}

#[test]
fn source_from_standard_input_is_read_by_each_run() {
    let Some(watched) = Watched::new("failures_input", &[], &toolchain::clang()) else { return };
    let mut command = Command::new(&watched.case.dsm.cc);
    command.args("-O2 -fopenmp -fdsm-fault=crash -x c - -c -o x.o".split_whitespace());
    command.current_dir(watched.case.root.join("dsm")).env("TMPDIR", watched.case.root.join("tmp"));
    execute::hide_own_variables(&mut command);
    let outcome = execute::run(&mut command, CHECKED, execute::time_limit());
    assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
    assert!(outcome.errors().starts_with("dsm-cc: warning: -: compiled without"), "{}", outcome.errors());
    watched.case.compiled("-fopenmp x.o -o x");
}

#[test]
fn fortran_that_the_compiler_fails_at() {
    let source = "program x\n  integer :: i, s = 0\n  integer :: a(1000)\n  do i = 1, 1000\n    a(i) = i\n  end do\n\
                  !$omp parallel do reduction(+:s)\n  do i = 1, 1000\n    s = s + a(i)\n  end do\n  print *, s\nend program\n";
    let Some(watched) = Watched::new("failures_fortran", &[("x.f90", source)], &toolchain::flang()) else {
        return;
    };
    for fault in ["invalid-code", "crash"] {
        let (outcome, runs) =
            watched.run(&watched.case.dsm.fc, &format!("-O2 -fopenmp -fdsm-fault={fault} ../x.f90 -o x"));
        assert_eq!((outcome.status, runs), (Some(0), 2), "{fault}: {}", outcome.errors());
        assert!(
            outcome.errors().contains("../x.f90: compiled without optimisations"),
            "{}",
            outcome.errors()
        );
        assert_eq!(watched.case.must("dsm", "./x", "").trim(), "500500");
    }
}

#[test]
fn sources_that_no_compiler_takes() {
    let sources = [
        ("crash.c", "#pragma clang __debug crash\nint main(void) { return 0; }\n"),
        ("wrong.c", "int main(void) { return x; }\n"),
    ];
    let Some(watched) = Watched::new("failures_plain", &sources, &toolchain::clang()) else { return };
    let cc = &watched.case.dsm.cc;
    let (outcome, runs) = watched.run(cc, "-c ../wrong.c -o x.o");
    assert_eq!((outcome.status, runs), (Some(1), 1), "{}", outcome.errors());
    let (outcome, runs) = watched.run(cc, "../wrong.c -o x -fdsm-fault=crash");
    assert_eq!((outcome.status, runs), (Some(1), 1), "{}", outcome.errors());
    let (outcome, runs) = watched.run(cc, "-c ../crash.c -o x.o");
    let said = outcome.errors();
    assert_eq!((outcome.status, runs), (Some(1), 3), "{said}");
    for (part, count) in [
        ("frontend command failed", 1),
        ("current parser token", 1),
        ("it fails without optimisations of the checks, too", 1),
        ("diagnostic msg", 0),
        ("compiled without", 0),
    ] {
        assert_eq!(said.matches(part).count(), count, "{part}: {said}");
    }
}

/// The runtime's debug information is left out of programs, unless it is asked for; that of the program's own sources stays, and so do addresses.
#[test]
fn debug_information_is_the_program_s_own() {
    let Some(case) = Case::program("debug-of-the-runtime") else { return };
    for linker in ["bfd", "lld"] {
        let bytes = |program: &str| {
            case.root.join("dsm").join(program).metadata().expect("the program was linked").len()
        };
        // lld has the output's name among the dynamic strings, whose length moves what is behind them: both names have one letter.
        let line = format!("-g -O2 -fopenmp ../main.c ../part.c -fuse-ld={linker}");
        case.compiled(&format!("{line} -o x"));
        case.compiled(&format!("{line} -fdsm-runtime-debug -o y"));
        assert!(2 * bytes("x") < bytes("y"), "{linker}: {} and {}", bytes("x"), bytes("y"));
        let sections = case.must("dsm", "readelf", "-WS x");
        assert!(sections.contains(".debug_line"), "{linker}: {sections}");
        let decoded = case.must("dsm", "readelf", "--debug-dump=rawline x");
        assert!(decoded.contains("part.c") && !decoded.contains(".rs"), "{linker}");
        let symbols = |program: &str| {
            let all = case.must("dsm", "nm", &format!("-n {program}"));
            all.lines().filter(|l| l.contains(" T ")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(symbols("x"), symbols("y"), "{linker}");
        assert!(symbols("x").iter().any(|l| l.ends_with(" __kmpc_fork_call")), "{linker}");
    }
}

/// What no code of a program leads to is no part of it, unless the user wants all.
#[test]
fn functions_that_nothing_calls_are_left_out() {
    let Some(case) = Case::program("unused-sections") else { return };
    case.write("unused.c", "int called_by_nobody(void) { return 7; }\n");
    for linker in ["bfd", "lld"] {
        let line =
            format!("-O2 -fopenmp -ffunction-sections ../main.c ../part.c ../unused.c -fuse-ld={linker}");
        case.compiled(&format!("{line} -o x"));
        case.compiled(&format!("{line} -Wl,--no-gc-sections -o y"));
        for (name, is_there) in [("x", false), ("y", true)] {
            let symbols = case.must("dsm", "nm", name);
            assert_eq!(symbols.contains(" T called_by_nobody"), is_there, "{linker} {name}");
            assert_eq!(case.run("dsm", format!("./{name}"), "").status, Some(3), "{linker} {name}");
        }
    }
}

/// LLVM's linker, which takes less time over the runtime, links what has no options for a linker and needs no executable stack.
#[test]
fn the_faster_linker_links_unless_the_user_has_a_say() {
    let plain = "program x\n  print *, 1\nend program\n";
    let trampolines = include_str!("../programs/f_trampolines.f90");
    let sources = [("main.c", MAIN), ("part.c", PART), ("x.f90", plain), ("y.f90", trampolines)];
    let Some(case) = Case::new("linkers", &sources) else { return };
    for (driver, source) in [(&case.dsm.cc, "main.c"), (&case.dsm.fc, "x.f90"), (&case.dsm.fc, "y.f90")] {
        case.must("dsm", driver, &format!("-fopenmp -c ../{source}"));
    }
    for (driver, arguments, faster) in [
        (&case.dsm.cc, "-fopenmp main.o ../part.c -o x -lm", true),
        (&case.dsm.cc, "-shared -fPIC ../part.c -o lib.so", true),
        (&case.dsm.cc, "-fopenmp main.o ../part.c -fuse-ld=bfd", false),
        (&case.dsm.cc, "-fopenmp main.o ../part.c -Wl,--build-id", false),
        (&case.dsm.cc, "-fopenmp main.o ../part.c -Xlinker --build-id", false),
        (&case.dsm.cc, "-fopenmp main.o ../part.c -z now", false),
        (&case.dsm.cc, "-fopenmp -r main.o -o part.o", false),
        (&case.dsm.fc, "-fopenmp x.o", true),
        (&case.dsm.fc, "-fopenmp y.o", false),
        (&case.dsm.cc, "-fopenmp y.o", false),
        (&case.dsm.fc, "-fopenmp ../x.f90", false),
    ] {
        let said = case.run("dsm", driver, &format!("-### {arguments}"));
        assert_eq!(said.status, Some(0), "{arguments}: {}", said.errors());
        assert_eq!(said.errors().contains("/ld.lld\""), faster, "{arguments}: {}", said.errors());
    }
}

#[test]
fn help_is_about_the_driver_and_says_where_the_compiler_s_is() {
    let Some(case) = Case::new("help", &[]) else { return };
    let text = case.must("dsm", &case.dsm.cc, "--help");
    assert!(
        text.starts_with("USAGE: dsm-cc") && text.contains("-fdsm-line=") && text.lines().count() < 100,
        "{text}"
    );
    let hidden = case.must("dsm", &case.dsm.cc, "--help-hidden");
    assert!(hidden.contains("-fvectorize") && text.contains("--help-hidden"), "{}", hidden.len());
}

/// A program whose directives were compiled without OpenMP is named at the link and when several processes start; no other is.
#[test]
fn a_program_without_openmp_is_named() {
    let time = "#include <omp.h>\ndouble seconds(void) { return omp_get_wtime(); }\n";
    let serial = "#include <stdio.h>\nint main(void) { puts(\"one\"); return 0; }\n";
    let simd = "extern int part[1000];\nvoid zero(void)\n{\n#pragma omp simd\n    for (int i = 0; i < 1000; i++) part[i] = 0;\n}\n";
    let Some(case) = Case::program("serial") else { return };
    for (name, text) in [("time.c", time), ("serial.c", serial), ("simd.c", simd)] {
        case.write(name, text);
    }
    let started = |program: &str| case.run("dsm", &case.dsm.run, &format!("-n 2 ./{program}")).errors();
    for separately in [false, true] {
        let outcome = match separately {
            false => case.cc("-O2 ../main.c ../part.c -o x"),
            true => {
                case.compiled("-O2 -c ../main.c ../part.c");
                case.cc("main.o part.o -o x")
            }
        };
        let (said, at_start) = (outcome.errors(), started("x"));
        assert_eq!((outcome.status, said.lines().count()), (Some(0), 1), "{said}");
        for part in ["dsm-cc: warning: x has no OpenMP in it", "main.c:7", "-fno-openmp"] {
            assert!(said.contains(part), "{said}");
        }
        assert_eq!(at_start.lines().count(), 1, "{at_start}");
        assert!(at_start.starts_with("dsm: warning: ") && at_start.contains("main.c:7"), "{at_start}");
    }
    case.compiled("-O2 -fno-openmp ../main.c ../part.c -o meant");
    case.compiled("-O2 ../main.c ../part.c ../time.c -o uses_time");
    assert_eq!(started("uses_time"), "");
    case.compiled("-O2 ../serial.c ../part.c ../simd.c -o plain");
    assert!(started("plain").contains("has no OpenMP in it") && !started("plain").contains("directives"));
    // One file with OpenMP is enough.
    case.compiled("-O2 -fopenmp -c ../main.c");
    case.compiled("-O2 -c ../part.c ../simd.c");
    case.compiled("main.o part.o simd.o -o one");
    assert_eq!(started("one"), "");
}

const LARGE: &str = "#include <stdio.h>
static double low[150000000], high[150000000];
static int step = 3;
int sum;
int main(void) {
  double all = 0;
  #pragma omp parallel for
  for (int i = 1; i <= 1000; i++) low[i] = high[149999999 - i] = i;
  #pragma omp parallel for reduction(+ : all)
  for (int i = 1; i <= 1000; i++) all += low[i] + high[149999999 - i];
  #pragma omp parallel
  #pragma omp atomic
  sum += step;
  printf(\"%g %d\\n\", all, sum);
}
";

#[test]
fn static_data_may_be_large() {
    let Some(case) = Case::new("static_data", &[("large.c", LARGE)]) else { return };
    let options = "-O2 -fopenmp -mcmodel=medium ../large.c -o large";
    for linker in ["lld", "bfd"] {
        case.compiled(&format!("{options} -fuse-ld={linker}"));
        assert_eq!(case.must("dsm", &case.dsm.run, "-n 2 ./large"), "1.001e+06 6\n", "{linker}");
        let fixed = case.cc(&format!("{options} -fno-pie -no-pie -fuse-ld={linker}"));
        assert_ne!(fixed.status, Some(0), "{linker}");
        assert!(fixed.errors().contains("must end below 0x70000000"), "{linker}: {}", fixed.errors());
    }
}
