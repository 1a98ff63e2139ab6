//! The machine that figures are from.

use std::fs;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// What somebody else has to know about it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// Model of its processors.
    pub processor: String,
    /// Processors that this process may use.
    pub cores: usize,
    /// Each cache of the first processor, with the processors that share it.
    pub caches: Vec<String>,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Of the operating system.
    pub kernel: String,
    /// The plain compiler.
    pub compiler: String,
    /// Revision of the project, if it is a checkout.
    pub revision: String,
    /// Policy by which the system schedules the runs.
    pub scheduling: String,
    /// When the runs began.
    pub started: String,
    /// Programs that wanted to run, averages over 1, 5 and 15 minutes before the runs. What there is belongs to others.
    pub load_before: [f64; 3],
    /// And after them.
    pub load_after: [f64; 3],
}

impl Machine {
    /// Looks at this one. `compiler` is the plain one.
    pub fn describe(compiler: &str) -> Machine {
        let workspace = dsm_tests::toolchain::workspace();
        Machine {
            processor: field("/proc/cpuinfo", "model name").unwrap_or_default(),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            caches: caches(),
            memory_bytes: field("/proc/meminfo", "MemTotal")
                .and_then(|text| text.split_whitespace().next()?.parse().ok())
                .map_or(0, |kilobytes: u64| kilobytes << 10),
            kernel: read("/proc/sys/kernel/osrelease"),
            compiler: first_line(Command::new(compiler).arg("--version")),
            revision: first_line(
                Command::new("git").arg("-C").arg(workspace).args(["describe", "--always", "--dirty"]),
            ),
            scheduling: scheduling(&read("/proc/self/stat")),
            started: first_line(Command::new("date").args(["-u", "+%Y-%m-%d %H:%M UTC"])),
            load_before: load(),
            load_after: load(),
        }
    }

    /// Notes the load after the runs.
    pub fn finish(&mut self) {
        self.load_after = load();
    }

    /// In a paragraph.
    pub fn sentence(&self) -> String {
        let loads = |load: [f64; 3]| load.map(|l| format!("{l:.1}")).join(", ");
        format!(
            "{}, {} cores, {}, {:.1} GiB of memory; Linux {}; {}; revision {}; {}; {}. Load (1, 5, 15 minutes) before: {}; after: {}.",
            self.processor,
            self.cores,
            self.caches.join(", "),
            self.memory_bytes as f64 / f64::from(1 << 30),
            self.kernel,
            self.compiler,
            self.revision,
            self.scheduling,
            self.started,
            loads(self.load_before),
            loads(self.load_after)
        )
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// The value of the first line `name : value` in a file.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned()).next()
}

fn first_line(command: &mut Command) -> String {
    let output = command.output().ok().filter(|output| output.status.success());
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}

fn load() -> [f64; 3] {
    let text = read("/proc/loadavg");
    let mut numbers = text.split_whitespace().map(|word| word.parse().unwrap_or(0.0));
    std::array::from_fn(|_| numbers.next().unwrap_or(0.0))
}

/// From a line of `/proc/PID/stat`: fields 40 and 41 are real-time priority and policy.
fn scheduling(stat: &str) -> String {
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let mut fields = behind_name.split_whitespace().skip(40 - 3);
    match (fields.next(), fields.next()) {
        (Some(priority), Some("1")) => format!("real-time priority {priority}, first in first out"),
        (Some(priority), Some("2")) => format!("real-time priority {priority}, round robin"),
        _ => "ordinary priority".to_owned(),
    }
}

fn caches() -> Vec<String> {
    let of = |index: u32| format!("/sys/devices/system/cpu/cpu0/cache/index{index}");
    let one = |directory: String| {
        let [level, kind, size, shared] =
            ["level", "type", "size", "shared_cpu_list"].map(|file| read(&format!("{directory}/{file}")));
        (!level.is_empty()).then(|| {
            let kind = match kind.as_str() {
                "Data" => "d",
                "Instruction" => "i",
                _ => "",
            };
            format!("L{level}{kind} {size} (processors {shared})")
        })
    };
    (0..).map(of).map_while(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_time_priority_is_told() {
        let stat = |policy: &str| format!("7 (a b) c) S{} 3 {policy} 0", " 0".repeat(36));
        assert_eq!(scheduling(&stat("0")), "ordinary priority");
        assert_eq!(scheduling(&stat("1")), "real-time priority 3, first in first out");
        assert_eq!(scheduling(""), "ordinary priority");
    }

    #[test]
    fn this_machine_has_processors_memory_and_a_compiler() {
        let machine = Machine::describe("no such compiler");
        assert!(machine.cores > 0 && machine.memory_bytes > 1 << 20, "{machine:?}");
        assert!(!machine.kernel.is_empty() && machine.started.ends_with("UTC"), "{machine:?}");
        assert_eq!(machine.compiler, "");
        assert!(machine.sentence().contains(&machine.kernel));
    }
}
