//! What processes tell each other before they can use the fabric: addresses of endpoints, and tags.

use std::collections::BTreeSet;
use std::io;

use super::Known;
use super::endpoint::Endpoint;
use super::library::OfiError;
use crate::lost::lost;
use crate::stream::{self, Peer};

/// Longest text and address.
const LONGEST: usize = 256;

/// Of messages from one peer: what its receives are posted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tags {
    pub(super) request: u64,
    pub(super) wait: u64,
    pub(super) answer: u64,
    pub(super) reply: u64,
    /// Credit for a request to wait.
    pub(super) wait_credit: u64,
    /// Credit for an answer.
    pub(super) answer_credit: u64,
}

impl Tags {
    fn to_array(self) -> [u64; 6] {
        [self.request, self.wait, self.answer, self.reply, self.wait_credit, self.answer_credit]
    }

    fn from_array([request, wait, answer, reply, wait_credit, answer_credit]: [u64; 6]) -> Tags {
        Tags { request, wait, answer, reply, wait_credit, answer_credit }
    }
}

/// What a process says.
#[derive(Debug, PartialEq, Eq)]
struct Hello {
    provider: Vec<u8>,
    agent: Vec<u8>,
    client: Vec<u8>,
    tags: Tags,
}

impl Hello {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for text in [&self.provider, &self.agent, &self.client] {
            bytes.extend((text.len() as u16).to_le_bytes());
            bytes.extend(text);
        }
        bytes.extend(self.tags.to_array().iter().flat_map(|tag| tag.to_le_bytes()));
        bytes
    }

    /// Reads one from where `receive` takes as many bytes as fit.
    fn decode(mut receive: impl FnMut(&mut [u8]) -> io::Result<()>) -> io::Result<Hello> {
        let mut texts = [const { Vec::new() }; 3];
        for text in &mut texts {
            let mut length = [0; 2];
            receive(&mut length)?;
            let length = usize::from(u16::from_le_bytes(length));
            if length > LONGEST {
                return Err(io::Error::other("a name or an address is too long"));
            }
            text.resize(length, 0);
            receive(text)?;
        }
        let mut tags = [0; 6];
        for tag in &mut tags {
            let mut bytes = [0; 8];
            receive(&mut bytes)?;
            *tag = u64::from_le_bytes(bytes);
        }
        let [provider, agent, client] = texts;
        Ok(Hello { provider, agent, client, tags: Tags::from_array(tags) })
    }
}

/// Exchanges addresses and tags with all peers.
pub(super) fn exchange(
    rank: u32,
    peers: Vec<Option<Peer>>,
    client: &mut Endpoint,
    agent: &mut Endpoint,
) -> Result<Vec<Known>, OfiError> {
    let (client_address, agent_address) = (client.address()?, agent.address()?);
    let mut taken = BTreeSet::new();
    let mut tag = || loop {
        // Neither zero, which a stranger may try, nor another one's.
        let tag = random(client)? & client.tags & agent.tags;
        if tag != 0 && taken.insert(tag) {
            return Ok(tag);
        }
    };
    let mut peers: Vec<(u32, Peer, Tags)> = (0..)
        .zip(peers)
        .filter_map(|(peer, sockets)| Some((peer, sockets?)))
        .map(|(peer, sockets)| {
            let mut tags = [0; 6];
            tags.iter_mut().try_for_each(|place| tag().map(|tag| *place = tag))?;
            Ok((peer, sockets, Tags::from_array(tags)))
        })
        .collect::<Result<_, _>>()?;
    for (peer, sockets, tags) in &peers {
        let hello = Hello {
            provider: client.provider.clone().into(),
            agent: agent_address.clone(),
            client: client_address.clone(),
            tags: *tags,
        };
        // A socket takes more than this at once.
        stream::send(&sockets.requests, &hello.encode()).unwrap_or_else(|error| lost(*peer, &error));
    }
    peers
        .drain(..)
        .map(|(peer, sockets, own)| receive_hello(rank, (peer, sockets, own), client, agent))
        .collect()
}

/// Receives a peer's hello, and adds its addresses to the endpoints.
fn receive_hello(
    rank: u32,
    (peer, sockets, own): (u32, Peer, Tags),
    client: &mut Endpoint,
    agent: &mut Endpoint,
) -> Result<Known, OfiError> {
    let hello = Hello::decode(|bytes| stream::receive(&sockets.serves, bytes))
        .unwrap_or_else(|error| lost(peer, &format_args!("it has not sent its address: {error}")));
    if hello.provider != client.provider.as_bytes() {
        let other = String::from_utf8_lossy(&hello.provider).into_owned();
        let different = OfiError::Different { own: client.provider.clone(), peer, other };
        // One of the two says so.
        return if rank < peer { lost(peer, &different) } else { Err(different) };
    }
    let to = (client.insert(&hello.agent)?, agent.insert(&hello.client)?);
    let Peer { requests, serves, .. } = sockets;
    Ok(Known { rank: peer, sockets: [requests, serves], own, peer: hello.tags, agent: to.0, client: to.1 })
}

fn random(endpoint: &Endpoint) -> Result<u64, OfiError> {
    crate::random_bytes().map(u64::from_le_bytes).map_err(|cause| OfiError::Failed {
        what: "get random numbers",
        provider: endpoint.provider.clone(),
        cause: cause.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_heard() {
        let tags = Tags::from_array([1, 2, 3, 4, 5, u64::MAX]);
        let hello = Hello { provider: b"tcp".into(), agent: vec![7; LONGEST], client: Vec::new(), tags };
        let bytes = hello.encode();
        let decode = |mut rest: &[u8]| Hello::decode(|place| io::Read::read_exact(&mut rest, place));
        assert_eq!(decode(&bytes).unwrap(), hello);
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length]).is_err(), "{length} bytes");
        }
        let mut long = bytes;
        long[1] = 0xff;
        assert!(decode(&long).unwrap_err().to_string().contains("too long"));
    }

    #[test]
    fn damaged_greetings_are_refused_or_read_as_they_are_written() {
        let tags = Tags::from_array([1, 2, 3, 4, 5, u64::MAX]);
        let hello = |provider: &[u8]| Hello {
            provider: provider.into(),
            agent: vec![7; 16],
            client: vec![8; 28],
            tags,
        };
        let mut read = 0;
        dsm_mutate::each(&[hello(b"tcp;ofi_rxm").encode(), hello(b"efa").encode()], 20_000, |bytes| {
            let mut rest = bytes;
            if let Ok(hello) = Hello::decode(|place| io::Read::read_exact(&mut rest, place)) {
                assert_eq!(hello.encode(), bytes[..bytes.len() - rest.len()]);
                read += 1;
            }
        });
        assert!((100..19_000).contains(&read), "{read} of 20000 were read");
    }
}
