//! Addresses of hosts that have not been named by the user.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

use super::resolve;

/// Listens where the host's own name leads to, if that is an address that others may know, or else at all its addresses. Gives those along.
pub fn listen(name: &str) -> Result<(TcpListener, Vec<IpAddr>), String> {
    let own = own();
    let named = resolve(name, 0).unwrap_or_default().into_iter().map(|address| address.ip());
    for address in named.filter(|address| own.contains(address)) {
        if let Ok(listener) = TcpListener::bind((address, 0)) {
            return Ok((listener, vec![address]));
        }
    }
    let all: [SocketAddr; 2] = [(Ipv6Addr::UNSPECIFIED, 0).into(), (Ipv4Addr::UNSPECIFIED, 0).into()];
    let listener = TcpListener::bind(&all[..]).map_err(|e| format!("cannot listen for other hosts: {e}"))?;
    // Hosts without a network are one machine.
    Ok((listener, if own.is_empty() { vec![Ipv4Addr::LOCALHOST.into()] } else { own }))
}

/// This host's addresses that others may know.
pub fn own() -> Vec<IpAddr> {
    let interfaces = getifaddrs().into_iter().flatten();
    let is_up = |flags: InterfaceFlags| {
        flags.contains(InterfaceFlags::IFF_UP) && !flags.contains(InterfaceFlags::IFF_LOOPBACK)
    };
    let addresses = interfaces.filter(|i| is_up(i.flags)).filter_map(|i| {
        let address = i.address?;
        let v4 = address.as_sockaddr_in().map(|a| IpAddr::V4(a.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|a| IpAddr::V6(a.ip())))
    });
    let mut found: Vec<_> = addresses.filter(|address| !is_of_link(address)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether the address means something else on each network.
fn is_of_link(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// Those of another host's addresses that lead away from here: bridges to containers have the same one on many hosts. All of them, if the other "host" is
/// this machine.
pub fn apart(there: &[IpAddr], here: &[IpAddr]) -> Vec<IpAddr> {
    let apart: Vec<IpAddr> = there.iter().filter(|address| !here.contains(address)).copied().collect();
    if apart.is_empty() { there.to_vec() } else { apart }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_both_hosts_have_do_not_lead_from_one_to_the_other() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let (a, b, bridge) = (ip("10.0.0.1"), ip("fd00::2"), ip("172.17.0.1"));
        assert_eq!(apart(&[bridge, b], &[a, bridge]), [b]);
        assert_eq!(apart(&[a, bridge], &[a, bridge]), [a, bridge]);
        assert_eq!(apart(&[], &[a]), Vec::<IpAddr>::new());
    }

    #[test]
    fn a_listener_is_at_the_addresses_that_come_with_it() {
        let (listener, addresses) = listen("localhost").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(!addresses.is_empty());
        for address in addresses {
            std::net::TcpStream::connect((address, port)).unwrap();
        }
    }
}
