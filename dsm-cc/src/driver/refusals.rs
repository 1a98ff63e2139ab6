//! What cannot work, as typed. Of options that cancel each other the last one counts, as for clang, so they are judged when all have been read.

use std::path::Path;

/// An argument, and why it is refused.
pub type Refusal = (String, &'static str);

const NO_STATIC: &str = "every process needs the system's dynamic loader and libgcc_s; link dynamically";
const NO_GNU_OPENMP: &str = "the runtime implements LLVM's OpenMP interface; use -fopenmp";
const NO_LINKER: &str =
    "the shared sections need a linker script, which this linker lacks; use -fuse-ld=bfd or lld";
const NO_32_BIT: &str = "the shared address space needs 64-bit addresses";
const NO_SANITIZER: &str =
    "its own shadow memory lies where the state table is; use DSM_DISABLE=1 to check the program by itself";
const MEMORY_SANITIZERS: [&str; 6] = ["address", "thread", "memory", "dataflow", "safe-stack", "leak"];
const NO_LIBCXX: &str = "only the headers of libstdc++ are known; leave the option out";
const NO_OFFLOAD: &str = "offloading to devices is not supported";
const NO_EMULATED_TLS: &str =
    "the runtime's thread-local variables have the system's model; leave the option out";

/// The linkers that take the script.
const LINKERS: [&str; 6] = ["bfd", "ld", "lld", "ld.lld", "ld.bfd", ""];

/// What has been typed so far that cannot work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// `-m32`, `-mx32`.
    bits: Option<String>,
    /// Sanitizers, each with its argument.
    sanitizers: Vec<(String, String)>,
    /// `-stdlib=`.
    library: Option<String>,
    /// `-fopenmp=`.
    openmp: Option<String>,
    /// `-femulated-tls`.
    emulated_tls: Option<String>,
    /// Options that nothing cancels.
    offload: Option<String>,
    /// `-fuse-ld=`.
    linker: Option<String>,
    /// `-static`.
    fixed: Option<String>,
}

impl Refusals {
    /// Takes in one option.
    pub fn option(&mut self, argument: &str) {
        let typed = || Some(argument.to_owned());
        match argument {
            "-m32" | "-mx32" => self.bits = typed(),
            "-m64" => self.bits = None,
            "-static" | "--static" | "-static-pie" => self.fixed = typed(),
            "-femulated-tls" => self.emulated_tls = typed(),
            "-fno-emulated-tls" => self.emulated_tls = None,
            "-fopenmp" | "-fopenmp=libomp" | "-fopenmp=libiomp5" | "-fno-openmp" => self.openmp = None,
            "-stdlib=libc++" | "--stdlib=libc++" => self.library = typed(),
            _ if argument.starts_with("-stdlib=") || argument.starts_with("--stdlib=") => self.library = None,
            _ if argument.starts_with("-fopenmp=") => self.openmp = typed(),
            _ if argument.starts_with("-fopenmp-targets") || argument.starts_with("--offload-arch") => {
                self.offload = self.offload.take().or_else(typed);
            }
            _ => {
                if let Some(names) = argument.strip_prefix("-fsanitize=") {
                    let added = names.split(',').filter(|n| MEMORY_SANITIZERS.iter().any(|s| n.contains(s)));
                    self.sanitizers.extend(added.map(|name| (name.to_owned(), argument.to_owned())));
                } else if let Some(names) = argument.strip_prefix("-fno-sanitize=") {
                    let is_removed = |name: &str| names.split(',').any(|n| n == name || n == "all");
                    self.sanitizers.retain(|(name, _)| !is_removed(name));
                } else if let Some(linker) = argument.strip_prefix("-fuse-ld=") {
                    self.linker = typed().filter(|_| !LINKERS.contains(&file_name(linker)));
                }
            }
        }
    }

    /// What is refused wherever it stands.
    pub fn anywhere(&self) -> Option<Refusal> {
        let sanitizer = self.sanitizers.first().map(|(_, argument)| argument);
        let all = [
            (self.bits.as_ref(), NO_32_BIT),
            (sanitizer, NO_SANITIZER),
            (self.library.as_ref(), NO_LIBCXX),
            (self.openmp.as_ref(), NO_GNU_OPENMP),
            (self.emulated_tls.as_ref(), NO_EMULATED_TLS),
            (self.offload.as_ref(), NO_OFFLOAD),
        ];
        first(&all)
    }

    /// What is of no matter where nothing is linked.
    pub fn at_links(&self) -> Option<Refusal> {
        first(&[(self.fixed.as_ref(), NO_STATIC), (self.linker.as_ref(), NO_LINKER)])
    }
}

fn first(all: &[(Option<&String>, &'static str)]) -> Option<Refusal> {
    all.iter().find_map(|(argument, reason)| Some(((*argument)?.clone(), *reason)))
}

fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|n| n.to_str()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Refusals {
        let mut refusals = Refusals::default();
        line.split_whitespace().for_each(|argument| refusals.option(argument));
        refusals
    }

    fn name(refusal: Option<Refusal>) -> Option<String> {
        refusal.map(|(argument, _)| argument)
    }

    #[test]
    fn refusals_name_what_was_typed() {
        for line in [
            "-m32",
            "-fsanitize=undefined,address",
            "-fopenmp=libgomp",
            "-fopenmp-targets=nvptx64",
            "-stdlib=libc++",
            "-femulated-tls",
        ] {
            let refusals = read(line);
            assert_eq!((name(refusals.anywhere()).as_deref(), refusals.at_links()), (Some(line), None));
        }
        assert_eq!(read("-flto -fuse-ld=lld -fsanitize=undefined -O2"), Refusals::default());
    }

    #[test]
    fn options_for_the_link_matter_only_there() {
        for line in ["-static", "-static-pie", "-fuse-ld=gold", "-fuse-ld=/usr/bin/mold"] {
            let refusals = read(line);
            assert_eq!((refusals.anywhere(), name(refusals.at_links()).as_deref()), (None, Some(line)));
        }
    }

    #[test]
    fn the_last_of_options_that_cancel_each_other_counts() {
        for line in [
            "-m32 -m64",
            "-fsanitize=address -fno-sanitize=address",
            "-fsanitize=undefined,leak,thread -fno-sanitize=thread,leak",
            "-fsanitize=memory -fno-sanitize=all",
            "-stdlib=libc++ -stdlib=libstdc++",
            "-fopenmp=libgomp -fopenmp",
            "-fuse-ld=mold -fuse-ld=bfd",
            "-femulated-tls -fno-emulated-tls",
        ] {
            assert_eq!(read(line), Refusals::default(), "{line}");
            let words: Vec<&str> = line.split(' ').rev().collect();
            let refusals = read(&words.join(" "));
            assert!(refusals.anywhere().or(refusals.at_links()).is_some(), "{words:?}");
        }
        assert!(read("-fsanitize=address,thread -fno-sanitize=thread").anywhere().is_some());
    }
}
