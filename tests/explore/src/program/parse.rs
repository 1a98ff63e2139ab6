//! Programs from text.

use dsm_coherence::Parts;

use super::{BarrierKind, Closing, Memory, Op, Program};
use crate::oracle::Use;

impl Program {
    /// Reads the operations of each thread from text, for instance `"w0=1 barrier"`; see the tests.
    pub fn parse(processes: usize, blocks: usize, block_bytes: usize, threads: &[&str]) -> Program {
        Program::parse_sizes(processes, &vec![block_bytes; blocks], threads)
    }

    /// As [`Program::parse`], with blocks of so many bytes each, of four sizes at most.
    pub fn parse_sizes(processes: usize, sizes: &[usize], threads: &[&str]) -> Program {
        let mut roles = vec![Use::Plain; sizes.iter().sum()];
        let mut locks = 1;
        let ops = threads
            .iter()
            .map(|text| text.split_whitespace().map(|word| parse_op(word, &mut roles, &mut locks)).collect())
            .collect();
        Program {
            processes,
            threads: threads.len() / processes,
            sizes: sizes.to_vec(),
            resized: Vec::new(),
            stride: 1,
            first: 0,
            home_run: 1,
            notices: 64,
            barrier: BarrierKind::AllToAll,
            locks,
            roles,
            fault: None,
            without: Parts::default(),
            watch: false,
            by_agents: false,
            one_sided: false,
            memory: Memory::Buffered,
            quiesce: true,
            closing: Closing::Free,
            ops,
        }
    }
}

fn parse_op(word: &str, roles: &mut [Use], locks: &mut usize) -> Op {
    let split = word.find(|c: char| c.is_ascii_digit()).unwrap_or(word.len());
    let (name, rest) = word.split_at(split);
    let (place, value) = rest.split_once('=').unwrap_or((rest, "0"));
    let (addr, len) = place.split_once('+').unwrap_or((place, "1"));
    let number = |s: &str| s.parse::<usize>().unwrap_or(0);
    let (addr, len, value) = (number(addr), number(len), number(value) as u8);
    match name {
        "r" => Op::Read { addr, len },
        "w" => Op::Write { addr, len, value },
        "o" => Op::Overwrite { addr, len, value },
        "get" => Op::Get { addr },
        "put" => Op::Put { addr, value },
        "fetch" => Op::Fetch { addr, len },
        "permit" => Op::Permit { addr, len },
        "lock" | "unlock" => {
            *locks = (*locks).max(addr + 1);
            if name == "lock" { Op::Lock(addr) } else { Op::Unlock(addr) }
        }
        "post" | "await" => {
            *locks = (*locks).max(addr + 1);
            if name == "post" { Op::Post(addr) } else { Op::Await(addr) }
        }
        "barrier" => Op::Barrier,
        "adopt" => Op::Adopt,
        "free" => Op::Free,
        "a" => {
            roles[addr..addr + len].fill(Use::Atomic);
            Op::Atomic { addr, len }
        }
        "ordered" | "reach" => {
            roles[addr] = Use::Atomic;
            if name == "ordered" { Op::Ordered { addr } } else { Op::Reach { addr } }
        }
        "compare" => {
            roles[addr] = Use::Atomic;
            Op::Compare { addr, ordered: value == 1 }
        }
        "keep" => {
            roles[addr] = Use::Atomic;
            Op::Keep { addr }
        }
        "look" => {
            roles[addr..addr + len].fill(Use::Atomic);
            Op::Look { addr, len }
        }
        "batch" => {
            roles[addr..addr + len].fill(Use::Atomic);
            Op::Batch { addr, len }
        }
        "gather" => {
            roles[addr..addr + len].fill(Use::Atomic);
            Op::Gather { addr, len }
        }
        "set" | "wait" => {
            roles[addr] = Use::Flag;
            if name == "set" { Op::SetFlag { addr, value } } else { Op::WaitFlag { addr, value } }
        }
        _ => panic!("no such operation: {word}"),
    }
}
