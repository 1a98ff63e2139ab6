//! Environment variables: the runtime's table of them, for `--help-env`, and those that go to all hosts of a job.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use dsm_abi::job::JOB_VARIABLE;
use dsm_config as config;

pub use dsm_config::affinity::Part;
pub use dsm_config::machine::part_of;
pub use dsm_config::{MAX_THREADS, help, page};

/// Variables by name.
pub type Variables = BTreeMap<OsString, OsString>;

/// What decides how processes reach each other's memory.
pub const TRANSPORT: &str = "DSM_TRANSPORT";

/// What decides how many threads there are.
pub const NUM_THREADS: &str = "OMP_NUM_THREADS";

/// What the runtime makes of these variables.
fn config(variables: &Variables) -> config::Config {
    let lookup =
        |name: &str| variables.get(OsStr::new(name)).and_then(|value| value.to_str()).map(str::to_owned);
    config::Config::read(lookup).0
}

/// How the processes reach each other's memory, with these variables.
fn transport(variables: &Variables) -> config::Transport {
    config(variables).transport
}

/// The files that reports are to be written to, with the variables that name them.
pub fn reports(variables: &Variables) -> impl Iterator<Item = (&'static str, PathBuf)> + use<> {
    let config = config(variables);
    let all = [("DSM_PROFILE", config.profile), ("DSM_STATS", config.stats)];
    let files = all.into_iter().filter(|(_, path)| !path.is_empty() && path != config::STANDARD_ERROR);
    files.map(|(variable, path)| (variable, path.into()))
}

/// The threads by nesting level, as far as these variables say.
pub fn num_threads(variables: &Variables) -> Vec<u32> {
    config(variables).num_threads
}

/// Whether they do so by requests within a host, too, and so need sockets there.
pub fn has_streams(variables: &Variables) -> bool {
    use config::Transport::{Ofi, Stream, Verbs};
    matches!(transport(variables), Stream(_) | Ofi { maps: false, .. } | Verbs { maps: false, .. })
}

/// Whether they are to do so by shared memory only.
pub fn has_memory_only(variables: &Variables) -> bool {
    transport(variables) == config::Transport::Shm
}

/// Whether a variable decides what the runtime or OpenMP do, and so has to be the same on all hosts.
pub fn is_setting(name: &OsStr) -> bool {
    let prefixes: [&[u8]; 4] = [b"DSM_", b"OMP_", b"KMP_", b"GOMP_"];
    prefixes.iter().any(|prefix| name.as_bytes().starts_with(prefix)) && name != JOB_VARIABLE
}

/// The launcher's own variables that go to all hosts.
pub fn forwarded() -> Variables {
    let is_forwarded = |name: &OsStr| is_setting(name) || name == "PATH" || name == "LD_LIBRARY_PATH";
    env::vars_os().filter(|(name, _)| is_forwarded(name)).collect()
}

/// What the processes' environment has that the launcher's does not, where these variables are given for the job. Settings of the host itself do not count.
pub fn changes(given: &[(Vec<u8>, Vec<u8>)]) -> Vec<(OsString, Option<OsString>)> {
    let own = env::vars_os().map(|(name, _)| name).filter(|name| is_setting(name));
    let given = given.iter().cloned();
    let given = given.map(|(name, value)| (OsString::from_vec(name), Some(OsString::from_vec(value))));
    // What is given comes last, and counts.
    own.map(|name| (name, None)).chain(given).collect()
}

/// Variables from bytes.
pub fn from_bytes(all: &[(Vec<u8>, Vec<u8>)]) -> Variables {
    all.iter()
        .map(|(name, value)| (OsString::from_vec(name.clone()), OsString::from_vec(value.clone())))
        .collect()
}

/// Variables as bytes.
pub fn as_bytes(variables: &Variables) -> Vec<(Vec<u8>, Vec<u8>)> {
    variables.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec())).collect()
}

/// Adds what the command line names: `NAME=VALUE`, or `NAME` for the launcher's own value.
pub fn add_named(variables: &mut Variables, named: &[OsString]) -> Result<(), String> {
    for word in named {
        let bytes = word.as_bytes();
        let (name, value) = match bytes.iter().position(|b| *b == b'=') {
            Some(at) => (OsStr::from_bytes(&bytes[..at]), OsString::from_vec(bytes[at + 1..].to_vec())),
            None => (&**word, env::var_os(word).unwrap_or_default()),
        };
        if name.is_empty() || name == JOB_VARIABLE {
            return Err(format!("-x {}: not a variable that can be given", word.display()));
        }
        if name == &**word && env::var_os(name).is_none() {
            return Err(format!(
                "-x {}: this variable is not set; set it, or write -x {}=VALUE",
                word.display(),
                word.display()
            ));
        }
        variables.insert(name.to_owned(), value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_told_by_their_prefix() {
        for (name, expected) in [
            ("DSM_BLOCK", true),
            ("OMP_NUM_THREADS", true),
            ("GOMP_SPINCOUNT", true),
            ("KMP_AFFINITY", true),
            ("DSM_JOB", false),
            ("PATH", false),
            ("XOMP_", false),
        ] {
            assert_eq!(is_setting(name.as_ref()), expected, "{name}");
        }
    }

    #[test]
    fn named_variables_have_a_value() {
        let mut variables = Variables::new();
        let named = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        add_named(&mut variables, &named(&["A=1", "B=", "C=x=y", "PATH", "A=2"])).unwrap();
        let found = |name: &str| variables.get(OsStr::new(name)).cloned();
        assert_eq!(found("A"), Some("2".into()));
        assert_eq!(found("B"), Some("".into()));
        assert_eq!(found("C"), Some("x=y".into()));
        assert_eq!(found("PATH"), env::var_os("PATH"));
        for word in ["=1", "", "DSM_JOB=2", "A_VARIABLE_THAT_IS_NOT_SET"] {
            let error = add_named(&mut Variables::new(), &named(&[word])).unwrap_err();
            assert!(error.starts_with("-x "), "{error}");
        }
    }

    #[test]
    fn the_transport_is_read_as_the_runtime_reads_it() {
        for (value, streams, memory_only) in [
            ("auto", false, false),
            ("stream", true, false),
            ("Stream:7", true, false),
            ("shm", false, true),
            ("ofi", true, false),
            ("shm,ofi:efa", false, false),
            ("verbs:rxe0", true, false),
            ("shm,verbs", false, false),
            // What there is no such transport for does not count.
            ("tcp", false, false),
        ] {
            let variables = [(TRANSPORT.into(), value.into())].into();
            assert_eq!(
                (has_streams(&variables), has_memory_only(&variables)),
                (streams, memory_only),
                "{value}"
            );
        }
        assert!(!has_streams(&Variables::new()) && !has_memory_only(&Variables::new()));
    }
}
