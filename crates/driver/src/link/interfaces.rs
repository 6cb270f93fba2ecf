//! The addresses of this machine, read from the kernel over netlink.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use ferrite_rm::params::Networks;
use rustix::buffer::spare_capacity;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket, socket_with};

use crate::{attribute, params};

const RTM_NEWADDR: u16 = 20;
const RTM_GETADDR: u16 = 22;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const REQUEST_DUMP: u16 = 0x301;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;

/// Leaves the addresses that parameters `prte_if_include` and `prte_if_exclude` allow.
///
/// # Errors
/// None is left.
pub(crate) fn chosen(found: Vec<(String, IpAddr)>, parameters: &[(String, String)]) -> io::Result<Vec<IpAddr>> {
    let networks = |name| params::value(parameters, name).and_then(Networks::parse);
    let (include, exclude) = (networks("prte_if_include"), networks("prte_if_exclude"));
    let is_allowed = |interface: &str, address: IpAddr| {
        include.as_ref().is_none_or(|networks| networks.have(interface, address))
            && exclude.as_ref().is_none_or(|networks| !networks.have(interface, address))
    };
    let left: Vec<IpAddr> = found.iter().filter(|(name, ip)| is_allowed(name, *ip)).map(|(_, ip)| *ip).collect();
    if left.is_empty() {
        let name = if include.is_some() { "prte_if_include" } else { "prte_if_exclude" };
        let list = params::value(parameters, name).unwrap_or_default();
        let known: Vec<String> = found.iter().map(|(interface, ip)| format!("{interface} {ip}")).collect();
        let label = params::label(parameters, name);
        let text = format!("{label}: {list} leaves no network of this host, which has {}", known.join(", "));
        return Err(io::Error::other(text));
    }
    Ok(left)
}

/// Returns the addresses of all interfaces that are up, with the names of these: first those that other machines may
/// reach, then loopback. Link-local IPv6 addresses are left out: they need the name of the caller's interface.
///
/// # Errors
/// The kernel does not list them.
pub fn addresses() -> io::Result<Vec<(String, IpAddr)>> {
    let mut interfaces: BTreeMap<u32, Option<String>> = BTreeMap::new();
    let mut known = |index| interfaces.entry(index).or_insert_with(|| name_if_up(index)).clone();
    let usable = dump()?.into_iter().filter(|(_, address)| is_usable(address));
    let mut found: Vec<(String, IpAddr)> =
        usable.filter_map(|(index, address)| Some((known(index)?, address))).collect();
    // IPv4 first within each group: on many clusters IPv6 exists but is not routed.
    found.sort_by_key(|(_, a)| (a.is_loopback(), a.is_ipv6()));
    Ok(found)
}

fn is_usable(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(a) => !a.is_unspecified(),
        IpAddr::V6(a) => !a.is_unspecified() && !a.is_unicast_link_local(),
    }
}

/// Returns the name of an interface, empty when it is gone; `None` only for one that is known to be down.
fn name_if_up(index: u32) -> Option<String> {
    let name = name_of(index).unwrap_or_default();
    let flags = attribute::read(&Path::new("/sys/class/net").join(&name).join("flags"));
    let flags = flags.and_then(|text| u32::from_str_radix(text.trim_start_matches("0x"), 16).ok());
    flags.is_none_or(|flags| flags & 1 == 1).then_some(name)
}

/// `None` = the interface is gone.
fn name_of(index: u32) -> Option<String> {
    let any = socket(AddressFamily::INET, SocketType::DGRAM, None).ok()?;
    rustix::net::netdevice::index_to_name(&any, index).ok()
}

fn dump() -> io::Result<Vec<(u32, IpAddr)>> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None, // NETLINK_ROUTE is protocol 0
    )?;
    let mut request = Vec::with_capacity(24);
    request.extend_from_slice(&24u32.to_ne_bytes());
    request.extend_from_slice(&RTM_GETADDR.to_ne_bytes());
    request.extend_from_slice(&REQUEST_DUMP.to_ne_bytes());
    // Sequence, port, and an address message of zeros: every family, every interface.
    request.resize(24, 0);
    sendto(&socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut found = Vec::new();
    let mut buffer = Vec::with_capacity(32 * 1024);
    loop {
        buffer.clear();
        let (n, _) = recv(&socket, spare_capacity(&mut buffer), RecvFlags::empty())?;
        if n == 0 || !parse_messages(&buffer, &mut found)? {
            return Ok(found);
        }
    }
}

/// Reads one datagram of answers; false after the last.
fn parse_messages(mut bytes: &[u8], found: &mut Vec<(u32, IpAddr)>) -> io::Result<bool> {
    while let Some((length, kind)) = message_header(bytes) {
        let message = bytes.get(16..length).ok_or(io::ErrorKind::InvalidData)?;
        match kind {
            NLMSG_DONE => return Ok(false),
            NLMSG_ERROR => return Err(io::Error::other("the kernel lists no addresses")),
            RTM_NEWADDR => found.extend(parse_address(message)),
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(true)
}

fn message_header(bytes: &[u8]) -> Option<(usize, u16)> {
    let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    (length >= 16).then_some((length, kind))
}

/// An `ifaddrmsg` and its attributes. On point-to-point links `IFA_ADDRESS` is the other end, so `IFA_LOCAL` wins.
fn parse_address(message: &[u8]) -> Option<(u32, IpAddr)> {
    let index = u32::from_ne_bytes(message.get(4..8)?.try_into().ok()?);
    let mut attributes = message.get(8..)?;
    let (mut address, mut local) = (None, None);
    while attributes.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([attributes[0], attributes[1]]));
        let kind = u16::from_ne_bytes([attributes[2], attributes[3]]);
        let value = attributes.get(4..length)?;
        match kind {
            IFA_ADDRESS => address = parse_ip(value),
            IFA_LOCAL => local = parse_ip(value),
            _ => {}
        }
        attributes = attributes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Some((index, local.or(address)?))
}

fn parse_ip(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Some(IpAddr::V4(Ipv4Addr::from(four)));
    }
    let sixteen = <[u8; 16]>::try_from(bytes).ok()?;
    Some(IpAddr::V6(Ipv6Addr::from(sixteen)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_comes_last_and_is_there() {
        let found = addresses().unwrap();
        let first_loopback = found.iter().position(|(_, ip)| ip.is_loopback());
        let first_loopback = first_loopback.expect("every machine has a loopback interface");
        assert!(found[first_loopback..].iter().all(|(name, ip)| ip.is_loopback() && name == "lo"));
    }

    #[test]
    fn parameters_choose_networks_and_must_leave_one() {
        let found = || {
            [("eth0", "10.1.0.7"), ("ib0", "10.2.0.7"), ("lo", "127.0.0.1")]
                .map(|(name, ip)| (name.to_owned(), ip.parse().unwrap()))
                .to_vec()
        };
        let of = |name: &str, list: &str| {
            let left = chosen(found(), &[(name.to_owned(), list.to_owned())]).map_err(|error| error.to_string());
            left.map(|left| left.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(of("prte_if_include", "ib0"), Ok("10.2.0.7".to_owned()));
        assert_eq!(of("prte_if_include", "10.1.0.0/16,lo"), Ok("10.1.0.7 127.0.0.1".to_owned()));
        assert_eq!(of("prte_if_exclude", "10.1.0.0/16"), Ok("10.2.0.7 127.0.0.1".to_owned()));
        let refused = of("prte_if_include", "eth9").unwrap_err();
        let wanted = "parameter prte_if_include: eth9 leaves no network of this host, which has eth0 10.1.0.7, \
                      ib0 10.2.0.7, lo 127.0.0.1";
        assert_eq!(refused, wanted);
    }

    #[test]
    fn cut_off_answers_are_no_panic() {
        for n in 0..40 {
            let mut bytes = vec![20u8; n];
            if n >= 6 {
                bytes[..4].copy_from_slice(&(n as u32).to_ne_bytes());
                bytes[4..6].copy_from_slice(&RTM_NEWADDR.to_ne_bytes());
            }
            let _ = parse_messages(&bytes, &mut Vec::new());
        }
    }
}
