//! Messages of calls that nobody sends are refused or do no harm, whatever is in them.

use dsm_coherence::{CHUNK_BLOCKS, Fabric, Rank, calls};
use dsm_simulate::costs::Costs;
use dsm_simulate::fabric::SimFabric;
use dsm_simulate::net::{Regions, Shared, World};

const BLOCK: u64 = 64;

fn world() -> Shared {
    World::new(Costs::default(), 3, BLOCK, Regions { parts: vec![(0, 4 * CHUNK_BLOCKS * BLOCK)] })
}

/// splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// Bytes that begin like a request, with small numbers where its fields are, in which some are changed.
fn request(random: &mut Random) -> Vec<u8> {
    let mut bytes: Vec<u8> = vec![random.below(9) as u8];
    bytes.extend((0..random.below(20)).map(|_| random.below(128) as u8));
    bytes.extend((0..8 * random.below(80)).map(|_| random.below(3) as u8));
    for _ in 0..random.below(4) {
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] = random.next() as u8;
    }
    bytes
}

#[test]
fn whatever_comes_is_refused_or_answered() {
    const REQUESTS: u64 = 200_000;
    let world = world();
    let (here, fabric) = (world.clone(), SimFabric::new(&world, 1));
    let task = async move {
        let mut reply = vec![0; fabric.reply_bytes()];
        let mut answered = 0;
        for seed in 0..REQUESTS {
            let request = request(&mut Random(seed));
            if let Ok(length) = calls::serve(&fabric, Rank(1), &request, &mut reply).await {
                assert!(length <= reply.len(), "seed {seed}");
                answered += 1;
            }
            here.wait_until_idle(1).await;
        }
        assert!(answered > REQUESTS / 20, "{answered} were answered");
    };
    world.engine.spawn(task);
    assert_eq!(world.engine.run(), 0, "a call waits");
}

#[test]
fn replies_and_requests_need_space() {
    let world = world();
    let fabric = SimFabric::new(&world, 1);
    let task = async move {
        // `lend` of two blocks from the first on: kind, first, count, least lease, no versions.
        let lend = [0, 0, 2, 0, 0];
        let mut reply = vec![0; calls::RESULT_BYTES + 2 * BLOCK as usize];
        assert!(calls::serve(&fabric, Rank(1), &lend, &mut reply).await.is_ok());
        let short = reply.len() - 1;
        assert_eq!(calls::serve(&fabric, Rank(1), &lend, &mut reply[..short]).await, Err(calls::Malformed));
        assert_eq!(calls::serve(&fabric, Rank(1), &lend[..3], &mut reply).await, Err(calls::Malformed));
        assert_eq!(calls::serve(&fabric, Rank(1), &[], &mut reply).await, Err(calls::Malformed));
    };
    world.engine.spawn(task);
    assert_eq!(world.engine.run(), 0, "a call waits");
}
