//! How many round trips the steps of the protocol take, one after the other. The table is in the book's chapter on the protocol.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use dsm_coherence::Rank;
use dsm_simulate::costs::{Costs, ns, us};
use dsm_simulate::dsm::Dsm;
use dsm_simulate::machine::Machine;
use dsm_simulate::net::{Regions, Shared, World};

const BLOCK: u64 = 64;
const CHUNK: u64 = 64 * BLOCK;
/// Bytes that each process is the default home of.
const PART: u64 = 16 * CHUNK;

/// Messages of a process until now.
fn messages(world: &Shared, rank: u32) -> u64 {
    world.process(rank).traffic.borrow().messages.iter().sum()
}

/// Round trips that a step of a process takes: it waits for each before it begins the next.
async fn trips(machine: &Dsm, step: impl Future<Output = ()>) -> f64 {
    let (world, rank) = (machine.world().clone(), machine.rank());
    let (before, began) = (messages(&world, rank), world.engine.now());
    step.await;
    world.wait_until_idle(rank).await;
    assert!(world.engine.now() >= began);
    (messages(&world, rank) - before) as f64 / 2.0
}

/// Runs steps of three processes, in the order in which the scenario awaits them.
fn run<S: Future<Output = ()> + 'static>(scenario: impl FnOnce(Vec<Dsm>) -> S) {
    run_at(Costs::default(), scenario);
}

/// The same where things cost as much.
fn run_at<S: Future<Output = ()> + 'static>(costs: Costs, scenario: impl FnOnce(Vec<Dsm>) -> S) {
    let world = World::new(costs, 3, BLOCK, Regions { parts: vec![(0, PART)] });
    let machines: Vec<Dsm> = (0..3).map(|rank| Dsm::new(&world, rank, 1024)).collect();
    world.processes.iter().for_each(|process| process.measuring.set(true));
    let done = Rc::new(Cell::new(false));
    let (scenario, end) = (scenario(machines), done.clone());
    world.engine.spawn(async move {
        scenario.await;
        end.set(true);
    });
    assert_eq!(world.engine.run(), 0, "a step waits for what never comes");
    assert!(done.get());
}

#[test]
fn a_read_miss_is_one_call_and_one_more_for_each_wrong_link() {
    run(|p| async move {
        assert_eq!(trips(&p[1], p[1].read(0, 8)).await, 1.0);
        // The home of this one goes to process 2 first.
        assert_eq!(trips(&p[2], p[2].write(CHUNK, 8, 5)).await, 1.0);
        assert_eq!(trips(&p[1], p[1].read(CHUNK, 8)).await, 2.0);
        // And now it is known.
        p[2].write(CHUNK + 8, 8, 6).await;
        p[2].release().await;
        p[1].acquire_from(2).await;
        assert_eq!(trips(&p[1], p[1].read(CHUNK, 8)).await, 1.0);
    });
}

#[test]
fn a_range_is_one_round_trip_to_each_process() {
    run(|p| async move {
        assert_eq!(trips(&p[1], p[1].read(0, CHUNK)).await, 1.0);
        assert_eq!(trips(&p[2], p[2].write(2 * CHUNK, CHUNK, 1)).await, 1.0);
        assert_eq!(trips(&p[1], p[1].read(4 * CHUNK, 3 * CHUNK)).await, 1.0);
        assert_eq!(trips(&p[2], p[2].write(8 * CHUNK, 3 * CHUNK, 1)).await, 1.0);
        // What has moved is asked for once more, each at its new home.
        assert_eq!(trips(&p[1], p[1].read(7 * CHUNK + BLOCK, 3 * CHUNK)).await, 2.0);
        // Those of two processes at the same time.
        let one = wires(&p[0], p[0].read(18 * CHUNK - BLOCK, 2 * BLOCK)).await;
        let both = wires(&p[0], p[0].read(32 * CHUNK - BLOCK, 2 * BLOCK)).await;
        assert_eq!((one, both), (2, 2));
    });
}

/// How often a step waits for a message to come over the wire, one after the other. What it transfers takes less time.
async fn wires(machine: &Dsm, step: impl Future<Output = ()>) -> u64 {
    let engine = &machine.world().engine;
    let began = engine.now();
    step.await;
    machine.world().wait_until_idle(machine.rank()).await;
    (engine.now() - began) / ns(Costs::default().wire_ns)
}

#[test]
fn a_release_in_place_sends_nothing_and_one_elsewhere_is_one_round_trip_to_each_process() {
    run(|p| async move {
        p[0].write(0, 8, 1).await;
        p[1].read(0, 8).await;
        assert_eq!(trips(&p[0], p[0].release()).await, 0.0);
        // What was read before is not taken at the store.
        p[1].read(CHUNK, 2 * CHUNK).await;
        assert_eq!(trips(&p[1], p[1].write(CHUNK, 2 * CHUNK, 3)).await, 0.0);
        assert_eq!(trips(&p[1], p[1].release()).await, 1.0);
        // What has moved meanwhile is asked for once more.
        p[1].read(4 * CHUNK, 2 * BLOCK).await;
        p[1].read(5 * CHUNK, 2 * BLOCK).await;
        p[2].write(5 * CHUNK + BLOCK, 8, 4).await;
        p[1].write(4 * CHUNK, 8, 4).await;
        p[1].write(5 * CHUNK, 8, 4).await;
        p[1].write(5 * CHUNK + BLOCK + 8, 8, 4).await;
        assert_eq!(trips(&p[1], p[1].release()).await, 2.0);
        // The homes of two processes at the same time.
        let mut waited = Vec::new();
        for blocks in [[10, 11], [12, 33]] {
            for block in blocks.map(|chunk| chunk * CHUNK) {
                p[1].read(block, 8).await;
                p[1].write(block, 8, 5).await;
            }
            waited.push(wires(&p[1], p[1].release()).await);
        }
        assert_eq!(waited[0], waited[1], "of one process, and of two");
    });
}

/// Stores of several processes to a word of their own in each of some blocks, and a barrier.
async fn store_and_synchronise(p: &[Dsm], ranks: &[usize], blocks: &[u64], value: u64) {
    for &rank in ranks {
        for &block in blocks {
            p[rank].read(block, 8).await;
            p[rank].write(block + 8 * rank as u64, 8, value).await;
        }
    }
    for &rank in ranks {
        p[rank].release().await;
    }
    for &rank in ranks {
        for &from in ranks {
            p[rank].acquire_from(from as u32).await;
        }
    }
}

fn merged(p: &Dsm) -> u64 {
    let counters = p.counters();
    counters.iter().find(|(name, _)| *name == "blocks_merged_at_home").expect("there is such a counter").1
}

#[test]
fn a_release_that_merges_at_a_home_elsewhere_is_one_round_trip() {
    run(|p| async move {
        let blocks = [0, BLOCK, CHUNK];
        for value in 1..6 {
            store_and_synchronise(&p, &[0, 1], &blocks, value).await;
        }
        for i in [0, 1] {
            // Whoever it is that takes no homes back.
            p[i].read(0, 2 * CHUNK).await;
            for &block in &blocks {
                p[i].write(block + 8 * i as u64, 8, 9).await;
            }
        }
        let before = [merged(&p[0]), merged(&p[1])];
        let trips = [trips(&p[0], p[0].release()).await, trips(&p[1], p[1].release()).await];
        let merged = [merged(&p[0]) - before[0], merged(&p[1]) - before[1]];
        assert_eq!((trips, merged), ([0.0, 1.0], [0, 3]));
        p[0].acquire_from(1).await;
        p[2].acquire_from(0).await;
        p[2].acquire_from(1).await;
        for block in blocks {
            assert_eq!((p[2].load(block).await, p[2].load(block + 8).await), (9, 9));
        }
    });
}

#[test]
fn what_was_missed_after_the_last_notice_is_fetched_in_one_round_trip() {
    run(|p| async move {
        let chunks = [0, CHUNK, 3 * CHUNK];
        for value in 1..5 {
            for chunk in chunks {
                p[0].write(chunk, 2 * BLOCK, value).await;
            }
            p[0].release().await;
            p[1].acquire_from(0).await;
            // The first copies come from the home, the second ones from the writer of the notice.
            let ahead = if value < 3 { 0.0 } else { 1.0 };
            assert_eq!(trips(&p[1], p[1].coherence.fetch_ahead(None)).await, ahead, "{value}");
            let missed = async {
                for chunk in chunks {
                    p[1].read(chunk, 2 * BLOCK).await;
                }
            };
            assert_eq!(trips(&p[1], missed).await, 3.0 * (1.0 - ahead), "{value}");
            assert_eq!(p[1].load(CHUNK).await, value);
        }
        // What nobody has missed is fetched twice, and not again.
        for (value, ahead) in [(5, 1.0), (6, 1.0), (7, 0.0), (8, 0.0)] {
            p[0].write(0, 8, value).await;
            p[0].release().await;
            p[1].acquire_from(0).await;
            assert_eq!(trips(&p[1], p[1].coherence.fetch_ahead(None)).await, ahead, "{value}");
        }
        assert_eq!(p[1].load(0).await, 8);
    });
}

#[test]
fn what_was_missed_behind_a_flush_is_fetched_there_in_one_round_trip() {
    run(|p| async move {
        // A pipeline: each step hands over two blocks of its own, of which one is read at once, and one behind the next site.
        let steps = [0, CHUNK, 3 * CHUNK];
        for value in 1..8 {
            p[1].coherence.fetch_ahead(Some(1)).await;
            for step in steps {
                p[0].write(step, 2 * BLOCK, value).await;
                p[0].release().await;
                p[1].acquire_from(0).await;
                // The first copies come without a notice.
                let known = if value < 4 { 0.0 } else { 1.0 };
                assert_eq!(trips(&p[1], p[1].coherence.fetch_ahead(None)).await, known, "{value}");
                // Nothing new, so no other flush.
                assert_eq!(trips(&p[1], p[1].coherence.fetch_ahead(None)).await, 0.0, "{value}");
                assert_eq!(trips(&p[1], p[1].read(step, 8)).await, 1.0 - known, "{value}");
                assert_eq!(p[1].load(step).await, value);
            }
            let known = if value == 1 { 0.0 } else { 1.0 };
            assert_eq!(trips(&p[1], p[1].coherence.fetch_ahead(Some(2))).await, known, "{value}");
            let rest = async {
                for step in steps {
                    p[1].read(step + BLOCK, 8).await;
                }
            };
            assert_eq!(trips(&p[1], rest).await, 3.0 * (1.0 - known), "{value}");
        }
    });
}

#[test]
fn what_was_missed_behind_a_site_is_fetched_there_in_one_round_trip() {
    run(|p| async move {
        let chunks = [0, CHUNK, 3 * CHUNK];
        for value in 1..6 {
            // Notices of other sites come first, and make the copies cold.
            for _ in 0..3 {
                for chunk in chunks {
                    p[0].write(chunk, 2 * BLOCK, value).await;
                }
                p[0].release().await;
                p[1].acquire_from(0).await;
                assert_eq!(trips(&p[1], p[1].coherence.fetch_ahead(Some(1))).await, 0.0, "{value}");
            }
            let known = if value == 1 { 0.0 } else { 1.0 };
            assert_eq!(trips(&p[1], p[1].coherence.fetch_ahead(Some(2))).await, known, "{value}");
            let missed = async {
                p[1].read(0, 2 * BLOCK).await;
                p[1].write(CHUNK, 2 * BLOCK, value).await;
                p[1].read(3 * CHUNK, 2 * BLOCK).await;
            };
            assert_eq!(trips(&p[1], missed).await, 3.0 * (1.0 - known), "{value}");
            assert_eq!(p[1].load(3 * CHUNK).await, value);
            // The homes of what is stored to have come.
            assert_eq!(trips(&p[1], p[1].release()).await, 0.0, "{value}");
            p[0].acquire_from(1).await;
        }
        // What nobody misses any more is fetched once, and not again.
        for (value, ahead) in [(6, 1.0), (7, 0.0), (8, 0.0)] {
            for chunk in chunks {
                p[0].write(chunk, 2 * BLOCK, value).await;
            }
            p[0].release().await;
            p[1].acquire_from(0).await;
            assert_eq!(trips(&p[1], p[1].coherence.fetch_ahead(Some(2))).await, ahead, "{value}");
            p[1].release().await;
            p[0].acquire_from(1).await;
        }
        assert_eq!(p[1].load(0).await, 8);
    });
}

#[test]
fn an_acquire_whose_notices_came_with_a_message_is_no_call() {
    run(|p| async move {
        p[1].read(0, CHUNK).await;
        for value in 1..4 {
            p[0].write(0, 8, value).await;
            p[0].release().await;
            let mut message = Vec::new();
            p[0].coherence.add_piggyback(Rank(1), 1000, &mut message);
            assert!(!message.is_empty());
            p[1].coherence.receive_piggyback(Rank(0), &message).unwrap();
            let state = p[0].coherence.published();
            assert_eq!(trips(&p[1], p[1].coherence.acquire_published(Rank(0), state)).await, 0.0);
            assert_eq!(p[1].load(0).await, value);
        }
        // Without space for them.
        p[0].write(0, 8, 9).await;
        p[0].release().await;
        let mut message = Vec::new();
        p[0].coherence.add_piggyback(Rank(1), 100, &mut message);
        assert!(message.is_empty());
        let state = p[0].coherence.published();
        assert_eq!(trips(&p[1], p[1].coherence.acquire_published(Rank(0), state)).await, 1.0);
        assert_eq!(p[1].load(0).await, 9);
    });
}

/// Whatever comes instead of notices, the process that it comes to refuses it or can acquire as before.
#[test]
fn damaged_notices_are_refused_or_harmless() {
    run(|p| async move {
        let mut valid = Vec::new();
        for value in 1..20 {
            for chunk in 0..value % 4 {
                p[2].read(chunk * CHUNK, 8).await;
                p[0].write(chunk * CHUNK, 8, value).await;
            }
            p[0].release().await;
            p[2].acquire_from(0).await;
            let mut message = Vec::new();
            p[0].coherence.add_piggyback(Rank(2), 1000, &mut message);
            valid.extend((!message.is_empty()).then_some(message));
        }
        let mut refused = 0;
        dsm_mutate::each(&valid, 20_000, |message| {
            refused += u32::from(p[1].coherence.receive_piggyback(Rank(0), message).is_err());
        });
        assert!((1000..20_000).contains(&refused), "{refused} refused");
        // There is no such process.
        assert!(p[1].coherence.receive_piggyback(Rank(3), &valid[0]).is_err());
        assert!(p[1].coherence.receive_piggyback(Rank(1), &valid[0]).is_err());
    });
}

#[test]
fn acquires_from_all_are_one_round_trip() {
    run(|p| async move {
        for value in 1..4 {
            for (machine, chunk) in p.iter().zip(0..2) {
                machine.write(chunk * CHUNK, 8, value).await;
                machine.release().await;
            }
            let all = || (0..3).map(Rank);
            p[2].coherence.acquire_from_all(all()).await;
            assert_eq!([p[2].load(0).await, p[2].load(CHUNK).await], [value; 2]);
            assert_eq!(trips(&p[2], p[2].coherence.acquire_from_all(all())).await, 2.0, "one to each");
            assert_eq!(wires(&p[2], p[2].coherence.acquire_from_all(all())).await, 2);
        }
    });
}

#[test]
fn an_acquire_is_one_call() {
    run(|p| async move {
        p[1].read(0, 8 * CHUNK).await;
        for chunk in 0..8 {
            p[0].write(chunk * CHUNK, 8, 1).await;
        }
        p[0].release().await;
        assert_eq!(trips(&p[1], p[1].acquire_from(0)).await, 1.0);
        assert_eq!(trips(&p[1], p[1].acquire_from(0)).await, 1.0);
    });
}

#[test]
fn an_atomic_operation_elsewhere_is_one_call_until_the_home_comes() {
    run(|p| async move {
        assert_eq!(p[0].add(0, 1).await, 0);
        assert_eq!(trips(&p[0], drop_result(p[0].add(0, 1))).await, 0.0);
        let mut calls = 0;
        for i in 0..32 {
            // Another process comes to the chunk in between, at first.
            if i < 12 {
                p[2].add(8, 1).await;
            }
            let now = trips(&p[1], drop_result(p[1].add(0, 1))).await;
            assert!(now <= 1.0);
            calls += now as u32;
        }
        assert!((13..=24).contains(&calls), "{calls} calls");
        assert_eq!((p[0].add(0, 0).await, p[0].add(8, 0).await), (34, 12));
        // Who has a copy learns of the result, and so does the next reader at once.
        p[0].write(CHUNK, 8, 5).await;
        assert_eq!(p[2].load(CHUNK).await, 5);
        p[1].add(CHUNK, 2).await;
        p[1].release().await;
        p[2].acquire_from(1).await;
        assert_eq!(p[2].load(CHUNK).await, 7);
    });
}

#[test]
fn an_atomic_read_elsewhere_is_one_call_and_one_more_for_each_wrong_link() {
    run(|p| async move {
        p[0].add(0, 7).await;
        assert_eq!(trips(&p[0], drop_result(p[0].look(0))).await, 0.0);
        assert_eq!(trips(&p[1], drop_result(p[1].look(0))).await, 1.0);
        // The home goes to process 2.
        p[2].write(8, 8, 5).await;
        assert_eq!(trips(&p[1], drop_result(p[1].look(0))).await, 2.0);
        assert_eq!(p[1].look(0).await, 7);
    });
}

async fn drop_result<T>(step: impl Future<Output = T>) {
    step.await;
}

/// Microseconds that a step takes.
async fn micros(machine: &Dsm, step: impl Future<Output = ()>) -> f64 {
    let engine = &machine.world().engine;
    let began = engine.now();
    step.await;
    us(engine.now() - began)
}

/// Microseconds of the book's steps where a round trip of an empty message takes this many.
fn times(round_trip: u64) -> Vec<f64> {
    let costs = Costs { wire_ns: round_trip * 500 - 20, ..Costs::default() };
    let times = Rc::new(RefCell::new(Vec::new()));
    let all = times.clone();
    run_at(costs, |p| async move {
        let mut steps = vec![micros(&p[1], p[1].read(0, 8)).await];
        steps.push(micros(&p[1], p[1].read(4 * CHUNK, 4 * CHUNK)).await);
        steps.push(micros(&p[2], p[2].read(14 * CHUNK, 4 * CHUNK)).await);
        steps.push(micros(&p[1], p[1].write(9 * CHUNK, 8, 1)).await);
        p[1].read(10 * CHUNK, 2 * CHUNK).await;
        p[1].write(10 * CHUNK, 2 * CHUNK, 1).await;
        steps.push(micros(&p[1], p[1].release()).await);
        all.replace(steps);
    });
    times.take()
}

#[test]
fn the_book_says_what_steps_take_at_two_latencies() {
    let book = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/research/protocol.md");
    let book = std::fs::read_to_string(book).unwrap();
    let table = book.split("| step, simulated |").nth(1).expect("the table");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cell = |line: &str, i: usize| line.split('|').nth(i).unwrap().trim().to_owned();
    let figures: Vec<[String; 2]> = rows.map(|line| [4, 5].map(|i| cell(line, i))).collect();
    let [near, far] = [2, 30].map(times);
    let figure = |time: f64| format!("{time:.1}");
    let now: Vec<_> = near.into_iter().zip(far).map(|(near, far)| [figure(near), figure(far)]).collect();
    assert_eq!(figures, now, "the rows of the table");
}
