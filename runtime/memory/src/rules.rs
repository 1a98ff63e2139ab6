//! The file that `DSM_BLOCK_FILE` names: block sizes of single variables and allocations.
//!
//! ```text
//! # one rule a line
//! symbol u 256               a global variable
//! alloc cg.c:123 1024        what the allocation call in that line returns
//! size >=1M 65536            allocations of at least so many bytes
//! size <4K 64                allocations of fewer bytes
//! ```
//! Of the rules for allocations, the first that fits counts; a variable has one rule. Nothing here knows addresses.

use std::ops::Range;

use crate::config;

/// Largest block, bytes.
const LARGEST: usize = 1 << super::blocks::MAX_BLOCK_SHIFT;

/// What an allocation must be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fits {
    /// The call is in this line of a file with this name, or with a path that ends so.
    Site {
        /// File name, perhaps with directories.
        file: String,
        /// Line, from 1.
        line: u32,
    },
    /// The size in bytes lies in the range.
    Size(Range<usize>),
}

/// A rule for allocations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// What an allocation must be like.
    pub fits: Fits,
    /// Bytes of a block.
    pub bytes: usize,
    /// Line of the file.
    pub line: usize,
}

/// All rules of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Where they come from.
    pub path: String,
    /// Name, bytes of a block, line of the file.
    pub symbols: Vec<(String, usize, usize)>,
    /// In the order of the file.
    pub allocations: Vec<Allocation>,
}

impl Rules {
    /// The rules of the file at `path`, for a program whose lines have `line_bytes`.
    ///
    /// # Errors
    /// A sentence that names file and line, the cause and the remedy.
    pub fn read(path: &str, line_bytes: usize) -> Result<Rules, String> {
        let text = std::fs::read_to_string(path).map_err(|e| {
            format!("cannot read {path}, which DSM_BLOCK_FILE names: {e}; correct or unset the variable")
        })?;
        Rules::parse(path, &text, line_bytes)
    }

    /// As [`Rules::read`], from the text of the file.
    ///
    /// # Errors
    /// As for [`Rules::read`].
    pub fn parse(path: &str, text: &str, line_bytes: usize) -> Result<Rules, String> {
        let mut rules = Rules { path: path.into(), ..Rules::default() };
        for (number, line) in (1..).zip(text.lines()) {
            let code = line.split('#').next().unwrap_or("").trim();
            if !code.is_empty() {
                rules.add(number, code, line_bytes).map_err(|why| format!("{path}:{number}: {why}"))?;
            }
        }
        Ok(rules)
    }

    fn add(&mut self, number: usize, code: &str, line_bytes: usize) -> Result<(), String> {
        let words: Vec<&str> = code.split_whitespace().collect();
        let [kind, what, bytes] = words[..] else {
            return Err(format!(
                "\"{code}\" has {} words; a rule has three: symbol, alloc or size, what it is about, and BYTES",
                words.len()
            ));
        };
        let fits = match kind {
            "symbol" => None,
            "alloc" => Some(site(what)?),
            "size" => Some(Fits::Size(sizes(what)?)),
            _ => return Err(format!("\"{kind}\" is no kind of rule; write symbol, alloc or size")),
        };
        let bytes = block(bytes, line_bytes)?;
        match fits {
            Some(fits) => self.allocations.push(Allocation { fits, bytes, line: number }),
            None => {
                if let Some((.., before)) = self.symbols.iter().find(|(name, ..)| name == what) {
                    return Err(format!(
                        "symbol {what} has a rule in line {before} already; remove one of them"
                    ));
                }
                self.symbols.push((what.into(), bytes, number));
            }
        }
        Ok(())
    }

    /// The block sizes that allocations can have, other than `general`, in increasing order.
    pub fn heap_blocks(&self, general: usize) -> Vec<usize> {
        let mut all: Vec<usize> =
            self.allocations.iter().map(|rule| rule.bytes).filter(|b| *b != general).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether a rule asks where an allocation is made.
    pub fn asks_for_sites(&self) -> bool {
        self.allocations.iter().any(|rule| matches!(rule.fits, Fits::Site { .. }))
    }

    /// Number of the rule for an allocation of `size` bytes; `site` finds out whether it was made there. `None`: no rule fits.
    pub fn for_allocation(&self, size: usize, site: impl Fn(&str, u32) -> bool) -> Option<usize> {
        self.allocations.iter().position(|rule| match &rule.fits {
            Fits::Site { file, line } => site(file, *line),
            Fits::Size(range) => range.contains(&size),
        })
    }

    /// A sentence for each rule about a place that no allocation followed. Bit `i` of `followed` is that of rule `i`; later ones are
    /// not known. `lines`: whether any allocation's line was found.
    pub fn not_followed(&self, followed: u64, lines: bool) -> Vec<String> {
        let rules = self.allocations.iter().take(64).enumerate().filter(|(i, _)| followed >> i & 1 == 0);
        let sentence = |rule: &Allocation| {
            let Fits::Site { file, line } = &rule.fits else { return None };
            let why = if lines {
                "no allocation was made there that no earlier rule fits"
            } else {
                "no allocation's line is known; compile with -g"
            };
            Some(format!("{}:{}: alloc {file}:{line}: {why}; the rule had no effect", self.path, rule.line))
        };
        rules.filter_map(|(_, rule)| sentence(rule)).collect()
    }
}

fn site(text: &str) -> Result<Fits, String> {
    let parts = text.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
    match parts {
        Some((file, line)) if !file.is_empty() && line > 0 => Ok(Fits::Site { file: file.into(), line }),
        _ => Err(format!("\"{text}\" is no place in a source file; write FILE:LINE, for example cg.c:123")),
    }
}

fn sizes(text: &str) -> Result<Range<usize>, String> {
    let at = |digits: &str| config::parse::bytes(digits);
    let range = match (text.strip_prefix(">="), text.strip_prefix('<')) {
        (Some(least), _) => at(least).map(|least| least..usize::MAX),
        (_, Some(limit)) => at(limit).filter(|limit| *limit > 0).map(|limit| 0..limit),
        _ => None,
    };
    range.ok_or_else(|| format!("\"{text}\" is no range of sizes; write >=SIZE or <SIZE, for example >=1M"))
}

fn block(text: &str, line_bytes: usize) -> Result<usize, String> {
    match config::parse::bytes(text) {
        Some(bytes) if bytes.is_power_of_two() && (line_bytes..=LARGEST).contains(&bytes) => Ok(bytes),
        Some(bytes) if bytes.is_power_of_two() && (64..line_bytes).contains(&bytes) => Err(format!(
            "blocks of {bytes} bytes are smaller than the lines that the program was compiled for; \
             compile it with -fdsm-line={bytes} or write at least {line_bytes}"
        )),
        _ => Err(format!("\"{text}\" is no block size; write a power of two from {line_bytes} to {LARGEST}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Rules, String> {
        Rules::parse("blocks", text, 256)
    }

    #[test]
    fn reads_all_kinds() {
        let rules =
            parse("# sizes\nsymbol u 256\n\n alloc src/cg.c:12 1K # here\nsize >=1M 64K\nsize <4K 512\n")
                .unwrap();
        assert_eq!(rules.symbols, [("u".to_string(), 256, 2)]);
        assert_eq!(rules.heap_blocks(4096), [512, 1024, 65536]);
        assert_eq!(rules.heap_blocks(512), [1024, 65536]);
        assert!(rules.asks_for_sites());
        let here = |file: &str, line| (file, line) == ("src/cg.c", 12);
        for (size, site, expected) in [
            (2 << 20, true, Some(1024)),
            (2 << 20, false, Some(65536)),
            (100, false, Some(512)),
            (8192, false, None),
        ] {
            let rule = rules.for_allocation(size, |f, l| site && here(f, l));
            assert_eq!(rule.map(|rule| rules.allocations[rule].bytes), expected);
        }
    }

    #[test]
    fn rules_about_places_without_allocations_are_named() {
        let rules = parse("size <64 256\nalloc a.c:1 256\nalloc b.c:2 512\n").unwrap();
        assert!(rules.not_followed(0b110, true).is_empty());
        let [sentence] = &rules.not_followed(0b010, true)[..] else { panic!("one rule is left") };
        assert!(sentence.starts_with("blocks:3: alloc b.c:2: no allocation was made there"), "{sentence}");
        assert!(rules.not_followed(0, false)[0].contains("compile with -g"));
    }

    #[test]
    fn malformed_lines_name_place_cause_and_remedy() {
        for (text, expected) in [
            ("symbl u 256", "blocks:1: \"symbl\" is no kind of rule; write symbol, alloc or size"),
            ("\nsymbol u", "blocks:2: \"symbol u\" has 2 words; a rule has three"),
            ("symbol u 300", "\"300\" is no block size; write a power of two from 256 to 65536"),
            ("symbol u 128K", "\"128K\" is no block size"),
            ("symbol u 64", "compile it with -fdsm-line=64 or write at least 256"),
            ("alloc cg.c 256", "\"cg.c\" is no place in a source file; write FILE:LINE"),
            ("alloc cg.c:0 256", "no place"),
            ("size 1M 256", "\"1M\" is no range of sizes; write >=SIZE or <SIZE"),
            ("size <0 256", "no range"),
            ("symbol u 256\nsymbol v 256\nsymbol u 512", "blocks:3: symbol u has a rule in line 1 already"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(Rules::read("/does/not/exist", 64).unwrap_err().contains("DSM_BLOCK_FILE"));
    }
}
