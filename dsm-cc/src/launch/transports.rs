//! The ways by which processes reach each other's memory, and whether they can be used on this host: what `--transports` prints. A transport is one line of [`TRANSPORTS`].

use std::os::unix::net::UnixStream;

use libloading::Library;
use nix::sys::memfd::{MFdFlags, memfd_create};

use super::connect::addresses;

/// A transport.
struct Transport {
    name: &'static str,
    /// Between which processes it is used, and when.
    purpose: &'static str,
    /// What there is to say about it if it can be used here, or else why not.
    check: fn() -> Result<String, String>,
}

/// All of them, the nearest first.
const TRANSPORTS: &[Transport] = &[
    Transport {
        name: "shm",
        purpose: "memory of processes of the same host, mapped; there by default",
        check: check_shm,
    },
    Transport {
        name: "stream",
        purpose: "requests over Unix sockets between processes of the same host; for tests, with DSM_TRANSPORT=stream",
        check: check_stream,
    },
    Transport {
        name: "tcp",
        purpose: "requests over TCP between processes of different hosts; there by default",
        check: check_tcp,
    },
    Transport {
        name: "ofi",
        purpose: "requests by libfabric; between processes of different hosts with DSM_TRANSPORT=shm,ofi, between all with DSM_TRANSPORT=ofi",
        check: check_ofi,
    },
];

/// The list.
pub fn list() -> String {
    TRANSPORTS.iter().map(describe).collect()
}

fn describe(Transport { name, purpose, check }: &Transport) -> String {
    let state = match check() {
        Ok(text) if text.is_empty() => "can be used here".into(),
        Ok(text) => format!("can be used here: {text}"),
        Err(reason) => format!("cannot be used here: {reason}"),
    };
    format!("{name}\n    {purpose}\n    {state}\n")
}

fn check_shm() -> Result<String, String> {
    let made = memfd_create(c"dsm-check", MFdFlags::MFD_CLOEXEC);
    made.map(|_| String::new()).map_err(|e| format!("memory files cannot be made (memfd_create): {e}"))
}

fn check_stream() -> Result<String, String> {
    UnixStream::pair().map(|_| String::new()).map_err(|e| format!("Unix sockets cannot be made: {e}"))
}

fn check_tcp() -> Result<String, String> {
    let own: Vec<_> = addresses::own().iter().map(ToString::to_string).collect();
    match own.is_empty() {
        true => Err("no interface that is up has an address other than the loopback's".into()),
        false => Ok(format!("addresses of this host: {}", own.join(", "))),
    }
}

fn check_ofi() -> Result<String, String> {
    type Version = unsafe extern "C" fn() -> u32;
    // SAFETY: any program may load the library; the function has this type.
    let version = unsafe {
        Library::new("libfabric.so.1").and_then(|library| Ok(library.get::<Version>(c"fi_version")?()))
    };
    let version = version.map_err(|e| format!("{e}; install libfabric (Debian: libfabric1)"))?;
    Ok(format!(
        "libfabric {}.{}; `fi_info -t FI_EP_RDM -c FI_TAGGED` lists its providers",
        version >> 16,
        version & 0xffff
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_transport_says_what_it_is_for_and_whether_it_can_be_used() {
        let usable = Transport { name: "a", purpose: "b", check: || Ok("c".into()) };
        assert_eq!(describe(&usable), "a\n    b\n    can be used here: c\n");
        let plain = Transport { check: || Ok(String::new()), ..usable };
        assert_eq!(describe(&plain), "a\n    b\n    can be used here\n");
        let unusable = Transport { check: || Err("d".into()), ..plain };
        assert_eq!(describe(&unusable), "a\n    b\n    cannot be used here: d\n");
        assert!(["shm", "stream", "tcp", "ofi"].iter().all(|name| list().contains(&format!("{name}\n"))));
    }
}
