//! Which port of which device to use, and how others reach it.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::net::IpAddr;
use std::ptr::NonNull;

use super::library::{Library, VerbsError};
use super::sys::*;

/// How a port is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// Ethernet (RoCE) and not InfiniBand: routed by `gid`, else by `lid`.
    pub(super) is_ethernet: bool,
    pub(super) lid: u16,
    pub(super) gid: [u8; 16],
    /// The longest packet, as the library numbers them.
    pub(super) mtu: u8,
}

/// A port that is up, of a device that has been opened.
pub(super) struct Port {
    pub(super) context: NonNull<Context>,
    /// Of the device.
    pub(super) name: String,
    pub(super) number: u8,
    pub(super) address: Address,
    /// Of its GID in the port's table.
    pub(super) gid_index: u8,
    /// Longest message.
    pub(super) message: usize,
}

impl Port {
    /// The device and its kind, for messages.
    pub(super) fn describe(&self) -> String {
        format!("{}:{} ({})", self.name, self.number, link_name(self.address.is_ethernet))
    }
}

/// What a port is called whose link is Ethernet, or not.
pub(super) fn link_name(is_ethernet: bool) -> &'static str {
    if is_ethernet { "RoCE" } else { "InfiniBand" }
}

/// How good a choice a port is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Preference {
    /// RoCE version 1, which no router forwards.
    Version1,
    /// An address that reaches only the own link.
    LinkLocal,
    Routed,
    Ipv4,
    /// The address that leads to other hosts of the job.
    Own,
    InfiniBand,
}

impl Preference {
    fn of_gid(gid: [u8; 16], is_version_2: bool, own: Option<IpAddr>) -> Preference {
        let mapped = |address| match address {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        };
        match gid {
            _ if !is_version_2 => Preference::Version1,
            _ if own.map(mapped) == Some(gid) => Preference::Own,
            [0xfe, 0x80, ..] => Preference::LinkLocal,
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, ..] => Preference::Ipv4,
            _ => Preference::Routed,
        }
    }
}

/// What the user asked for: a device, and a port of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Selector<'a> {
    device: &'a str,
    port: Option<u8>,
}

impl Selector<'_> {
    /// `[DEVICE[:PORT]]`.
    fn new(text: &str) -> Selector<'_> {
        let with_port = text.split_once(':').and_then(|(device, port)| Some((device, port.parse().ok()?)));
        match with_port {
            Some((device, port)) => Selector { device, port: Some(port) },
            None => Selector { device: text, port: None },
        }
    }

    fn matches(&self, device: &str) -> bool {
        self.device.is_empty() || self.device.eq_ignore_ascii_case(device)
    }
}

/// Opens the device with the best port, of those that are `named`; best for who has the address `own` in the network that leads to other hosts.
///
/// # Errors
/// There is none.
pub(super) fn choose(library: &Library, named: &str, own: Option<IpAddr>) -> Result<Port, VerbsError> {
    let named = Selector::new(named);
    let mut count = 0;
    // SAFETY: there is place for the number.
    let list = unsafe { (library.get_device_list)(&raw mut count) };
    if list.is_null() {
        let cause = std::io::Error::last_os_error();
        return Err(VerbsError::Device(format!("the kernel's RDMA drivers are not loaded ({cause})")));
    }
    // SAFETY: the list has so many entries.
    let devices = unsafe { std::slice::from_raw_parts(list, count as usize) };
    let mut reasons = Vec::new();
    let mut best: Option<(Preference, Port)> = None;
    for device in devices {
        // SAFETY: the library has made the device; its name is constant as long as the list lives.
        let name =
            unsafe { CStr::from_ptr((library.get_device_name)(*device)) }.to_string_lossy().into_owned();
        if !named.matches(&name) {
            continue;
        }
        // SAFETY: as above.
        let Some(context) = NonNull::new(unsafe { (library.open_device)(*device) }) else {
            reasons.push(format!("{name} cannot be opened ({})", std::io::Error::last_os_error()));
            continue;
        };
        let found = ports(library, context, &name, named.port, own, &mut reasons);
        let better = found.into_iter().reduce(|best, next| if next.0 > best.0 { next } else { best });
        let unused = match better {
            Some(better) if best.as_ref().is_none_or(|(rank, _)| better.0 > *rank) => {
                best.replace(better).map(|(_, port)| port.context)
            }
            _ => Some(context),
        };
        if let Some(context) = unused {
            // SAFETY: it is open, and nothing of it is used any more.
            unsafe { (library.close_device)(context.as_ptr()) };
        }
    }
    // SAFETY: nothing of the list is used any more.
    unsafe { (library.free_device_list)(list) };
    best.map(|(_, port)| port).ok_or_else(|| {
        VerbsError::Device(match (reasons.is_empty(), count) {
            (false, _) => reasons.join(", "),
            (true, 0) => "there is none".to_owned(),
            (true, _) => format!("none is called {}", named.device),
        })
    })
}

/// Whether there is a port that can be used of those that are `named`.
pub(super) fn check(named: &str) -> Result<(), VerbsError> {
    let library = Library::get()?;
    let port = choose(library, named, None)?;
    // SAFETY: it is open, and nothing of it is used any more.
    unsafe { (library.close_device)(port.context.as_ptr()) };
    Ok(())
}

/// The ports that are up; says why the others are not.
fn ports(
    library: &Library,
    context: NonNull<Context>,
    name: &str,
    wanted: Option<u8>,
    own: Option<IpAddr>,
    reasons: &mut Vec<String>,
) -> Vec<(Preference, Port)> {
    // SAFETY: the device is open; the structure is numbers, for which zeros are right.
    let attr = unsafe {
        let mut attr = MaybeUninit::<DeviceAttr>::zeroed().assume_init();
        match (library.query_device)(context.as_ptr(), &raw mut attr) {
            0 => attr,
            code => {
                reasons.push(format!("{name} does not answer ({})", std::io::Error::from_raw_os_error(code)));
                return Vec::new();
            }
        }
    };
    // iWARP needs a manager of connections of its own.
    let node = std::fs::read_to_string(format!("/sys/class/infiniband/{name}/node_type"));
    if node.is_ok_and(|node| node.contains("RNIC")) {
        reasons.push(format!("{name} is an adapter for iWARP, which is not supported"));
        return Vec::new();
    }
    let mut found = Vec::new();
    for number in (1..=attr.phys_port_cnt).filter(|number| wanted.is_none_or(|wanted| wanted == *number)) {
        // SAFETY: as above.
        let port = unsafe {
            let mut port = MaybeUninit::<PortAttr>::zeroed().assume_init();
            (library.query_port)(context.as_ptr(), number, &raw mut port);
            port
        };
        if port.state != IBV_PORT_ACTIVE {
            reasons.push(format!("port {number} of {name} is not active"));
            continue;
        }
        let is_ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
        let gids = gids(library, context, name, number, port.gid_tbl_len);
        let best = match is_ethernet {
            true => gids
                .map(|(index, gid, is_2)| (Preference::of_gid(gid, is_2, own), index, gid))
                .max_by_key(|g| g.0),
            false => Some((Preference::InfiniBand, 0, [0; 16])),
        };
        let Some((rank, gid_index, gid)) = best else {
            reasons.push(format!(
                "port {number} of {name} has no address (GID); give its network interface one"
            ));
            continue;
        };
        let address = Address { is_ethernet, lid: port.lid, gid, mtu: port.active_mtu as u8 };
        let message = port.max_msg_sz as usize;
        found.push((rank, Port { context, name: name.to_owned(), number, address, gid_index, message }));
    }
    if found.is_empty() && wanted.is_some_and(|wanted| wanted == 0 || wanted > attr.phys_port_cnt) {
        reasons.push(format!("{name} has {} ports", attr.phys_port_cnt));
    }
    found
}

/// The GIDs of a port: their places in its table, and whether they are of RoCE version 2.
fn gids(
    library: &Library,
    context: NonNull<Context>,
    name: &str,
    port: u8,
    count: i32,
) -> impl Iterator<Item = (u8, [u8; 16], bool)> {
    (0..count.clamp(0, 256)).filter_map(move |index| {
        let mut gid = Gid([0; 16]);
        // SAFETY: the device is open, and there is place for one.
        let code = unsafe { (library.query_gid)(context.as_ptr(), port, index, &raw mut gid) };
        let kind = format!("/sys/class/infiniband/{name}/ports/{port}/gid_attrs/types/{index}");
        let is_used = code == 0 && gid.0 != [0; 16];
        is_used.then(|| (index as u8, gid.0, std::fs::read_to_string(kind).is_ok_and(|k| k.contains("v2"))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_and_ports_have_names() {
        assert_eq!(Selector::new(""), Selector { device: "", port: None });
        assert_eq!(Selector::new("mlx5_0"), Selector { device: "mlx5_0", port: None });
        assert_eq!(Selector::new("mlx5_0:2"), Selector { device: "mlx5_0", port: Some(2) });
        // No port is called so, and no device either: the message names it.
        assert_eq!(Selector::new("mlx5_0:x"), Selector { device: "mlx5_0:x", port: None });
        assert!(Selector::new("").matches("rxe0") && Selector::new("RXE0").matches("rxe0"));
        assert!(!Selector::new("rxe").matches("rxe0"));
    }

    #[test]
    fn the_address_that_leads_to_other_hosts_is_preferred() {
        let own: IpAddr = "10.3.0.1".parse().unwrap();
        let gid = |text: &str| text.parse::<std::net::Ipv6Addr>().unwrap().octets();
        let rank = |text, is_2| Preference::of_gid(gid(text), is_2, Some(own));
        let all = [
            rank("::ffff:10.3.0.1", false),
            rank("fe80::1", true),
            rank("fd00::1", true),
            rank("::ffff:10.4.0.1", true),
            rank("::ffff:10.3.0.1", true),
            Preference::InfiniBand,
        ];
        assert!(all.is_sorted() && all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
        assert_eq!(
            Preference::of_gid(gid("fd00::1"), true, Some("fd00::1".parse().unwrap())),
            Preference::Own
        );
        assert_eq!(Preference::of_gid(gid("::ffff:10.3.0.1"), true, None), Preference::Ipv4);
    }
}
