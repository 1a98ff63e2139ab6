//! The ways by which processes reach each other's memory, and whether they can be used on this host: what `--transports` prints. A transport is one line of [`TRANSPORTS`].

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;

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
    Transport {
        name: "verbs",
        purpose: "requests by RDMA over InfiniBand or RoCE; between processes of different hosts with DSM_TRANSPORT=shm,verbs, between all with DSM_TRANSPORT=verbs",
        check: check_verbs,
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

fn check_verbs() -> Result<String, String> {
    // SAFETY: any program may load the library.
    let library = unsafe { Library::new("libibverbs.so.1") };
    library.map_err(|e| format!("{e}; install libibverbs (Debian: libibverbs1 ibverbs-providers)"))?;
    describe_ports(&rdma_ports(Path::new("/sys/class/infiniband")))
}

/// A port of an RDMA device, as the kernel describes it.
struct RdmaPort {
    /// `DEVICE:PORT`.
    name: String,
    /// As in `4: ACTIVE`.
    state: String,
    /// `InfiniBand` or `Ethernet`.
    link: String,
}

/// All of them, in a directory with one for each device.
fn rdma_ports(devices: &Path) -> Vec<RdmaPort> {
    let names = |directory: &Path| -> Vec<String> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let mut ports = Vec::new();
    for device in names(devices) {
        let directory = devices.join(&device).join("ports");
        for port in names(&directory) {
            let file = |name| fs::read_to_string(directory.join(&port).join(name)).unwrap_or_default();
            let [state, link] = ["state", "link_layer"].map(|name| file(name).trim().to_owned());
            ports.push(RdmaPort { name: format!("{device}:{port}"), state, link });
        }
    }
    ports
}

/// Those that can be used, or why there is none.
fn describe_ports(ports: &[RdmaPort]) -> Result<String, String> {
    let (active, others): (Vec<_>, Vec<_>) = ports.iter().partition(|port| port.state.contains("ACTIVE"));
    let list = |ports: &[&RdmaPort], text: fn(&RdmaPort) -> String| {
        ports.iter().map(|port| text(port)).collect::<Vec<_>>().join(", ")
    };
    match (active.is_empty(), others.is_empty()) {
        (false, _) => {
            Ok(format!("active ports: {}", list(&active, |port| format!("{} ({})", port.name, port.link))))
        }
        (true, false) => {
            Err(format!("no port is active: {}", list(&others, |port| format!("{} is {}", port.name, port.state))))
        }
        (true, true) => Err("there is no RDMA device in /sys/class/infiniband: no adapter, or its kernel module is not loaded".into()),
    }
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
        assert!(
            ["shm", "stream", "tcp", "ofi", "verbs"].iter().all(|name| list().contains(&format!("{name}\n")))
        );
    }

    #[test]
    fn active_ports_are_listed_and_others_say_why_not() {
        let devices = tempfile::tempdir().unwrap();
        let none = describe_ports(&rdma_ports(&devices.path().join("missing"))).unwrap_err();
        assert!(none.contains("no RDMA device"), "{none}");
        let make = |port: &str, state: &str, link: &str| {
            let directory = devices.path().join(port);
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("state"), format!("{state}\n")).unwrap();
            fs::write(directory.join("link_layer"), format!("{link}\n")).unwrap();
        };
        make("rxe0/ports/1", "1: DOWN", "Ethernet");
        let down = describe_ports(&rdma_ports(devices.path()));
        assert_eq!(down, Err("no port is active: rxe0:1 is 1: DOWN".into()));
        make("mlx5_0/ports/2", "4: ACTIVE", "InfiniBand");
        let active = describe_ports(&rdma_ports(devices.path()));
        assert_eq!(active, Ok("active ports: mlx5_0:2 (InfiniBand)".into()));
    }
}
