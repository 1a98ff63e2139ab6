//! Objects and archives that the driver links: those that fit together become a program, the others are refused with their name, their
//! fault and the remedy.

use dsm_tests::toolchain;

use super::case::Case;

const CALLS_SEVEN: &str = "#include <stdio.h>
int seven(void);
int main(void)
{
    printf(\"%d\\n\", seven());
    return 0;
}
";

const SEVEN: &str = "int seven(void) { return 7; }\n";

/// An object of plain clang in `dsm/`, with the given assembler text for its note section.
fn object_with_note(case: &Case, name: &str, note: &str) {
    let asm = format!(".globl seven\nseven:\n .long 0\n .section .note.dsm,\"a\",@note\n{note}\n");
    case.write(&format!("{name}.s"), &asm);
    case.must("dsm", toolchain::clang(), &format!("-c ../{name}.s -o {name}.o"));
}

#[test]
fn assembler_objects_need_permission() {
    let Some(case) = Case::new("assembler", &[("main.c", CALLS_SEVEN), ("seven.c", SEVEN)]) else { return };
    case.native("-O2 -fno-verbose-asm -S ../seven.c -o ../seven.s");
    // Preprocessed assembler, with a name that only the preprocessor makes right.
    let text = case.read("seven.s").replace("seven", "NAME");
    case.write("other.S", &format!("#define NAME seven\n{text}"));
    case.both("-c ../seven.s -o plain.o");
    case.both("-c ../other.S -o cpp.o");
    for object in ["plain.o", "cpp.o"] {
        let link = format!("-O2 ../main.c {object} -o x");
        case.refused(&link, "x", &[object, "was not compiled by dsm-cc", "-fdsm-allow-plain"]);
        case.native(&link);
        case.compiled(&format!("-fdsm-allow-plain {link}"));
        case.agrees("x");
        std::fs::remove_file(case.root.join("dsm/x")).expect("just made");
    }
    let link = "-O2 ../main.c ../seven.s -o x";
    case.refused(link, "x", &["../seven.s", "-c first", "-fdsm-allow-plain"]);
    case.native(link);
    case.compiled(&format!("-fdsm-allow-plain {link}"));
    case.agrees("x");
}

#[test]
fn static_library() {
    let Some(case) = Case::program("library") else { return };
    case.both("-O2 -fopenmp -c ../main.c -o main.o");
    case.both("-O2 -c ../part.c -o part.o");
    for directory in ["clang", "dsm"] {
        case.must(directory, "ar", "rcs libpart.a part.o");
    }
    case.both("-fopenmp main.o -L. -lpart -o by_name");
    case.agrees("by_name");
    case.both("-fopenmp main.o libpart.a -o by_path");
    case.agrees("by_path");

    // By name, too, it must fit, and its plain members are mentioned.
    case.compiled("-O2 -fopenmp -fdsm-line=64 -c ../main.c -o narrow.o");
    case.compiled("-O2 -fdsm-line=4096 -c ../part.c -o wide.o");
    case.must("dsm", "ar", "rcs libwide.a wide.o");
    for link in ["-L. -lwide", "-L . -l wide", "-L. -l:libwide.a"] {
        let link = format!("narrow.o {link} -o x");
        case.refused(&link, "x", &["libwide.a(wide.o)", "4096", "narrow.o", "64", "-fdsm-line"]);
    }
    case.must("dsm", toolchain::clang(), "-O2 -c ../part.c -o plain.o");
    case.must("dsm", "ar", "rcs libplain.a plain.o");
    let outcome = case.cc("main.o -L. -lplain -o x");
    assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
    assert!(outcome.errors().contains("libplain.a: 1 member was not compiled"), "{}", outcome.errors());
}

#[test]
fn objects_that_do_not_fit() {
    let Some(case) = Case::program("unfit") else { return };
    case.compiled("-O2 -fopenmp -fdsm-line=64 -c ../main.c -o main.o");
    case.compiled("-O2 -fdsm-line=4096 -c ../part.c -o part.o");
    let lines = ["part.o", "4096", "main.o", "64", "-fdsm-line"];
    case.refused("main.o part.o -o x", "x", &lines);
    case.refused("-fdsm-line=64 ../main.c part.o -o x", "x", &["part.o", "4096", "64", "-fdsm-line"]);

    object_with_note(&case, "version", ".long 4, 12, 1\n.asciz \"dsm\"\n.long 4711, 6, 0");
    case.refused("main.o version.o -o x", "x", &["version.o", "ABI version 4711", "compile it again"]);

    let damaged = [
        ("short", ".long 4, 12, 1"),
        ("owner", ".long 4, 12, 1\n.asciz \"dsn\"\n.long 1, 6, 0"),
        ("shift", ".long 4, 12, 1\n.asciz \"dsm\"\n.long 1, 40, 0"),
        ("longer", ".long 4, 13, 1\n.asciz \"dsm\"\n.long 1, 6, 0"),
    ];
    for (name, note) in damaged {
        object_with_note(&case, name, note);
        let object = format!("{name}.o");
        case.refused(&format!("main.o {object} -o x"), "x", &[&object, "damaged", "compile it again"]);
    }

    case.must("dsm", toolchain::clang(), "-O2 -c ../part.c -o plain.o");
    for plain in ["plain.o", "-Wl,plain.o", "-Wl,--as-needed,plain.o", "-Xlinker plain.o"] {
        let link = format!("main.o {plain} -o x");
        case.refused(&link, "x", &["plain.o", "was not compiled by dsm-cc", "-fdsm-allow-plain"]);
    }
}

#[test]
fn relocatable_links_are_checked() {
    let Some(case) = Case::program("relocatable") else { return };
    case.both("-O2 -fopenmp -c ../main.c -o main.o");
    case.both("-O2 -c ../part.c -o part.o");
    case.both("-r main.o part.o -o all.o");
    case.both("-fopenmp all.o -o x");
    case.agrees("x");

    // Behind the note of an instrumented object, a plain one would not be seen any more.
    case.must("dsm", toolchain::clang(), "-O2 -c ../part.c -o plain.o");
    case.refused("-r main.o plain.o -o bad.o", "bad.o", &["plain.o", "not compiled by dsm-cc"]);
    case.compiled("-r -fdsm-allow-plain main.o plain.o -o allowed.o");
    case.compiled("-O2 -fdsm-line=4096 -c ../part.c -o wide.o");
    case.compiled("-O2 -fdsm-line=64 -fopenmp -c ../main.c -o narrow.o");
    case.refused("-r narrow.o wide.o -o bad.o", "bad.o", &["wide.o", "4096", "narrow.o", "64"]);
}

#[test]
fn check_describes_files() {
    let Some(case) = Case::program("check") else { return };
    case.compiled("-O2 -fopenmp -fdsm-line=64 -c ../main.c -o main.o");
    case.compiled("-O2 -fdsm-line=64 -fdsm-disable=merge,hoist -fdsm-disable=nest -c ../part.c -o part.o");
    case.must("dsm", toolchain::clang(), "-O2 -c ../part.c -o plain.o");
    case.must("dsm", "ar", "rcs lib.a part.o plain.o");
    case.compiled("main.o part.o -o x");
    let text = case.must("dsm", &case.dsm.cc, "--dsm-check part.o x lib.a plain.o ../part.c");
    let lines: Vec<&str> = text.lines().collect();
    let [object, program, archive, first, second, plain, source] = lines[..] else { panic!("{text}") };
    let made = |line: &str, start: &str| {
        assert!(line.starts_with(start) && line.contains("lines of 64 bytes"), "{line}");
    };
    made(object, "part.o: object, compiled by dsm-cc (ABI version ");
    made(program, "x: program, compiled by dsm-cc (ABI version ");
    for line in [object, program, first] {
        assert!(line.ends_with(" bytes of shared globals, -fdsm-disable=merge,hoist,nest)"), "{line}");
    }
    assert_eq!(archive, "lib.a: static library of 2 members");
    made(first, "lib.a(part.o): compiled by dsm-cc (ABI version ");
    assert_eq!(second, "lib.a(plain.o): not compiled by dsm-cc");
    assert_eq!(plain, "plain.o: object, not compiled by dsm-cc");
    assert_eq!(source, "../part.c: neither object nor program");
    case.refused("--dsm-check missing.o", "missing.o", &["missing.o", "No such file"]);
}

#[test]
fn common_and_weak_symbols() {
    let first = "#include <stdio.h>
int both[100];
__attribute__((weak)) int strength = 1;
__attribute__((weak)) int kind(void) { return 1; }
__attribute__((weak)) int lonely = 5;
extern int absent __attribute__((weak));
void fill(void);
int main(void)
{
    fill();
    int n = 0;
#pragma omp parallel for reduction(+ : n)
    for (int i = 0; i < 100; i++)
        n += both[i];
    printf(\"%d %d %d %d %d\\n\", n, strength, kind(), lonely, &absent == 0);
    return 0;
}
";
    let second = "int both[100];
int strength = 2;
int kind(void) { return 2; }
void fill(void)
{
#pragma omp parallel for
    for (int i = 0; i < 100; i++)
        both[i] = i;
}
";
    let Some(case) = Case::new("symbols", &[("first.c", first), ("second.c", second)]) else { return };
    for level in ["-O0", "-O2"] {
        case.both(&format!("{level} -fcommon -fopenmp ../first.c ../second.c -o x"));
        case.agrees("x");
    }
}
