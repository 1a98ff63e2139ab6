//! What the launchers of a job tell each other through the process manager, and which process is where. Pure.
//!
//! The process manager's ranks are in any order over the hosts (`mpirun --map-by node`). Processes of a host have consecutive numbers in a job, so they get new ones: host
//! by host, in the order of the hosts' lowest ranks. Rank 0 is process 0.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::launch::control::{Facts, SECRET_BYTES, greeting};
use crate::launch::hosts::Placement;

/// What one of them tells all others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// The launcher's version.
    pub greeting: String,
    /// Lowest rank of its host: its launcher sets the host up.
    pub leader: u32,
    /// Its host's name.
    pub host: String,
    /// What has to be the same everywhere.
    pub facts: Facts,
    /// Processors that its process may use.
    pub processors: Vec<usize>,
    /// Where a leader can be reached.
    pub contact: Option<Contact>,
    /// What rank 0 decides.
    pub origin: Option<Origin>,
}

/// Where a host can be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact {
    /// Port for other hosts; 0 if there are none.
    pub port: u16,
    /// Addresses that may lead to it.
    pub addresses: Vec<IpAddr>,
    /// Name of the abstract socket for the launchers of the same host.
    pub socket: Vec<u8>,
}

/// What applies to the whole job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// What connections are authenticated with.
    pub secret: [u8; SECRET_BYTES],
    /// Variables that are the same in all processes.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
    /// Threads of each process, if the user says.
    pub threads: Option<u32>,
}

impl Card {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("plain data can be written to a vector")
    }

    /// From the card of the launcher of `rank`.
    pub fn decode(rank: u32, bytes: &[u8]) -> Result<Card, String> {
        // The first field is the same in all versions.
        let version = postcard::take_from_bytes::<String>(bytes);
        let (version, _) =
            version.map_err(|_| format!("the launcher of process {rank} does not say what it should"))?;
        let differs = || {
            let (there, here) = (version.trim(), greeting());
            format!(
                "process {rank} has another dsm-run: \"{there}\", this is \"{}\"; install the same on all hosts",
                here.trim()
            )
        };
        if version != greeting() {
            return Err(differs());
        }
        postcard::from_bytes(bytes).map_err(|_| differs())
    }
}

/// Which process is where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrangement {
    /// The hosts with their processes, by number.
    pub hosts: Vec<Placement>,
    /// How each of them is reached.
    pub contacts: Vec<Contact>,
    /// Each rank's number in the job.
    pub numbers: Vec<u32>,
    /// Each rank's host.
    pub host_of: Vec<usize>,
}

/// Arranges processes by their cards, which are in the order of ranks.
pub fn arrange(cards: &[Card]) -> Result<Arrangement, String> {
    let mut leaders: Vec<u32> = cards.iter().map(|card| card.leader).collect();
    leaders.sort_unstable();
    leaders.dedup();
    let mut arrangement = Arrangement {
        hosts: Vec::new(),
        contacts: Vec::new(),
        numbers: vec![0; cards.len()],
        host_of: vec![0; cards.len()],
    };
    let mut next = 0;
    for leader in leaders {
        let card = cards.get(leader as usize);
        let contact = card.filter(|card| card.leader == leader).and_then(|card| card.contact.clone());
        let (Some(card), Some(contact)) = (card, contact) else {
            return Err(format!("the process manager contradicts itself about the host of process {leader}"));
        };
        let first = next;
        for (rank, _) in cards.iter().enumerate().filter(|(_, other)| other.leader == leader) {
            arrangement.numbers[rank] = next;
            arrangement.host_of[rank] = arrangement.hosts.len();
            next += 1;
        }
        arrangement.hosts.push(Placement { name: card.host.clone(), first, count: next - first });
        arrangement.contacts.push(contact);
    }
    Ok(arrangement)
}

/// The numbers, in a row, of those processes of the host that may use the same processors as that of `rank`.
pub fn sharers(cards: &[Card], arrangement: &Arrangement, rank: usize) -> Range<u32> {
    let host = &arrangement.hosts[arrangement.host_of[rank]];
    let number = arrangement.numbers[rank];
    let shares = |other: &u32| {
        let other = arrangement.numbers.iter().position(|n| n == other);
        other.is_some_and(|other| cards[other].processors == cards[rank].processors)
    };
    let before = (host.first..number).rev().take_while(shares).count() as u32;
    let after = (number + 1..host.ranks().end).take_while(shares).count() as u32;
    number - before..number + after + 1
}

/// Threads for each process: the processors that it may use, each divided among the processes of the host that may use it, for the process that gets least. So no
/// processor has more than one thread, unless there are more processes than processors.
pub fn fair_threads(cards: &[Card]) -> u32 {
    let mut users: BTreeMap<(u32, usize), u32> = BTreeMap::new();
    for card in cards {
        for processor in &card.processors {
            *users.entry((card.leader, *processor)).or_default() += 1;
        }
    }
    let share = |card: &Card| {
        let of = |processor: &usize| 1.0 / f64::from(users[&(card.leader, *processor)]);
        // Thirds do not add up exactly.
        (card.processors.iter().map(of).sum::<f64>() + 1e-6) as u32
    };
    cards.iter().map(share).min().unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(rank: u32, leader: u32, processors: &[usize]) -> Card {
        let contact = Contact { port: 7, addresses: Vec::new(), socket: vec![leader as u8] };
        Card {
            greeting: greeting(),
            leader,
            host: format!("node{leader}"),
            facts: Facts { architecture: "x".into(), page: 4096, bytes: 1, digest: [0; 32] },
            processors: processors.to_vec(),
            contact: (rank == leader).then_some(contact),
            origin: None,
        }
    }

    fn cards(leaders: &[u32]) -> Vec<Card> {
        (0..).zip(leaders).map(|(rank, leader)| card(rank, *leader, &[0])).collect()
    }

    #[test]
    fn hosts_get_consecutive_numbers() {
        for (leaders, numbers, hosts) in [
            (vec![0, 0, 2, 2], vec![0, 1, 2, 3], vec![("node0", 0, 2), ("node2", 2, 2)]),
            (vec![0, 1, 0, 1], vec![0, 2, 1, 3], vec![("node0", 0, 2), ("node1", 2, 2)]),
            (
                vec![0, 1, 1, 0, 4],
                vec![0, 2, 3, 1, 4],
                vec![("node0", 0, 2), ("node1", 2, 2), ("node4", 4, 1)],
            ),
            (vec![0], vec![0], vec![("node0", 0, 1)]),
        ] {
            let found = arrange(&cards(&leaders)).unwrap();
            assert_eq!(found.numbers, numbers, "{leaders:?}");
            let places: Vec<_> = found.hosts.iter().map(|h| (&*h.name, h.first, h.count)).collect();
            assert_eq!(places, hosts, "{leaders:?}");
            let at = |rank: usize| &found.hosts[found.host_of[rank]];
            assert!((0..leaders.len()).all(|r| at(r).ranks().contains(&found.numbers[r])), "{leaders:?}");
            assert_eq!(found.contacts.len(), hosts.len());
        }
    }

    #[test]
    fn sharers_have_numbers_in_a_row() {
        // Ranks 0, 2 and 4 are on one host, with numbers 0 to 2.
        let cards: Vec<_> = [(0, [1]), (1, [1]), (0, [1]), (1, [2]), (0, [2])]
            .iter()
            .zip(0..)
            .map(|((leader, processors), rank)| card(rank, *leader, processors))
            .collect();
        let arrangement = arrange(&cards).unwrap();
        let found: Vec<_> = (0..5).map(|rank| sharers(&cards, &arrangement, rank)).collect();
        assert_eq!(found, [0..2, 3..4, 0..2, 4..5, 2..3]);
    }

    #[test]
    fn contradictions_are_refused() {
        for leaders in [vec![1, 0], vec![0, 7], vec![1, 2, 2]] {
            assert!(arrange(&cards(&leaders)).unwrap_err().contains("contradicts"), "{leaders:?}");
        }
    }

    #[test]
    fn cards_travel() {
        let mut sent = card(0, 0, &[1, 300]);
        let environment = vec![(b"DSM_BLOCK".to_vec(), b"64".to_vec())];
        sent.origin = Some(Origin { secret: [9; SECRET_BYTES], environment, threads: Some(3) });
        let bytes = sent.encode();
        assert_eq!(Card::decode(0, &bytes).unwrap(), sent);
        assert!(Card::decode(3, &bytes[..bytes.len() - 1]).unwrap_err().contains("process 3"));
        assert!(Card::decode(3, &[200, 1]).is_err());
        sent.greeting = "dsm-run 0.0.1\n".into();
        let error = Card::decode(2, &sent.encode()).unwrap_err();
        assert!(error.contains("0.0.1") && error.contains("install the same"), "{error}");
    }

    #[test]
    fn processors_are_divided_among_those_who_may_use_them() {
        let of = |all: &[(u32, &[usize])]| {
            let cards: Vec<_> = (0..).zip(all).map(|(rank, (leader, of))| card(rank, *leader, of)).collect();
            fair_threads(&cards)
        };
        assert_eq!(of(&[(0, &[0, 1, 2, 3])]), 4);
        assert_eq!(of(&[(0, &[0, 1]), (0, &[0, 1])]), 1);
        assert_eq!(of(&[(0, &[0, 1]), (0, &[2, 3])]), 2);
        assert_eq!(of(&[(0, &[0, 1]), (1, &[0, 1])]), 2);
        assert_eq!(of(&[(0, &[0, 1][..]); 3]), 1);
        assert_eq!(of(&[(0, &[0, 1, 2][..]); 3]), 1);
        assert_eq!(of(&[(0, &[0, 1, 2, 3]), (1, &[0, 1, 2])]), 3);
    }

    /// Cards that do not fit together are refused, or all that is made of them lies in its bounds.
    #[test]
    fn damaged_cards_do_no_harm() {
        let mut first = card(0, 0, &[1, 300]);
        let environment = vec![(b"DSM_BLOCK".to_vec(), b"64".to_vec())];
        first.origin = Some(Origin { secret: [9; SECRET_BYTES], environment, threads: Some(3) });
        let addresses = vec!["10.0.0.1".parse().unwrap(), "fe80::1".parse().unwrap()];
        first.contact = Some(Contact { port: 4, addresses, socket: b"name".to_vec() });
        let mut others = cards(&[0, 0, 2, 2]);
        others.remove(0);
        let (mut read, mut arranged) = (0, 0);
        dsm_mutate::each(&[first.encode(), card(2, 2, &[0]).encode()], 20_000, |bytes| {
            let Ok(card) = Card::decode(1, bytes) else { return };
            read += 1;
            for rank in 0..=others.len() {
                let mut all = others.clone();
                all.insert(rank, card.clone());
                let Ok(found) = arrange(&all) else { continue };
                arranged += 1;
                let sum: u32 = found.hosts.iter().map(|host| host.count).sum();
                assert_eq!(sum as usize, all.len());
                assert!(fair_threads(&all) >= 1);
                for (rank, number) in found.numbers.iter().enumerate() {
                    let host = &found.hosts[found.host_of[rank]];
                    let sharers = sharers(&all, &found, rank);
                    assert!(sharers.contains(number));
                    assert!(sharers.start >= host.first && sharers.end <= host.ranks().end);
                }
            }
        });
        assert!(read > 300 && arranged > 100, "{read} were read, {arranged} arranged");
    }
}
