//! Names of addresses of a job's processes, from the symbol table of the program's file.

use std::fs;
use std::path::Path;

use dsm_abi::layout::{SHARED_BASE, SHARED_END};
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

/// Smaller numbers are names of the runtime's own locks, not addresses.
const FIRST_ADDRESS: u64 = 4096;

/// A variable or function of the program.
struct Symbol {
    address: u64,
    bytes: u64,
    name: String,
}

/// See the module.
#[derive(Default)]
pub struct Names {
    /// By address.
    symbols: Vec<Symbol>,
}

impl Names {
    /// Of a program whose program headers are at an address; without names if the file cannot be read.
    pub fn read(program: &Path, headers: u64) -> Names {
        fs::read(program).ok().and_then(|bytes| symbols(&bytes, headers)).unwrap_or_default()
    }

    /// What the address belongs to.
    fn symbol(&self, address: u64) -> Option<&Symbol> {
        let behind = self.symbols.partition_point(|symbol| symbol.address <= address);
        let symbol = self.symbols[..behind].last()?;
        (address - symbol.address < symbol.bytes.max(1)).then_some(symbol)
    }

    /// Name of a function.
    pub fn function(&self, address: u64) -> String {
        self.symbol(address).map_or_else(|| format!("{address:#x}"), |symbol| symbol.name.clone())
    }

    /// Name of a lock or a condition variable.
    pub fn object(&self, address: u64) -> String {
        if address < FIRST_ADDRESS {
            return "a lock of the runtime".into();
        }
        let Some(symbol) = self.symbol(address) else { return format!("{address:#x}") };
        // What clang calls the lock of `critical(NAME)`.
        let critical = symbol.name.strip_prefix(".gomp_critical_user_").and_then(|n| n.strip_suffix(".var"));
        match (critical, address - symbol.address) {
            (Some(""), _) => "critical".into(),
            (Some(name), _) => format!("critical({name})"),
            (None, 0) => symbol.name.clone(),
            (None, offset) => format!("{}+{offset}", symbol.name),
        }
    }

    /// The variable, or the kind of memory, that an address lies in.
    pub fn variable(&self, address: u64) -> String {
        match self.symbol(address) {
            Some(symbol) => format!("variable {}", symbol.name),
            None if (SHARED_BASE..SHARED_END).contains(&address) => "heap and stacks".into(),
            None => "variables without a name".into(),
        }
    }
}

fn symbols(bytes: &[u8], headers: u64) -> Option<Names> {
    let file = object::read::elf::ElfFile64::<object::Endianness>::parse(bytes).ok()?;
    // In the file's first segment, at the place that its header names.
    let offset = file.elf_header().e_phoff.get(file.endian());
    let first = file.segments().find(|segment| {
        let (start, bytes) = segment.file_range();
        (start..start + bytes).contains(&offset)
    })?;
    let bias = headers.wrapping_sub(first.address() + (offset - first.file_range().0));
    let named = file.symbols().filter(|symbol| {
        let kind = symbol.kind();
        symbol.is_definition() && matches!(kind, SymbolKind::Text | SymbolKind::Data | SymbolKind::Unknown)
    });
    let mut symbols: Vec<Symbol> = named
        .filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| !name.is_empty())?;
            Some(Symbol {
                address: symbol.address().wrapping_add(bias),
                bytes: symbol.size(),
                name: demangled(name),
            })
        })
        .collect();
    // Of several at one address, the one that says most about its size comes last, and is found.
    symbols.sort_by_key(|symbol| (symbol.address, symbol.bytes));
    Some(Names { symbols })
}

/// A name of C++ as its source has it.
fn demangled(name: &str) -> String {
    let parsed = cpp_demangle::Symbol::new(name).ok();
    parsed.and_then(|symbol| symbol.demangle().ok()).unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_names() {
        let symbol = |address, bytes, name: &str| Symbol { address, bytes, name: name.into() };
        let names = Names {
            symbols: vec![
                symbol(0x5000, 64, "a"),
                symbol(0x5040, 32, ".gomp_critical_user_.var"),
                symbol(0x5060, 32, ".gomp_critical_user_sum.var"),
            ],
        };
        for (address, expected) in [
            (2, "a lock of the runtime"),
            (0x4fff, "0x4fff"),
            (0x5000, "a"),
            (0x503f, "a+63"),
            (0x5040, "critical"),
            (0x5060, "critical(sum)"),
            (0x5080, "0x5080"),
        ] {
            assert_eq!(names.object(address), expected);
        }
        assert_eq!(names.variable(0x5001), "variable a");
        assert_eq!(names.variable(SHARED_BASE), "heap and stacks");
    }

    /// A static of this program, where this program is loaded.
    #[test]
    fn the_programs_file_leads_to_its_variables() {
        #[unsafe(no_mangle)]
        static DSM_TOP_TEST_VARIABLE: [u8; 100] = [7; 100];
        // SAFETY: takes no pointers.
        let headers = unsafe { nix::libc::getauxval(nix::libc::AT_PHDR) };
        let names = Names::read(&std::env::current_exe().unwrap(), headers);
        let address = &raw const DSM_TOP_TEST_VARIABLE[50] as u64;
        assert_eq!(names.object(address), "DSM_TOP_TEST_VARIABLE+50");
    }
}
