//! Names of addresses, from the symbol tables and debug information of the program and its libraries. Each file is read when it is first asked for.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use addr2line::Loader;
use object::{Object, ObjectSymbol, SymbolKind};

use crate::driver::unknown::demangled;

/// A symbol of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Symbol {
    start: u64,
    bytes: u64,
    name: String,
}

/// Symbols by address.
#[derive(Debug, Default)]
struct Symbols(Vec<Symbol>);

impl Symbols {
    fn new(mut all: Vec<Symbol>) -> Symbols {
        all.sort_by_key(|symbol| (symbol.start, symbol.bytes));
        Symbols(all)
    }

    /// The symbol that holds an address.
    fn at(&self, address: u64) -> Option<&Symbol> {
        self.within(address, 1).next()
    }

    /// Those that lie in so many bytes, one at least, from an address on.
    fn within(&self, address: u64, bytes: u64) -> impl Iterator<Item = &Symbol> {
        let first = self.0.partition_point(|symbol| symbol.start <= address);
        let end = self.0.partition_point(|symbol| symbol.start < address.saturating_add(bytes));
        let before = self.0[..first].last().filter(|symbol| address - symbol.start < symbol.bytes);
        before.into_iter().chain(&self.0[first..end.max(first)])
    }
}

/// A file that is mapped as part of the program.
struct Image {
    path: PathBuf,
    read: Option<Read>,
}

/// What was read of it.
struct Read {
    variables: Symbols,
    functions: Symbols,
    lines: Option<Loader>,
}

impl Image {
    fn read(&mut self) -> &Read {
        let path = &self.path;
        self.read.get_or_insert_with(|| {
            let (variables, functions) = symbols(path).unwrap_or_default();
            Read { variables, functions, lines: Loader::new(path).ok() }
        })
    }
}

/// Variables and functions.
fn symbols(path: &Path) -> Option<(Symbols, Symbols)> {
    let data = fs::read(path).ok()?;
    let file = object::File::parse(&*data).ok()?;
    let of = |kind: SymbolKind| {
        let all = file.symbols().filter(|s| s.kind() == kind && s.size() > 0);
        let all = all.filter_map(|s| {
            Some(Symbol { start: s.address(), bytes: s.size(), name: s.name().ok()?.to_owned() })
        });
        let all = all.filter(|s| s.name != FIRST_VARIABLE);
        Symbols::new(all.collect())
    };
    Some((of(SymbolKind::Data), of(SymbolKind::Text)))
}

/// See the module.
#[derive(Default)]
pub struct Names {
    /// By what their addresses are shifted by.
    images: BTreeMap<u64, Image>,
    /// Functions that were asked for.
    functions: HashMap<u64, Option<String>>,
}

impl Names {
    /// A file is mapped, its addresses shifted by `bias`.
    pub fn add_image(&mut self, bias: u64, path: PathBuf) {
        self.images.entry(bias).or_insert(Image { path, read: None });
    }

    /// The image that is most likely to hold an address, and the address in it.
    fn image(&mut self, address: u64) -> Option<(u64, &mut Image)> {
        let (bias, image) = self.images.range_mut(..=address).next_back()?;
        Some((address - bias, image))
    }

    /// The variable that holds an address, or the first of those that lie in the bytes from there on.
    pub fn variable(&mut self, address: u64, bytes: u64) -> Option<String> {
        let (at, image) = self.image(address)?;
        let mut found = image.read().variables.within(at, bytes);
        let name = readable(&found.next()?.name);
        Some(match found.count() {
            0 => name,
            others => format!("{name} and {others} more"),
        })
    }

    /// The function that begins at an address, and the line if debug information tells.
    pub fn function(&mut self, address: u64) -> Option<String> {
        if let Some(known) = self.functions.get(&address) {
            return known.clone();
        }
        let name = self.find_function(address);
        self.functions.insert(address, name.clone());
        name
    }

    fn find_function(&mut self, address: u64) -> Option<String> {
        let (at, image) = self.image(address)?;
        let Read { functions, lines, .. } = image.read();
        let name = &functions.at(at)?.name;
        let location = lines.as_ref().and_then(|loader| loader.find_location(at).ok().flatten());
        Some(match location.and_then(|l| Some((l.file?, l.line.filter(|line| *line > 0)?))) {
            Some((file, line)) => match readable(source_function(name)) {
                // The compiler says of a task's function only that it is one.
                function if function.is_empty() => format!("{}:{line}", file_name(file)),
                function => format!("{function} ({}:{line})", file_name(file)),
            },
            None => readable(name),
        })
    }
}

/// The last part of a path.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What the runtime has in front of a program's variables.
const FIRST_VARIABLE: &str = "dsm_first";
/// What the pass calls the program's `main`.
const PROGRAM_MAIN: &str = "__dsm_program_main";

/// The function of the source that the compiler has outlined one from.
fn source_function(name: &str) -> &str {
    let end =
        [".omp_outlined", "..omp_par", ".omp_task_entry"].iter().filter_map(|mark| name.find(mark)).min();
    end.map_or(name, |end| &name[..end])
}

/// A symbol's name as the source has it, as far as it can be told.
fn readable(name: &str) -> String {
    let (function, rest) = name.split_at(source_function(name).len());
    let function = if function == PROGRAM_MAIN { "main".to_owned() } else { demangled(function) };
    function + rest
}

/// A source position as the compiler writes it, `;file;function;line;column;;`; `None` if it knows none.
pub fn position(text: &str) -> Option<String> {
    let mut fields = text.split(';').skip(1);
    let (file, function, line) = (fields.next()?, fields.next()?, fields.next()?);
    // What clang and flang write where they know nothing.
    let is_known = |name: &&str| !["", "unknown", "FIRModule"].contains(name);
    match (Some(file).filter(is_known), line.parse().unwrap_or(0_u32)) {
        (Some(file), 1..) => Some(format!("{}:{line}", file_name(file))),
        _ => Some(readable(function)).filter(|name| is_known(&name.as_str())),
    }
}

/// The name of a lock whose variable has this name: critical sections have variables that the compiler makes.
pub fn lock(variable: &str) -> String {
    let Some(name) = variable.trim_start_matches(['.', '_']).strip_prefix("gomp_critical_user_") else {
        return variable.to_owned();
    };
    match name.trim_end_matches(".var").trim_end_matches(".reduction") {
        "" => "critical".into(),
        name => format!("critical ({name})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_what_the_compiler_knows() {
        for (text, expected) in [
            (";/src/a.c;main;12;1;;", Some("a.c:12")),
            (";unknown;main;0;0;;", Some("main")),
            (";a.c;f;0;0;;", Some("f")),
            (";unknown;unknown;0;0;;", None),
            ("", None),
        ] {
            assert_eq!(position(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn names_are_those_of_the_source() {
        for (symbol, expected) in [
            ("main.omp_outlined.3", "main.omp_outlined.3"),
            ("__dsm_program_main.omp_outlined", "main.omp_outlined"),
            ("_Z3addi.omp_outlined", "add(int).omp_outlined"),
            ("_QQmain..omp_par", "_QQmain..omp_par"),
            (".omp_task_entry..8", ".omp_task_entry..8"),
            ("_Zwrong", "_Zwrong"),
        ] {
            assert_eq!(readable(symbol), expected);
        }
        assert_eq!(source_function("_QQmain..omp_par.1"), "_QQmain");
    }

    #[test]
    fn locks_of_critical_sections_are_named() {
        assert_eq!(lock(".gomp_critical_user_.var"), "critical");
        assert_eq!(lock("_gomp_critical_user_sum.var"), "critical (sum)");
        assert_eq!(lock("mutex"), "mutex");
    }

    #[test]
    fn an_address_is_found_between_the_ends_of_a_symbol() {
        let symbol = |start, bytes, name: &str| Symbol { start, bytes, name: name.into() };
        let symbols = Symbols::new(vec![symbol(20, 10, "b"), symbol(8, 8, "a")]);
        let within = |address, bytes| -> String {
            symbols.within(address, bytes).map(|symbol| symbol.name.as_str()).collect()
        };
        assert_eq!(
            [(0, 8), (0, 9), (15, 5), (15, 6), (16, 4), (9, 90)].map(|(a, n)| within(a, n)),
            ["", "a", "a", "ab", "", "ab"]
        );
        let at = |address| symbols.at(address).map(|s| s.name.as_str());
        assert_eq!(
            [7, 8, 15, 16, 20, 29, 30].map(at),
            [None, Some("a"), Some("a"), None, Some("b"), Some("b"), None]
        );
    }
}
