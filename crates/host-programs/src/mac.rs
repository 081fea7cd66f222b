//! Addresses of network cards.

use std::fmt;

/// A MAC address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// All stations.
    pub const BROADCAST: Mac = Mac([0xff; 6]);

    /// True for addresses of groups, broadcast included (IEEE 802: the first byte is odd).
    pub fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// Reads six bytes in hexadecimal, `02:00:00:00:00:01` or with `-`.
    pub fn parse(text: &str) -> Option<Mac> {
        let mut bytes = [0; 6];
        let mut parts = text.split([':', '-']);
        for byte in &mut bytes {
            let part = parts.next().filter(|p| (1..=2).contains(&p.len()))?;
            let hex = part.bytes().all(|c| c.is_ascii_hexdigit());
            *byte = u8::from_str_radix(part, 16).ok().filter(|_| hex)?;
        }
        parts.next().is_none().then_some(Mac(bytes))
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        f.pad(&format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macs_are_read_and_printed() {
        let mac = Mac([2, 0, 0, 0, 0xab, 1]);
        for text in ["02:00:00:00:ab:01", "02-00-00-00-AB-01", "2:0:0:0:ab:1"] {
            assert_eq!(Mac::parse(text), Some(mac), "{text}");
        }
        assert_eq!(mac.to_string(), "02:00:00:00:ab:01");
        for text in
            ["", "02:00:00:00:ab", "02:00:00:00:ab:01:02", "02:00:00:00:ab:+1", "020000000001", "02:00::"]
        {
            assert_eq!(Mac::parse(text), None, "{text}");
        }
        assert!(Mac::BROADCAST.is_group() && !mac.is_group());
    }
}
