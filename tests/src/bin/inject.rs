//! Injects faults into running jobs over ranges of seeds.

use std::process::ExitCode;
use std::time::Duration;

use dsm_tests::compile::Target;
use dsm_tests::injection::{self, Fault, Hosts, Installed, Limits, Named, Network, PROMISED, Plan};
use dsm_tests::matrix::Build;
use dsm_tests::options::{Command, Options};
use dsm_tests::toolchain;

const COMMAND: Command = Command {
    usage: "inject [OPTION]...

Runs jobs on this machine and over two hosts, and does something to each: kills a process, a daemon or the launcher, stops one for a while, or cuts a host off. After a kill or a cut the job has to end with one message that names who was lost, and leave nothing; a stop has to do no harm. The two hosts are network namespaces, which root can make.

  --seeds A..B    plans to carry out (0..200)
  --only KIND     kill, stop or cut
  --stop SECONDS  how long who is stopped stays so (5)
  --hosts A,B     two hosts in the place of namespaces, with the files of this one
  --rsh COMMAND   the command that reaches them (ssh)
  --cut COMMAND   a shell's command that takes the link of host $1 down or up, as $2 says; without it nothing is cut there",
    values: &["--seeds", "--only", "--stop", "--hosts", "--rsh", "--cut"],
    switches: &[],
};

fn main() -> ExitCode {
    COMMAND.main(|options| run(options).map(|ok| if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }))
}

fn run(options: &Options) -> Result<bool, String> {
    options.no_words()?;
    let seeds = options.range("--seeds", 0..200)?;
    let seconds = options.number("--stop", 5)?;
    let hosts = match options.text("--hosts") {
        Some(hosts) => {
            let names = hosts.split_once(',').ok_or_else(|| format!("--hosts {hosts}: not two hosts"))?;
            let shell = options.text("--rsh").unwrap_or("ssh").to_owned();
            let cut = options.text("--cut").map(str::to_owned);
            Hosts::Named(Named { names: [names.0.into(), names.1.into()], shell, cut })
        }
        None => Hosts::Namespaces(Network::new()?),
    };
    let faults = match options.text("--only") {
        None if hosts.have_links() => vec![Fault::Kill, Fault::Kill, Fault::Stop, Fault::Cut],
        None => vec![Fault::Kill, Fault::Stop],
        Some("kill") => vec![Fault::Kill],
        Some("stop") => vec![Fault::Stop],
        Some("cut") if hosts.have_links() => vec![Fault::Cut],
        Some(other) => {
            return Err(format!("--only {other}: not a kind of fault, or not with --hosts without --cut"));
        }
    };
    let dsm = toolchain::dsm().ok_or("there is no launcher with DSM_TEST_NATIVE=1")?;
    let installed = Installed::new(dsm, Target::Dsm(Build { level: 2, line: 64 }))?;
    let limits = Limits { stop: Duration::from_secs(seconds), ..PROMISED };
    let mut slowest = Duration::ZERO;
    let failed = injection::run_all(
        seeds.clone(),
        |seed| Plan::new(seed, &faults),
        &hosts,
        &installed,
        limits,
        |seed, plan, result| match result {
            Ok(elapsed) => {
                slowest = slowest.max(*elapsed);
                println!("{seed}: {plan}: {:.2} s", elapsed.as_secs_f64());
            }
            Err(reason) => {
                println!("{seed}: {plan}: FAILED: {reason}\nagain: inject --seeds {seed}..{}", seed + 1)
            }
        },
    );
    println!("{} jobs, {failed} failed, slowest end {:.2} s", seeds.end - seeds.start, slowest.as_secs_f64());
    Ok(failed == 0)
}
