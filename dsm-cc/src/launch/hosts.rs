//! The hosts of a job: reading their names and numbers of slots, and placing processes on them. Pure.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use dsm_abi::job::MAX_PROCESSES;
use serde::{Deserialize, Serialize};

/// The host that the launcher itself is on: its daemon is started without a remote shell.
pub const LOCAL: &str = "localhost";

/// A host as the user named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// What the remote shell is given: `name` or `user@name`.
    pub name: String,
    /// Most processes.
    pub slots: u32,
}

/// A host and the processes on it, which have consecutive numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// As in [`Host`].
    pub name: String,
    /// Number of the first process.
    pub first: u32,
    /// Number of processes, at least 1.
    pub count: u32,
}

impl Placement {
    /// The name without the user.
    pub fn address(&self) -> &str {
        self.name.rsplit_once('@').map_or(&self.name, |(_, name)| name)
    }

    /// The processes' numbers.
    pub fn ranks(&self) -> std::ops::Range<u32> {
        self.first..self.first + self.count
    }
}

/// Reads `HOST[:SLOTS],...`. Slots of a host that is named twice add up.
pub fn from_list(text: &str) -> Result<Vec<Host>, String> {
    let mut hosts = Vec::new();
    for part in text.split(',') {
        let (name, slots) = match part.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            // An IPv6 address has colons of its own.
            Some((name, "")) => (name, None),
            Some((name, rest)) => (
                name,
                Some(rest.strip_prefix(':').ok_or_else(|| format!("-H {text}: {}", wrong_host(part)))?),
            ),
            None => part.split_once(':').map_or((part, None), |(name, slots)| (name, Some(slots))),
        };
        let slots = slots.map_or(Ok(1), number).map_err(|reason| format!("-H {text}: {part}: {reason}"))?;
        add(&mut hosts, name, slots).map_err(|reason| format!("-H {text}: {reason}"))?;
    }
    Ok(hosts)
}

/// Reads lines `HOST [slots=N]`; `#` starts a comment.
pub fn from_file(text: &str) -> Result<Vec<Host>, String> {
    let mut hosts = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let mut words = line.split('#').next().unwrap_or("").split_whitespace();
        let Some(name) = words.next() else { continue };
        let slots = match (words.next(), words.next()) {
            (None, _) => Ok(1),
            (Some(word), None) => match word.strip_prefix("slots=") {
                Some(count) => number(count),
                None => Err(format!("\"{word}\" is not slots=N")),
            },
            (Some(_), Some(word)) => Err(format!("\"{word}\" follows; expected HOST [slots=N]")),
        };
        let added = slots.and_then(|slots| add(&mut hosts, name, slots));
        added.map_err(|reason| format!("line {}: {reason}", i + 1))?;
    }
    if hosts.is_empty() {
        return Err("no host; expected lines HOST [slots=N]".into());
    }
    Ok(hosts)
}

fn number(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|n| (1..=MAX_PROCESSES).contains(n));
    number.ok_or_else(|| format!("\"{text}\" is not a number of slots; expected 1 to {MAX_PROCESSES}"))
}

fn wrong_host(name: &str) -> String {
    format!("\"{name}\" is not a host's name")
}

fn add(hosts: &mut Vec<Host>, name: &str, slots: u32) -> Result<(), String> {
    let allowed = |c: char| c.is_alphanumeric() || "-_.:@%".contains(c);
    // A name with a dash in front would be an option of the remote shell.
    if name.is_empty() || name.starts_with('-') || name.ends_with('@') || !name.chars().all(allowed) {
        return Err(wrong_host(name));
    }
    match hosts.iter_mut().find(|h| h.name == name) {
        Some(host) => host.slots = host.slots.saturating_add(slots),
        None => hosts.push(Host { name: name.to_owned(), slots }),
    }
    Ok(())
}

/// Places processes, as many as there are slots unless a number is given, on the hosts in order. Hosts without a process are left out.
pub fn place(hosts: &[Host], processes: Option<u32>) -> Result<Vec<Placement>, String> {
    let slots: u64 = hosts.iter().map(|h| u64::from(h.slots)).sum();
    let processes = processes.map_or(slots, u64::from);
    if processes > slots {
        return Err(format!(
            "{processes} processes, but the hosts have {slots} slots; give more, as in -H {}:2, or a smaller -n",
            hosts.first().map_or("HOST", |h| &h.name)
        ));
    }
    if processes > u64::from(MAX_PROCESSES) {
        return Err(format!("the hosts have {slots} slots, a job at most {MAX_PROCESSES} processes; use -n"));
    }
    let mut left = processes as u32;
    let mut first = 0;
    let mut placements = Vec::new();
    for host in hosts {
        let count = left.min(host.slots);
        if count > 0 {
            placements.push(Placement { name: host.name.clone(), first, count });
        }
        first += count;
        left -= count;
    }
    Ok(placements)
}

/// Splits a command as a shell splits words: at blanks, with quotes and backslashes, without expansions.
pub fn words(command: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = command.chars();
    let unfinished = || format!("\"{command}\": a quotation mark or a backslash has no counterpart");
    while let Some(c) = characters.next() {
        match c {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next().ok_or_else(unfinished)? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next().ok_or_else(unfinished)? {
                        '"' => break,
                        '\\' => match characters.next().ok_or_else(unfinished)? {
                            c @ ('"' | '\\' | '$' | '`') => word.push(c),
                            c => word.extend(['\\', c]),
                        },
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(characters.next().ok_or_else(unfinished)?),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if words.is_empty() {
        return Err(format!("\"{command}\" is no command"));
    }
    Ok(words)
}

/// The word as a shell has to read it to get it.
pub fn quoted(word: &std::ffi::OsStr) -> OsString {
    let is_plain = |b: &u8| b.is_ascii_alphanumeric() || b"/._-+=:,@%".contains(b);
    if !word.is_empty() && word.as_bytes().iter().all(is_plain) {
        return word.to_owned();
    }
    let mut text = vec![b'\''];
    for byte in word.as_bytes() {
        match byte {
            b'\'' => text.extend(br"'\''"),
            byte => text.push(*byte),
        }
    }
    text.push(b'\'');
    OsString::from_vec(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(hosts: &[Host]) -> Vec<(&str, u32)> {
        hosts.iter().map(|h| (h.name.as_str(), h.slots)).collect()
    }

    #[test]
    fn lists() {
        for (text, expected) in [
            ("a", vec![("a", 1)]),
            ("a:2,b,me@c.d:16", vec![("a", 2), ("b", 1), ("me@c.d", 16)]),
            ("a:2,b,a", vec![("a", 3), ("b", 1)]),
            ("[::1]:3,[fe80::1%eth0]", vec![("::1", 3), ("fe80::1%eth0", 1)]),
        ] {
            assert_eq!(pairs(&from_list(text).unwrap()), expected, "{text}");
        }
        for text in [
            "",
            "a,",
            ",a",
            "a:",
            "a:0",
            "a:-1",
            "a:x",
            "a:1025",
            "-oProxyCommand=x",
            "a b",
            "[::1]3",
            "me@",
            "a;b",
        ] {
            let error = from_list(text).unwrap_err();
            assert!(error.starts_with("-H "), "{text}: {error}");
        }
    }

    #[test]
    fn files() {
        let text = "# the cluster\nnode1 slots=2\n\n  node2\t# one\nnode3 slots=4 # four\nnode1 slots=1\n";
        let hosts = from_file(text).unwrap();
        assert_eq!(pairs(&hosts), [("node1", 3), ("node2", 1), ("node3", 4)]);
        for (text, line) in [
            ("a\nb slots=0", "line 2"),
            ("a max_slots=2", "line 1"),
            ("a slots=2 b", "line 1"),
            ("a\n\n-x", "line 3"),
            ("# nothing\n", "no host"),
        ] {
            let error = from_file(text).unwrap_err();
            assert!(error.contains(line), "{text}: {error}");
        }
    }

    #[test]
    fn places() {
        let hosts = from_list("a:2,b:3,c").unwrap();
        let at = |n| -> Vec<(String, u32, u32)> {
            let placements = place(&hosts, n).unwrap();
            placements.into_iter().map(|p| (p.name, p.first, p.count)).collect()
        };
        assert_eq!(at(None), [("a".into(), 0, 2), ("b".into(), 2, 3), ("c".into(), 5, 1)]);
        assert_eq!(at(Some(4)), [("a".into(), 0, 2), ("b".into(), 2, 2)]);
        assert_eq!(at(Some(1)), [("a".into(), 0, 1)]);
        let error = place(&hosts, Some(7)).unwrap_err();
        assert!(error.contains("7 processes") && error.contains("6 slots"), "{error}");
        let many = from_list("a:1000,b:1000").unwrap();
        assert!(place(&many, None).unwrap_err().contains("1024"));
        assert_eq!(place(&many, Some(1024)).unwrap()[1].ranks(), 1000..1024);
    }

    #[test]
    fn commands_are_split_as_a_shell_does() {
        for (text, expected) in [
            ("ssh -x", vec!["ssh", "-x"]),
            ("  ssh\t-o 'A B'  ", vec!["ssh", "-o", "A B"]),
            (r#"a "b \" $c \d" e\ f '' g'h'"i""#, vec!["a", r#"b " $c \d"#, "e f", "", "ghi"]),
        ] {
            assert_eq!(words(text).unwrap(), expected, "{text}");
        }
        for text in ["", "  ", "a 'b", "a \"b", "a\\", "a \"b\\"] {
            words(text).unwrap_err();
        }
    }

    #[test]
    fn quoted_words_survive_a_shell() {
        for word in ["/usr/bin/dsm-run", "", "a b", "it's", "$HOME `x` \\ \"", "tab\tnew\nline", "*"] {
            let mut script = OsString::from("printf %s ");
            script.push(quoted(word.as_ref()));
            let output = std::process::Command::new("sh").arg("-c").arg(script).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }

    /// Whatever is typed or written: names are no options, and slots and processes stay within their bounds.
    #[test]
    fn damaged_lists_and_files_are_refused_or_mean_hosts() {
        let sound = |hosts: &[Host]| {
            for Host { name, slots } in hosts {
                assert!(!name.is_empty() && !name.starts_with('-') && *slots > 0, "{hosts:?}");
                assert!(
                    !name.contains(|c: char| c.is_whitespace() || c.is_control() || ";&|$`'\"".contains(c))
                );
            }
            if let Ok(placements) = place(hosts, None) {
                let count: u32 = placements.iter().map(|p| p.count).sum();
                assert!((1..=MAX_PROCESSES).contains(&count));
                assert!(placements.windows(2).all(|two| two[0].ranks().end == two[1].first));
            }
        };
        let mut read = 0;
        let lists = ["a:2,b,me@c.d:16,[::1]:3,[fe80::1%eth0]", "node1,node2:4"];
        dsm_mutate::each(&lists, 20_000, |bytes| {
            if let Ok(hosts) = from_list(&String::from_utf8_lossy(bytes)) {
                sound(&hosts);
                read += 1;
            }
        });
        let files = ["# the cluster\nnode1 slots=2\n\n  me@node2\t# one\nnode3 slots=4 # four\n", "a\nb\n"];
        dsm_mutate::each(&files, 20_000, |bytes| {
            if let Ok(hosts) = from_file(&String::from_utf8_lossy(bytes)) {
                sound(&hosts);
                read += 1;
            }
        });
        assert!((1000..39_000).contains(&read), "{read} of 40000 were read");
    }

    #[test]
    fn damaged_commands_are_refused_or_have_words() {
        let valid = [r#"ssh -o 'A B' -i "~/.k \" \d" e\ f '' g'h'"i""#];
        dsm_mutate::each(&valid, 20_000, |bytes| {
            let command = String::from_utf8_lossy(bytes);
            match words(&command) {
                Ok(words) => assert!(!words.is_empty()),
                Err(reason) => assert!(reason.starts_with('"'), "{reason}"),
            }
        });
    }
}
