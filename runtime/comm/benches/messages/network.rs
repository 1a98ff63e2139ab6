//! Two hosts: network namespaces that a link joins, which go with the value.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, id};

use super::{SIZES, THREADS, TIME, succeed};

/// See the module.
pub struct Network {
    name: String,
    directory: PathBuf,
}

impl Network {
    /// Makes them.
    ///
    /// # Errors
    /// The reason why there can be none.
    pub fn new() -> Result<Network, String> {
        let name = format!("dsmb{}", id() % 100_000);
        let directory = std::env::temp_dir().join(&name);
        fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
        let network = Network { name, directory };
        let name = &network.name;
        let mut script = format!(
            "ip netns add {name}-0 && ip netns add {name}-1 && ip link add eth0 netns {name}-0 type veth peer name eth0 netns {name}-1"
        );
        for host in 0..2 {
            let address = network.address(host);
            script += &format!(
                " && ip -n {name}-{host} link set lo up && ip -n {name}-{host} addr add {address}/24 dev eth0 && ip -n {name}-{host} link set eth0 up"
            );
        }
        succeed(Command::new("sh").args(["-c", &script]))?;
        Ok(network)
    }

    /// Address of a host.
    pub fn address(&self, host: usize) -> String {
        // The range for tests of networks.
        format!("198.18.{}.{}", id() % 256, host + 1)
    }

    /// A command that runs the one that its arguments are on a host, which has a name of its own.
    pub fn command(&self, host: usize) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &format!("{}-{host}", self.name), "unshare", "-u", "sh", "-c"]);
        command.args(["hostname \"$0\"; exec \"$@\"", &format!("node{host}")]);
        command
    }

    /// Runs the exchanges by Open MPI; what its first process says.
    pub fn mpi(&self) -> String {
        let place = |name: &str| self.directory.join(name);
        let (source, program, shell) = (place("mpi.c"), place("mpi"), place("shell"));
        fs::write(&source, include_str!("mpi.c")).expect("a file of its own");
        let numbers = |all: &[usize]| all.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let defined = [
            ("SIZES", numbers(&SIZES)),
            ("THREADS", numbers(&THREADS)),
            ("TIME", TIME.as_secs_f64().to_string()),
        ];
        let mut compile = Command::new("mpicc");
        compile.args(defined.map(|(name, value)| format!("-D{name}={value}")));
        compile.args(["-O2", "-pthread"]).arg(&source).arg("-o").arg(&program);
        succeed(&mut compile).unwrap_or_else(|error| panic!("mpicc: {error}"));
        let script = format!(
            "#!/bin/sh\nshift\nexec ip netns exec {}-1 unshare -u sh -c \"hostname node1; $*\"\n",
            self.name
        );
        fs::write(&shell, script).expect("a file of its own");
        fs::set_permissions(&shell, fs::Permissions::from_mode(0o755)).expect("a file of its own");
        let mut run = self.command(0);
        run.args(["mpirun", "--allow-run-as-root", "--bind-to", "none"]);
        // Threads of both ends may share processors, and poll.
        for (name, value) in [("btl", "tcp,self"), ("pml", "ob1"), ("mpi_yield_when_idle", "1")] {
            run.args(["--mca", name, value]);
        }
        run.args(["--mca", "plm_rsh_agent"]).arg(&shell);
        run.args(["-H", &format!("{},{}", self.address(0), self.address(1)), "-n", "2"]).arg(&program);
        succeed(&mut run).unwrap_or_else(|error| panic!("mpirun: {error}"))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for host in 0..2 {
            let _ = Command::new("ip").args(["netns", "del", &format!("{}-{host}", self.name)]).output();
        }
        let _ = fs::remove_dir_all(&self.directory);
    }
}
