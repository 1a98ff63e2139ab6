//! A job whose processes a process manager has started: Open MPI's mpirun, or Slurm's srun with its PMIx plugin.
//!
//! A program of dsm-cc that finds itself in such an environment becomes this launcher (`runtime/src/managed.rs`). It is the launcher of one process, which it starts, watches
//! and ends as the launcher of a whole job does, with its own standard streams; the process manager sees to output, signals and the ends of the others. The
//! launchers exchange [`cards`] through the process manager. The one with the lowest rank on each host (the leader) makes the host's memory files and, with
//! the leaders of other hosts, the TCP connections, as the daemon of a host does ([`setup`]); the host's other launchers get descriptors from it
//! ([`handover`]). [`ties`] tell a launcher that others are gone.

mod cards;
mod handover;
mod library;
mod member;
mod setup;
mod ties;

use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::Duration;
use std::{env, process};

use dsm_abi::job::MAX_PROCESSES;
use nix::unistd::gethostname;

use super::bind::{self, Binding};
use super::connect::{self, addresses};
use super::environment::{self, TRANSPORT, Variables};
use super::options::Options;
use super::spawn::{self, Plan};
use super::watch::{self, Signals};
use super::{Error, control, facts, program};
use cards::{Card, Contact, Origin};
use handover::Reception;
use library::Client;
use member::Member;
use setup::Setup;

/// Under which the cards are exchanged.
const KEY: &str = "dsm.card";
/// Variables of the process manager. The process is not to find them: programs that it starts would take part in the exchange.
const PREFIX: &str = "PMIX_";
/// What all processes of a job find.
const NAMESPACE: &str = "PMIX_NAMESPACE";
/// The process manager's number of this process, which is known before the library is loaded.
const RANK: &str = "PMIX_RANK";
/// Time for the process manager to end launchers that have nothing to say because another one says it.
const SILENCE: Duration = Duration::from_secs(3);
/// Descriptors that a launcher needs besides those of its process.
const SPARE_DESCRIPTORS: u64 = 64;

/// Why a process was not started.
enum Stop {
    /// This launcher reports it to the user.
    Own(Error),
    /// All of them found the same; that of rank 0 reports it to the user.
    Common(Error),
    /// Another launcher has reported why.
    Reported,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Own(error)
    }
}

/// What has come of the process.
struct Outcome {
    /// The launcher's exit status.
    status: u8,
    /// Whether the others are to be ended.
    is_failure: bool,
}

/// Runs this launcher's process, and gives the exit status.
pub fn run(options: &Options) -> Result<u8, Error> {
    if env::var_os(NAMESPACE).is_none() {
        let reason = format!(
            "--pmix: no process manager has started this process ({NAMESPACE} is not set); use mpirun, or srun with --mpi=pmix"
        );
        return Err(Error::Usage(reason));
    }
    let signals = Signals::take()?;
    let client = Client::connect().map_err(|reason| {
        if env::var(RANK).is_ok_and(|rank| rank != "0") {
            thread::sleep(SILENCE);
        }
        Error::Manager(format!("{reason}; DSM_PMIX=0 has each process run on its own"))
    })?;
    match serve(options, &client, &signals) {
        Ok(Outcome { status, is_failure: false }) => {
            client.finish();
            Ok(status)
        }
        Ok(Outcome { status, .. }) => {
            client.abort(status);
            Ok(status)
        }
        Err(Stop::Common(_)) if client.rank() != 0 => give_way(),
        Err(Stop::Reported) => give_way(),
        Err(Stop::Own(error) | Stop::Common(error)) => {
            // The process manager ends this launcher, too.
            eprintln!("dsm-run: {error}");
            client.abort(error.exit_status());
            process::exit(error.exit_status().into())
        }
    }
}

/// Another launcher says why the job does not start, and has the process manager end all.
fn give_way() -> ! {
    thread::sleep(SILENCE);
    process::exit(1)
}

fn serve(options: &Options, client: &Client, signals: &Signals) -> Result<Outcome, Stop> {
    let program = program::find(options.program(), &env::var_os("PATH").unwrap_or_default())?;
    if !options.unchecked {
        program::check(&program)?;
    }
    let leads = client.neighbours.first() == Some(&client.rank());
    let opened = leads.then(|| open(client)).transpose()?;
    let contact = opened.as_ref().map(|(_, _, contact)| contact.clone());
    let cards = exchange(client, &card(options, client, &program, contact)?)?;
    let (setup, threads) = arrange(client, &cards).map_err(Stop::Common)?;
    tell(options, client, &setup, threads);
    let (inherited, mut ties) = match opened {
        Some((listener, reception, _)) => setup.lead(listener, reception)?,
        None => setup.follow()?,
    };
    let plan = Plan {
        program: &program,
        name: options.program(),
        arguments: options.arguments(),
        processes: client.size,
        ranks: setup.number..setup.number + 1,
        files: &|_| Vec::new(),
        threads,
        binding: &Binding::none(setup.sharers.clone(), ""),
        environment: changes(&setup, client.size),
        has_outputs: false,
        has_input: false,
        mask: signals.before,
    };
    let job = spawn::start_member(&plan, &inherited.page, &inherited.reached())?;
    // The process has its copies, and others' connections end with it.
    drop(inherited);
    ties.watch_parent();
    ties.tell(&job.pids);
    let status = watch::until_end(&mut Member::new(&job, signals, ties, options.program()));
    Ok(Outcome { status, is_failure: status != 0 && !job.finished() })
}

/// What other launchers come to.
fn open(client: &Client) -> Result<(Option<TcpListener>, Reception, Contact), Error> {
    let failed = |source| Error::System { what: "wait for the launchers of this host's processes", source };
    let reception = Reception::open().map_err(failed)?;
    let mut contact = Contact { port: 0, addresses: Vec::new(), socket: reception.name.clone() };
    if client.neighbours.len() as u32 == client.size {
        return Ok((None, reception, contact));
    }
    let (listener, addresses) = addresses::listen(&host_name()).map_err(Error::Connect)?;
    let address = listener.local_addr().map_err(|e| Error::Connect(e.to_string()))?;
    contact.port = address.port();
    contact.addresses = addresses;
    Ok((Some(listener), reception, contact))
}

fn host_name() -> String {
    gethostname()
        .ok()
        .and_then(|name| name.into_string().ok())
        .unwrap_or_else(|| "a host without a name".into())
}

/// What this launcher tells the others.
fn card(options: &Options, client: &Client, program: &Path, contact: Option<Contact>) -> Result<Card, Error> {
    Ok(Card {
        greeting: control::greeting(),
        leader: client.neighbours.first().copied().unwrap_or(client.rank()),
        host: host_name(),
        facts: facts::of(program)?,
        processors: bind::allowed(),
        contact,
        origin: (client.rank() == 0).then(|| origin(options)).transpose()?,
    })
}

/// What rank 0 decides for all.
fn origin(options: &Options) -> Result<Origin, Error> {
    let mut variables: Variables = env::vars_os().filter(|(name, _)| environment::is_setting(name)).collect();
    environment::add_named(&mut variables, &options.variables).map_err(Error::Usage)?;
    variables.extend(super::settings(options)?);
    let threads = options.threads.or(environment::num_threads(&variables).first().copied());
    Ok(Origin { secret: connect::secret()?, environment: environment::as_bytes(&variables), threads })
}

/// Gives the others this launcher's card, and takes theirs.
fn exchange(client: &Client, own: &Card) -> Result<Vec<Card>, Stop> {
    client.exchange(KEY, &own.encode()).map_err(Error::Manager)?;
    let read = |rank| Card::decode(rank, &client.bytes_of(rank, KEY)?);
    let cards: Result<_, String> = (0..client.size).map(read).collect();
    cards.map_err(|reason| Stop::Common(Error::Manager(reason)))
}

/// Who is where, and the threads of each process. All launchers come to the same result.
fn arrange(client: &Client, cards: &[Card]) -> Result<(Setup, u32), Error> {
    if client.size > MAX_PROCESSES {
        return Err(Error::Usage(format!("{} processes; a job has at most {MAX_PROCESSES}", client.size)));
    }
    let arrangement = cards::arrange(cards).map_err(Error::Manager)?;
    let all: Vec<_> = cards.iter().map(|card| (&*card.host, &card.facts)).collect();
    facts::compare(&all)?;
    let origin = cards[0].origin.clone();
    let origin = origin.ok_or_else(|| Error::Manager("process 0 does not say what it should".into()))?;
    let rank = client.rank() as usize;
    let (host, number) = (arrangement.host_of[rank], arrangement.numbers[rank]);
    let sharers = cards::sharers(cards, &arrangement, rank);
    let setup = Setup { arrangement, origin, host, number, sharers };
    if setup.arrangement.hosts.len() > 1 && environment::has_memory_only(&setup.variables()) {
        return Err(Error::Usage(format!(
            "{TRANSPORT}=shm: memory of other hosts cannot be mapped; unset it, or have all processes on one host"
        )));
    }
    let threads = setup.origin.threads.unwrap_or_else(|| cards::fair_threads(cards));
    Ok((setup, threads))
}

/// Says what is done, if the user wants to know.
fn tell(options: &Options, client: &Client, setup: &Setup, threads: u32) {
    if !options.verbose || client.rank() != 0 {
        return;
    }
    for (host, contact) in setup.arrangement.hosts.iter().zip(&setup.arrangement.contacts) {
        let ranks = host.ranks();
        let reached: Vec<_> =
            contact.addresses.iter().map(|address| format!("{address} port {}", contact.port)).collect();
        let reached = if reached.is_empty() { "memory only".into() } else { reached.join(", ") };
        eprintln!(
            "dsm-run: {}: processes {} to {} of {threads} threads; {reached}",
            host.name,
            ranks.start,
            ranks.end - 1
        );
    }
}

/// What the process's environment has that the launcher's does not.
fn changes(setup: &Setup, processes: u32) -> Vec<(std::ffi::OsString, Option<std::ffi::OsString>)> {
    let mut changes = environment::changes(&setup.origin.environment);
    let of_manager = env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()));
    changes.extend(of_manager.map(|name| (name, None)));
    // Under a process manager the variable tells the threads of a process, as with MPI; the runtime wants those of a team.
    let listed = environment::num_threads(&setup.variables());
    changes.extend(listed.split_first().map(|(first, nested)| {
        let team = first.saturating_mul(processes);
        let all: Vec<_> = [team].iter().chain(nested).map(u32::to_string).collect();
        (environment::NUM_THREADS.into(), (!nested.is_empty()).then(|| all.join(",").into()))
    }));
    changes
}
