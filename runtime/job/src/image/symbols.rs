//! What the program's files say about its addresses: variables, functions, source lines. Read when first asked for.

use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use addr2line::Loader;
use dsm_abi::note::{Entry, Note, OpenMp};
use object::{Object, ObjectSymbol, SymbolKind};
use parking_lot::Mutex;

const SELF: &str = "/proc/self/exe";

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
    /// From the first to the last address.
    memory: Range<usize>,
    code: Vec<Range<usize>>,
    /// It has a note of the pass.
    instrumented: bool,
    /// What its notes say of OpenMP.
    openmp: OpenMpNotes,
}

/// What notes about OpenMP say, all together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OpenMpNotes {
    /// There are such notes.
    any: bool,
    /// One says that its module uses OpenMP.
    used: bool,
    /// File and line of a directive that was compiled without OpenMP.
    ignored: Option<(String, u32)>,
}

impl OpenMpNotes {
    fn add(&mut self, note: OpenMp) {
        self.any = true;
        match note {
            OpenMp::Used => self.used = true,
            OpenMp::Ignored { file, line } => {
                self.ignored.get_or_insert((file.to_owned(), line));
            }
            OpenMp::Absent => {}
        }
    }
}

/// The program and its libraries, the program first.
fn modules() -> Vec<Module> {
    extern "C" fn add(info: *mut libc::dl_phdr_info, _size: usize, out: *mut c_void) -> c_int {
        // SAFETY: the loader passes a valid description for the time of the call, and `out` is the vector below.
        let (info, modules) = unsafe { (&*info, &mut *out.cast::<Vec<Module>>()) };
        // SAFETY: the name is a string, or null.
        let name = if info.dlpi_name.is_null() { c"" } else { unsafe { CStr::from_ptr(info.dlpi_name) } };
        let path = match name.to_str() {
            Ok("") if modules.is_empty() => PathBuf::from(SELF),
            Ok(name) => PathBuf::from(name),
            Err(_) => return 0,
        };
        let bias = info.dlpi_addr as usize;
        // SAFETY: the loader's table of `dlpi_phnum` headers.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let range = |h: &libc::Elf64_Phdr| {
            let start = bias + h.p_vaddr as usize;
            start..start + h.p_memsz as usize
        };
        let loaded = || headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
        let start = loaded().map(|h| range(h).start).min().unwrap_or(0);
        let end = loaded().map(|h| range(h).end).max().unwrap_or(0);
        let code = loaded().filter(|h| h.p_flags & libc::PF_X != 0).map(range).collect();
        let mut module = Module {
            path,
            bias,
            memory: start..end,
            code,
            instrumented: false,
            openmp: OpenMpNotes::default(),
        };
        for header in headers.iter().filter(|h| h.p_type == libc::PT_NOTE) {
            // SAFETY: the loader has mapped the notes.
            let bytes =
                unsafe { std::slice::from_raw_parts(range(header).start as *const u8, range(header).len()) };
            for entry in Note::decode_segment(bytes) {
                match entry {
                    Entry::Note(_) => module.instrumented = true,
                    Entry::OpenMp(note) => module.openmp.add(note),
                    _ => {}
                }
            }
        }
        modules.push(module);
        0
    }
    let mut found: Vec<Module> = Vec::new();
    // SAFETY: the callback is as described; the vector outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut found).cast()) };
    found
}

/// The shared global variables of the program and its libraries, by address. Empty if there is no symbol table.
pub fn variables() -> &'static [Variable] {
    static VARIABLES: OnceLock<Vec<Variable>> = OnceLock::new();
    VARIABLES.get_or_init(|| {
        let globals: Vec<_> = super::all().iter().map(|image| image.globals()).collect();
        let holds = |module: &Module, range: &Range<usize>| module.memory.contains(&range.start);
        let mut found = Vec::new();
        for module in modules().iter().filter(|m| globals.iter().any(|g| holds(m, g))) {
            found.extend(read_variables(&module.path, module.bias).unwrap_or_default());
        }
        found.retain(|v| globals.iter().any(|g| g.contains(&v.address)));
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

/// The program's file and its libraries', with what their addresses are shifted by.
pub fn files() -> Vec<(usize, PathBuf)> {
    let path = |module: &Module| if module.path == Path::new(SELF) { program() } else { module.path.clone() };
    modules().iter().map(|module| (module.bias, path(module))).collect()
}

/// File that is mapped at an address; of the program itself, the path it was started by.
pub fn file_of(address: usize) -> Option<PathBuf> {
    let module = modules().into_iter().find(|m| m.memory.contains(&address))?;
    Some(if module.path == Path::new(SELF) { program() } else { module.path })
}

/// The path of the program.
pub fn program() -> PathBuf {
    std::fs::read_link(SELF).unwrap_or_else(|_| SELF.into())
}

/// Libraries with code of the pass, but without any of the addresses: what was not linked by the driver.
pub fn instrumented_without(addresses: &[usize]) -> Vec<PathBuf> {
    let mut modules = modules();
    modules.retain(|m| m.instrumented && !addresses.iter().any(|a| m.memory.contains(a)));
    modules.into_iter().map(|m| m.path).collect()
}

/// The files with code of the pass: from the lowest to the highest address.
pub fn instrumented() -> Vec<Range<usize>> {
    modules().into_iter().filter(|m| m.instrumented).map(|m| m.memory).collect()
}

/// A program whose code of the pass calls no function of OpenMP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serial {
    /// File and line of a directive in its sources, if there is one: it was compiled without OpenMP.
    pub directive: Option<(String, u32)>,
}

/// Whether the program is such a one. `None` also if its code says nothing of that.
pub fn serial() -> Option<Serial> {
    let modules = modules();
    let notes: Vec<&OpenMpNotes> = modules.iter().map(|m| &m.openmp).filter(|notes| notes.any).collect();
    let is_serial = !notes.is_empty() && !notes.iter().any(|notes| notes.used);
    is_serial.then(|| Serial { directive: notes.into_iter().find_map(|notes| notes.ignored.clone()) })
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

/// Function that the instruction at an address belongs to, if the symbol table tells.
pub fn function_of(address: usize) -> Option<String> {
    call_site(address + 1).function
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
    let function = loader.find_symbol(probe).map(|name| program_name(name).to_owned());
    let location = loader.find_location(probe).ok().flatten();
    let line = location.and_then(|l| Some((l.file?.to_owned(), l.line.filter(|n| *n > 0)?)));
    Place { function, line }
}

/// The name that a function has in the program: the pass renames its `main`.
pub fn program_name(symbol: &str) -> &str {
    if PROGRAM_MAIN.contains(&symbol) { "main" } else { symbol }
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
    /// Whether debug information tells the line.
    pub fn has_line(&self) -> bool {
        self.line.is_some()
    }

    /// Whether the place is in line `line` of a file that is called `file` or whose path ends so.
    pub fn is(&self, file: &str, line: u32) -> bool {
        self.line.as_ref().is_some_and(|(path, at)| *at == line && Path::new(path).ends_with(file))
    }
}
