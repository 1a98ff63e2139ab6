//! The compiler driver as build systems use it: what clang accepts works the same.

use dsm_tests::compile::shell_line;
use dsm_tests::execute;
use dsm_tests::toolchain;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
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
        assert!(message.contains("cargo build --release"), "{message}");
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
    missing("main.o part.o -o x", "libdsm_rt.a");
    missing("-fopenmp ../main.c ../part.c -o x", "libdsm_rt.a");
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
    assert!(version.contains(&case.must("clang", toolchain::clang(), "--version")), "{version}");
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
