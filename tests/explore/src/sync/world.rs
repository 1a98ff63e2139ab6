//! Words of all processes, what is posted to them, and who may go on.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use dsm_sync::{Cell, Fault};

use super::tasks::Tasks;

/// Half a word: process, and which one.
pub type Half = (u32, usize);
/// A line: process and offset.
pub type Line = (u32, usize);
/// Writes that a process knows, by process.
pub type Clock = Vec<u64>;

/// What a thread has posted.
#[derive(Clone, Debug)]
pub enum Post {
    /// Stores to neighbouring half words.
    Store(Half, Vec<u32>),
    /// A store that wakes those who wait with such a mask.
    Wake(Half, u32, u32),
    /// A request to a process.
    Request(u32, Vec<u8>),
    /// The process executes it.
    Served,
}

/// Work for a new thread of a process.
#[derive(Clone, Debug)]
pub enum Job {
    /// Waits for the turn of a ticket of a slot, and ends it.
    PassTurn(usize, u32),
    /// Gives up the locks that others have revoked.
    GiveUp,
    /// Executes a request that a thread has posted.
    Serve(Vec<u8>, usize),
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing.
    Ready,
    /// That all it has posted is visible.
    Visible,
    /// A wake of a half word, with a mask.
    Wake(Half, u32),
    /// That no other thread of the process has something for itself.
    Guard(u32, &'static str),
    /// That words are changed which were not since such a number of changes.
    Change(u64),
    /// That a task begins.
    Begun(usize),
}

/// A thread.
#[derive(Clone, Debug)]
pub struct Thread {
    /// What it has posted and is not visible yet, the oldest first.
    pub posts: VecDeque<Post>,
    /// What it waits for.
    pub wait: Wait,
    /// Changes of words so far when it last had to look again.
    pub changes: u64,
}

impl Default for Thread {
    fn default() -> Thread {
        Thread { posts: VecDeque::new(), wait: Wait::Ready, changes: u64::MAX }
    }
}

/// What the judge knows of a barrier, a region or a lock.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    /// Processes that have come.
    pub come: Vec<u32>,
    /// All that these knew.
    pub clock: Clock,
}

/// What all threads share.
#[derive(Debug)]
pub struct World {
    halves: BTreeMap<Half, u32>,
    /// Changes of these so far.
    pub changes: u64,
    /// Number of processes.
    pub processes: u32,
    /// The threads.
    pub threads: Vec<Thread>,
    /// The thread that runs.
    pub current: usize,
    /// Threads that are to begin, and in which processes.
    pub beginning: Vec<(u32, Job)>,
    /// Whether words of other processes are not at hand.
    pub asks: bool,
    /// After how many turns in a row a process caches a lock.
    pub caches_after: Option<u64>,
    /// Whether somebody waits for what processes reply to signals.
    pub trace_edges: bool,
    /// The rule that is broken.
    pub fault: Option<Fault>,
    /// What each process knows.
    pub known: Vec<Clock>,
    /// What each process has published, release by release.
    pub published: Vec<Vec<Clock>>,
    /// What was known to whoever held a lock last, and whether it is held, by name.
    pub locks: BTreeMap<u64, (bool, Clock)>,
    /// How many threads are doing something with locks, from the begin of an attempt to take one on, and how often one has begun to.
    pub users: (u32, u32),
    /// Names of locks whose variables have ended.
    pub ended: BTreeSet<u64>,
    /// Who came to the barriers, and to the ends of regions, by what and number.
    pub gathered: BTreeMap<(&'static str, u64), Gathered>,
    /// What threads have for themselves in their processes.
    pub guarded: BTreeSet<(u32, &'static str)>,
    /// Tasks.
    pub tasks: Tasks,
    /// What went wrong.
    pub failure: Option<String>,
    /// Whether the table of locks was full: an end of the run that says nothing.
    pub is_full: bool,
    /// What happened, if somebody wants to know.
    pub trace: Option<Vec<String>>,
}

/// The world, shared.
pub type Shared = Rc<RefCell<World>>;

/// Half words of a place.
pub fn half(line: Line, at: usize) -> Half {
    assert!(at.is_multiple_of(4) && line.1.is_multiple_of(4), "half words are aligned");
    (line.0, (line.1 + at) / 4)
}

/// Takes over what another clock has more.
pub fn join(clock: &mut [u64], other: &[u64]) {
    clock.iter_mut().zip(other).for_each(|(known, news)| *known = *news.max(known));
}

/// A word as two halves.
pub fn halves(word: u64) -> Vec<u32> {
    vec![word as u32, (word >> 32) as u32]
}

impl World {
    /// Words of zeros.
    pub fn new(
        processes: u32,
        threads: usize,
        (asks, trace_edges): (bool, bool),
        caches_after: Option<u64>,
        fault: Option<Fault>,
    ) -> World {
        let nothing = vec![0; processes as usize];
        World {
            halves: BTreeMap::new(),
            changes: 0,
            processes,
            threads: vec![Thread::default(); threads],
            current: 0,
            beginning: Vec::new(),
            asks,
            caches_after,
            trace_edges,
            fault,
            known: vec![nothing; processes as usize],
            published: vec![Vec::new(); processes as usize],
            locks: BTreeMap::new(),
            users: (0, 0),
            ended: BTreeSet::new(),
            gathered: BTreeMap::new(),
            guarded: BTreeSet::new(),
            tasks: Tasks::default(),
            failure: None,
            is_full: false,
            trace: None,
        }
    }

    /// Adds a line to the trace.
    pub fn note(&mut self, line: impl FnOnce() -> String) {
        let current = self.current;
        if let Some(trace) = &mut self.trace {
            trace.push(format!("t{current}: {}", line()));
        }
    }

    /// Records the first failure.
    pub fn fail(&mut self, why: String) {
        self.failure.get_or_insert(why);
    }

    /// Whether a thread can go on.
    pub fn can_run(&self, thread: usize) -> bool {
        let thread = &self.threads[thread];
        match thread.wait {
            Wait::Ready => true,
            Wait::Visible => thread.posts.is_empty(),
            Wait::Wake(..) => false,
            Wait::Guard(rank, what) => !self.guarded.contains(&(rank, what)),
            Wait::Change(changes) => self.changes != changes,
            Wait::Begun(task) => self.tasks.infos[task].begun > 0,
        }
    }

    /// Whether the oldest post of a thread can become visible.
    pub fn can_place(&self, thread: usize) -> bool {
        !matches!(self.threads[thread].posts.front(), None | Some(Post::Served))
    }

    /// The oldest post of a thread becomes visible.
    pub fn place(&mut self, thread: usize) {
        let post = self.threads[thread].posts.pop_front().expect("a post");
        self.note(|| format!("(memory) {post:x?} of t{thread} becomes visible"));
        match post {
            Post::Store(first, values) => self.write(first, &values),
            Post::Wake(half, value, mask) => {
                self.write(half, &[value]);
                self.wake(half, mask);
            }
            Post::Request(to, request) => {
                self.threads[thread].posts.push_front(Post::Served);
                self.beginning.push((to, Job::Serve(request, thread)));
            }
            Post::Served => unreachable!("it ends when it is served"),
        }
    }

    /// A half word as the running thread sees it.
    pub fn read(&self, half: Half) -> u32 {
        let own = self.threads[self.current].posts.iter().rev().find_map(|post| match post {
            Post::Store(first, values) if first.0 == half.0 && half.1 >= first.1 => {
                values.get(half.1 - first.1).copied()
            }
            Post::Wake(at, value, _) if *at == half => Some(*value),
            _ => None,
        });
        own.unwrap_or_else(|| self.visible(half))
    }

    /// A half word as it is visible to all.
    pub fn visible(&self, half: Half) -> u32 {
        self.halves.get(&half).copied().unwrap_or(0)
    }

    /// Writes half words, visible to all.
    pub fn write(&mut self, first: Half, values: &[u32]) {
        self.changes += 1;
        for (i, value) in values.iter().enumerate() {
            self.halves.insert((first.0, first.1 + i), *value);
        }
    }

    /// Wakes those who wait for a half word with such a mask.
    pub fn wake(&mut self, half: Half, mask: u32) {
        for thread in &mut self.threads {
            if let Wait::Wake(at, waiting) = thread.wait
                && at == half
                && waiting & mask != 0
            {
                thread.wait = Wait::Ready;
            }
        }
    }

    /// The running thread posts something.
    pub fn post(&mut self, post: Post) {
        self.note(|| format!("posts {post:x?}"));
        let current = self.current;
        self.threads[current].posts.push_back(post);
    }

    /// A process publishes that it knows this.
    pub fn publish(&mut self, process: u32, clock: &[u64]) {
        let published = &mut self.published[process as usize];
        let mut all = published.last().cloned().unwrap_or_else(|| vec![0; clock.len()]);
        join(&mut all, clock);
        published.push(all);
    }

    /// A process learns what another one has published, and passes it on.
    pub fn learn(&mut self, process: u32, clock: &[u64]) {
        let known = &mut self.known[process as usize];
        if clock.iter().zip(known.iter()).any(|(news, known)| news > known) {
            join(known, clock);
            self.publish(process, clock);
        }
    }

    /// A process writes something: what it knows then.
    pub fn write_data(&mut self, process: u32) -> Clock {
        self.known[process as usize][process as usize] += 1;
        self.known[process as usize].clone()
    }

    /// A process should know what somebody knew.
    pub fn expect(&mut self, process: u32, clock: &[u64], why: impl FnOnce() -> String) {
        let known = &self.known[process as usize];
        if clock.iter().zip(known).any(|(wanted, known)| known < wanted) {
            let failure = format!("process {process} knows {known:?}, not {clock:?} {}", why());
            self.fail(failure);
        }
    }

    /// Whether all that was posted is visible.
    pub fn is_quiet(&self) -> bool {
        self.beginning.is_empty() && self.threads.iter().all(|thread| thread.posts.is_empty())
    }

    /// A thread begins to do something with a lock: others that have begun before, and how often any has.
    pub fn begin_use(&mut self) -> (u32, u32) {
        let before = self.users;
        self.users = (before.0 + 1, before.1 + 1);
        before
    }

    /// It has done so.
    pub fn end_use(&mut self) {
        self.users.0 -= 1;
    }

    /// The half word of a cell's value.
    pub fn value(cell: Cell<Line>) -> Half {
        half(cell.line, cell.value)
    }
}
