//! The tools interface: the tool `tools/events.c`, which the plain compiler makes, is told the same of a program by this runtime as by LLVM's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use addr2line::Loader;
use dsm_tests::compile::{self, Built, Target};
use dsm_tests::differential::run_command;
use dsm_tests::execute::{self, Outcome};
use dsm_tests::matrix::{Build, Shape};
use dsm_tests::program::Program;
use dsm_tests::toolchain;

const LIMIT: Duration = Duration::from_secs(20);

/// A call that is the last thing a function does would be told with the place where that function was called.
const FLAGS: [&str; 2] = ["-g", "-fno-optimize-sibling-calls"];

const DSM: Target = Target::Dsm(Build { level: 2, line: 1024 });

/// Where an event came from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    None,
    /// Not in the program.
    Elsewhere,
    Line(u32),
}

/// A line of the tool's output.
#[derive(Clone, Debug)]
struct Event {
    name: String,
    kind: u32,
    endpoint: String,
    number: u64,
    region: u64,
    tasks: [u64; 2],
    place: Place,
}

impl Event {
    fn read(words: &[&str], program: &Loader) -> Event {
        let decimal = |i: usize| words[i].parse().expect("a number");
        let hexadecimal = |i: usize| u64::from_str_radix(words[i], 16).expect("a number");
        // The address is that of the instruction behind the call.
        let place = match hexadecimal(7) {
            0 => Place::None,
            at => match program.find_location(at - 1) {
                Ok(Some(location)) => Place::Line(location.line.unwrap_or(0)),
                _ => Place::Elsewhere,
            },
        };
        Event {
            name: words[0].into(),
            kind: hexadecimal(1) as u32,
            endpoint: words[2].into(),
            number: hexadecimal(3),
            region: decimal(4),
            tasks: [decimal(5), decimal(6)],
            place,
        }
    }

    /// What libomp tells as well. It leaves out the team's size at the end of most implicit tasks, and the place of some events.
    fn told(&self) -> (&str, u32, &str, u64) {
        let ends = self.name == "implicit_task" && self.endpoint == "end";
        (&self.name, self.kind, &self.endpoint, if ends { self.number as u32 as u64 } else { self.number })
    }
}

/// What the tool of a process has seen, by thread.
type Seen = BTreeMap<i32, Vec<Event>>;

fn read(file: &Path, program: &Loader) -> Seen {
    let text = std::fs::read_to_string(file).expect("the tool's file");
    let mut seen = Seen::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let thread = words[0].parse().expect("a thread");
        seen.entry(thread).or_default().push(Event::read(&words[1..], program));
    }
    seen
}

fn source(name: &str) -> PathBuf {
    toolchain::package().join("tools").join(name)
}

fn tool() -> PathBuf {
    let test = std::thread::current().name().unwrap_or_default().replace("::", "-");
    let library = toolchain::scratch().join(format!("events-{test}-{}.so", std::process::id()));
    let mut command = Command::new(toolchain::clang());
    command
        .args(["-O1", "-Wall", "-Werror", "-fPIC", "-shared"])
        .arg(source("events.c"))
        .arg("-o")
        .arg(&library);
    let outcome = execute::run(&mut command, "", LIMIT);
    assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
    library
}

/// A program of `tools`, and the tool.
struct Traced {
    program: Program,
    built: Built,
    target: Target,
    tool: PathBuf,
}

impl Traced {
    fn new(name: &str, target: Target) -> Traced {
        let mut flags = FLAGS.map(String::from).to_vec();
        if let Target::Dsm(_) = target {
            // The tool sees all barriers of the plain compiler's code.
            flags.push("-fdsm-disable=barrier".into());
        }
        let program = Program { flags, ..Program::from_source(name, &source(&format!("{name}.c"))) };
        let built = compile::compile(&program, target).expect("the program compiles");
        Traced { program, built, target, tool: tool() }
    }

    /// Runs it; gives what the tools of its processes have seen, too.
    fn run(&self, processes: u32, threads: u32, variables: &[(&str, &str)]) -> (Outcome, Vec<Seen>) {
        let test = std::thread::current().name().unwrap_or_default().replace("::", "-");
        let events = toolchain::scratch().join(format!("{test}-{}", std::process::id()));
        std::fs::create_dir_all(&events).expect("the scratch directory is writable");
        let shape = Shape { processes, threads, launched: true };
        let mut command = run_command(&self.built, self.target, shape, &self.program);
        command.env("EVENTS", events.join("of")).envs(variables.iter().copied());
        let outcome = execute::run(&mut command, "", LIMIT);
        assert_eq!(outcome.status, Some(0), "{}", outcome.errors());
        let program = Loader::new(&self.built.path).expect("the program has symbols");
        let files = std::fs::read_dir(&events).expect("the directory was made");
        let seen = files.map(|file| read(&file.expect("a file").path(), &program)).collect();
        std::fs::remove_dir_all(&events).expect("the directory can be removed");
        (outcome, seen)
    }

    fn with_tool(&self, processes: u32, threads: u32) -> (Outcome, Vec<Seen>) {
        let tool = self.tool.to_str().expect("a path of the tests");
        self.run(processes, threads, &[("OMP_TOOL_LIBRARIES", tool)])
    }
}

/// libomp's `__kmpc_end_critical` hands its tool what thread 0 has stored as the place of its call, in whichever thread it is.
fn place_is_of_another_thread(event: &Event) -> bool {
    const CRITICAL: u32 = 5;
    event.name == "mutex_released" && event.kind == CRITICAL
}

/// libomp tells of reductions that are not done by atomic operations; here none are.
fn comparable(events: &[Event]) -> Vec<&Event> {
    events.iter().filter(|event| event.name != "reduction").collect()
}

#[test]
fn a_tool_is_told_what_libomp_tells_it() {
    if toolchain::dsm().is_none() {
        return;
    }
    let (native, theirs) = Traced::new("traced", Target::Native).with_tool(1, 2);
    let (dsm, ours) = Traced::new("traced", DSM).with_tool(1, 2);
    assert_eq!(native.text(), dsm.text());
    assert_eq!((theirs.len(), ours.len()), (1, 1));
    assert!(theirs[0].len() == 2 && ours[0].len() == 2, "two threads");
    for (thread, theirs) in &theirs[0] {
        let (theirs, ours) = (comparable(theirs), comparable(&ours[0][thread]));
        for (i, (their, our)) in theirs.iter().zip(&ours).enumerate() {
            assert_eq!(their.told(), our.told(), "event {i} of thread {thread}: {their:?} {our:?}");
            assert_ne!(our.place, Place::Elsewhere, "{our:?}");
            if let Place::Line(_) = their.place
                && !place_is_of_another_thread(their)
            {
                assert_eq!(their.place, our.place, "event {i} of thread {thread}: {our:?}");
            }
        }
        assert_eq!(theirs.len(), ours.len(), "thread {thread}");
    }
}

/// Ends of the constructs that a thread begins come in the reverse order.
fn assert_nested(events: &[Event]) {
    let mut open: Vec<&Event> = Vec::new();
    let is_begun = |event: &&Event| event.name != "nest_lock" && event.name != "task_create";
    for event in events.iter().filter(is_begun) {
        assert!(!event.endpoint.contains("wrong"), "the tool found: {event:?}");
        match event.endpoint.as_str() {
            "begin" => open.push(event),
            "end" => {
                let begun = open.pop().unwrap_or_else(|| panic!("nothing is open: {event:?}"));
                assert_eq!(begun.name, event.name, "{begun:?} {event:?}");
                assert!(begun.kind == event.kind || event.name == "thread", "{begun:?} {event:?}");
                assert_eq!(begun.tasks[0], event.tasks[0], "{begun:?} {event:?}");
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

/// Whoever takes a lock has asked for it and gives it back.
fn assert_locks_balance(events: &[Event]) {
    const TEST: [u32; 2] = [2, 4];
    let count = |name: &str| events.iter().filter(|e| e.name == name).count();
    let nested = events.iter().filter(|e| e.name == "nest_lock" && e.endpoint == "begin").count();
    let tests = events.iter().filter(|e| e.name == "mutex_acquire" && TEST.contains(&e.kind)).count();
    assert_eq!(count("mutex_acquired"), count("mutex_released"));
    let waited = count("mutex_acquire") - nested;
    assert!((waited - tests..=waited).contains(&count("mutex_acquired")));
}

/// Each task of the process is made once, before anything else is told of it, and ends once.
fn assert_tasks_end(process: &Seen) {
    const ENDS: [u32; 3] = [1, 3, 6];
    const EXPLICIT: u32 = 4;
    let events = || process.values().flatten();
    let made = events().filter(|e| e.name == "task_create" && e.kind & EXPLICIT != 0).map(|e| e.tasks[1]);
    let ended = events().filter(|e| e.name == "task_schedule" && ENDS.contains(&e.kind)).map(|e| e.tasks[0]);
    let (mut made, mut ended): (Vec<_>, Vec<_>) = (made.collect(), ended.collect());
    made.sort_unstable();
    ended.sort_unstable();
    assert_eq!(made, ended);
}

/// What is told of a region comes between its begin and its end in the process.
fn assert_regions_are_known(process: &Seen) {
    let of_initial_tasks = |e: &&Event| e.name == "implicit_task" && e.kind & 1 != 0;
    let events = || process.values().flatten();
    let begun: Vec<u64> =
        events().filter(|e| e.name == "parallel" && e.endpoint == "begin").map(|e| e.region).collect();
    for event in events().filter(|e| e.region != 0 && !of_initial_tasks(e)) {
        assert!(begun.contains(&event.region), "{event:?}");
    }
}

#[test]
fn each_process_is_a_whole_program_to_its_tool() {
    if toolchain::dsm().is_none() {
        return;
    }
    for name in ["traced", "tasks"] {
        let traced = Traced::new(name, DSM);
        for (processes, threads) in [(2, 1), (2, 2)] {
            let (_, seen) = traced.with_tool(processes, threads);
            assert_eq!(seen.len(), processes as usize, "{name}");
            for process in &seen {
                assert_tasks_end(process);
                assert_regions_are_known(process);
                for (thread, events) in process.iter().filter(|(_, events)| !is_service(events)) {
                    println!("{name} {processes}x{threads} thread {thread}");
                    assert_nested(events);
                    assert_locks_balance(events);
                    assert!(events.iter().all(|e| e.place != Place::Elsewhere));
                }
            }
        }
    }
}

/// The thread that gives tasks away is told to begin, and ends with its process.
fn is_service(events: &[Event]) -> bool {
    const OTHER: u32 = 3;
    events[0].name == "thread" && events[0].kind == OTHER
}

#[test]
fn tools_are_found_as_the_standard_says() {
    if toolchain::dsm().is_none() {
        return;
    }
    let traced = Traced::new("traced", DSM);
    let tool = traced.tool.to_str().expect("a path of the tests");
    let second = format!("/nowhere/tool.so:{tool}");
    let log = toolchain::scratch().join(format!("tool-log-{}", std::process::id()));
    let log = log.to_str().expect("a path of the tests");
    let cases: [(&[(&str, &str)], bool); 4] = [
        (&[], false),
        (&[("LD_PRELOAD", tool)], true),
        (&[("OMP_TOOL_LIBRARIES", &second), ("OMP_TOOL_VERBOSE_INIT", log)], true),
        (&[("OMP_TOOL", "disabled"), ("OMP_TOOL_LIBRARIES", tool)], false),
    ];
    for (variables, attached) in cases {
        let (outcome, seen) = traced.run(2, 1, variables);
        assert_eq!(seen.len(), if attached { 2 } else { 0 }, "{variables:?}");
        let answers = if attached { "0 7\n" } else { "-2 -2\n" };
        assert!(outcome.text().starts_with(answers), "{variables:?}: {}", outcome.text());
        assert_eq!(outcome.errors(), "", "{variables:?}");
    }
    let text = std::fs::read_to_string(log).expect("the processes write a log");
    std::fs::remove_file(log).expect("it can be removed");
    for rank in 0..2 {
        assert!(text.contains(&format!("dsm: tool of process {rank}: the tool is attached")), "{text}");
    }
    assert!(text.contains("/nowhere/tool.so: cannot open shared object file"), "{text}");
}
