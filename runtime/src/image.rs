//! What the program's files say about its addresses: variables, functions, source lines. Read when first asked for.

use std::ffi::{CStr, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use addr2line::Loader;
use object::{Object, ObjectSymbol, SymbolKind};
use parking_lot::Mutex;

use crate::memory;

/// A global variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// As in the symbol table.
    pub name: String,
    /// First address.
    pub address: usize,
    /// Size in bytes.
    pub bytes: usize,
}

/// A file that is mapped as part of the program.
#[derive(Clone, Debug)]
struct Module {
    path: PathBuf,
    /// What its addresses are shifted by.
    bias: usize,
    code: Vec<std::ops::Range<usize>>,
}

/// The program and its libraries, the program first.
fn modules() -> Vec<Module> {
    extern "C" fn add(info: *mut libc::dl_phdr_info, _size: usize, out: *mut c_void) -> c_int {
        // SAFETY: the loader passes a valid description for the time of the call, and `out` is the vector below.
        let (info, modules) = unsafe { (&*info, &mut *out.cast::<Vec<Module>>()) };
        // SAFETY: the name is a string, or null.
        let name = if info.dlpi_name.is_null() { c"" } else { unsafe { CStr::from_ptr(info.dlpi_name) } };
        let path = match name.to_str() {
            Ok("") if modules.is_empty() => PathBuf::from("/proc/self/exe"),
            Ok(name) => PathBuf::from(name),
            Err(_) => return 0,
        };
        let bias = info.dlpi_addr as usize;
        // SAFETY: the loader's table of `dlpi_phnum` headers.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let code = headers
            .iter()
            .filter(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0)
            .map(|h| bias + h.p_vaddr as usize..bias + (h.p_vaddr + h.p_memsz) as usize)
            .collect();
        modules.push(Module { path, bias, code });
        0
    }
    let mut found: Vec<Module> = Vec::new();
    // SAFETY: the callback is as described; the vector outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut found).cast()) };
    found
}

/// The shared global variables of the program, by address. Empty if it has no symbol table.
pub fn variables() -> &'static [Variable] {
    static VARIABLES: OnceLock<Vec<Variable>> = OnceLock::new();
    VARIABLES.get_or_init(|| {
        let globals = memory::program_globals();
        let Some(program) = modules().into_iter().next() else { return Vec::new() };
        let mut found = read_variables(&program.path, program.bias).unwrap_or_default();
        found.retain(|v| globals.contains(&v.address));
        found.sort_by_key(|v| (v.address, std::cmp::Reverse(v.bytes)));
        found
    })
}

fn read_variables(path: &Path, bias: usize) -> Option<Vec<Variable>> {
    let data = std::fs::read(path).ok()?;
    let file = object::File::parse(&*data).ok()?;
    let variable = |symbol: object::Symbol| {
        let name = symbol.name().ok()?.to_owned();
        let address = bias + symbol.address() as usize;
        (symbol.kind() == SymbolKind::Data && symbol.size() > 0).then_some(Variable {
            name,
            address,
            bytes: symbol.size() as usize,
        })
    };
    Some(file.symbols().filter_map(variable).collect())
}

/// The variable that holds an address.
pub fn variable_at(address: usize) -> Option<&'static Variable> {
    let all = variables();
    let end = all.partition_point(|v| v.address <= address);
    all[..end].iter().rev().find(|v| address < v.address + v.bytes)
}

/// What the pass calls the program's `main` and its caller.
const PROGRAM_MAIN: [&str; 2] = ["__dsm_program_main", dsm_abi::layout::USER_MAIN];

/// A place in the program's source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Function, if the symbol table tells.
    pub function: Option<String>,
    /// File and line, if debug information tells.
    pub line: Option<(String, u32)>,
}

/// Where the call that returns to `pc` stands.
pub fn call_site(pc: usize) -> Place {
    static LOADED: Mutex<Vec<(PathBuf, Option<Loader>)>> = Mutex::new(Vec::new());
    let before = pc.saturating_sub(1);
    let Some(module) = modules().into_iter().find(|m| m.code.iter().any(|r| r.contains(&before))) else {
        return Place::default();
    };
    let mut loaded = LOADED.lock();
    let index = loaded.iter().position(|(path, _)| *path == module.path).unwrap_or_else(|| {
        loaded.push((module.path.clone(), Loader::new(&module.path).ok()));
        loaded.len() - 1
    });
    let Some(loader) = &loaded[index].1 else { return Place::default() };
    let probe = (before - module.bias) as u64;
    // The pass renames the program's `main`.
    let named = |name: &str| if PROGRAM_MAIN.contains(&name) { "main" } else { name }.to_owned();
    let function = loader.find_symbol(probe).map(named);
    let location = loader.find_location(probe).ok().flatten();
    let line = location.and_then(|l| Some((l.file?.to_owned(), l.line.filter(|n| *n > 0)?)));
    Place { function, line }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.line, &self.function) {
            (Some((file, line)), Some(function)) => write!(f, "{file}:{line} ({function})"),
            (Some((file, line)), None) => write!(f, "{file}:{line}"),
            (None, Some(function)) => {
                write!(f, "{function} (no debug information: compile with -g for the line)")
            }
            (None, None) => write!(f, "an unknown place"),
        }
    }
}

impl Place {
    /// Whether the place is in line `line` of a file that is called `file` or whose path ends so.
    pub fn is(&self, file: &str, line: u32) -> bool {
        self.line.as_ref().is_some_and(|(path, at)| *at == line && Path::new(path).ends_with(file))
    }
}
