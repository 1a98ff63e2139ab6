//! String and stream templates of libstdc++ that are compiled with checks once, and not in each source.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::case::{Case, Language};

/// Uses templates of all kinds.
const USER: &str = "#include <fstream>
#include <iostream>
#include <sstream>
int main()
{
    std::ostringstream text;
    std::string all;
#pragma omp parallel for ordered schedule(dynamic)
    for (int i = 0; i < 20; i++) {
        std::ostringstream own;
        own << i << ' ' << i / 8.0 << std::endl;
#pragma omp ordered
        all += own.str();
    }
    std::istringstream in(all);
    std::string word, line;
    double sum = 0, number;
    while (in >> word >> number && std::getline(in, line)) sum += number + word.size();
    std::istringstream rest(\"to the end\");
    text << rest.rdbuf();
    std::ifstream missing(\"/nowhere\");
    std::cout << all << sum << ' ' << text.str() << ' ' << missing.is_open() << std::endl;
}
";

/// All that is compiled, for any standard.
const INSTANCES: &str = "#include <ext/stdio_filebuf.h>
#include <ext/stdio_sync_filebuf.h>
#include <sstream>
#define _DSM_STRING template
#define _DSM_IOS template
#define _DSM_STREAMBUF template
#define _DSM_OSTREAM template
#define _DSM_ISTREAM template
#define _DSM_FSTREAM template
#define _DSM_SSTREAM template
#define _DSM_STDIO template
#include <bits/dsm_instances.h>
";

/// The object that has the templates.
fn compiled(case: &Case) -> PathBuf {
    case.dsm.cxx.with_file_name("dsm-templates").join("dsm_templates.o")
}

/// Mangled names of the library that an object has, or refers to, as `nm` with such options says.
fn names(case: &Case, options: &str, object: &str) -> HashSet<String> {
    let text = case.must("dsm", "nm", &format!("--format=just-symbols {options} {object}"));
    text.lines()
        .filter(|name| name.starts_with("_Z") || name.starts_with("__dsm_templates"))
        .map(str::to_owned)
        .collect()
}

/// A member that a standard has (C++14 those of C++11; the templates are compiled as C++17, too), and that is not compiled, would be taken from libstdc++, where it has no checks.
#[test]
fn members_of_all_standards_are_compiled() {
    let Some(case) = Case::new("template-members", &[("instances.cpp", INSTANCES)]) else { return };
    let there = names(&case, "--defined-only", &compiled(&case).display().to_string());
    for standard in [11, 20] {
        let line = format!("-std=gnu++{standard} -O1 -D_DSM_INSTANTIATE -c ../instances.cpp -o {standard}.o");
        case.must("dsm", &case.dsm.cxx, &line);
        // Sources in C++20 have their own strings and string streams.
        let is_own = |name: &String| standard == 20 && name.contains("St7__cxx11");
        let all = names(&case, "--defined-only", &format!("{standard}.o"));
        assert!(all.contains("_ZNSo5flushEv"), "C++{standard}");
        let missing: Vec<_> = all.difference(&there).filter(|name| !is_own(name)).collect();
        assert!(missing.is_empty(), "C++{standard}: {missing:?}");
    }
}

/// Sources refer to the compiled templates where these fit, and the link brings them.
#[test]
fn sources_do_not_compile_them_again() {
    let Some(case) = Case::new("templates", &[("user.cpp", USER)]) else { return };
    for (options, instantiates) in [
        ("-std=c++11", false),
        ("-std=c++17", false),
        ("-std=c++20", false),
        ("-std=c++98", true),
        ("-std=c++23", true),
        ("-D_GLIBCXX_USE_CXX11_ABI=0", true),
        ("-fdsm-line=256", true),
        ("-fdsm-check=mprotect", true),
        ("-fdsm-disable=merge", true),
    ] {
        case.must("dsm", &case.dsm.cxx, &format!("-O2 -fopenmp {options} -c ../user.cpp -o user.o"));
        assert_eq!(
            names(&case, "--defined-only", "user.o").contains("_ZNSo5flushEv"),
            instantiates,
            "{options}"
        );
        assert_eq!(
            names(&case, "--undefined-only", "user.o").contains("__dsm_templates"),
            !instantiates,
            "{options}"
        );
        case.must("dsm", &case.dsm.cxx, "-fopenmp user.o -o x");
        assert!(names(&case, "--defined-only", "x").contains("_ZNSo5flushEv"), "{options}");
    }
}

/// Whoever links, in whatever order, and with the library in the program: the program does what plain clang's does.
#[test]
fn links_bring_the_compiled_templates() {
    let library = USER.replace("int main()", "int library()");
    let main = "int library();\nint main() { return library(); }\n";
    let library = library.replace("std::endl;\n}", "std::endl;\n    return 0;\n}");
    let sources = [("user.cpp", USER), ("library.cpp", &*library), ("main.cpp", main)];
    let Some(case) = Case::new("template-links", &sources) else { return };
    case.both_as(Language::Cxx, "-O2 -fopenmp -c ../user.cpp -o user.o");
    case.both_as(Language::C, "-fopenmp user.o -lstdc++ -lm -o x");
    case.agrees("x");
    for options in ["-static-libstdc++", "-flto -fuse-ld=lld", "-fno-pie -no-pie"] {
        case.both_as(Language::Cxx, &format!("-O2 -fopenmp {options} ../user.cpp -o x"));
        case.agrees("x");
    }
    // Libtool names the C++ library in front of what the driver adds.
    case.both_as(Language::Cxx, "-O2 -fopenmp -fPIC -c ../library.cpp -o library.o");
    case.both_as(Language::Cxx, "-shared library.o -lstdc++ -lm -o lib.so");
    assert!(names(&case, "--dynamic --defined-only", "lib.so").contains("_ZNSo5flushEv"));
    case.both_as(Language::Cxx, "-O2 -fopenmp ../main.cpp lib.so -Wl,-rpath,$ORIGIN -o x");
    case.agrees("x");
}
