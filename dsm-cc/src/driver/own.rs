//! The driver's own options: one table gives parsing, the error for unknown ones and `--help`.

use dsm_abi::note::Checking;
use dsm_abi::options::{SWITCHES, WeakestOrder};
use dsm_abi::state::{DEFAULT_LINE_SHIFT, MAX_LINE_SHIFT, MIN_LINE_SHIFT, PAGE_SHIFT};

use super::components::Language;
use super::error::Error;

/// What the driver's own options said; `None` where they said nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// Base-two logarithm of the line size.
    pub line_shift: Option<u32>,
    /// How accesses are checked.
    pub checking: Checking,
    /// The weakest order that atomic and volatile accesses have.
    pub weakest_order: WeakestOrder,
    /// Where the plan is printed: a path, or `-` for standard error.
    pub plan: Option<String>,
    /// Counters of the pass on standard error.
    pub stats: bool,
    /// A remark for every access that the pass could not make sense of.
    pub remarks: bool,
    /// The program counts its accesses and checks.
    pub count: bool,
    /// The program asserts that each of its accesses is allowed.
    pub verify: bool,
    /// A way in which the pass is to be wrong.
    pub fault: Option<String>,
    /// Files that state the effects of functions.
    pub effects: Vec<String>,
    /// Optimisations to leave out.
    pub disable: Vec<String>,
    /// The compiler was told that integers wrap (its own option).
    pub wraps: bool,
    /// An option of the compiler's says which places in the sources it remembers; otherwise the pass alone needs them.
    pub keeps_places: bool,
    /// Objects without a note may be linked.
    pub allow_plain: bool,
    /// The runtime's debug information becomes part of the program.
    pub runtime_debug: bool,
}

/// What may follow an option's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value(&'static str),
    Maybe(&'static str),
    /// Some of these names.
    Names(&'static [&'static str]),
}

struct Entry {
    name: &'static str,
    takes: Takes,
    help: &'static str,
    apply: fn(&mut Own, Option<&str>) -> Result<(), String>,
}

const TABLE: &[Entry] = &[
    Entry {
        name: "-fdsm-line",
        takes: Takes::Value("<bytes>"),
        help: "Line size, the unit of checks: a power of two from 64 to 65536 (4096 unless set). All objects of a \
               program must agree.",
        apply: |own, value| {
            own.line_shift = Some(line_shift(value.unwrap_or(""))?);
            Ok(())
        },
    },
    Entry {
        name: "-fdsm-check",
        takes: Takes::Value("inline|mprotect"),
        help: "How accesses to shared memory are checked: by code in front of them (inline), or by the protection of pages, for \
               comparisons (mprotect; lines of at least 4096 bytes). All objects of a program must agree.",
        apply: |own, value| {
            let checking = Checking::parse(value.unwrap_or(""));
            own.checking = checking.ok_or("the ways of checking are inline and mprotect")?;
            Ok(())
        },
    },
    Entry {
        name: "-fdsm-weakest-order",
        takes: Takes::Value("relaxed|acq_rel"),
        help: "The weakest order that atomic and volatile accesses have: that of the program (relaxed, unless set), or loads acquire and \
               stores release (acq_rel), for programs that count on x86 doing so.",
        apply: |own, value| {
            let order = WeakestOrder::parse(value.unwrap_or(""));
            own.weakest_order = order.ok_or("the weakest orders are relaxed and acq_rel")?;
            Ok(())
        },
    },
    Entry {
        name: "-fdsm-plan",
        takes: Takes::Maybe("<file>"),
        help: "Print what is done with every access, and why, to standard error, or append it to <file>.",
        apply: |own, value| {
            own.plan = Some(plain_value(value.unwrap_or("-"))?);
            Ok(())
        },
    },
    Entry {
        name: "-fdsm-stats",
        takes: Takes::Nothing,
        help: "Print the counters of the pass for each source to standard error.",
        apply: |own, _| {
            own.stats = true;
            Ok(())
        },
    },
    Entry {
        name: "-fdsm-remarks",
        takes: Takes::Nothing,
        help: "Name the calls that may hand shared memory to code without checks.",
        apply: |own, _| {
            own.remarks = true;
            Ok(())
        },
    },
    Entry {
        name: "-fdsm-effects",
        takes: Takes::Value("<file>"),
        help: "What functions that dsm-cc did not compile read and write, a line for each, such as 'sum: reads(arg0, arg1*8)' or \
               'log_level: harmless'. May be given several times.",
        apply: |own, value| {
            own.effects.push(plain_value(value.unwrap_or(""))?);
            Ok(())
        },
    },
    Entry {
        name: "-fdsm-count",
        takes: Takes::Nothing,
        help: "The program counts the accesses and checks that it executes and prints the sums when it ends. It gets slow.",
        apply: |own, _| {
            own.count = true;
            Ok(())
        },
    },
    Entry {
        name: "-fdsm-verify",
        takes: Takes::Nothing,
        help: "The program asserts, at each access, that its thread has checked the memory since it last synchronised and that the state \
               allows the access; the first that fails ends it with a message. It gets slow. For finding errors of dsm-cc.",
        apply: |own, _| {
            own.verify = true;
            Ok(())
        },
    },
    Entry {
        name: "-fdsm-fault",
        takes: Takes::Value("<name>[:<n>]"),
        help: "Compile the program wrongly in this way, at the <n>-th place where that can be, from 0. For tests of the tests of dsm-cc; the \
               pass lists the names when it does not know one.",
        apply: |own, value| {
            own.fault = Some(plain_value(value.unwrap_or(""))?);
            Ok(())
        },
    },
    Entry {
        name: "-fdsm-disable",
        takes: Takes::Names(SWITCHES),
        help: "Leave out optimisations of the pass (for measurements and for finding errors):",
        apply: |own, value| {
            for name in value.unwrap_or("").split(',').filter(|n| !n.is_empty()) {
                own.disable.push(switch(name)?);
            }
            Ok(())
        },
    },
    Entry {
        name: "-fdsm-allow-plain",
        takes: Takes::Nothing,
        help: "Link objects that dsm-cc did not compile. They must not touch memory that several processes share: their \
               accesses are not checked.",
        apply: |own, _| {
            own.allow_plain = true;
            Ok(())
        },
    },
    Entry {
        name: "-fdsm-runtime-debug",
        takes: Takes::Nothing,
        help: "Link the debug information of the runtime into the program, which is left out otherwise. Addresses are the same: \
               a debugger that has a core file of the program may read its symbols from one linked with it.",
        apply: |own, _| {
            own.runtime_debug = true;
            Ok(())
        },
    },
];

/// Prefix that is ours: an option with it that is not in the table is an error.
pub const PREFIX: &str = "-fdsm-";

impl Own {
    /// Whether code that was compiled without any of these options does for these sources, too.
    pub fn is_usual(&self) -> bool {
        self.compile_shift() == DEFAULT_LINE_SHIFT
            && self.checking == Checking::Inline
            && self.weakest_order == WeakestOrder::Relaxed
            && !(self.count || self.verify)
            && self.fault.is_none()
            && self.disable.is_empty()
    }

    /// Takes in one argument that starts with [`PREFIX`].
    pub fn parse(&mut self, argument: &str) -> Result<(), Error> {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (argument, None),
        };
        let entry = TABLE
            .iter()
            .find(|e| e.name == name)
            .ok_or_else(|| Error::UnknownOwn { option: argument.into(), valid: valid_names() })?;
        let fits = match entry.takes {
            Takes::Nothing => value.is_none(),
            Takes::Value(_) | Takes::Names(_) => value.is_some_and(|v| !v.is_empty()),
            Takes::Maybe(_) => value != Some(""),
        };
        if !fits {
            let reason = format!("it is written {}", spelling(entry));
            return Err(Error::BadOwn { option: argument.into(), reason });
        }
        (entry.apply)(self, value).map_err(|reason| Error::BadOwn { option: argument.into(), reason })
    }

    /// The line size that compilations of this invocation use, as a shift.
    pub fn compile_shift(&self) -> u32 {
        self.line_shift.unwrap_or(match self.checking {
            Checking::Inline => DEFAULT_LINE_SHIFT,
            Checking::Mprotect => PAGE_SHIFT,
        })
    }

    /// Whether the options fit together.
    ///
    /// # Errors
    /// The first that does not.
    pub fn agree(&self) -> Result<(), Error> {
        if self.checking == Checking::Inline {
            return Ok(());
        }
        let refuse =
            |reason: &str| Error::BadOwn { option: "-fdsm-check=mprotect".into(), reason: reason.into() };
        if self.compile_shift() < PAGE_SHIFT {
            return Err(refuse(
                "pages have 4096 bytes; give -fdsm-line that size or a greater one, or leave it out",
            ));
        }
        if self.verify {
            return Err(refuse(
                "-fdsm-verify looks for checks, and there are none; leave one of the two out",
            ));
        }
        Ok(())
    }

    /// Value of the environment variable that the pass reads.
    pub fn pass_options(&self) -> String {
        let mut options = format!("line={}", self.compile_shift());
        if self.checking != Checking::Inline {
            options += &format!(";check={}", self.checking.name());
        }
        if self.weakest_order != WeakestOrder::Relaxed {
            options += &format!(";weakest-order={}", self.weakest_order.name());
        }
        if let Some(plan) = &self.plan {
            options += &format!(";plan={plan}");
        }
        if self.stats {
            options += ";stats=1";
        }
        if self.remarks {
            options += ";remarks=1";
        }
        if self.count {
            options += ";count=1";
        }
        if self.verify {
            options += ";verify=1";
        }
        if let Some(fault) = &self.fault {
            options += &format!(";fault={fault}");
        }
        if self.wraps {
            options += ";wrapv=1";
        }
        if !self.keeps_places {
            options += ";places=0";
        }
        for file in &self.effects {
            options += &format!(";effects={file}");
        }
        if !self.disable.is_empty() {
            options += &format!(";disable={}", self.disable.join(","));
        }
        options
    }
}

fn line_shift(value: &str) -> Result<u32, String> {
    let allowed = || {
        format!(
            "the line size must be a power of two from {} to {}",
            1 << MIN_LINE_SHIFT,
            1 << MAX_LINE_SHIFT
        )
    };
    let bytes: u32 = value.parse().map_err(|_| allowed())?;
    let shift = bytes.checked_ilog2().ok_or_else(allowed)?;
    let fits = bytes.is_power_of_two() && (MIN_LINE_SHIFT..=MAX_LINE_SHIFT).contains(&shift);
    fits.then_some(shift).ok_or_else(allowed)
}

fn switch(name: &str) -> Result<String, String> {
    match SWITCHES.contains(&name) {
        true => Ok(name.into()),
        false => Err(format!("the pass knows {}; not '{name}'", SWITCHES.join(", "))),
    }
}

/// `;` separates the pass's options.
fn plain_value(value: &str) -> Result<String, String> {
    if value.contains(';') { Err("the value must not contain ';'".into()) } else { Ok(value.into()) }
}

fn spelling(entry: &Entry) -> String {
    match entry.takes {
        Takes::Nothing => entry.name.into(),
        Takes::Value(value) => format!("{}={value}", entry.name),
        Takes::Maybe(value) => format!("{}[={value}]", entry.name),
        Takes::Names(_) => format!("{}=<name,...>", entry.name),
    }
}

fn valid_names() -> String {
    TABLE.iter().map(spelling).collect::<Vec<_>>().join(", ")
}

/// What `--help` says: the driver's own options, and where the compiler's are.
pub fn help(language: Language) -> String {
    let (driver, compiler, variable) = (language.driver(), language.stands_in_for(), language.variable());
    format!(
        "USAGE: {driver} [options] file...\n\n\
         {driver} compiles and links programs for dsm-run. It takes every option of the\n\
         {compiler} LLVM compiler, version 22, and adds:\n\n\
         {}\n  \
         --dsm-check <file>...\n      Tell how objects, libraries and programs were compiled; has to be the first word.\n  \
         --dsm-version\n      \
         Tell which compiler and pass are in use: CCACHE_COMPILERCHECK='%compiler% --dsm-version'.\n  \
         --help-hidden\n      List the options of {compiler}, which {compiler}-22 --help lists as well.\n\n\
         DSM_DISABLE=1 in the environment makes it the plain compiler. {variable} names the compiler,\n\
         if it is not {compiler}-22 in PATH or in LLVM's own directory.\n",
        table()
    )
}

/// The driver's own options with what they do.
fn table() -> String {
    let mut text = String::new();
    for entry in TABLE {
        text += &format!("  {}\n", spelling(entry));
        let mut line = String::new();
        let names = match entry.takes {
            Takes::Names(names) => format!(" {}.", names.join(", ")),
            _ => String::new(),
        };
        for word in format!("{}{names}", entry.help).split_whitespace() {
            if line.len() + word.len() > 84 {
                text += &format!("      {}\n", line.trim_end());
                line.clear();
            }
            line += word;
            line.push(' ');
        }
        text += &format!("      {}\n", line.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Own, String> {
        let mut own = Own::default();
        for argument in arguments {
            own.parse(argument).map_err(|e| e.to_string())?;
        }
        Ok(own)
    }

    #[test]
    fn line_sizes() {
        for (bytes, shift) in [("64", 6), ("1024", 10), ("65536", 16)] {
            assert_eq!(parse(&[&format!("-fdsm-line={bytes}")]).unwrap().line_shift, Some(shift));
        }
        for bad in ["0", "1", "32", "63", "96", "131072", "-64", "4k", "99999999999", "x"] {
            let message = parse(&[&format!("-fdsm-line={bad}")]).unwrap_err();
            assert!(message.contains("power of two from 64 to 65536"), "{bad}: {message}");
        }
        assert!(parse(&["-fdsm-line"]).unwrap_err().contains("-fdsm-line=<bytes>"));
        assert!(parse(&["-fdsm-line="]).is_err());
    }

    #[test]
    fn page_protection_needs_lines_of_pages() {
        let own = parse(&["-fdsm-check=mprotect"]).unwrap();
        assert_eq!(
            (own.pass_options().as_str(), own.agree().is_ok()),
            ("line=12;check=mprotect;places=0", true)
        );
        assert!(parse(&["-fdsm-check=mprotect", "-fdsm-line=8192"]).unwrap().agree().is_ok());
        for bad in ["-fdsm-line=1024", "-fdsm-verify"] {
            assert!(parse(&["-fdsm-check=mprotect", bad]).unwrap().agree().is_err(), "{bad}");
        }
        assert!(parse(&["-fdsm-check=pages"]).unwrap_err().contains("inline and mprotect"));
    }

    #[test]
    fn unknown_options_list_the_valid_ones() {
        let message = parse(&["-fdsm-lines=64"]).unwrap_err();
        for entry in TABLE {
            assert!(message.contains(&spelling(entry)), "{message}");
        }
    }

    #[test]
    fn the_book_has_every_option() {
        let page = include_str!("../../../book/src/user/options.md");
        for entry in TABLE {
            assert!(page.contains(&format!("| `{}", entry.name)), "{}", entry.name);
        }
        assert!(page.contains("`--dsm-check ") && page.contains("`--dsm-version`"));
    }

    #[test]
    fn values_where_none_belong_are_refused() {
        assert!(parse(&["-fdsm-stats=1"]).is_err());
        assert!(parse(&["-fdsm-plan="]).is_err());
        assert!(parse(&["-fdsm-plan=a;b"]).is_err());
        assert!(parse(&["-fdsm-disable"]).is_err());
    }

    #[test]
    fn weakest_orders() {
        assert_eq!(parse(&["-fdsm-weakest-order=relaxed"]), Ok(Own::default()));
        assert!(!parse(&["-fdsm-weakest-order=acq_rel"]).unwrap().is_usual());
        assert!(parse(&["-fdsm-weakest-order=x86"]).unwrap_err().contains("relaxed and acq_rel"));
    }

    #[test]
    fn optimisations_that_there_are_not_are_refused() {
        let message = parse(&["-fdsm-disable=merge,marge"]).unwrap_err();
        assert!(message.contains("not 'marge'") && SWITCHES.iter().all(|s| message.contains(s)), "{message}");
    }

    #[test]
    fn pass_options() {
        assert_eq!(Own::default().pass_options(), "line=12;places=0");
        let own = parse(&[
            "-fdsm-line=64",
            "-fdsm-weakest-order=acq_rel",
            "-fdsm-plan",
            "-fdsm-stats",
            "-fdsm-disable=merge,nest",
            "-fdsm-disable=window",
            "-fdsm-remarks",
            "-fdsm-count",
            "-fdsm-verify",
            "-fdsm-fault=drop-check:1",
        ]);
        assert_eq!(
            own.unwrap().pass_options(),
            "line=6;weakest-order=acq_rel;plan=-;stats=1;remarks=1;count=1;verify=1;fault=drop-check:1;places=0;disable=merge,nest,window"
        );
        assert_eq!(Own { wraps: true, ..Own::default() }.pass_options(), "line=12;wrapv=1;places=0");
        assert_eq!(Own { keeps_places: true, ..Own::default() }.pass_options(), "line=12");
        assert_eq!(
            parse(&["-fdsm-effects=a.txt", "-fdsm-effects=b c"]).unwrap().pass_options(),
            "line=12;places=0;effects=a.txt;effects=b c"
        );
        assert_eq!(parse(&["-fdsm-plan=x.plan"]).unwrap().pass_options(), "line=12;plan=x.plan;places=0");
    }

    #[test]
    fn help_names_every_option_and_where_the_compilers_are() {
        for language in Language::ALL {
            let text = help(language);
            assert!(TABLE.iter().all(|e| text.contains(e.name)));
            assert!(text.lines().all(|l| l.len() <= 100), "{text}");
            assert!(text.lines().count() < 100, "{text}");
            assert!(text.contains(language.variable()), "{text}");
            assert!(text.contains("--help-hidden") && text.contains(language.stands_in_for()), "{text}");
        }
    }
}
