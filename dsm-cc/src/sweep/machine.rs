//! The machine that the runs were made on, as far as it bears on times.

use std::fmt;
use std::fs;

use nix::sys::utsname::uname;
use serde::Serialize;

/// See the module.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Machine {
    /// Model of the processor.
    pub processor: String,
    /// Processors that this process may run on.
    pub processors: usize,
    /// Caches of the first processor, such as `L1 Data 32K`.
    pub caches: Vec<String>,
    /// Memory, in MiB.
    pub memory_mib: u64,
    /// System and its release.
    pub system: String,
    /// Processes that wanted to run during the last minute, on average.
    pub load: String,
}

impl Machine {
    /// This one; what the system does not tell is empty.
    pub fn this() -> Machine {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let system = uname().map(|u| format!("{} {}", u.sysname().display(), u.release().display()));
        Machine {
            processor: value(&read("/proc/cpuinfo"), "model name").unwrap_or_default(),
            processors: std::thread::available_parallelism().map_or(0, usize::from),
            caches: caches(),
            memory_mib: value(&read("/proc/meminfo"), "MemTotal")
                .and_then(|text| text.trim_end_matches(" kB").parse::<u64>().ok())
                .map_or(0, |kib| kib / 1024),
            system: system.unwrap_or_default(),
            load: read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned(),
        }
    }
}

/// What stands behind a name and a colon.
fn value(text: &str, name: &str) -> Option<String> {
    let (_, value) = text.lines().filter_map(|line| line.split_once(':')).find(|(n, _)| n.trim() == name)?;
    Some(value.trim().to_owned())
}

fn caches() -> Vec<String> {
    let of = |index: u32| {
        let read = |name: &str| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
            fs::read_to_string(path).map(|text| text.trim().to_owned()).ok()
        };
        Some(format!("L{} {} {}", read("level")?, read("type")?, read("size")?))
    };
    (0..).map_while(of).collect()
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} processors {}, caches {}, {} MiB of memory, {}, load {} at the end",
            self.processors,
            self.processor,
            self.caches.join(", "),
            self.memory_mib,
            self.system,
            self.load
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_processors_and_memory() {
        let machine = Machine::this();
        assert!(machine.processors > 0 && machine.memory_mib > 0 && machine.system.starts_with("Linux "));
        assert_eq!(value("a : 1\nb\t: 2 kB\n", "b").as_deref(), Some("2 kB"));
    }
}
