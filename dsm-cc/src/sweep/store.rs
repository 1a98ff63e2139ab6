//! The directory of a sweep: the options that it was started with, a journal with a line for each run that has ended, and what is written from it.
//!
//! Invariants: a run is in the journal as a whole or not at all (a line that a kill cut off is dropped when the journal is opened again, by its missing end);
//! the lock of the journal is held as long as the store lives, so that one command works in the directory; nothing is written into a directory that
//! belongs to something else.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Error;
use super::cost::Usage;
use super::plan::Run;

const OPTIONS: &str = "options.json";
const JOURNAL: &str = "journal.jsonl";
/// Key of the options that only those of a sweep have.
pub const VERSION: &str = "dsm-sweep";
/// Directory of the programs that were built.
pub const PROGRAMS: &str = "programs";

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Which run.
    #[serde(flatten)]
    pub run: Run,
    /// Why it does not count; `None` if it does.
    pub failure: Option<Failure>,
    /// Time from start to end.
    pub wall_seconds: f64,
    /// The time that counts: what the program says, where it was asked for.
    pub seconds: f64,
    /// Counters of the runtime, over all processes.
    pub counters: BTreeMap<String, u64>,
    /// What happened to each object; of profiles.
    pub objects: Vec<Usage>,
}

/// Why a run does not count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// In words.
    pub reason: String,
    /// File in the directory with all that the run has printed.
    pub output: String,
}

/// See the module.
pub struct Store {
    directory: PathBuf,
    journal: Flock<File>,
    records: Vec<Record>,
    numbers: HashMap<Run, usize>,
}

impl Store {
    /// Opens a directory, or makes it; `identity` is what has to be the same each time.
    ///
    /// # Errors
    /// If it belongs to another sweep or to something else, is in use, or cannot be read or written.
    pub fn open(directory: &Path, identity: &Value) -> Result<Store, Error> {
        let failed = |path: &Path, verb: &str| {
            let what = format!("{verb} {}", path.display());
            move |source| Error::System { what, source }
        };
        fs::create_dir_all(directory).map_err(failed(directory, "make"))?;
        // The program runs elsewhere.
        let directory = fs::canonicalize(directory).map_err(failed(directory, "find"))?;
        let (options, path) = (directory.join(OPTIONS), directory.join(JOURNAL));
        let write_options =
            || write_whole(&options, &format!("{identity:#}\n")).map_err(failed(&options, "write"));
        let known = known_options(&directory, &options)?;
        if known.is_none() {
            write_options()?;
        }
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.map_err(failed(&path, "open"))?;
        let journal =
            Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|_| Error::Busy(directory.clone()))?;
        let records = read(&path, &journal)?;
        match known.filter(|known| known != identity) {
            Some(known) if !records.is_empty() => return Err(differences(&directory, &known, identity)),
            Some(_) => {
                // There is nothing yet that other options have led to, but perhaps programs.
                let _ = fs::remove_dir_all(directory.join(PROGRAMS));
                write_options()?;
            }
            None => {}
        }
        let numbers = records.iter().enumerate().map(|(i, record)| (record.run, i)).collect();
        Ok(Store { directory, journal, records, numbers })
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What has come of a run, if it has ended.
    pub fn find(&self, run: &Run) -> Option<&Record> {
        self.numbers.get(run).map(|number| &self.records[*number])
    }

    /// All runs that have ended, in the order in which they did.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Adds a run to the journal, which has reached the disk when this returns.
    ///
    /// # Errors
    /// The system's.
    pub fn add(&mut self, record: Record) -> io::Result<()> {
        let mut line = serde_json::to_string(&record)?;
        line.push('\n');
        self.journal.write_all(line.as_bytes())?;
        self.journal.sync_data()?;
        self.numbers.insert(record.run, self.records.len());
        self.records.push(record);
        Ok(())
    }

    /// Writes a file of results as a whole; gives its path.
    ///
    /// # Errors
    /// The system's, with the file's name.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let path = self.directory.join(name);
        let failed = |source| Error::System { what: format!("write {}", path.display()), source };
        fs::create_dir_all(path.parent().unwrap_or(&self.directory)).map_err(failed)?;
        write_whole(&path, text).map_err(failed)?;
        Ok(path)
    }
}

/// A file is there with all its contents or not at all.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

/// The options that a directory was made with; `None` if it is empty.
fn known_options(directory: &Path, path: &Path) -> Result<Option<Value>, Error> {
    let failed = |source| Error::System { what: format!("read {}", path.display()), source };
    match fs::read_to_string(path) {
        Ok(text) => serde_json::from_str::<Value>(&text)
            .ok()
            .filter(|known| known.get(VERSION).is_some())
            .map(Some)
            .ok_or_else(|| Error::Foreign(directory.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match fs::read_dir(directory).map_err(failed)?.next() {
                Some(_) => Err(Error::Foreign(directory.to_owned())),
                None => Ok(None),
            }
        }
        Err(source) => Err(failed(source)),
    }
}

/// Says in what the options differ from those that the directory was made with.
fn differences(directory: &Path, known: &Value, identity: &Value) -> Error {
    let keys = identity.as_object().into_iter().flatten().map(|(key, _)| key);
    let differences: Vec<String> = keys
        .filter(|key| known[*key] != identity[*key])
        .map(|key| format!("{key} was {}, is {}", known[key], identity[key]))
        .collect();
    Error::Options { directory: directory.to_owned(), differences: differences.join("; ") }
}

/// The records of a journal, which then ends with the last whole line.
fn read(path: &Path, journal: &File) -> Result<Vec<Record>, Error> {
    let failed = |source| Error::System { what: format!("read {}", path.display()), source };
    let text = fs::read(path).map_err(failed)?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    if whole < text.len() {
        journal.set_len(whole as u64).map_err(failed)?;
    }
    let lines = text[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines
        .enumerate()
        .map(|(i, line)| {
            serde_json::from_slice(line).map_err(|error| Error::Journal {
                path: path.to_owned(),
                line: i + 1,
                error: error.to_string(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sweep::plan::{Blocks, Purpose, Setting};

    fn record(repetition: u32) -> Record {
        let setting = Setting { line: 64, processes: 2, threads: 1 };
        Record {
            run: Run { setting, blocks: Blocks::Uniform(256), purpose: Purpose::Time, repetition },
            failure: None,
            wall_seconds: 0.5,
            seconds: 0.25,
            counters: [("read_misses".to_owned(), 3)].into(),
            objects: vec![Usage { rule: Some("symbol a".into()), ..Usage::default() }],
        }
    }

    fn open(directory: &Path, identity: &Value) -> Result<Store, Error> {
        Store::open(&directory.join("sweep"), identity)
    }

    #[test]
    fn what_was_cut_off_is_forgotten() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let identity = json!({ VERSION: 0, "--repeat": 3 });
        let mut store = open(scratch.path(), &identity).expect("it is new");
        store.add(record(1)).expect("it can be written");
        store.add(record(2)).expect("it can be written");
        assert!(matches!(open(scratch.path(), &identity), Err(Error::Busy(_))));
        drop(store);
        let path = scratch.path().join("sweep").join(JOURNAL);
        let whole = fs::metadata(&path).expect("it is there").len();
        let cut = OpenOptions::new().write(true).open(&path).expect("it is there");
        cut.set_len(whole - 7).expect("it can be cut");
        let mut store = open(scratch.path(), &identity).expect("it is whole again");
        assert_eq!(store.records(), [record(1)]);
        assert_eq!(store.find(&record(2).run), None);
        store.add(record(2)).expect("it can be written");
        drop(store);
        let store = open(scratch.path(), &identity).expect("it is whole");
        assert_eq!(store.find(&record(2).run), Some(&record(2)));
    }

    #[test]
    fn other_options_are_named() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        drop(open(scratch.path(), &json!({ VERSION: 0, "--repeat": 1 })).expect("it is new"));
        // As long as there are no runs, the options can change.
        let mut store =
            open(scratch.path(), &json!({ VERSION: 0, "--repeat": 3, "--by": "time" })).expect("it is empty");
        store.add(record(1)).expect("it can be written");
        drop(store);
        let Err(error) = open(scratch.path(), &json!({ VERSION: 0, "--repeat": 5, "--by": "time" })) else {
            panic!("differs")
        };
        let message = error.to_string();
        assert!(message.contains("--repeat was 3, is 5") && !message.contains("--by was"), "{message}");
        // The directory above is not one of a sweep.
        let above = Store::open(scratch.path(), &json!({}));
        assert!(matches!(above, Err(Error::Foreign(_))));
    }
}
