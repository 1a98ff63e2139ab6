//! Schedules that are given leg by leg, for interleavings of a few accesses. A failure shows the whole account.

use std::rc::Rc;

use dsm_explore::beginnings::beginnings;
use dsm_explore::program::Program;
use dsm_explore::search::steered::Leg::{Drain, HoldStores, Release, To, ToWait};
use dsm_explore::search::steered::{self, Leg};

fn steer(program: &Program, legs: &[Leg]) {
    if let Err(failure) = steered::run(program, legs) {
        panic!("{}\n{}", failure.account(), failure.why);
    }
}

/// A former home stores to a block, stores back what was there, and takes the home back, all while a process reads from it as from the writer.
#[test]
fn home_comes_back_during_a_read_from_a_writer() {
    let writer = "lock0 w1=1 unlock0 lock2 w2=7 lock6 w2=0 unlock2 w1=2 lock3 unlock3";
    let program = Program::parse(3, 1, 4, &[writer, "w0=5", "r3 lock0 unlock0 r3 lock2 r2 unlock2"]);
    let legs = [
        To(2, "---- lock0"),
        // Read, so a home whose stores ask.
        To(0, "---- lock2"),
        To(2, "---- r3"),
        To(2, "fetch byte 0 from p0"),
        To(1, "write byte 0"),
        To(0, "write byte 2: 0x07"),
        To(2, "fetch byte 3 from p0"),
        To(0, "---- final barrier"),
        To(2, "---- final barrier"),
    ];
    steer(&program, &legs);
}

/// A process reads from a home, which leaves meanwhile and does not come back; somebody has the records locked when the reader looks for the second time.
#[test]
fn records_are_locked_again_at_the_second_look() {
    let home = "lock0 w1=1 unlock0 lock2 w2=7 lock6 w2=0 unlock2";
    let taker = "r3 lock0 unlock0 w0=5 w4=5";
    let program = Program::parse(3, 2, 4, &[home, taker, "r3 lock2 r2 unlock2"]).home_run(2);
    let legs = [
        To(1, "---- lock0"),
        To(0, "---- lock2"),
        To(1, "---- w0"),
        To(2, "fetch byte 0 from p0"),
        To(1, "write byte 0"),
        To(0, "write byte 2: 0x07"),
        To(2, "fetch byte 3 from p0"),
        To(0, "---- final barrier"),
        To(1, "cas records lock"),
        To(2, "---- lock2"),
    ];
    steer(&program, &legs);
}

/// A home leaves while a process reads there. The former home has locked the records once since, as often as the process that took it: their number counts
/// both.
#[test]
fn records_are_locked_by_both_sides_during_a_read() {
    let home = "lock0 w1=1 unlock0 lock2 w2=7 lock6 w2=0 w5=1 unlock2";
    let taker = "r3 r7 lock0 unlock0 w0=5";
    let program = Program::parse(3, 2, 4, &[home, taker, "r3 lock2 r2 unlock2"]).home_run(2);
    let legs = [
        To(1, "---- lock0"),
        To(0, "---- lock2"),
        To(1, "---- w0"),
        To(2, "fetch byte 0 from p0"),
        To(1, "write byte 0"),
        To(0, "write byte 2: 0x07"),
        To(2, "fetch byte 3 from p0"),
        To(0, "write byte 5"),
        To(2, "---- lock2"),
    ];
    steer(&program, &legs);
}

/// A home leaves while a process merges what is there with bytes of its own.
#[test]
fn home_leaves_during_a_merge() {
    let home = "lock0 w1=1 unlock0 lock0 w1=2 unlock0 lock2 w2=7 lock6 w2=0 unlock2";
    let reader = "w3=1 lock0 w3=2 lock2 r2 unlock2 unlock0";
    let program = Program::parse(3, 1, 8, &[home, "r5 lock0 unlock0 w0=5", reader]);
    let legs = [
        To(1, "---- lock0"),
        To(0, "write byte 1: 0x02"),
        To(2, "---- lock0"),
        To(0, "---- lock2"),
        To(1, "---- w0"),
        To(2, "snapshot byte 0 from p0"),
        To(1, "write byte 0"),
        To(0, "write byte 2: 0x07"),
        To(2, "snapshot byte 7 from p0"),
        To(0, "---- final barrier"),
        To(2, "---- final barrier"),
    ];
    steer(&program, &legs);
}

/// What was read from a writer that is the home no longer never counts as read, not even until it is read from the home: another thread would see it.
#[test]
fn another_thread_reads_beside_a_read_from_a_former_home() {
    let writer = "lock0 w1=1 unlock0 lock4 w2=0 unlock4 lock2 w2=7 lock6 w2=0 unlock2";
    let reader = "r3 lock0 unlock0 lock4 unlock4 r3";
    let program = Program::parse(3, 1, 4, &[writer, "", "w0=5", "", reader, "lock2 r2 unlock2"]);
    let legs = [
        ToWait(1),
        ToWait(3),
        To(4, "---- lock0"),
        To(0, "---- lock4"),
        To(2, "write byte 0"),
        To(0, "---- lock2"),
        To(4, "---- r3"),
        To(0, "write byte 2: 0x07"),
        To(4, "fetch byte 3 from p0"),
        To(0, "---- final barrier"),
        To(5, "---- r2"),
        HoldStores(4),
        To(4, "load link"),
        Drain(4, "state"),
        ToWait(5),
        Release,
    ];
    steer(&program, &legs);
}

/// A list begins anew twice while it is read. Both times it keeps a notice that the reader lacks, which then is where the reader has read before.
#[test]
fn list_begins_anew_twice_while_it_is_read() {
    let add = |byte: usize| format!("a{byte} lock5 unlock5");
    let writer = format!(
        "{} {} a4 post3 lock6 w0=1 post4 {} {} {} {}",
        add(4),
        add(4),
        add(8),
        add(8),
        add(8),
        add(12)
    );
    let program = Program::parse(2, 4, 4, &[&writer, "await3 r1 await4 r0"]).home_run(4).notices(4);
    let legs = [
        To(0, "---- lock6"),
        To(1, "---- await4"),
        To(0, "---- a8"),
        To(1, "acquire from p0"),
        To(0, "---- final barrier"),
    ];
    steer(&program, &legs);
}

/// Additions to a variable, so many: two processes that add by turns raise their versions.
fn turns(count: usize, add: &str) -> String {
    vec![add; count].join(" ")
}

/// A load takes a home whose stores do not ask, in versions one of which is a trial: what was stored there is listed by the taker only.
#[test]
fn load_takes_a_writable_home() {
    for count in 1..25 {
        let adds = turns(count, "a8");
        let home = format!("lock7 unlock7 lock5 w1=1 unlock5 lock5 w1=2 unlock5 {adds} lock0 w1=3 unlock0");
        let taker = format!("r3 w3=1 lock5 unlock5 lock5 unlock5 {adds} r3 lock0 unlock0");
        let reader = "r2 lock5 unlock5 r2 lock0 r1 unlock0";
        let program = Program::parse(3, 3, 4, &[&home, &taker, reader]).home_run(3);
        let mut legs = vec![
            // Stores ask there at first.
            To(2, "---- lock5"),
            To(0, "---- lock5"),
            // Migratory from now on.
            To(1, "---- unlock5"),
            To(1, "---- lock5"),
            To(0, "---- a8"),
            To(1, "---- a8"),
        ];
        for _ in 0..count {
            legs.extend([To(0, "---- "), To(1, "---- ")]);
        }
        legs.extend([
            // A copy without what is stored now.
            To(2, "---- lock0"),
            To(0, "---- unlock0"),
            To(1, "---- lock0"),
            To(0, "---- final barrier"),
            To(1, "---- final barrier"),
        ]);
        steer(&program, &legs);
    }
}

/// A home follows a lock to where a bound has ended the copy, in versions one of which is a trial, and is taken before the next release: a copy
/// stays, which the next bound has to end.
#[test]
fn single_block_move_leaves_a_copy() {
    for count in 1..25 {
        let adds = turns(count, "a20");
        let holder = format!("lock0 r0 w0=1 unlock0 lock1 unlock1 {adds} lock0 unlock0 lock1 r1 unlock1");
        let taker = "a4 a8 a12 a4 a8 a12 lock1 unlock1 w1=5 lock2 unlock2 a4 a8 a12 lock1 unlock1";
        let other = format!("a4 a8 a12 {adds} a4 a8 a12");
        let threads = ["lock0 r0 w0=2 unlock0", &holder, taker, &other];
        let program = Program::parse(4, 6, 4, &threads).home_run(6).notices(2);
        let mut legs = vec![
            To(1, "---- lock1"),
            To(0, "---- final barrier"),
            To(2, "---- a4"),
            To(2, "---- a4"),
            To(3, "---- a20"),
            To(2, "---- w1"),
            To(1, "---- a20"),
        ];
        for _ in 0..count {
            legs.extend([To(1, "---- "), To(3, "---- ")]);
        }
        legs.extend([
            To(1, "---- unlock0"),
            To(3, "---- final barrier"),
            To(2, "---- a4"),
            To(1, "---- lock1"),
            To(2, "---- final barrier"),
        ]);
        steer(&program, &legs);
    }
}

/// Schedules that begin as those in which some seeded faults are found, and go on at random.
#[test]
fn beginnings_go_on_at_random() {
    for (program, legs) in beginnings() {
        let program = Rc::new(program);
        for seed in 0..if cfg!(debug_assertions) { 20 } else { 100 } {
            if let Err(failure) = steered::run_randomly(&program, &legs, seed) {
                panic!("seed {seed}: {}\n{}", failure.why, failure.account());
            }
        }
    }
}
