//! Ports as the command line writes them.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// A port, as `-i` says it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortSpec {
    /// Its number.
    pub port: u32,
    /// What stands behind it.
    pub kind: PortKind,
}

/// What stands behind a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PortKind {
    /// Frames come from a capture file, as fast as they are taken, and go to another.
    Pcap {
        /// Where frames come from.
        input: Option<PathBuf>,
        /// Where they go.
        output: Option<PathBuf>,
    },
    /// A TAP interface with this name, made if there is none.
    Tap(String),
    /// A frame is a datagram from one address to the other: a cable to another process.
    Udp {
        /// Here.
        from: SocketAddr,
        /// There; what comes from elsewhere is not taken.
        to: SocketAddr,
    },
}

impl FromStr for PortSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<PortSpec, String> {
        let form = "a port is written NUMBER@pcap:IN,OUT (either may be empty), NUMBER@tap:NAME or \
                    NUMBER@udp:LOCAL,REMOTE (addresses with ports)";
        let (port, kind) = text.split_once('@').ok_or(form)?;
        let port = port.parse().map_err(|_| format!("`{port}` is not a port number: {form}"))?;
        let colon = || match kind.is_empty() {
            true => form.to_string(),
            false => format!("`{kind}` without its kind; of real interfaces only TAP can be used: {form}"),
        };
        let kind = match kind.split_once(':').ok_or_else(colon)? {
            ("pcap", files) => {
                let (input, output) = files.split_once(',').unwrap_or((files, ""));
                let path = |name: &str| (!name.is_empty()).then(|| PathBuf::from(name));
                PortKind::Pcap { input: path(input), output: path(output) }
            }
            ("udp", ends) => {
                let (from, to) = ends.split_once(',').ok_or(form)?;
                let address = |text: &str| {
                    text.parse()
                        .map_err(|_| format!("`{text}` is not an address like 127.0.0.1:5001: {form}"))
                };
                PortKind::Udp { from: address(from)?, to: address(to)? }
            }
            ("tap", name) if !name.is_empty() && name.len() < 16 => PortKind::Tap(name.to_string()),
            ("tap", _) => return Err("an interface name has 1 to 15 characters".to_string()),
            (kind, _) => return Err(format!("`{kind}` is not a kind of port: {form}")),
        };
        Ok(PortSpec { port, kind })
    }
}

/// Why a port cannot be opened.
#[derive(Debug)]
pub struct PortError(pub(crate) String);

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PortError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read() {
        let tap = PortSpec { port: 3, kind: PortKind::Tap("left".to_string()) };
        assert_eq!("3@tap:left".parse(), Ok(tap));
        let input = Some(PathBuf::from("in"));
        let pcap = PortSpec { port: 1, kind: PortKind::Pcap { input, output: None } };
        assert_eq!("1@pcap:in".parse(), Ok(pcap));
        for wrong in
            ["1", "x@tap:left", "1@tap:", "1@tap:sixteen-letters-a", "1@udp:127.0.0.1:1", "1@eth0", "1@hub:a"]
        {
            assert!(wrong.parse::<PortSpec>().is_err(), "{wrong}");
        }
    }
}
