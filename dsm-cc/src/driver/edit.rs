//! The second walk over the argument vector: from what was typed to what clang gets.

use std::path::PathBuf;

use super::arguments::{self, Typed};
use super::own::PREFIX;

/// What the driver adds; `None` where the invocation has no use for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The pass plugin.
    pub plugin: Option<PathBuf>,
    /// The runtime library.
    pub runtime: Option<PathBuf>,
    /// The linker script.
    pub script: Option<String>,
}

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
pub fn plain(arguments: &[String]) -> Vec<String> {
    arguments.iter().filter(|a| !a.starts_with(PREFIX)).cloned().collect()
}

/// Clang's argument vector.
pub fn edit(arguments: &[String], typed: &Typed, parts: &Parts) -> Vec<String> {
    let mut out = Vec::with_capacity(arguments.len() + 16);
    if let Some(plugin) = &parts.plugin {
        out.push(format!("-fpass-plugin={}", plugin.display()));
    }
    if parts.runtime.is_some() {
        out.push(format!("-Wl,-T,{}", parts.script.as_deref().unwrap_or_default()));
        // The script's alignment must survive into the program header.
        out.push("-Wl,-z,max-page-size=65536".into());
    }
    if typed.links() && typed.compiles() && typed.openmp {
        // At a link the compiler's own -fopenmp brings libomp, whose place the runtime takes: only the front end hears of it.
        out.extend([typed.front_end.to_owned(), "-fopenmp".into()]);
    }
    let mut rest = arguments.iter();
    let mut only_files = false;
    while let Some(argument) = rest.next() {
        if only_files {
            // The "--" is gone, because options follow; a name that looks like one gets a path.
            let hidden = argument.starts_with('-') && argument != "-";
            out.push(if hidden { format!("./{argument}") } else { argument.clone() });
        } else if argument == "--" {
            only_files = true;
        } else if arguments::takes_value(argument) && !argument.starts_with(PREFIX) {
            let value = rest.next();
            let library = argument == "-l" && value.is_some_and(|v| is_openmp_library(&format!("-l{v}")));
            if !(typed.links() && library) {
                out.push(argument.clone());
                out.extend(value.cloned());
            }
        } else if !(argument.starts_with(PREFIX) || typed.links() && is_openmp(argument)) {
            out.push(argument.clone());
        }
    }
    if let Some(runtime) = &parts.runtime {
        // Passed on by name, the archive cannot count as a source, whatever "-x LANGUAGE" is in force.
        out.extend(["-Xlinker".into(), runtime.display().to_string()]);
        out.extend(SYSTEM_LIBRARIES.iter().map(|l| String::from(*l)));
    }
    out
}

/// What would bring an OpenMP library to the link.
fn is_openmp(argument: &str) -> bool {
    let option = argument.strip_prefix("-fopenmp").or(argument.strip_prefix("-fno-openmp"));
    option.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        || argument == "-static-openmp"
        || is_openmp_library(argument)
}

/// `-lomp` and its relatives, and the same libraries by path.
fn is_openmp_library(argument: &str) -> bool {
    const NAMES: [&str; 3] = ["omp", "gomp", "iomp5"];
    if let Some(name) = argument.strip_prefix("-l") {
        return NAMES.contains(&name);
    }
    let file = argument.rsplit('/').next().unwrap_or(argument);
    NAMES.iter().any(|name| {
        let rest = file.strip_prefix("lib").and_then(|f| f.strip_prefix(name));
        rest.is_some_and(|rest| rest == ".a" || rest == ".so" || rest.starts_with(".so."))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(line: &str) -> String {
        let arguments: Vec<String> = line.split_whitespace().map(String::from).collect();
        let typed = Typed::read(&arguments).unwrap();
        let program = typed.links() && !typed.relocatable && !typed.shared;
        let parts = Parts {
            plugin: typed.compiles().then(|| "P.so".into()),
            runtime: program.then(|| "R.a".into()),
            script: program.then(|| "S".into()),
        };
        edit(&arguments, &typed, &parts).join(" ")
    }

    const LINK: &str = "-Wl,-T,S -Wl,-z,max-page-size=65536";
    const LIBS: &str =
        "-Xlinker R.a -Wl,--push-state,--as-needed -lpthread -ldl -lrt -lutil -lm -lgcc_s -Wl,--pop-state";

    #[test]
    fn compile_keeps_everything() {
        assert_eq!(
            edited("-O3 -fopenmp -fdsm-line=64 -c x.c -o x.o"),
            "-fpass-plugin=P.so -O3 -fopenmp -c x.c -o x.o"
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
            format!("-fpass-plugin=P.so {LINK} -Xclang -fopenmp -O2 x.c -lm {LIBS}")
        );
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
        assert_eq!(edited("-c x.c -o libomp.a -l omp"), "-fpass-plugin=P.so -c x.c -o libomp.a -l omp");
        assert_eq!(edited("x.o -o libomp.so"), format!("{LINK} x.o -o libomp.so {LIBS}"));
    }

    #[test]
    fn files_behind_two_dashes() {
        assert_eq!(edited("-- x.o -y.o"), format!("{LINK} x.o ./-y.o {LIBS}"));
    }

    #[test]
    fn no_code_no_plugin() {
        assert_eq!(edited("-E x.c"), "-E x.c");
        assert_eq!(edited("-c x.s"), "-c x.s");
    }

    #[test]
    fn language_ends_before_the_runtime() {
        assert_eq!(edited("-x c -"), format!("-fpass-plugin=P.so {LINK} -x c - {LIBS}"));
    }

    #[test]
    fn relocatable_and_shared_links_get_no_runtime() {
        assert_eq!(edited("-r a.o b.o -o c.o"), "-r a.o b.o -o c.o");
        assert_eq!(edited("-shared a.o -fopenmp"), "-shared a.o");
    }
}
