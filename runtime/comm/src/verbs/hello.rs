//! What processes tell each other before they can use RDMA: how their ports are reached, and the queue pairs. It goes through the connections that the launcher
//! has made, whose both ends have proved to belong to the job.

use std::io;
use std::os::fd::OwnedFd;

use super::adapter::Adapter;
use super::device::{Address, link_name};
use super::library::VerbsError;
use super::queue_pair::{QueuePair, QueuePairAddress};
use crate::lost::lost;
use crate::stream::{self, Peer};

/// The queue pairs between this process and a peer.
pub(super) struct QueuePairs {
    /// For requests to the peer, and their replies.
    pub(super) requests: QueuePair,
    /// For short messages to the peer's agent.
    pub(super) shorts: QueuePair,
    /// The agent's, for the peer's requests.
    pub(super) serves: QueuePair,
    /// The agent's, for the peer's short messages.
    pub(super) serves_shorts: QueuePair,
    /// For READs of the peer's memory, and for the peer's READs.
    pub(super) reads: Option<[QueuePair; 2]>,
}

impl QueuePairs {
    /// In the order in which they are told.
    fn all(&self) -> [Option<&QueuePair>; PAIRS] {
        let QueuePairs { requests, shorts, serves, serves_shorts, reads } = self;
        let [ours, theirs] = reads.as_ref().map_or([None; 2], |pairs| pairs.each_ref().map(Some));
        [Some(requests), Some(shorts), Some(serves), Some(serves_shorts), ours, theirs]
    }
}

/// Queue pairs of a peer at most.
const PAIRS: usize = 6;
/// The other end of each pair in [`QueuePairs::all`], by its place in the peer's.
const OTHER_END: [usize; PAIRS] = [2, 3, 0, 1, 5, 4];
/// The place there of the pair for READs of the peer's memory, which the one for the peer's READs follows.
const READS: usize = 4;

/// Longest name of a device.
const LONGEST: usize = 64;

/// What a process says.
#[derive(Debug, PartialEq, Eq)]
struct Hello {
    device: Vec<u8>,
    address: Address,
    /// READs of a peer that may be under way; 0: its memory is not read so.
    reads: u8,
    /// Of zeros where there is none.
    pairs: [QueuePairAddress; PAIRS],
}

/// Bytes of what follows the name.
const FIXED: usize = 1 + 1 + 2 + 16 + PAIRS * 8 + 1;

impl Hello {
    fn encode(&self) -> Vec<u8> {
        let name = &self.device[..self.device.len().min(LONGEST)];
        let mut bytes = vec![name.len() as u8];
        bytes.extend(name);
        let Address { is_ethernet, lid, gid, mtu } = self.address;
        bytes.extend([is_ethernet.into(), mtu]);
        bytes.extend(lid.to_le_bytes());
        bytes.extend(gid);
        for pair in self.pairs {
            bytes.extend(pair.qpn.to_le_bytes());
            bytes.extend(pair.psn.to_le_bytes());
        }
        bytes.push(self.reads);
        bytes
    }

    /// Reads one from where `receive` takes as many bytes as fit.
    fn decode(mut receive: impl FnMut(&mut [u8]) -> io::Result<()>) -> io::Result<Hello> {
        let mut length = [0];
        receive(&mut length)?;
        let mut device = vec![0; usize::from(length[0])];
        if device.len() > LONGEST {
            return Err(io::Error::other("the name of its device is too long"));
        }
        receive(&mut device)?;
        let mut rest = [0; FIXED];
        receive(&mut rest)?;
        let [is_ethernet, mtu, lid @ ..] = rest.first_chunk::<4>().expect("there are more");
        if *is_ethernet > 1 || !(1..=5).contains(mtu) {
            return Err(io::Error::other("no such kind of port"));
        }
        let gid = rest[4..20].try_into().expect("as long");
        let address =
            Address { is_ethernet: *is_ethernet == 1, lid: u16::from_le_bytes(*lid), gid, mtu: *mtu };
        let mut pairs = [QueuePairAddress::default(); PAIRS];
        let (numbers, last) = rest[20..].as_chunks::<4>();
        let numbers = numbers.iter().map(|bytes| u32::from_le_bytes(*bytes));
        for (place, number) in numbers.enumerate() {
            if number >> 24 != 0 {
                return Err(io::Error::other("a number of 24 bits has more"));
            }
            let pair = &mut pairs[place / 2];
            *if place % 2 == 0 { &mut pair.qpn } else { &mut pair.psn } = number;
        }
        Ok(Hello { device, address, reads: last[0], pairs })
    }
}

/// A peer, once its queue pairs are known.
pub(super) struct ConnectedPeer {
    pub(super) rank: u32,
    /// The two sockets that stay: they end with the process.
    pub(super) sockets: [OwnedFd; 2],
    pub(super) pairs: QueuePairs,
}

/// Exchanges addresses with all peers, and connects the queue pairs, which can receive. When it returns, all peers' can, too.
pub(super) fn connect(
    rank: u32,
    adapter: &Adapter,
    mut peers: Vec<(u32, Peer, QueuePairs)>,
) -> Result<Vec<ConnectedPeer>, VerbsError> {
    let [asks, answers] = adapter.reads();
    for (peer, sockets, pairs) in &peers {
        let hello = Hello {
            device: adapter.port.name.clone().into(),
            address: adapter.port.address,
            reads: pairs.reads.as_ref().map_or(0, |_| answers),
            pairs: pairs.all().map(|pair| {
                pair.map_or_else(QueuePairAddress::default, |pair| QueuePairAddress {
                    qpn: pair.qpn,
                    psn: pair.psn,
                })
            }),
        };
        // A socket takes more than this at once.
        send(*peer, &sockets.requests, &hello.encode());
    }
    for (peer, sockets, pairs) in &mut peers {
        let hello = Hello::decode(|bytes| stream::receive(&sockets.serves, bytes))
            .unwrap_or_else(|error| lost(*peer, &format_args!("it has not sent its address: {error}")));
        if hello.address.is_ethernet != adapter.port.address.is_ethernet {
            let name = String::from_utf8_lossy(&hello.device);
            let other = format!("{name} ({})", link_name(hello.address.is_ethernet));
            let different = VerbsError::Different { own: adapter.port.describe(), peer: *peer, other };
            // One of the two says so.
            return if rank < *peer { lost(*peer, &different) } else { Err(different) };
        }
        // Both read so, or neither.
        pairs
            .reads
            .take_if(|_| hello.reads == 0 || hello.pairs[READS..].contains(&QueuePairAddress::default()));
        for (place, (pair, other_end)) in pairs.all().into_iter().zip(OTHER_END).enumerate() {
            let Some(pair) = pair else { continue };
            let reads = if place < READS { [1, 1] } else { [asks.min(hello.reads), answers] };
            pair.connect(hello.pairs[other_end], &hello.address, reads)?;
        }
    }
    // A pair drops what comes before it is connected.
    peers.iter().for_each(|(peer, sockets, _)| send(*peer, &sockets.requests, &[READY]));
    let known = peers.into_iter().map(|(rank, sockets, pairs)| {
        let mut ready = [0];
        stream::receive(&sockets.serves, &mut ready)
            .unwrap_or_else(|error| lost(rank, &format_args!("it has not connected: {error}")));
        let Peer { requests, serves, .. } = sockets;
        ConnectedPeer { rank, sockets: [requests, serves], pairs }
    });
    Ok(known.collect())
}

const READY: u8 = 1;

fn send(peer: u32, socket: &OwnedFd, bytes: &[u8]) {
    stream::send(socket, bytes).unwrap_or_else(|error| lost(peer, &error));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_heard() {
        let pair = |qpn| QueuePairAddress { qpn, psn: qpn + 0x10_0000 };
        let address = Address { is_ethernet: true, lid: 0x1234, gid: [7; 16], mtu: 4 };
        let hello =
            Hello { device: b"rxe0".into(), address, reads: 16, pairs: [1, 2, 3, 0xe_ffff, 4, 5].map(pair) };
        let bytes = hello.encode();
        let decode = |mut rest: &[u8]| Hello::decode(|place| io::Read::read_exact(&mut rest, place));
        assert_eq!(decode(&bytes).unwrap(), hello);
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length]).is_err(), "{length} bytes");
        }
        // Length, kind, packets' length, a number.
        for (at, value, why) in
            [(0, 0xff, "too long"), (5, 2, "no such"), (6, 0, "no such"), (28, 1, "24 bits")]
        {
            let mut bytes = bytes.clone();
            bytes[at] = value;
            assert!(decode(&bytes).unwrap_err().to_string().contains(why), "{at}");
        }
    }

    #[test]
    fn each_end_has_another() {
        assert_eq!(OTHER_END.map(|end| OTHER_END[end]), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn damaged_greetings_are_refused_or_read_as_they_are_written() {
        let pair = |qpn| QueuePairAddress { qpn, psn: qpn + 0x10_0000 };
        let address = Address { is_ethernet: true, lid: 0x1234, gid: [7; 16], mtu: 4 };
        let hello =
            Hello { device: b"rxe0".into(), address, reads: 16, pairs: [1, 2, 3, 0xe_ffff, 4, 5].map(pair) };
        let mut read = 0;
        dsm_mutate::each(&[hello.encode()], 20_000, |bytes| {
            let mut rest = bytes;
            if let Ok(hello) = Hello::decode(|place| io::Read::read_exact(&mut rest, place)) {
                assert_eq!(hello.encode(), bytes[..bytes.len() - rest.len()]);
                read += 1;
            }
        });
        assert!((100..19_000).contains(&read), "{read} of 20000 were read");
    }
}
