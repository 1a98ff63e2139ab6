//! What has to be the same on all hosts of a job.

use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use nix::unistd::{SysconfVar, sysconf};
use sha2::{Digest, Sha256};

use super::Error;
use super::control::Facts;

/// Those of this host.
pub fn of(program: &Path) -> Result<Facts, Error> {
    let failed = |source| Error::System { what: "read the program", source };
    let mut file = File::open(program).map_err(failed)?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                digest.update(&buffer[..count]);
                bytes += count as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(failed(e)),
        }
    }
    let page = sysconf(SysconfVar::PAGE_SIZE).ok().flatten().unwrap_or(0);
    let architecture = env::consts::ARCH.to_owned();
    Ok(Facts { architecture, page: page.cast_unsigned(), bytes, digest: digest.finalize().into() })
}

/// Compares those of all hosts, by the hosts' names.
pub fn compare(facts: &[(&str, &Facts)]) -> Result<(), Error> {
    let Some(((first, own), others)) = facts.split_first() else { return Ok(()) };
    for (other, theirs) in others {
        let differ = |what: &str, here: String, there: String, remedy: &str| {
            Err(Error::Hosts(format!("{what} {here} on {first} and {there} on {other}; {remedy}")))
        };
        if own.architecture != theirs.architecture {
            let (here, there) = (own.architecture.clone(), theirs.architecture.clone());
            return differ("the processors are", here, there, "a job's hosts have to be of one kind");
        }
        if own.page != theirs.page {
            let (here, there) = (own.page.to_string(), theirs.page.to_string());
            return differ("bytes of a page:", here, there, "a job's hosts need pages of one size");
        }
        if (own.bytes, own.digest) != (theirs.bytes, theirs.digest) {
            let describe = |f: &Facts| {
                let digest: String = f.digest[..4].iter().map(|b| format!("{b:02x}")).collect();
                format!("{} bytes with SHA-256 {digest}...", f.bytes)
            };
            let remedy = "copy the file, or put it where all hosts see it";
            return differ("the program has", describe(own), describe(theirs), remedy);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_differ_are_named_with_what_they_have() {
        let facts = || Facts { architecture: "x86_64".into(), page: 4096, bytes: 100, digest: [0xab; 32] };
        let differ = |other: Facts| compare(&[("a", &facts()), ("b", &facts()), ("c", &other)]);
        differ(facts()).unwrap();
        for (other, expected) in [
            (Facts { architecture: "riscv64".into(), ..facts() }, "x86_64 on a and riscv64 on c"),
            (Facts { page: 65536, ..facts() }, "4096 on a and 65536 on c"),
            (Facts { bytes: 101, ..facts() }, "on a and 101 bytes"),
            (
                Facts { digest: [0xcd; 32], ..facts() },
                "abababab... on a and 100 bytes with SHA-256 cdcdcdcd... on c",
            ),
        ] {
            let error = differ(other).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
