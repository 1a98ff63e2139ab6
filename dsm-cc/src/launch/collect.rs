//! Files of processes on their way to the head of a job over several hosts, where an option such as `--profile=FILE` names them.
//!
//! The head says which variable names a file ([`Wanted`]). The daemon of each process that writes one makes a file without a name, which the process inherits and the
//! job's description leads to (`dsm_abi::job`), and sends what the process appends to it, while it grows ([`Source`]). The head writes that to the file
//! that the user named ([`Sink`]). So nothing is left on the other hosts, and the beginning of a file is there when a process dies.
//!
//! A window bounds what is under way, as for output. What comes from a daemon is not trusted: it has to be of a rank of that host and of a wanted file, a piece is no longer
//! than a message, and a file no longer than [`Wanted::most`].

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Error;
use super::control::{PIECE, Report, WINDOW};
use super::environment::{self, Variables};

/// How often a daemon looks whether files have grown.
pub const TICK: Duration = Duration::from_millis(200);
/// Most bytes of a report: the ten findings of a profile take some kilobytes, counts of all objects more.
const MOST_OF_REPORT: u64 = 16 << 20;

/// A file that processes write for the head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// The variable that names it to the processes; empty if it is the daemon that writes it.
    pub variable: String,
    /// The first process that writes one of its own.
    pub first: u32,
    /// How many do.
    pub count: u32,
    /// Most bytes of each process.
    pub most: u64,
}

impl Wanted {
    fn ranks(&self) -> Range<u32> {
        self.first..self.first.saturating_add(self.count)
    }
}

/// A file that the head wants, and where what each process writes goes to.
#[derive(Debug)]
pub struct Request {
    /// What the daemons have to know of it.
    pub wanted: Wanted,
    /// One for each process.
    pub paths: Vec<PathBuf>,
}

/// The files that the variables name.
pub fn requests(variables: &Variables) -> Vec<Request> {
    let request = |(variable, path): (&str, _)| Request {
        wanted: Wanted { variable: variable.into(), first: 0, count: 1, most: MOST_OF_REPORT },
        paths: vec![path],
    };
    environment::reports(variables).map(request).collect()
}

/// What the daemons have to know of requests.
pub fn wanted(requests: &[Request]) -> Vec<Wanted> {
    requests.iter().map(|request| request.wanted.clone()).collect()
}

/// A file of a process of this host.
struct Growing {
    rank: u32,
    /// Which of the wanted files it is.
    number: u32,
    variable: String,
    file: File,
    sent: u64,
    most: u64,
}

/// The files of a host's processes.
pub struct Source {
    files: Vec<Growing>,
    /// Bytes that the head takes.
    window: u32,
}

impl Source {
    /// Makes the files that are wanted of these processes.
    pub fn create(wanted: &[Wanted], ranks: &Range<u32>) -> Result<Source, Error> {
        let failed = |source| Error::System { what: "make a file for what the head wants", source };
        let mut files = Vec::new();
        for (number, wanted) in (0..).zip(wanted) {
            for rank in wanted.ranks().filter(|rank| ranks.contains(rank)) {
                let file = tempfile::tempfile().map_err(failed)?;
                let (variable, most) = (wanted.variable.clone(), wanted.most);
                files.push(Growing { rank, number, variable, file, sent: 0, most });
            }
        }
        Ok(Source { files, window: WINDOW })
    }

    /// Variables and descriptors for a process.
    pub fn inherited(&self, rank: u32) -> Vec<(String, RawFd)> {
        let own = self.files.iter().filter(|file| file.rank == rank && !file.variable.is_empty());
        own.map(|file| (file.variable.clone(), file.file.as_raw_fd())).collect()
    }

    /// Files that the daemon writes, by rank.
    ///
    /// # Errors
    /// The system's.
    pub fn own(&self) -> io::Result<Vec<(u32, File)>> {
        let own = self.files.iter().filter(|file| file.variable.is_empty());
        own.map(|file| Ok((file.rank, file.file.try_clone()?))).collect()
    }

    /// How long to wait at most before the files are looked at again.
    pub fn tick(&self) -> Option<Duration> {
        (!self.files.is_empty()).then_some(TICK)
    }

    /// The head has written so many bytes.
    pub fn written(&mut self, count: u32) {
        self.window = self.window.saturating_add(count).min(WINDOW);
    }

    /// Sends what the files have more than before, as far as the head takes it; whether that was all.
    pub fn forward(&mut self, mut send: impl FnMut(&Report) -> io::Result<()>) -> io::Result<bool> {
        for file in &mut self.files {
            loop {
                let mut buffer = [0; PIECE];
                let left = usize::try_from(file.most - file.sent).unwrap_or(PIECE);
                let count = file.file.read_at(&mut buffer[..PIECE.min(left)], file.sent)?;
                if count == 0 {
                    break;
                }
                let count = count.min(self.window as usize);
                if count == 0 {
                    return Ok(false);
                }
                let bytes = buffer[..count].to_vec();
                send(&Report::Collected { rank: file.rank, file: file.number, bytes })?;
                file.sent += count as u64;
                self.window -= count as u32;
            }
        }
        Ok(true)
    }
}

/// What one process writes, at the head.
struct Target {
    path: PathBuf,
    /// `None` once it cannot be written to.
    file: Option<File>,
    bytes: u64,
}

/// The files that the user named.
#[derive(Default)]
pub struct Sink(Vec<(Wanted, Vec<Target>)>);

impl Sink {
    /// Makes the files, so that a name that cannot be written to ends the job before it has worked for nothing.
    pub fn create(requests: Vec<Request>) -> Result<Sink, Error> {
        let open = |path: PathBuf| {
            let file = OpenOptions::new().create(true).write(true).truncate(true).open(&path);
            let failed = |source| Error::Collected { path: path.clone(), source };
            Ok(Target { file: Some(file.map_err(failed)?), path, bytes: 0 })
        };
        let all = requests.into_iter().map(|Request { wanted, paths }| {
            let targets: Result<_, Error> = paths.into_iter().map(open).collect();
            Ok((wanted, targets?))
        });
        Ok(Sink(all.collect::<Result<_, Error>>()?))
    }

    /// What was written to all files.
    pub fn bytes(&self) -> u64 {
        self.0.iter().flat_map(|(_, targets)| targets).map(|target| target.bytes).sum()
    }

    /// Writes what a process has appended to a file.
    ///
    /// # Errors
    /// Nothing of the kind was asked for.
    pub fn take(&mut self, rank: u32, file: u32, bytes: &[u8]) -> Result<(), &'static str> {
        let unwanted = "it sends a file that nobody asked for";
        let (wanted, targets) = self.0.get_mut(file as usize).ok_or(unwanted)?;
        let index = rank.checked_sub(wanted.first).ok_or(unwanted)?;
        let target = targets.get_mut(index as usize).ok_or(unwanted)?;
        if bytes.len() as u64 > wanted.most - target.bytes {
            return Err("it sends more of a file than it may");
        }
        target.bytes += bytes.len() as u64;
        let warn = |what: String| eprintln!("dsm-run: warning: {} {what}", target.path.display());
        if let Some(Err(error)) = target.file.as_mut().map(|file| file.write_all(bytes)) {
            target.file = None;
            warn(format!("could not be written: {error}"));
        }
        if target.bytes == wanted.most {
            warn(format!("ends after {} bytes, the most that is collected from another host", wanted.most));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn request(directory: &std::path::Path, first: u32, count: u32, most: u64) -> Request {
        Request {
            wanted: Wanted { variable: "V".into(), first, count, most },
            paths: (first..first + count).map(|rank| directory.join(rank.to_string())).collect(),
        }
    }

    /// Sends all there is, `window` bytes at a time, to a sink.
    fn pump(source: &mut Source, sink: &mut Sink) {
        loop {
            let mut sent = Vec::new();
            let all = source.forward(|report| {
                sent.push(report.clone());
                Ok(())
            });
            for report in sent {
                let Report::Collected { rank, file, bytes } = report else { panic!("{report:?}") };
                sink.take(rank, file, &bytes).unwrap();
                source.written(bytes.len() as u32);
            }
            if all.unwrap() {
                return;
            }
        }
    }

    #[test]
    fn what_processes_append_arrives_whole_while_it_grows() {
        let directory = tempfile::tempdir().unwrap();
        let requests = || vec![request(directory.path(), 1, 3, u64::MAX)];
        let mut sink = Sink::create(requests()).unwrap();
        let mut source = Source::create(&wanted(&requests()), &(2..9)).unwrap();
        assert!(source.inherited(1).is_empty() && source.inherited(4).is_empty());
        assert_eq!(source.inherited(3)[0].0, "V");
        let bytes: Vec<u8> = (0..3 * WINDOW).map(|i| (i.wrapping_mul(i) >> 9) as u8).collect();
        let mut whole = Vec::new();
        for part in bytes.chunks(WINDOW as usize * 2 + 77) {
            for growing in &source.files {
                (&growing.file).write_all(part).unwrap();
            }
            pump(&mut source, &mut sink);
            whole.extend_from_slice(part);
            for rank in [2, 3] {
                assert!(fs::read(directory.path().join(rank.to_string())).unwrap() == whole);
            }
        }
        assert!(fs::read(directory.path().join("1")).unwrap().is_empty());
    }

    #[test]
    fn no_more_is_under_way_than_the_window_and_no_more_is_sent_than_is_wanted() {
        let directory = tempfile::tempdir().unwrap();
        let most = u64::from(WINDOW) + 10;
        let mut source = Source::create(&[request(directory.path(), 0, 1, most).wanted], &(0..1)).unwrap();
        (&source.files[0].file).write_all(&vec![1; 2 * WINDOW as usize]).unwrap();
        let mut sent = 0;
        let mut forward = |source: &mut Source| {
            let all = source.forward(|report| {
                let Report::Collected { bytes, .. } = report else { panic!("{report:?}") };
                sent += bytes.len();
                Ok(())
            });
            (all.unwrap(), sent)
        };
        assert_eq!(forward(&mut source), (false, WINDOW as usize));
        source.written(WINDOW);
        assert_eq!(forward(&mut source), (true, WINDOW as usize + 10));
    }

    #[test]
    fn what_nobody_asked_for_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let mut sink = Sink::create(vec![request(directory.path(), 1, 2, 4)]).unwrap();
        for (rank, file) in [(0, 0), (3, 0), (1, 1), (u32::MAX, u32::MAX)] {
            sink.take(rank, file, b"x").unwrap_err();
        }
        sink.take(1, 0, b"123").unwrap();
        sink.take(1, 0, b"45").unwrap_err();
        sink.take(2, 0, b"6789").unwrap();
        assert_eq!(fs::read(directory.path().join("1")).unwrap(), b"123");
        assert_eq!(fs::read(directory.path().join("2")).unwrap(), b"6789");
    }

    #[test]
    fn a_name_that_cannot_be_written_to_is_an_error() {
        let error = Sink::create(vec![request("/nonexistent".as_ref(), 0, 1, 1)]).err().unwrap();
        assert!(error.to_string().starts_with("/nonexistent/0 cannot be written to"), "{error}");
    }

    /// Whatever a daemon says it has: files get no more than they may, and only those that were asked for.
    #[test]
    fn damaged_pieces_go_nowhere_else() {
        let directory = tempfile::tempdir().unwrap();
        let mut sink = Sink::create(vec![request(directory.path(), 3, 2, 100)]).unwrap();
        let valid = [[3_u32, 0, 1], [4, 0, 50]].map(|words| words.map(u32::to_le_bytes).concat());
        dsm_mutate::each(&valid, 5000, |bytes| {
            let Some((words, _)) = bytes.split_first_chunk::<12>() else { return };
            let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| words[at + i]));
            let _ = sink.take(word(0), word(4), &vec![1; word(8) as usize % 200]);
        });
        let lengths = [3, 4].map(|rank| fs::metadata(directory.path().join(rank.to_string())).unwrap().len());
        assert_eq!((lengths, sink.bytes()), ([100, 100], 200));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }
}
