//! What theory demands of the figures, at sizes that take seconds. That no write is lost is checked by the workloads themselves.

use dsm_simulate::costs::Costs;
use dsm_simulate::figures;
use dsm_simulate::net::Phase;
use dsm_simulate::run::{Outcome, Protocol, Setting, run};
use dsm_simulate::sync::{Barrier, Lock};
use dsm_simulate::workload::{Sizes, Workload};

fn setting(workload: Workload, protocol: Protocol, processes: u32) -> Setting {
    Setting {
        workload,
        protocol,
        processes,
        block: 64,
        notices: 1024,
        barrier: Barrier::Dissemination,
        lock: Lock::Queue,
        sizes: Sizes { iterations: 4, warm_up: 4 },
        costs: Costs::default(),
    }
}

fn rounds(processes: u32) -> f64 {
    f64::from(processes.next_power_of_two().ilog2())
}

/// Messages of a barrier round, at most: the signal, and reading a signature, twice where it was replaced meanwhile.
const ROUND: f64 = 1.0 + 8.0 + 6.0;

#[test]
fn all_workloads_and_protocols_keep_every_write() {
    for workload in [
        Workload::Private,
        Workload::Stencil,
        Workload::Transpose,
        Workload::Migratory,
        Workload::Relay,
        Workload::Table,
    ] {
        for protocol in [Protocol::Dsm, Protocol::Directory] {
            for processes in [2, 3, 7, 16] {
                for (block, notices) in [(64, 16), (256, 1024), (4096, 16)] {
                    run(&Setting { block, notices, ..setting(workload, protocol, processes) });
                }
            }
        }
    }
}

#[test]
fn meetings_and_locks_of_every_kind_order_memory() {
    for processes in [2, 5, 16] {
        run(&Setting { barrier: Barrier::ForkJoin, ..setting(Workload::Stencil, Protocol::Dsm, processes) });
        run(&Setting { lock: Lock::Ticket, ..setting(Workload::Migratory, Protocol::Dsm, processes) });
        run(&Setting { lock: Lock::Ticket, ..setting(Workload::Migratory, Protocol::Directory, processes) });
    }
}

#[test]
fn the_same_options_give_the_same_figures() {
    for protocol in [Protocol::Dsm, Protocol::Directory] {
        for workload in [Workload::Stencil, Workload::Migratory, Workload::Table] {
            let setting = Setting { block: 256, ..setting(workload, protocol, 24) };
            assert_eq!(run(&setting), run(&setting));
        }
    }
}

#[test]
fn private_data_costs_nothing() {
    for processes in [2, 16, 64] {
        let o = run(&setting(Workload::Private, Protocol::Dsm, processes));
        assert_eq!(o.messages_of(Phase::Access), 0.0, "{o:?}");
        assert_eq!(o.messages_of(Phase::Release), 0.0, "{o:?}");
        assert_eq!(o.counters["notices_out"], 0, "{o:?}");
        // The barrier alone: a signal in each round, which says that there is nothing to look at.
        assert_eq!(o.all_messages(), rounds(processes), "{o:?}");
    }
}

#[test]
fn a_barrier_takes_messages_in_proportion_to_the_logarithm() {
    for processes in [2, 8, 33, 128] {
        let o = run(&setting(Workload::Stencil, Protocol::Dsm, processes));
        let messages = o.messages_of(Phase::Acquire) + o.messages_of(Phase::Synchronise);
        assert!(messages <= ROUND * rounds(processes), "{messages} messages: {o:?}");
        // No false sharing at 64 bytes: homes stay, and publishing is local.
        assert_eq!(o.messages_of(Phase::Release), 0.0, "{o:?}");
    }
}

#[test]
fn what_neighbours_exchange_does_not_depend_on_how_many_there_are() {
    // Lists that hold all notices: a bound would expire what neighbours have.
    let stencil =
        |processes| Setting { notices: 16384, ..setting(Workload::Stencil, Protocol::Dsm, processes) };
    let access = |processes| run(&stencil(processes)).messages_of(Phase::Access);
    // Inner processes have two neighbours; both ends have one.
    let inner = |processes: u32| access(processes) * f64::from(processes) / f64::from(2 * processes - 2);
    // A call for each neighbour, and few of them again: a signal tells how far its sender had published, so what neighbours that are ahead have published since is
    // not acquired.
    let (few, many) = (inner(32), inner(128));
    assert!((2.0..3.0).contains(&few) && (2.0..3.0).contains(&many), "{few} {many}");
}

#[test]
fn a_full_signature_bounds_what_a_barrier_moves() {
    let bytes = |notices| {
        let o = run(&Setting { notices, ..setting(Workload::Stencil, Protocol::Dsm, 128) });
        assert_eq!(o.counters["blocks_expired"] > 0, notices < 128, "{o:?}");
        o.bytes[Phase::Acquire as usize]
    };
    let (few, many) = (bytes(16), bytes(4096));
    // At most twice the capacity in each round: a list and what replaced it.
    assert!(few < rounds(128) * (2.0 * 16.0 * 32.0 + 1000.0), "{few}");
    // Two notices a process reach everybody.
    assert!(many > 2.0 * 120.0 * 32.0, "{many}");
}

#[test]
fn a_directory_invalidates_every_sharer_of_a_changed_entry() {
    let few = run(&setting(Workload::Table, Protocol::Directory, 4));
    let many = run(&setting(Workload::Table, Protocol::Directory, 64));
    let each = |o: &Outcome| o.counters["invalidations"];
    assert!(each(&many) > 3 * each(&few), "{} {}", each(&few), each(&many));
}

#[test]
fn figures_are_drawn() {
    let directory = std::env::temp_dir().join(format!("dsm-simulate-{}", std::process::id()));
    figures::write(&directory, 4, &Costs::default(), |_| {}).expect("a writable directory");
    let svg = std::fs::read_to_string(directory.join("stencil.svg")).expect("a figure");
    assert!(svg.contains("<svg") && svg.contains("directory, 4096 B"), "{svg}");
    let table = std::fs::read_to_string(directory.join("migratory.md")).expect("a table");
    assert!(table.contains("\n| a release: bytes of a process | 2 | 4 |\n"), "{table}");
    let json = std::fs::read_to_string(directory.join("figures.json")).expect("numbers");
    let runs: serde_json::Value = serde_json::from_str(&json).expect("valid JSON");
    assert_eq!(runs.as_array().map(Vec::len), Some(figures::settings(4, &Costs::default()).len()));
    std::fs::remove_dir_all(&directory).expect("the own directory");
}

/// The numbers of the first columns of all tables of a text, and the names of the tables and rows.
fn columns(text: &str, count: usize) -> Vec<(String, Vec<f64>)> {
    let mut rows = Vec::new();
    let mut title = String::new();
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let name = cells.next().unwrap_or_default();
        if cells.clone().next() == Some("2") {
            title = name.to_string();
        }
        let numbers = cells
            .take(count)
            .map(|cell| cell.parse().unwrap_or_else(|_| panic!("no number: {line}")))
            .collect();
        rows.push((format!("{title}, {name}"), numbers));
    }
    rows
}

#[test]
fn tables_are_read_by_title_and_row() {
    let text = "\n| a | 2 | 4 |\n|---|---:|---:|\n| b | 2.5 | 7 |\n\n| c | 2 | 4 |\n|---|---:|---:|\n| b | 1 | 0 |\n";
    let rows = columns(text, 2);
    let row = |name: &str| rows.iter().find(|(found, _)| found == name).map(|(_, numbers)| numbers.clone());
    assert_eq!(row("a, b"), Some(vec![2.5, 7.0]));
    assert_eq!(row("c, b"), Some(vec![1.0, 0.0]));
}

#[test]
fn a_way_along_links_is_long_only_once() {
    let hops = |processes| {
        let o = run(&setting(Workload::Relay, Protocol::Dsm, processes));
        let firsts = o.counters["read_misses"] as f64;
        o.counters["link_hops"] as f64 / firsts
    };
    // Without shortening they are in proportion to the number of processes that the record went through.
    let (few, many) = (hops(32), hops(256));
    assert!(many < 1.5 * few + 1.0, "{few} {many}");
}

/// The book shows what this protocol does: a change that moves the figures has to make them again (`make figures`).
#[test]
fn the_book_has_the_figures_of_this_protocol() {
    let made = std::env::temp_dir().join(format!("dsm-figures-{}", std::process::id()));
    figures::write(&made, 16, &Costs::default(), |_| {}).expect("figures");
    let book = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/research/scale"));
    let mut different = Vec::new();
    for table in figures::files() {
        let read = |place: &std::path::Path| {
            let path = place.join(format!("{table}.md"));
            columns(&std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())), 4)
        };
        let (now, then) = (read(&made), read(book));
        assert_eq!(now.len(), then.len(), "{table}");
        for ((name, now), (old, then)) in now.iter().zip(&then) {
            assert_eq!(name, old, "{table}");
            assert_eq!((now.len(), then.len()), (4, 4), "{table}, {name}");
            if now.iter().zip(then).any(|(a, b)| (a - b).abs() > TOLERANCE * b + LEAST) {
                different.push(format!("{table}, {name}: {now:?}, in the book {then:?}"));
            }
        }
    }
    std::fs::remove_dir_all(&made).expect("a directory of this test");
    assert!(different.is_empty(), "make the figures again:\n{}", different.join("\n"));
}

/// By how much figures may differ from those in the book: small changes of the protocol move single points by a tenth.
const TOLERANCE: f64 = 0.25;

/// And by how much those that are nearly nothing, microseconds or messages.
const LEAST: f64 = 0.1;
