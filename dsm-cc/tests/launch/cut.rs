//! Hosts that are cut off: network namespaces, each with an address, on a bridge that the launcher is at, too. The remote shell runs the command in the
//! namespace. Needs the right to make namespaces.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, id};
use std::time::Duration;

use crate::victim::Victim;

/// Longest wait for what takes ten seconds on a machine that does nothing else.
const PATIENCE: Duration = Duration::from_secs(60);

/// Two hosts, and the bridge between them.
struct Network {
    name: String,
    net: String,
}

impl Network {
    /// `None`, with the reason told, where there can be none.
    fn new() -> Option<Network> {
        let id = id();
        // The range for tests of networks.
        let net = format!("198.{}.{}", 18 + id % 2, id / 2 % 256);
        let network = Network { name: format!("dsm{}", id % 100_000), net };
        let Network { name, net } = &network;
        let mut script = format!(
            "ip link add {name} type bridge && ip addr add {net}.254/24 dev {name} && ip link set {name} up"
        );
        for i in 1..=2 {
            script += &format!(
                " && ip netns add {name}-{i} && ip link add {name}.{i} type veth peer name eth0 netns {name}-{i} \
                 && ip link set {name}.{i} master {name} up && ip -n {name}-{i} link set lo up \
                 && ip -n {name}-{i} addr add {net}.{i}/24 dev eth0 && ip -n {name}-{i} link set eth0 up"
            );
        }
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        if output.status.success() {
            return Some(network);
        }
        eprintln!("skipped: no network namespaces here: {}", String::from_utf8_lossy(&output.stderr).trim());
        None
    }

    fn cut(&self, host: u32) {
        let cut = Command::new("ip").args(["link", "set", &format!("{}.{host}", self.name), "down"]).status();
        assert!(cut.unwrap().success());
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let name = &self.name;
        let script = format!("ip netns del {name}-1; ip netns del {name}-2; ip link del {name}");
        let _ = Command::new("sh").args(["-c", &script]).output();
    }
}

#[test]
fn a_host_that_is_cut_off_is_named_and_ends_the_job() {
    let Some(network) = Network::new() else { return };
    let victim = Victim::new();
    let shell = victim.path.with_file_name("shell");
    let script = format!(
        "#!/bin/sh\nhost=${{1##*.}}\nshift\nexec ip netns exec {}-$host sh -c \"$*\"\n",
        network.name
    );
    fs::write(&shell, script).unwrap();
    fs::set_permissions(&shell, fs::Permissions::from_mode(0o755)).unwrap();
    let (first, second) = (format!("{}.1", network.net), format!("{}.2", network.net));
    let own = format!("--rsh {} -H {first}:2,{second}:2", shell.display());
    let job = victim.start(&own, &["run"], 4);
    network.cut(2);
    let (status, messages) = job.end(PATIENCE);
    assert_eq!((status, messages.lines().count()), (1, 1), "{messages}");
    assert!(messages.starts_with(&format!("dsm-run: {second}: ")), "{messages}");
    assert!(messages.contains("it has not answered "), "{messages}");
    // Between these stands how the remote shell ended, if it was faster.
    assert!(messages.contains(" for 8 s, so it is down or cut off"), "{messages}");
    assert!(messages.ends_with("; the job was ended\n"), "{messages}");
}
