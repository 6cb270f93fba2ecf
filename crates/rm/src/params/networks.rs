//! Networks by the name of an interface or by CIDR: parameters `prte_if_include` and `prte_if_exclude`.

use core::net::IpAddr;
use std::fmt;

/// One network.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Network {
    /// An interface.
    Interface(String),
    /// All addresses with these first bits.
    Cidr(IpAddr, u8),
}

/// A list of networks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks(Vec<Network>);

impl Networks {
    /// Parses a list such as `eth0,10.1.0.0/16`; `None` = the text is no such list.
    #[must_use]
    pub fn parse(list: &str) -> Option<Networks> {
        list.split(',').map(|item| parse_one(item.trim())).collect::<Option<_>>().map(Networks)
    }

    /// Those that hold no address of a machine, as they are written in the list.
    #[must_use]
    pub fn missing_from(&self, found: &[(String, IpAddr)]) -> Vec<String> {
        let is_missing = |network: &&Network| !found.iter().any(|(name, ip)| network.has(name, *ip));
        self.0.iter().filter(is_missing).map(Network::to_string).collect()
    }

    /// True when an address of an interface is in one of them.
    #[must_use]
    pub fn have(&self, interface: &str, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.has(interface, address))
    }
}

impl Network {
    fn has(&self, interface: &str, address: IpAddr) -> bool {
        match self {
            Network::Interface(name) => name == interface,
            Network::Cidr(base, bits) => same_bits(*base, address, *bits),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Network::Interface(name) => f.write_str(name),
            Network::Cidr(base, bits) => write!(f, "{base}/{bits}"),
        }
    }
}

fn parse_one(item: &str) -> Option<Network> {
    let Some((address, bits)) = item.split_once('/') else {
        // An address without the number of its bits is no name.
        let is_name = !item.is_empty() && !item.contains(char::is_whitespace) && item.parse::<IpAddr>().is_err();
        return is_name.then(|| Network::Interface(item.to_owned()));
    };
    let (address, bits): (IpAddr, u8) = (address.parse().ok()?, bits.parse().ok()?);
    let most = if address.is_ipv4() { 32 } else { 128 };
    (bits <= most).then_some(Network::Cidr(address, bits))
}

fn same_bits(one: IpAddr, other: IpAddr, bits: u8) -> bool {
    // The first bits of both, at the top of 128.
    let (one, other) = match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (u128::from(u32::from(one)) << 96, u128::from(u32::from(other)) << 96),
        (IpAddr::V6(one), IpAddr::V6(other)) => (u128::from(one), u128::from(other)),
        _ => return false,
    };
    bits == 0 || (one ^ other) >> (128 - u32::from(bits)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_by_its_interface_or_its_first_bits() {
        let networks = Networks::parse("ib0, 10.1.0.0/16,fd00::/8").unwrap();
        let has = |interface: &str, address: &str| networks.have(interface, address.parse().unwrap());
        assert!(has("ib0", "192.168.0.1") && has("eth0", "10.1.255.1") && has("eth0", "fd12::1"));
        assert!(!has("eth0", "10.2.0.1") && !has("ib01", "192.168.0.1") && !has("eth0", "fe12::1"));
        assert!(Networks::parse("0.0.0.0/0").unwrap().have("x", "9.9.9.9".parse().unwrap()));
        let found = [("ib0", "10.1.0.7"), ("lo", "127.0.0.1")].map(|(name, ip)| (name.to_owned(), ip.parse().unwrap()));
        assert_eq!(networks.missing_from(&found), ["fd00::/8"]);
        for bad in ["eth0,", "10.1.0.0/33", "10.1/16", "a b", "10.1.0.0/-1", "10.1.2.3", "fd00::1"] {
            assert_eq!(Networks::parse(bad), None, "{bad}");
        }
    }
}
