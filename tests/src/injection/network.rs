//! Two hosts that are network namespaces on a bridge, where the launcher is, too. Needs the right to make namespaces (root).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, id};

use crate::execute::Scratch;

/// The two hosts, which go with the value.
#[derive(Debug)]
pub struct Network {
    name: String,
    net: String,
    directory: Scratch,
}

impl Network {
    /// Makes them.
    ///
    /// # Errors
    /// The reason why there can be none.
    pub fn new() -> Result<Network, String> {
        let id = id();
        // The range for tests of networks.
        let net = format!("198.{}.{}", 18 + id % 2, id / 2 % 256);
        let network =
            Network { name: format!("dsmi{}", id % 100_000), net, directory: Scratch::directory("network") };
        let Network { name, net, .. } = &network;
        let mut script = format!(
            "ip link add {name} type bridge && ip addr add {net}.254/24 dev {name} && ip link set {name} up"
        );
        for i in 0..2 {
            let address = network.address(i);
            script += &format!(
                " && ip netns add {name}-{i} && ip link add {name}.{i} type veth peer name eth0 netns {name}-{i} \
                 && ip link set {name}.{i} master {name} up && ip -n {name}-{i} link set lo up \
                 && ip -n {name}-{i} addr add {address}/24 dev eth0 && ip -n {name}-{i} link set eth0 up"
            );
        }
        shell(&script, &[]).map_err(|reason| format!("no network namespaces here: {reason}"))?;
        let script = format!(
            "#!/bin/sh\nhost=$((${{1##*.}} - 1))\nshift\nexec ip netns exec {name}-$host sh -c \"$*\"\n"
        );
        fs::write(network.shell(), script).map_err(|e| e.to_string())?;
        fs::set_permissions(network.shell(), fs::Permissions::from_mode(0o755)).map_err(|e| e.to_string())?;
        Ok(network)
    }

    /// Address of a host.
    pub fn address(&self, host: usize) -> String {
        format!("{}.{}", self.net, host + 1)
    }

    /// The command that runs others on a host.
    pub fn shell(&self) -> PathBuf {
        Path::new(self.directory.path()).join("shell")
    }

    /// Takes a host's link down or up.
    ///
    /// # Errors
    /// The system's.
    pub fn set_link(&self, host: usize, word: &str) -> Result<(), String> {
        shell("ip link set \"$1\" \"$2\"", &[&format!("{}.{host}", self.name), word])
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let name = &self.name;
        let _ = shell(&format!("ip netns del {name}-0; ip netns del {name}-1; ip link del {name}"), &[]);
    }
}

/// Runs a script with these arguments.
pub(super) fn shell(script: &str, arguments: &[&str]) -> Result<(), String> {
    let output =
        Command::new("sh").args(["-c", script, "sh"]).args(arguments).output().map_err(|e| e.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}
