//! Programs with the beginning of a schedule, up to where a rule of the protocol comes to matter; random schedules go on from there.

use dsm_coherence::{Fault, Part};

use crate::program::Program;
use crate::search::steered::Leg::{self, Drain, HoldPosts, HoldStores, Place, Release, To, ToWait};

/// A program and how each of its runs begins.
pub type Beginning = (Program, Vec<Leg>);

/// For a fault that needs more luck than random schedules of any program bring.
pub fn beginning(fault: Fault) -> Option<Beginning> {
    match fault {
        Fault::FetchWhileTaken | Fault::SingleReadUnwitnessed => Some(home_leaves_during_a_fetch()),
        Fault::OneSidedWitnessBeside => Some(home_leaves_during_a_one_sided_read()),
        Fault::ReadFormerHome => Some(former_home_stores_back()),
        Fault::NoTwinFlush => Some(handed_over_while_stored_to()),
        Fault::MergeNoticeEarly => Some(read_before_a_merge()),
        Fault::CopyBesideArrival => Some(copied_from_where_the_home_arrives()),
        Fault::ArrivalNotAwaited => Some(told_of_an_own_version_that_is_on_its_way()),
        Fault::LabelUnlocked => Some(copy_labelled_beside_redirection()),
        Fault::UpgradeMarkedLate => Some(ordered_addition_beside_a_store()),
        _ => None,
    }
}

/// All of them.
pub fn beginnings() -> Vec<Beginning> {
    Fault::ALL.iter().filter_map(|fault| beginning(*fault)).collect()
}

/// A process executes an ordered addition, with the records locked, while a home of which another one has a copy allows stores again.
fn ordered_addition_beside_a_store() -> Beginning {
    let home = "w1=1 lock1 unlock1 lock2 unlock2 w1=3 look4";
    let threads = [home, "r2 lock1 unlock1 r2 lock0 r0 unlock0", "ordered0 lock0 unlock0"];
    let legs = vec![
        To(1, "---- lock1"),
        To(0, "---- lock2"),
        To(1, "---- lock0"),
        To(0, "---- w1"),
        HoldStores(0),
        To(0, "---- look4"),
        Drain(0, "records lock 0"),
        To(2, "---- lock0"),
        Release,
    ];
    (Program::parse(3, 2, 4, &threads).without(Part::OpenRecords.into()), legs)
}

/// The home of a block leaves while a process copies it. What is stored at the old home then, and is read there, is stored back before the next release.
fn home_leaves_during_a_fetch() -> Beginning {
    let home = "lock1 w1=1 unlock1 lock0 w14=7 r16 r32 w14=0 unlock0";
    let threads = [home, "r3 lock1 unlock1 w0=5", "r2 lock0 r14 unlock0"];
    let legs = vec![
        To(1, "---- lock1"),
        // Read, so stores ask there: who takes it leaves no twin.
        To(0, "---- lock0"),
        To(2, "fetch byte 0 from p0"),
        To(1, "write byte 0"),
        To(0, "write byte 14: 0x07"),
    ];
    (Program::parse(3, 3, 16, &threads), legs)
}

/// The same, where the block is read one-sidedly, and the last look at the records comes before the contents.
fn home_leaves_during_a_one_sided_read() -> Beginning {
    let (program, _) = home_leaves_during_a_fetch();
    let mut legs = vec![
        To(1, "---- lock1"),
        To(0, "---- lock0"),
        To(2, "one-sided write of tail"),
        HoldPosts(2),
        ToWait(2),
    ];
    legs.extend(["homes", "lease", "chunk version", "wr[", "records lock"].map(|cell| Place(2, cell)));
    legs.extend([To(1, "write byte 0"), To(0, "write byte 14: 0x07")]);
    (program.one_sided(), legs)
}

/// Who was told of a version reads it from its writer, where the home is no longer, and what is stored there is stored back before the next release.
fn former_home_stores_back() -> Beginning {
    let home = "lock1 w1=1 unlock1 lock0 w2=7 r4 r8 w2=0 unlock0";
    let threads = [home, "w0=5", "r3 lock1 unlock1 r3 lock0 r2 unlock0"];
    let legs =
        vec![To(2, "---- lock1"), To(0, "---- lock0"), To(1, "write byte 0"), To(0, "write byte 2: 0x07")];
    (Program::parse(3, 3, 4, &threads), legs)
}

/// A process queues for a block behind another one, which stores to it again after it has handed it over, and releases.
fn handed_over_while_stored_to() -> Beginning {
    let (first, second) = ("r3 w1=1 a0 w1=0 lock1 unlock1", "r3 a0 lock2 unlock2");
    let legs = vec![
        To(2, "---- a0"),
        To(1, "atomic add to byte 0"),
        ToWait(2),
        To(1, "post grant at p2"),
        To(2, "snapshot byte 1 from p1: 0x01"),
        To(1, "write byte 1: 0x00"),
    ];
    (Program::parse(3, 1, 4, &["", first, second]), legs)
}

/// A process that has a copy of a contended block acquires from another one that is about to merge its changes at the home, reads the block again, and hears of the merge.
fn read_before_a_merge() -> Beginning {
    let home = "w2=1 barrier w2=2 barrier set8=1";
    let writer = "r1 w1=1 barrier w1=2 barrier w1=3 set12=1";
    let reader = "barrier r11 barrier r3 wait8=1 r3 wait12=1 r1";
    let legs = vec![
        ToWait(0),
        ToWait(1),
        To(2, "---- r11"),
        To(0, "---- w2+1=0x2"),
        To(1, "---- w1+1=0x2"),
        ToWait(0),
        ToWait(1),
        To(2, "---- r3"),
        To(0, "---- set8"),
        // Contended by now, with the home at process 0.
        To(1, "---- set12"),
        To(2, "---- wait8"),
        To(0, "---- final barrier"),
        To(1, "own log = "),
        To(2, "---- wait12"),
    ];
    // A chunk for each block: the flags raise no lease of the contended one.
    (Program { stride: 64, ..Program::parse(3, 4, 4, &[home, writer, reader]) }, legs)
}

/// One thread of a process is taking a home by a message when another one hears of the new version from the old home, and reads.
fn told_of_an_own_version_that_is_on_its_way() -> Beginning {
    let threads = ["lock0 w3=5 unlock0", "", "r2 a1", "lock0 r3 unlock0"];
    let legs = vec![
        To(2, "---- a1"),
        To(0, "write byte 3: 0x05"),
        To(2, "or Taken.0 at p0"),
        // What comes with the reply does not become visible yet.
        HoldStores(2),
        To(2, "post records lock 0 at p0"),
        To(0, "---- final barrier"),
    ];
    (Program::parse(2, 1, 4, &threads).by_agents(), legs)
}

/// A process has taken a home by a message, and what comes with the reply is not visible yet, when another one, which the old home has told of the version, reads from it.
fn copied_from_where_the_home_arrives() -> Beginning {
    let threads = ["lock0 w0=1 unlock0", "r2 lock0 r0 unlock0", "w1=1"];
    let legs = vec![
        To(1, "---- lock0"),
        To(0, "write byte 0"),
        HoldStores(2),
        To(2, "post records lock 0 at p0"),
        To(0, "---- final barrier"),
        To(1, "snapshot byte 2 from p2"),
    ];
    (Program::parse(3, 1, 3, &threads).by_agents(), legs)
}

/// A process that has to tell of a version reads the block from its home, which has left and returned since a lookup went along the same link. That one redirects the link only then, to
/// where the home has been meanwhile, and another process takes the version that it is told of for that home's.
fn copy_labelled_beside_redirection() -> Beginning {
    let teller = "w0=1 post0 await1 r4 post5";
    let first_and_last = "await0 w1=2 post1 post6 await3 w1=3";
    let second = "await6 w2=4 post2";
    let third = "r5 await2 w3=5 post3 await5 r4";
    let threads = [teller, first_and_last, second, third, "r6"];
    let legs = vec![
        To(0, "---- await1"),
        To(3, "---- await2"),
        To(1, "---- await3"),
        To(0, "load link[0] at p1: 0x1"),
        To(2, "---- final barrier"),
        To(4, "overwrite Extent"),
        To(3, "---- await5"),
        To(1, "---- final barrier"),
        To(0, "---- post5"),
        To(4, "---- final barrier"),
    ];
    (Program::parse(5, 1, 8, &threads).by_agents(), legs)
}
