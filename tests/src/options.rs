//! The command lines of this package's own commands: `--name value` pairs and words.

use std::collections::HashMap;
use std::ops::Range;
use std::process::ExitCode;

/// A command: what `--help` prints and which options there are.
pub struct Command {
    /// First line: how it is called, its name first. Then what it does, an option a line.
    pub usage: &'static str,
    /// Options that take a value.
    pub values: &'static [&'static str],
    /// Options that do not.
    pub switches: &'static [&'static str],
}

impl Command {
    /// Parses the command line of this process and runs the command: 0 after `--help`, 2 with one message if the command line or the run is
    /// no good.
    pub fn main(&self, run: impl FnOnce(&Options) -> Result<ExitCode, String>) -> ExitCode {
        let mut arguments = std::env::args().skip(1).peekable();
        if arguments.peek().is_some_and(|a| a == "--help" || a == "-h") {
            println!("usage: {}", self.usage);
            return ExitCode::SUCCESS;
        }
        Options::parse(arguments, self.values, self.switches)
            .and_then(|options| run(&options))
            .unwrap_or_else(|message| {
                let name = self.usage.split_whitespace().next().unwrap_or_default();
                eprintln!("{name}: {message}; `{name} --help` tells what there is");
                ExitCode::from(2)
            })
    }
}

/// Parsed command line.
#[derive(Debug, Default)]
pub struct Options {
    values: HashMap<String, String>,
    /// Arguments that are not options.
    pub words: Vec<String>,
}

impl Options {
    /// Parses `arguments`. Options in `known` take a value, those in `switches` do not.
    ///
    /// # Errors
    /// A sentence about the first argument that is not understood.
    pub fn parse(
        arguments: impl Iterator<Item = String>,
        known: &[&str],
        switches: &[&str],
    ) -> Result<Self, String> {
        let mut options = Self::default();
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            if switches.contains(&argument.as_str()) {
                options.values.insert(argument, String::new());
            } else if known.contains(&argument.as_str()) {
                let value = arguments.next().ok_or(format!("{argument} needs a value"))?;
                options.values.insert(argument, value);
            } else if argument.starts_with('-') {
                return Err(format!("unknown option {argument}"));
            } else {
                options.words.push(argument);
            }
        }
        Ok(options)
    }

    /// For commands that take options only.
    ///
    /// # Errors
    /// If there is a word.
    pub fn no_words(&self) -> Result<(), String> {
        self.words.first().map_or(Ok(()), |word| Err(format!("unknown argument {word}")))
    }

    /// Whether a switch was given.
    pub fn has(&self, switch: &str) -> bool {
        self.values.contains_key(switch)
    }

    /// The text given with `name`.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// The number given with `name`, or `default`.
    ///
    /// # Errors
    /// If the value is not a number.
    pub fn number(&self, name: &str, default: u64) -> Result<u64, String> {
        match self.values.get(name) {
            None => Ok(default),
            Some(text) => text.parse().map_err(|_| format!("{name} {text}: not a number")),
        }
    }

    /// The range `A..B` given with `name`, or `default`; a single number is a range of one.
    ///
    /// # Errors
    /// If the value is not a range.
    pub fn range(&self, name: &str, default: Range<u64>) -> Result<Range<u64>, String> {
        let Some(text) = self.values.get(name) else { return Ok(default) };
        let number = |t: &str| t.parse::<u64>().map_err(|_| format!("{name} {text}: not a range A..B"));
        match text.split_once("..") {
            Some((low, high)) => Ok(number(low)?..number(high)?),
            None => number(text).map(|n| n..n + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(line.split_whitespace().map(str::to_string), &["-n", "--seeds"], &["--keep"])
    }

    #[test]
    fn values_switches_and_words() {
        let options = parse("tree -n 3 --keep --seeds 5..9").expect("well formed");
        assert_eq!(options.number("-n", 1), Ok(3));
        assert_eq!(options.range("--seeds", 0..1), Ok(5..9));
        assert!(options.has("--keep"));
        assert_eq!(options.words, ["tree"]);
        assert_eq!(parse("--seeds 7").and_then(|o| o.range("--seeds", 0..1)), Ok(7..8));
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(parse("--what").is_err());
        assert!(parse("-n").is_err());
        assert!(parse("-n x").and_then(|o| o.number("-n", 1)).is_err());
    }
}
