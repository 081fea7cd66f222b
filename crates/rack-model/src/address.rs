//! Addresses of hosts.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A host's IP address and the length of its network's prefix: `10.0.1.1/24`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Network {
    /// The host's own address.
    pub address: IpAddr,
    /// Bits that all hosts of the network share.
    pub prefix: u8,
}

impl Network {
    /// Reads `10.0.1.1/24` or `fd00::1/64`; the error names the mistake and the expected form.
    pub fn parse(text: &str) -> Result<Network, String> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| "not an IP address".to_string())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.ok_or_else(|| "the prefix length is missing".to_string())?;
        let length = prefix.parse().ok().filter(|n| *n <= most && !prefix.starts_with('+'));
        match length {
            Some(prefix) => Ok(Network { address, prefix }),
            None => Err(format!("the prefix length is a number from 0 to {most}")),
        }
    }

    /// The address, if it is of IPv4.
    pub fn v4(self) -> Option<Ipv4Addr> {
        match self.address {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        }
    }

    /// The address, if it is of IPv6.
    pub fn v6(self) -> Option<Ipv6Addr> {
        match self.address {
            IpAddr::V4(_) => None,
            IpAddr::V6(address) => Some(address),
        }
    }

    /// True if `address` is in this network.
    pub fn contains(self, address: IpAddr) -> bool {
        let (ours, theirs, bits) = match (self.address, address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => (u128::from(a.to_bits()), u128::from(b.to_bits()), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits(), b.to_bits(), 128),
            _ => return false,
        };
        let ignored = u32::from(self.prefix.min(bits)).abs_diff(u32::from(bits));
        (ours ^ theirs).checked_shr(ignored).unwrap_or(0) == 0
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/{}", self.address, self.prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read_and_asked() {
        let net = |text| Network::parse(text).unwrap();
        assert_eq!(net("10.0.1.1/24").to_string(), "10.0.1.1/24");
        let inside = |a, b: &str| net(a).contains(b.parse().unwrap());
        assert!(inside("10.0.1.1/24", "10.0.1.255") && !inside("10.0.1.1/24", "10.0.2.1"));
        assert!(inside("10.0.1.1/0", "200.0.0.1") && !inside("10.0.1.1/32", "10.0.1.2"));
        assert!(inside("fd00::1/64", "fd00::ffff") && !inside("fd00::1/64", "fd00:0:0:1::1"));
        assert!(inside("::1/0", "fd00::1") && !inside("::/0", "1.2.3.4"));
        for (text, error) in [
            ("10.0.1.1", "the prefix length is missing"),
            ("10.0.1/24", "not an IP address"),
            ("10.0.1.1/33", "the prefix length is a number from 0 to 32"),
            ("10.0.1.1/+3", "the prefix length is a number from 0 to 32"),
            ("fd00::1/129", "the prefix length is a number from 0 to 128"),
            ("", "not an IP address"),
        ] {
            assert_eq!(Network::parse(text), Err(error.to_string()), "{text}");
        }
    }
}
