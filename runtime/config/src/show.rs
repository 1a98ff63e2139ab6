//! The display of `OMP_DISPLAY_ENV` and `omp_display_env`, in libomp's form.

use std::fmt::{Display, Write as _};

use super::{Config, DisplayEnv, VARIABLES, WaitPolicy};

pub(super) fn quoted(value: impl Display) -> String {
    format!("='{value}'")
}

pub(super) fn optional(value: Option<impl Display>) -> String {
    value.map_or_else(|| ": value is not defined".to_owned(), quoted)
}

pub(super) fn truth(value: bool) -> String {
    quoted(if value { "TRUE" } else { "FALSE" })
}

/// A number of bytes in the largest unit that divides it.
pub(super) fn size(bytes: usize) -> String {
    let units = [(40, "T"), (30, "G"), (20, "M"), (10, "K"), (0, "B")];
    let (shift, unit) =
        units.into_iter().find(|(shift, _)| bytes.is_multiple_of(1 << shift)).unwrap_or((0, "B"));
    quoted(format_args!("{}{unit}", bytes >> shift))
}

fn list<T: Display>(values: &[T]) -> Option<String> {
    let words: Vec<String> = values.iter().map(T::to_string).collect();
    (!words.is_empty()).then(|| words.join(","))
}

pub(super) fn num_threads(c: &Config) -> String {
    optional(list(&c.num_threads))
}

pub(super) fn proc_bind(c: &Config) -> String {
    quoted(list(&c.proc_bind).unwrap_or_else(|| c.binding(0).to_string()))
}

pub(super) fn schedule(c: &Config) -> String {
    let schedule = c.schedule;
    let modifier = match schedule.monotonic {
        None => "",
        Some(true) => "monotonic:",
        Some(false) => "nonmonotonic:",
    };
    let kind = format!("{:?}", schedule.kind).to_ascii_lowercase();
    let chunk = if schedule.chunk > 0 { format!(",{}", schedule.chunk) } else { String::new() };
    quoted(format_args!("{modifier}{kind}{chunk}"))
}

pub(super) fn wait_policy(c: &Config) -> String {
    quoted(if c.wait_policy == WaitPolicy::Active { "ACTIVE" } else { "PASSIVE" })
}

pub(super) fn display_env(c: &Config) -> String {
    quoted(match c.display_env {
        DisplayEnv::No => "FALSE",
        DisplayEnv::Yes => "TRUE",
        DisplayEnv::Verbose => "VERBOSE",
    })
}

/// `_OPENMP` of the version that compilers and runtime stand for.
pub const OPENMP_VERSION: u32 = 202_011;

/// The settings, a line each in the order of their names; `verbose`: the runtime's own variables, as they are given, come behind.
pub fn display(config: &Config, verbose: bool, lookup: impl Fn(&str) -> Option<String>) -> String {
    let mut shown: Vec<_> = VARIABLES.iter().filter_map(|v| Some((v.name, v.show?(config)))).collect();
    shown.sort();
    if verbose {
        let own = VARIABLES.iter().filter(|v| v.show.is_none() && v.values != "(internal)");
        shown.extend(own.map(|v| (v.name, optional(lookup(v.name)))));
    }
    let mut out = format!("\nOPENMP DISPLAY ENVIRONMENT BEGIN\n   _OPENMP='{OPENMP_VERSION}'\n");
    for (name, value) in shown {
        let _ = writeln!(out, "  [host] {name}{value}");
    }
    out + "OPENMP DISPLAY ENVIRONMENT END\n\n\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_appear_as_libomp_prints_them() {
        let given = [
            ("OMP_NUM_THREADS", "4, 2"),
            ("OMP_SCHEDULE", "monotonic:dynamic,4"),
            ("OMP_STACKSIZE", "2048"),
            ("OMP_PROC_BIND", "close,spread"),
            ("OMP_PLACES", "Cores(2)"),
            ("DSM_HEAP", "1G"),
        ];
        let lookup = |name: &str| given.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        let (config, _) = Config::read(lookup);
        let text = display(&config, false, lookup);
        for line in [
            "OMP_NUM_THREADS='4,2'",
            "OMP_SCHEDULE='monotonic:dynamic,4'",
            "OMP_STACKSIZE='2M'",
            "OMP_PROC_BIND='close,spread'",
            "OMP_PLACES='cores(2)'",
            "OMP_NESTED: deprecated; max-active-levels-var=2147483647",
            "OMP_TOOL_LIBRARIES: value is not defined",
            "OMP_TOOL_VERBOSE_INIT: value is not defined",
            "OMP_WAIT_POLICY='PASSIVE'",
            "OMP_TARGET_OFFLOAD=DEFAULT",
        ] {
            assert!(text.contains(&format!("  [host] {line}\n")), "{line} in {text}");
        }
        assert!(!text.contains("DSM_"));
        assert!(display(&config, true, lookup).contains("  [host] DSM_HEAP='1G'\n"));
        assert!(VARIABLES.iter().all(|v| v.show.is_some() == v.name.starts_with("OMP_")));
    }
}
