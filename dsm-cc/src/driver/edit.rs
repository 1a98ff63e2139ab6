//! The second walk over the argument vector: from what was typed to what clang gets.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use dsm_abi::layout::USER_MAIN;

use super::arguments::{self, Typed, strip};
use super::components::{EXCEPTIONS_ARCHIVE, RUNTIME, RUNTIME_WITH_DEBUG, TEMPLATES_ARCHIVE};
use super::own::PREFIX;

/// What the driver adds; `None` where the invocation has no use for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Directory with the headers that go before those of the C++ library.
    pub cxx_headers: Option<PathBuf>,
    /// Directory of the header that says which templates of the C++ library are compiled.
    pub templates: Option<PathBuf>,
    /// The archive that has them.
    pub templates_archive: Option<PathBuf>,
    /// The C++ library is to be linked if anything refers to it, although the compiler of another language links.
    pub libstdcxx: bool,
    /// The pass plugin.
    pub plugin: Option<PathBuf>,
    /// The runtime library.
    pub runtime: Option<PathBuf>,
    /// The part of it that stands in front of a shared libstdc++ for exceptions.
    pub exceptions: Option<PathBuf>,
    /// LLVM's linker is to link.
    pub lld: bool,
    /// The linker script.
    pub script: Option<String>,
    /// The object that makes a shared library known to the runtime.
    pub image: Option<String>,
    /// Objects that stand in front of functions of libstdc++.
    pub before_libstdcxx: Vec<String>,
    /// The program wraps `free` itself.
    pub program_wraps_free: bool,
    /// The loader is to resolve all functions at the start.
    pub bind_now: bool,
    /// Directory of `dsm.h`.
    pub headers: Option<PathBuf>,
    /// Directory of Fortran's module files.
    pub modules: Option<PathBuf>,
}

/// [`Typed::front_end`] of flang.
pub const FLANG: &str = "-Xflang";

/// System libraries that the runtime needs, behind it.
const SYSTEM_LIBRARIES: &[&str] = &[
    "-Wl,--push-state,--as-needed",
    "-lpthread",
    "-ldl",
    "-lrt",
    "-lutil",
    "-lm",
    "-lgcc_s",
    "-Wl,--pop-state",
];

/// The arguments without the driver's own.
pub fn plain(arguments: &[OsString]) -> Vec<OsString> {
    arguments.iter().filter(|a| strip(a, PREFIX).is_none()).cloned().collect()
}

/// Clang's argument vector.
pub fn edit(arguments: &[OsString], typed: &Typed, parts: &Parts) -> Vec<OsString> {
    let mut out = Vec::with_capacity(arguments.len() + 16);
    add_front(&mut out, typed, parts);
    let mut rest = arguments.iter();
    let mut only_files = false;
    while let Some(argument) = rest.next() {
        if only_files {
            // The "--" is gone, because options follow; a name that looks like one gets a path.
            let hidden = strip(argument, "-").is_some() && argument != "-";
            out.push(if hidden { joined("./", argument) } else { argument.clone() });
        } else if argument == "--" {
            only_files = true;
        } else if strip(argument, PREFIX).is_some() {
        } else if arguments::takes_value(argument) {
            let value = rest.next();
            let library = argument == "-l" && value.is_some_and(|v| is_openmp_library(&joined("-l", v)));
            if !(typed.links() && library) {
                out.push(argument.clone());
                out.extend(value.cloned());
            }
        } else if typed.links() && needs_openmp(argument) {
            if typed.compiles() && typed.openmp {
                out.extend([typed.front_end.into(), argument.clone()]);
            }
        } else if !(typed.links() && (is_openmp(argument) || is_runtime(argument))) {
            out.push(argument.clone());
        }
    }
    if parts.runtime.is_some() {
        // Libraries that are loaded later find it, and end the program with a message.
        out.push("-Wl,--export-dynamic-symbol=__dsm_add_image".into());
    }
    if let Some(archive) = &parts.templates_archive {
        out.extend(["-Xlinker".into(), archive.clone().into_os_string()]);
    }
    if parts.libstdcxx {
        out.extend(["-Wl,--push-state,--as-needed", "-lstdc++", "-Wl,--pop-state"].map(OsString::from));
    }
    for object in parts.image.iter().chain(&parts.before_libstdcxx) {
        out.extend(["-Xlinker".into(), object.into()]);
    }
    if let Some(modules) = &parts.modules {
        // Behind the user's directories, where a module of the same name may be.
        out.push(joined("-I", modules.as_os_str()));
    }
    if let Some(runtime) = &parts.runtime {
        for archive in [runtime].into_iter().chain(&parts.exceptions) {
            // Passed on by name, the archive cannot count as a source, whatever "-x LANGUAGE" is in force.
            out.extend(["-Xlinker".into(), archive.clone().into_os_string()]);
        }
        out.extend(SYSTEM_LIBRARIES.iter().map(OsString::from));
    }
    out
}

/// What goes before the user's arguments.
fn add_front(out: &mut Vec<OsString>, typed: &Typed, parts: &Parts) {
    if let Some(headers) = &parts.headers {
        out.extend(["-isystem".into(), headers.clone().into_os_string(), "-D__DSM__=1".into()]);
    }
    for headers in parts.cxx_headers.iter().chain(&parts.templates) {
        // Handed to the front end alone, which does not complain if a source has no use for it.
        out.extend(["-Xclang".into(), "-isystem".into(), "-Xclang".into(), headers.clone().into_os_string()]);
    }
    if let Some(plugin) = &parts.plugin {
        out.push(joined("-fpass-plugin=", plugin.as_os_str()));
        if typed.front_end != FLANG {
            // Loops with checks are not vectorised where the program asks for that (`omp simd`), which would be an error under -Werror.
            out.push("-Wno-pass-failed".into());
        }
        if !typed.own.keeps_places {
            // Warnings of the pass name lines. A request for remarks that nothing makes lets clang remember them; flang would make debug information on
            // variables as well, and fails at some programs then. The pass takes the lines out again.
            let lines = if typed.front_end == FLANG {
                "-debug-info-kind=line-tables-only"
            } else {
                "-Rpass=^dsm-lines$"
            };
            out.extend([typed.front_end.into(), lines.into()]);
        }
    }
    if parts.lld {
        out.push("-fuse-ld=lld".into());
    }
    if let Some(script) = &parts.script {
        out.push(format!("-Wl,-T,{script}").into());
        // The script's alignment must survive into the program header.
        out.push("-Wl,-z,max-page-size=65536".into());
        if !parts.program_wraps_free {
            // Libraries that become part of the file, such as flang's, free objects of the shared heap by `free`.
            out.push("-Wl,--wrap=free".into());
        }
    }
    if parts.runtime.is_some() {
        // Leaves out what the program does not use of the runtime and of the libraries in it. Without the second option lld would not count
        // `__start_NAME` as a use of the section NAME.
        out.push("-Wl,--gc-sections,-z,nostart-stop-gc".into());
        // An archive may have the program's `main`, as those of test frameworks do; the runtime, which refers to it, comes behind.
        out.push(format!("-Wl,-u,{USER_MAIN}").into());
    }
    if parts.bind_now {
        // A resolver that ran at its function's first call would see shared memory, which it does not check.
        out.push("-Wl,-z,now".into());
    }
    if parts.plugin.is_some() && typed.fixed_code && typed.front_end != FLANG {
        // The linker would copy variables of shared libraries into the program, outside the shared globals.
        out.extend(["-Xclang".into(), "-fno-direct-access-external-data".into()]);
    }
    if typed.links() && typed.compiles() && typed.openmp {
        // At a link the compiler's own -fopenmp brings libomp, whose place the runtime takes: only the front end hears of it.
        out.extend([typed.front_end.into(), "-fopenmp".into()]);
    }
}

fn joined(front: &str, back: &OsStr) -> OsString {
    let mut out = OsString::from(front);
    out.push(back);
    out
}

/// What would bring an OpenMP library to the link.
fn is_openmp(argument: &OsStr) -> bool {
    let option = strip(argument, "-fopenmp").or(strip(argument, "-fno-openmp"));
    option.is_some_and(|rest| rest.is_empty() || strip(rest, "=").is_some())
        || argument == "-static-openmp"
        || is_openmp_library(argument)
}

/// What the compiler passes to its front end only together with an `-fopenmp` of its own.
fn needs_openmp(argument: &OsStr) -> bool {
    ["-fopenmp-version=", "-fopenmp-extensions", "-fno-openmp-extensions"]
        .iter()
        .any(|option| strip(argument, option).is_some())
}

/// The runtime and the compiled templates, which build systems find among what the compiler links and then name themselves. A shared library must not have
/// a runtime, and the templates are named once.
fn is_runtime(argument: &OsStr) -> bool {
    let name = Path::new(argument).file_name();
    name.is_some()
        && [RUNTIME, RUNTIME_WITH_DEBUG, EXCEPTIONS_ARCHIVE, TEMPLATES_ARCHIVE]
            .iter()
            .any(|file| Path::new(file).file_name() == name)
}

/// `-lomp` and its relatives, and the same libraries by path.
fn is_openmp_library(argument: &OsStr) -> bool {
    const NAMES: [&str; 3] = ["omp", "gomp", "iomp5"];
    let argument = argument.to_string_lossy();
    if let Some(name) = argument.strip_prefix("-l") {
        return NAMES.contains(&name);
    }
    let file = argument.rsplit('/').next().unwrap_or(&argument);
    NAMES.iter().any(|name| {
        let rest = file.strip_prefix("lib").and_then(|f| f.strip_prefix(name));
        rest.is_some_and(|rest| rest == ".a" || rest == ".so" || rest.starts_with(".so."))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(line: &str) -> String {
        let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let typed = Typed::read(&arguments).unwrap();
        let program = typed.links() && !typed.relocatable && !typed.shared;
        let parts = Parts {
            plugin: typed.compiles().then(|| "P.so".into()),
            runtime: program.then(|| "R.a".into()),
            script: (program || typed.shared).then(|| "S".into()),
            image: typed.shared.then(|| "I".into()),
            bind_now: typed.shared,
            ..Parts::default()
        };
        edit(&arguments, &typed, &parts).join(OsStr::new(" ")).into_string().unwrap()
    }

    const PASS: &str = "-fpass-plugin=P.so -Wno-pass-failed -Xclang -Rpass=^dsm-lines$";
    const SCRIPT: &str = "-Wl,-T,S -Wl,-z,max-page-size=65536 -Wl,--wrap=free";
    const LINK: &str = "-Wl,-T,S -Wl,-z,max-page-size=65536 -Wl,--wrap=free -Wl,--gc-sections,-z,nostart-stop-gc -Wl,-u,__dsm_user_main";
    const LIBS: &str = "-Wl,--export-dynamic-symbol=__dsm_add_image -Xlinker R.a -Wl,--push-state,--as-needed -lpthread -ldl -lrt -lutil -lm -lgcc_s -Wl,--pop-state";

    #[test]
    fn compile_keeps_everything() {
        assert_eq!(
            edited("-O3 -fopenmp -fdsm-line=64 -c x.c -o x.o"),
            format!("{PASS} -O3 -fopenmp -c x.c -o x.o")
        );
    }

    #[test]
    fn link_replaces_the_openmp_library() {
        assert_eq!(edited("-fopenmp x.o -o x -lm"), format!("{LINK} x.o -o x -lm {LIBS}"));
    }

    #[test]
    fn compile_and_link_in_one_step() {
        assert_eq!(
            edited("-O2 -fopenmp=libomp x.c -lm"),
            format!("{PASS} {LINK} -Xclang -fopenmp -O2 x.c -lm {LIBS}")
        );
        assert_eq!(
            edited("-fopenmp -fopenmp-version=52 x.c"),
            format!("{PASS} {LINK} -Xclang -fopenmp -Xclang -fopenmp-version=52 x.c {LIBS}")
        );
        assert_eq!(edited("-fopenmp -fopenmp-version=52 x.o"), format!("{LINK} x.o {LIBS}"));
    }

    #[test]
    fn the_last_openmp_option_counts() {
        for (line, on) in [
            ("-fopenmp -fno-openmp x.c", false),
            ("-fno-openmp -fopenmp x.c", true),
            ("-fopenmp-simd x.c", false),
        ] {
            assert_eq!(edited(line).contains("-Xclang -fopenmp "), on, "{line}");
        }
    }

    #[test]
    fn openmp_libraries_are_left_out_at_links_only() {
        let line = "x.o -lomp -l gomp /usr/lib/libomp.so.5 libiomp5.a -static-openmp -lompl libomp2.so";
        assert_eq!(edited(line), format!("{LINK} x.o -lompl libomp2.so {LIBS}"));
        assert_eq!(edited("-c x.c -o libomp.a -l omp"), format!("{PASS} -c x.c -o libomp.a -l omp"));
        assert_eq!(edited("x.o -o libomp.so"), format!("{LINK} x.o -o libomp.so {LIBS}"));
    }

    #[test]
    fn files_behind_two_dashes() {
        assert_eq!(edited("-- x.o -y.o"), format!("{LINK} x.o ./-y.o {LIBS}"));
    }

    #[test]
    fn sources_find_the_header() {
        let arguments: [OsString; 2] = ["-E".into(), "x.c".into()];
        let typed = Typed::read(&arguments).unwrap();
        assert!(typed.reads_sources() && !Typed::read(&["x.o".into()]).unwrap().reads_sources());
        let parts = Parts { headers: Some("H".into()), ..Parts::default() };
        assert_eq!(edit(&arguments, &typed, &parts).join(OsStr::new(" ")), "-isystem H -D__DSM__=1 -E x.c");
    }

    #[test]
    fn what_stands_before_libstdcxx_goes_before_the_runtime() {
        let arguments: [OsString; 1] = ["x.o".into()];
        let typed = Typed::read(&arguments).unwrap();
        let parts =
            Parts { before_libstdcxx: vec!["F".into()], runtime: Some("R.a".into()), ..Parts::default() };
        let line = edit(&arguments, &typed, &parts).join(OsStr::new(" ")).into_string().unwrap();
        assert!(line.contains("-Xlinker F -Xlinker R.a"), "{line}");
    }

    #[test]
    fn compiled_templates_are_declared_and_linked_once() {
        let arguments = ["x.cc", "y.o", "/t/libdsm_templates.a"].map(OsString::from);
        let typed = Typed::read(&arguments).unwrap();
        let parts = Parts {
            cxx_headers: Some("H".into()),
            templates: Some("T".into()),
            templates_archive: Some("T/libdsm_templates.a".into()),
            libstdcxx: true,
            ..Parts::default()
        };
        let line = edit(&arguments, &typed, &parts).join(OsStr::new(" ")).into_string().unwrap();
        let headers = "-Xclang -isystem -Xclang H -Xclang -isystem -Xclang T";
        assert_eq!(
            line,
            format!(
                "{headers} x.cc y.o -Xlinker T/libdsm_templates.a -Wl,--push-state,--as-needed -lstdc++ -Wl,--pop-state"
            )
        );
    }

    #[test]
    fn places_are_remembered_once() {
        for line in ["-g -c x.c", "-Rpass=vector -c x.c", "-gdwarf-4 -c x.c"] {
            assert_eq!(edited(line), format!("-fpass-plugin=P.so -Wno-pass-failed {line}"));
        }
        assert_eq!(edited("-g -g0 -c x.c"), format!("{PASS} -g -g0 -c x.c"));
    }

    #[test]
    fn flang_remembers_only_lines() {
        for (line, lines) in [("-c x.f90", "-Xflang -debug-info-kind=line-tables-only "), ("-g -c x.f90", "")]
        {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let mut typed = Typed::read(&arguments).unwrap();
            typed.front_end = FLANG;
            let parts = Parts { plugin: Some("P.so".into()), ..Parts::default() };
            let edited = edit(&arguments, &typed, &parts).join(OsStr::new(" "));
            assert_eq!(edited.to_str().unwrap(), format!("-fpass-plugin=P.so {lines}{line}"));
        }
    }

    #[test]
    fn no_code_no_plugin() {
        assert_eq!(edited("-E x.c"), "-E x.c");
        assert_eq!(edited("-c x.s"), "-c x.s");
    }

    #[test]
    fn language_ends_before_the_runtime() {
        assert_eq!(edited("-x c -"), format!("{PASS} {LINK} -x c - {LIBS}"));
    }

    #[test]
    fn relocatable_and_shared_links_get_no_runtime() {
        assert_eq!(edited("-r a.o b.o -o c.o"), "-r a.o b.o -o c.o");
        assert_eq!(edited("-shared a.o -fopenmp"), format!("{SCRIPT} -Wl,-z,now -shared a.o -Xlinker I"));
        for runtime in ["libdsm_rt.a", "libdsm_rt_debug.a"] {
            assert_eq!(
                edited(&format!("-shared a.o /x/{runtime}")),
                format!("{SCRIPT} -Wl,-z,now -shared a.o -Xlinker I")
            );
        }
    }

    #[test]
    fn fixed_code_reaches_libraries_through_the_table() {
        let option = "-Xclang -fno-direct-access-external-data";
        assert_eq!(edited("-fno-pie -c x.c"), format!("{PASS} {option} -fno-pie -c x.c"));
        assert!(
            !edited("-fno-pie -fPIC -c x.c").contains(option) && !edited("-fno-pie -E x.c").contains(option)
        );
    }
}
