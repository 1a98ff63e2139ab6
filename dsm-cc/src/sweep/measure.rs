//! One run: the command, what it printed, whether it counts, and what was counted.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Instant;

use regex_lite::Regex;
use serde_json::Value;

use super::cost::Usage;
use super::options::Options;
use super::plan::{Blocks, Purpose, Run, Setting};
use super::programs::Programs;
use super::store::{Failure, Record};
use crate::execute::{self, Outcome};
use crate::tools::Tools;

/// What the NAS benchmarks print.
static NPB_VERIFICATION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?im)^\s*verification\s*[=:]?\s*((un)?successful|not performed)").expect("it is right")
});

/// What all runs have in common.
pub struct Meter<'a> {
    /// The command line.
    pub options: &'a Options,
    /// The launcher.
    pub tools: &'a Tools,
    /// Programs by line size.
    pub programs: &'a Programs,
    /// Where everything is kept.
    pub directory: &'a Path,
}

/// Directory of what a run leaves before it is read.
const RUNNING: &str = "running";

/// The block file of a setting.
pub fn block_file(setting: Setting) -> String {
    format!("blocks-{}.conf", label(setting))
}

fn label(setting: Setting) -> String {
    format!("{}x{}-line-{}", setting.processes, setting.threads, setting.line)
}

/// A name for the files of a run.
fn file_name(run: &Run) -> String {
    let blocks = match run.blocks {
        Blocks::Unset => "unset".into(),
        Blocks::Uniform(bytes) => bytes.to_string(),
        Blocks::File(_) => "file".into(),
    };
    let purpose = match run.purpose {
        Purpose::Profile => "profile",
        Purpose::Time => "time",
        Purpose::Comparison => "comparison",
    };
    format!("{}-block-{blocks}-{purpose}-{}", label(run.setting), run.repetition)
}

impl Meter<'_> {
    /// Runs it; `None` if the command was interrupted meanwhile.
    ///
    /// # Errors
    /// If the launcher cannot be started or files cannot be written.
    pub fn measure(&self, run: Run) -> io::Result<Option<Record>> {
        let scratch = self.directory.join(RUNNING);
        for directory in [&scratch, &self.directory.join("profiles")] {
            fs::create_dir_all(directory)?;
        }
        let counters = scratch.join("counters.json");
        // What a run before it has left is not taken for this one's.
        let _ = fs::remove_file(&counters);
        let profile = self.directory.join(format!("profiles/{}.json", file_name(&run)));
        let command = self.command(&run, &counters, &profile);
        let text = self.text(&run, &command);
        let start = Instant::now();
        let outcome = execute::run(command, &scratch, self.options.time_limit())?;
        let wall_seconds = start.elapsed().as_secs_f64();
        if execute::interrupted() {
            return Ok(None);
        }
        let mut record = Record {
            run,
            failure: None,
            wall_seconds,
            seconds: wall_seconds,
            counters: BTreeMap::new(),
            objects: Vec::new(),
        };
        if let Err(reason) = self.read(&outcome, &counters, &profile, &mut record) {
            let output = format!("failed/{}.txt", file_name(&run));
            let kept = self.directory.join(&output);
            fs::create_dir_all(kept.parent().unwrap_or(self.directory))?;
            let printed = String::from_utf8_lossy(&outcome.output);
            fs::write(
                kept,
                format!(
                    "{text}\n{reason}\n\n--- standard output\n{printed}\n--- standard error\n{}",
                    outcome.errors
                ),
            )?;
            record.failure = Some(Failure { reason, output });
        }
        Ok(Some(record))
    }

    /// When all runs are made: removes what only they need.
    pub fn finish(&self) {
        // It is in nobody's way.
        let _ = fs::remove_dir_all(self.directory.join(RUNNING));
    }

    fn command(&self, run: &Run, counters: &Path, profile: &Path) -> Command {
        let mut command = Command::new(self.tools.launcher());
        command
            .args(["-n", &run.setting.processes.to_string(), "-t", &run.setting.threads.to_string()])
            .arg(with_value("--stats", counters));
        if run.purpose == Purpose::Profile {
            command.arg(with_value("--profile", profile));
        }
        command.arg("--").arg(&self.programs[&run.setting.line]).args(self.options.arguments());
        for name in ["DSM_BLOCK", "DSM_BLOCK_FILE", "DSM_STATS", "DSM_PROFILE"] {
            command.env_remove(name);
        }
        for (name, value) in self.variables(run) {
            command.env(name, value);
        }
        command
    }

    fn variables(&self, run: &Run) -> Vec<(&'static str, String)> {
        match run.blocks {
            Blocks::Unset => Vec::new(),
            Blocks::Uniform(bytes) => vec![("DSM_BLOCK", bytes.to_string())],
            Blocks::File(bytes) => vec![
                ("DSM_BLOCK", bytes.to_string()),
                ("DSM_BLOCK_FILE", self.directory.join(block_file(run.setting)).display().to_string()),
            ],
        }
    }

    /// The command for people.
    fn text(&self, run: &Run, command: &Command) -> String {
        let variables = self.variables(run).into_iter().map(|(n, v)| format!("{n}={} ", execute::quoted(&v)));
        variables.collect::<String>() + &execute::line(command)
    }

    /// Fills in what the run has left; the error says why it does not count.
    fn read(
        &self,
        outcome: &Outcome,
        counters: &Path,
        profile: &Path,
        record: &mut Record,
    ) -> Result<(), String> {
        if !outcome.succeeded() {
            return Err(outcome.end.to_string());
        }
        let output = String::from_utf8_lossy(&outcome.output);
        verify(&output, self.options.verify.as_ref())?;
        if let Some(pattern) = &self.options.time {
            record.seconds = seconds(&output, pattern)?;
        }
        record.counters = read_counters(&read_json(counters)?);
        if record.run.purpose == Purpose::Profile {
            let mut report = read_json(profile)?;
            record.objects = serde_json::from_value::<Vec<Usage>>(report["objects"].take())
                .map_err(|error| format!("{}: {error}", profile.display()))?;
        }
        Ok(())
    }
}

fn with_value(option: &str, path: &Path) -> std::ffi::OsString {
    let mut word = std::ffi::OsString::from(option);
    word.push("=");
    word.push(PathBuf::from(path));
    word
}

/// Whether the output is that of a run that counts.
fn verify(output: &str, wanted: Option<&Regex>) -> Result<(), String> {
    match (wanted, NPB_VERIFICATION.captures(output)) {
        (Some(pattern), _) if pattern.is_match(output) => Ok(()),
        (Some(pattern), _) => Err(format!("it prints nothing that --verify '{pattern}' fits")),
        (None, Some(found)) if !found[1].eq_ignore_ascii_case("successful") => {
            Err(format!("its verification is {}", found[1].to_lowercase()))
        }
        (None, _) => Ok(()),
    }
}

/// The seconds that a program prints.
fn seconds(output: &str, pattern: &Regex) -> Result<f64, String> {
    let found = pattern.captures(output).and_then(|found| found.get(1));
    let found = found.ok_or_else(|| format!("it prints nothing that --time '{pattern}' fits"))?;
    found.as_str().trim().parse().map_err(|_| format!("\"{}\" is no number of seconds", found.as_str()))
}

fn read_json(path: &Path) -> Result<Value, String> {
    let text = fs::read_to_string(path)
        .map_err(|error| format!("it leaves no counts in {}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Sums over all processes.
fn read_counters(table: &Value) -> BTreeMap<String, u64> {
    let all = table["counters"].as_object().into_iter().flatten();
    all.map(|(name, values)| {
        let values = values.as_array().into_iter().flatten();
        (name.clone(), values.filter_map(Value::as_u64).sum())
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verification_of_the_nas_benchmarks_is_recognised() {
        let npb = |word: &str| verify(&format!(" Time = 1\n Verification    =     {word}\n"), None);
        assert_eq!(npb("SUCCESSFUL"), Ok(()));
        assert_eq!(npb("UNSUCCESSFUL"), Err("its verification is unsuccessful".into()));
        assert_eq!(npb("NOT PERFORMED"), Err("its verification is not performed".into()));
        assert_eq!(verify("anything", None), Ok(()));
        let pattern = Regex::new("(?m)^right$").expect("it is right");
        assert_eq!(verify("all\nright\n", Some(&pattern)), Ok(()));
        assert!(verify("Verification = SUCCESSFUL", Some(&pattern)).is_err());
    }

    #[test]
    fn the_programs_own_time_is_read() {
        let pattern = Regex::new("seconds = *([0-9.e+-]+)").expect("it is right");
        assert_eq!(seconds("x\nTime in seconds =   1.25\n", &pattern), Ok(1.25));
        assert!(seconds("Time = 1", &pattern).is_err() && seconds("seconds = ..", &pattern).is_err());
    }

    #[test]
    fn counters_are_sums() {
        let table = serde_json::json!({ "counters": { "read_misses": [1, 2, 3], "releases": [4] } });
        assert_eq!(read_counters(&table), [("read_misses".into(), 6), ("releases".into(), 4)].into());
        assert_eq!(read_counters(&serde_json::json!({ "counters": {} })), BTreeMap::new());
    }
}
