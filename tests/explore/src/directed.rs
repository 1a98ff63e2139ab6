//! Programs for rules that generated ones need much luck to come near, beside those of [`crate::fault_search`]. Each comes with the number of random schedules that finds
//! what it is for.

use crate::program::Program;

/// So many turns of a thread, numbered.
fn turns(count: usize, turn: impl Fn(usize) -> String) -> String {
    (1..=count).map(|i| turn(i) + " ").collect()
}

/// Reads and writes byte 0 under lock 0.
fn add(value: usize) -> String {
    format!("lock0 r0 w0={value} unlock0")
}

/// Writes to blocks 1 to 4 under lock 1: notices that a short list drops.
fn overflow(rounds: usize) -> String {
    turns(rounds, |_| "lock1 w4=1 unlock1 lock1 w8=1 unlock1 lock1 w12=1 unlock1 lock1 w16=1 unlock1".into())
}

/// All programs.
pub fn programs() -> Vec<(Program, u64)> {
    vec![
        (several_blocks_locked(), 1000),
        (stored_to_while_taken(), 5000),
        (fetch_of_two_blocks(), 22_000),
        (stored_back_before_a_release(), 30_000),
        (overwritten_with_one_not_taken(), 1000),
        (overwritten_copy_expires(), 1000),
        (single_block_release_beside_a_store(), 18_000),
        (single_block_release_beside_a_taken_block(), 1000),
        (single_block_move_without_a_store(), 5000),
        (single_block_release_with_a_notice_held(), 2000),
        (single_block_move_below_a_bound(), 5000),
        (single_block_move_of_an_expired_copy(), 12_000),
        (single_block_move_of_an_overwritten_block(), 5000),
        (single_block_moves_of_two_blocks(), 1000),
        (diffs_beside_a_store(), 5000),
        (adopted_when_overwritten(), 1000),
        (adopted_in_a_new_version(), 1000),
        (look_at_a_copy_that_is_fetched(), 8000),
        (signal_behind_a_lock(), 1000),
    ]
}

/// Three processes lock the same three blocks of one chunk: some are free, some held, at times all.
pub fn several_blocks_locked() -> Program {
    let writer = |p: usize| {
        let stores = |i| format!("lock{p} w{p}={i} w{}={i} w{}={i} unlock{p}", 4 + p, 8 + p);
        format!("r0 r4 r8 {}", turns(3, stores))
    };
    Program::parse(4, 3, 4, &["", &writer(1), &writer(2), &writer(3)]).home_run(3)
}

/// A home stores to a block, and stores back what was there, while another process takes it.
pub fn stored_to_while_taken() -> Program {
    let home = "lock0 w13=1 w17=1 w21=1 unlock0 r0 r24 lock2 w22=7 r28 r4 w22=0 unlock2";
    let reader = "fetch12+12 lock0 unlock0 fetch12+12 lock2 r22 unlock2";
    Program::parse(3, 9, 4, &["w20=5", home, reader]).home_run(3)
}

/// A process fetches two blocks, of which one leaves its home.
pub fn fetch_of_two_blocks() -> Program {
    let home = "lock0 w1=1 unlock0 lock0 w30=7 r64 r96 r128 w30=0 unlock0";
    Program::parse(3, 5, 32, &[home, "fetch0+64 lock0 r30 unlock0", "w3=1"]).home_run(2)
}

/// A former home has stored, and stores back much later what was there.
pub fn stored_back_before_a_release() -> Program {
    let writer = "lock0 w5=1 unlock0 r0 r8 lock2 w6=7 r12 r20 r24 r28 w6=0 unlock2";
    Program::parse(3, 8, 4, &["w4=5", writer, "r7 lock0 unlock0 r7 lock2 r6 unlock2"])
}

/// Of blocks that are overwritten some are not taken before.
pub fn overwritten_with_one_not_taken() -> Program {
    let threads = ["permit4+4 lock0 unlock0", "o0+12=3 lock0 unlock0", "permit8+4"];
    Program::parse(3, 3, 4, &threads).home_run(3)
}

/// Copies left writable by a process that has overwritten the block are covered by a bound.
pub fn overwritten_copy_expires() -> Program {
    let reader = "lock0 r0 unlock0 lock0 r0 unlock0";
    let round = turns(3, |_| "lock1 w4=1 unlock1 lock1 w8=1 unlock1 lock1 w16=1 unlock1".into());
    let program =
        Program::parse(3, 5, 4, &[reader, "lock0 o0+4=2 unlock0", &format!("lock0 {round} unlock0")]);
    program.notices(2)
}

/// A block follows a lock while another thread of a holder stores to other bytes of it.
pub fn single_block_release_beside_a_store() -> Program {
    let holder = |p: usize| turns(3, |i| add(2 * i - 1 + p));
    let writer = turns(3, |i| format!("lock1 w1+6={i} unlock1"));
    let reader = "r7 lock1 r1+6 unlock1 lock1 r1+6 unlock1";
    Program::parse(2, 1, 8, &[&holder(0), &writer, &holder(1), reader])
}

/// A release finds one block stored to, and one that was taken from here.
pub fn single_block_release_beside_a_taken_block() -> Program {
    let writer = "lock2 w4=1 w0=1 unlock2 lock2 w4=2 w0=2 unlock2";
    Program::parse(3, 2, 4, &[writer, "w1=5", "r5 lock2 r0 unlock2 r5 lock2 r0 unlock2"]).home_run(2)
}

/// A block follows a lock whose holders do not all store to it.
pub fn single_block_move_without_a_store() -> Program {
    let holder = |p: usize, stores: &str| {
        let turn = |(i, c)| if c == 'w' { add(1 + p + 3 * i) + " " } else { "lock0 r0 unlock0 ".into() };
        stores.chars().enumerate().map(turn).collect::<String>()
    };
    Program::parse(3, 1, 4, &[&holder(0, "wwww"), &holder(1, "wwrwwr"), &holder(2, "wwrwr")])
}

/// A release publishes one block while a notice of another one is held.
pub fn single_block_release_with_a_notice_held() -> Program {
    let first = turns(4, |i| format!("lock0 w0={i} unlock0"));
    let second = turns(4, |i| format!("lock1 r4 lock0 w4={i} unlock0 unlock1"));
    let third = turns(4, |i| format!("lock1 r4 w4={} unlock1", 10 + i));
    Program::parse(4, 2, 4, &[&first, &second, &turns(4, |_| "lock0 r0 unlock0".into()), &third])
}

/// The home of a block that follows a lock has a greater bound than who takes it.
pub fn single_block_move_below_a_bound() -> Program {
    let holder = |p: usize, count| turns(count, |i| format!("{} lock1 unlock1", add(10 * p + i)));
    let taker = format!("r5 {}", turns(3, |i| add(10 + i)));
    Program::parse(4, 5, 4, &[&holder(0, 3), &taker, &overflow(4), &holder(2, 2)]).notices(2)
}

/// A block follows a lock to processes whose copies have expired, and leaves copies there.
pub fn single_block_move_of_an_expired_copy() -> Program {
    let holder = |p: usize| turns(4, |i| format!("{} lock1 unlock1", add(10 * p + i)));
    Program::parse(4, 5, 4, &[&holder(0), &overflow(3), &holder(1), &holder(2)]).notices(2)
}

/// A block that two others have overwritten follows a lock to where it was stored to in place. Behind a barrier it is taken from there with a twin.
pub fn single_block_move_of_an_overwritten_block() -> Program {
    let overwrite = |value| format!("lock0 o0+4={value} unlock0");
    let none = "lock0 unlock0 lock0 unlock0 lock0 unlock0";
    let stores = "w0=7 w5=1 lock3 unlock3 w0=8 w5=2 lock3 unlock3";
    let first = format!("{} {} {none} {} {} barrier {stores}", add(1), add(2), add(3), add(4));
    let stores = "w1=3 w6=1 lock4 unlock4 w1=4 w6=2 lock4 unlock4";
    let second = format!("{} {} {} barrier {stores}", add(11), overwrite(12), overwrite(14));
    let third = format!("{} {} barrier", overwrite(22), overwrite(23));
    Program::parse(3, 2, 4, &[&first, &second, &third]).home_run(2)
}

/// Two blocks under two locks; at times only one of them is looked at.
pub fn single_block_moves_of_two_blocks() -> Program {
    let turn = |v| format!("{} lock1 r5 w5={v} unlock1 lock0 unlock0", add(v));
    Program::parse(2, 2, 4, &[&turns(3, turn), &turns(3, |i| turn(10 + i))]).home_run(2)
}

/// Changes of a block are merged at its home while another thread of the process stores to it.
pub fn diffs_beside_a_store() -> Program {
    let stores = |byte: usize, lock: usize| turns(3, |i| format!("w{byte}={i} lock{lock} unlock{lock}"));
    let writer = turns(3, |i| format!("lock2 w4+4={i} unlock2"));
    let reader = "lock2 r4+4 unlock2 lock2 r4+4 unlock2";
    Program::parse(3, 1, 16, &[&stores(3, 5), reader, &stores(1, 1), &writer, &stores(0, 3), "r15"])
}

/// Blocks are used anew where they had been when another process overwrote them.
pub fn adopted_when_overwritten() -> Program {
    let first = "adopt adopt w0=5 w4=6 lock0 unlock0 w0=6 w4=7 lock0 unlock0";
    let second = "o0+8=2 adopt adopt w1=3 w5=1 lock1 unlock1 w1=4";
    let third = "adopt adopt w2=3 lock2 unlock2 w6=1 lock2 unlock2";
    let program = Program::parse(3, 3, 4, &[first, second, third]).home_run(3);
    // No neighbours: each is given up by itself.
    Program { stride: 2, ..program }
}

/// What is written to blocks after they began to be used anew is dropped from a short list.
pub fn adopted_in_a_new_version() -> Program {
    let stores = [(0, 1), (4, 1), (8, 1), (12, 1), (16, 1), (4, 2)];
    let first: String = stores.map(|(byte, value)| format!("lock0 w{byte}={value} unlock0 ")).concat();
    let second = "adopt r1 lock0 r0 unlock0 lock0 r0 unlock0";
    let third = "adopt r5 r9 r13 r17 lock0 unlock0 r5 r9 r13";
    Program::parse(3, 5, 4, &[&format!("adopt {first}"), second, third]).notices(2)
}

/// A former home fetches a variable that others change atomically, while a third process looks at it there.
pub fn look_at_a_copy_that_is_fetched() -> Program {
    let threads = ["w9=1 barrier await2 r15", "barrier a0+8 post2", "r14 barrier look0+8 look0+8"];
    Program::parse(3, 1, 16, &threads)
}

/// A notice that was passed along with a lock goes on behind a signal of a process that has nothing to publish.
pub fn signal_behind_a_lock() -> Program {
    Program::parse(3, 2, 4, &["w0=1 unlock0", "await0 post3", "r1 await3 r0"])
}
