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

/// The archive that has the templates.
fn compiled(case: &Case) -> PathBuf {
    case.dsm.cxx.with_file_name("dsm-templates").join("libdsm_templates.a")
}

/// Whether one of these is a member of strings, or of their streams.
fn has_strings(names: &HashSet<String>) -> bool {
    names.iter().any(|name| name.starts_with("_ZNSt7__cxx1112basic_string"))
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
        case.must("dsm", &case.dsm.cxx, &format!("-O0 -fopenmp {options} -c ../user.cpp -o user.o"));
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
    case.must("dsm", &case.dsm.cxx, "-fopenmp -static-libstdc++ user.o -o x");
    assert!(
        !case.must("dsm", "readelf", "--wide --dynamic x").contains("libstdc++"),
        "the static library was chosen"
    );
    case.agrees("x");
    // Files that the driver does not look into refer to them, too.
    case.must("dsm", &case.dsm.cxx, "-O2 -fopenmp -c -emit-llvm ../user.cpp -o user.bc");
    case.write("dsm/script.ld", "INPUT(user.o)\n");
    for input in ["user.bc", "script.ld"] {
        case.must("dsm", &case.dsm.cxx, &format!("-fopenmp {input} -o x"));
        case.agrees("x");
    }
    // Libtool names the C++ library in front of what the driver adds.
    case.both_as(Language::Cxx, "-O2 -fopenmp -fPIC -c ../library.cpp -o library.o");
    case.both_as(Language::Cxx, "-shared library.o -lstdc++ -lm -o lib.so");
    let there = names(&case, "--dynamic --defined-only", "lib.so");
    assert!(there.contains("_ZNSo5flushEv") && !has_strings(&there), "{there:?}");
    case.both_as(Language::Cxx, "-O2 -fopenmp ../main.cpp lib.so -Wl,-rpath,$ORIGIN -o x");
    case.agrees("x");
}

/// The static C++ library's own functions throw, with and without a launcher.
#[test]
fn programs_with_the_static_library_throw() {
    let source = "#include <cstdio>
#include <exception>
#include <stdexcept>
int main()
{
    int caught = 0;
#pragma omp parallel reduction(+ : caught)
    {
        std::exception_ptr kept;
        try {
            throw std::runtime_error(\"thrown\");
        } catch (const std::exception &e) {
            caught += e.what()[0] == 't';
            kept = std::current_exception();
        }
        try {
            std::rethrow_exception(kept);
        } catch (const std::runtime_error &) {
            caught++;
        }
    }
    std::printf(\"%d\\n\", caught);
}
";
    let Some(case) = Case::new("static-libstdcxx", &[("throws.cpp", source)]) else { return };
    case.must("dsm", &case.dsm.cxx, "-O2 -fopenmp -static-libstdc++ ../throws.cpp -o x");
    for (arguments, caught) in [("-n 1 -t 2 ./x", "4\n"), ("-n 2 ./x", "4\n"), ("-n 2 -t 2 ./x", "8\n")] {
        assert_eq!(case.must("dsm", &case.dsm.run, arguments), caught, "{arguments}");
    }
    assert_eq!(case.must("dsm", "env", "OMP_NUM_THREADS=2 ./x"), "4\n");
}

/// The C++ library would call members of strings that a library shows, and store without checks to what they allocate.
#[test]
fn libraries_do_not_show_their_strings() {
    let check = "#include <stdio.h>
#include <string.h>
int message(int number, char *to);
int main(void)
{
    int bad = 0;
#pragma omp parallel for reduction(+ : bad)
    for (int i = 1; i < 40; i++) {
        char text[256];
        message(i, text);
        bad += strcmp(text, strerror(i)) != 0;
    }
    printf(\"%d\\n\", bad);
}
";
    let library = "#include <cstring>
#include <sstream>
#include <system_error>
extern \"C\" int message(int number, char *to)
{
    std::string text = std::generic_category().message(number);
    std::ostringstream out;
    out << text;
    std::strcpy(to, out.str().c_str());
    return 0;
}
";
    let Some(case) = Case::new("template-strings", &[("check.c", check), ("library.cpp", library)]) else {
        return;
    };
    for options in ["-O2 -std=c++17", "-O0 -std=c++17", "-O0 -std=c++20", "-O0 -fuse-ld=bfd -std=c++20"] {
        case.both_as(Language::Cxx, &format!("{options} -fopenmp -fPIC -shared ../library.cpp -o lib.so"));
        assert!(!has_strings(&names(&case, "--dynamic --defined-only", "lib.so")), "{options}");
        case.both("-fopenmp ../check.c lib.so -Wl,-rpath,$ORIGIN -o x");
        case.agrees("x");
    }
}

/// Strings with assertions are compiled in the source, and what needs no template needs no C++ library.
#[test]
fn what_is_compiled_is_taken_where_it_fits() {
    let strings = "#include <string>\nint length(const char *s) { return std::string(s).size(); }\n";
    let included = "#include <string>\nextern \"C\" int seven(void) { return 7; }\n";
    let main = "#include <stdio.h>\nint seven(void);\nint main(void) { printf(\"%d\\n\", seven()); }\n";
    let sources = [("strings.cpp", strings), ("included.cpp", included), ("main.c", main)];
    let Some(case) = Case::new("template-fits", &sources) else { return };
    for (options, instantiates) in [("", false), ("-D_GLIBCXX_ASSERTIONS", true)] {
        case.must("dsm", &case.dsm.cxx, &format!("-O0 {options} -c ../strings.cpp -o strings.o"));
        let there = names(&case, "--defined-only", "strings.o");
        assert_eq!(
            there.iter().any(|name| name.contains("9_M_createE")),
            instantiates,
            "{options}: {there:?}"
        );
    }
    // A text whose headers were read for other lines.
    case.must("dsm", &case.dsm.cxx, "-E ../strings.cpp -o strings.ii");
    case.must("dsm", &case.dsm.cxx, "-fdsm-line=64 -c -x c++ strings.ii -o strings.o");
    case.refused(
        "-shared strings.o -o lib.so",
        "lib.so",
        &["strings.o", "other lines", "compile the source again"],
    );
    case.both_as(Language::Cxx, "-O2 -fno-exceptions -fno-rtti -fPIC -c ../included.cpp -o included.o");
    case.both_as(Language::C, "-fopenmp ../main.c included.o -o x");
    case.agrees("x");
}
