//! Ports as the command line writes them.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// A port, as `-i` says it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortSpec {
    /// Port number.
    pub port: u32,
    /// Kind of the port.
    pub kind: PortKind,
    /// Directory for captures of its frames: `INTERFACE_in.pcap` and `INTERFACE_out.pcap`.
    pub record: Option<PathBuf>,
}

/// Kinds of ports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PortKind {
    /// Frames come from a capture file, as fast as they are taken, and go to another.
    Pcap {
        /// Capture to read frames from.
        input: Option<PathBuf>,
        /// Capture to write frames to.
        output: Option<PathBuf>,
    },
    /// A TAP interface with this name, made if there is none.
    Tap(String),
    /// The interface with this name, by packet sockets.
    Packet(String),
    /// A network interface by AF_XDP sockets.
    AfXdp(String),
    /// A frame is a datagram from one address to the other: a cable to another process.
    Udp {
        /// Here.
        from: SocketAddr,
        /// Remote address; datagrams from elsewhere are dropped.
        to: SocketAddr,
    },
}

impl PortKind {
    /// The interface, which no other port may use.
    pub(crate) fn interface(&self) -> Option<&str> {
        match self {
            PortKind::Tap(name) | PortKind::Packet(name) | PortKind::AfXdp(name) => Some(name),
            PortKind::Pcap { .. } | PortKind::Udp { .. } => None,
        }
    }
}

impl fmt::Display for PortKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path =
            |path: &Option<PathBuf>| path.as_ref().map_or(String::new(), |path| path.display().to_string());
        match self {
            PortKind::Pcap { input, output } => write!(f, "pcap:{},{}", path(input), path(output)),
            PortKind::Tap(name) => write!(f, "tap:{name}"),
            PortKind::Packet(name) => write!(f, "packet:{name}"),
            PortKind::AfXdp(name) => write!(f, "afxdp:{name}"),
            PortKind::Udp { from, to } => write!(f, "udp:{from},{to}"),
        }
    }
}

impl FromStr for PortSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<PortSpec, String> {
        let form = "a port is written NUMBER@INTERFACE, NUMBER@packet:INTERFACE, NUMBER@afxdp:INTERFACE, NUMBER@tap:NAME, \
                    NUMBER@pcap:IN,OUT (either may be empty) or NUMBER@udp:LOCAL,REMOTE (addresses with ports)";
        let (port, kind) = text.split_once('@').ok_or(form)?;
        let port = port.parse().map_err(|_| format!("`{port}` is not a port number: {form}"))?;
        // Linux's IFNAMSIZ is 16, with the zero byte at the end.
        let interface = |name: &str| match (1..16).contains(&name.len()) && !name.contains(['/', ' ']) {
            true => Ok(name.to_string()),
            false => {
                Err(format!("`{name}` is not the name of an interface, which has 1 to 15 characters: {form}"))
            }
        };
        let kind = match kind.split_once(':').unwrap_or(("packet", kind)) {
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
            ("tap", name) => PortKind::Tap(interface(name)?),
            ("packet", name) => PortKind::Packet(interface(name)?),
            ("afxdp", name) => PortKind::AfXdp(interface(name)?),
            (kind, _) => return Err(format!("`{kind}` is not a kind of port: {form}")),
        };
        Ok(PortSpec { port, kind, record: None })
    }
}

impl fmt::Display for PortSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.port, self.kind)
    }
}

/// Reason why a port cannot be opened.
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
        let tap = PortSpec { port: 3, kind: PortKind::Tap("left".to_string()), record: None };
        assert_eq!("3@tap:left".parse(), Ok(tap));
        let input = Some(PathBuf::from("in"));
        let pcap = PortSpec { port: 1, kind: PortKind::Pcap { input, output: None }, record: None };
        assert_eq!("1@pcap:in".parse(), Ok(pcap));
        let packet = PortSpec { port: 1, kind: PortKind::Packet("eth0".to_string()), record: None };
        assert_eq!("1@eth0".parse(), Ok(packet.clone()));
        assert_eq!("1@packet:eth0".parse(), Ok(packet));
        for text in [
            "1@packet:eth0",
            "1@afxdp:eth0",
            "2@tap:left",
            "3@pcap:in,",
            "4@pcap:,out",
            "5@udp:127.0.0.1:1,127.0.0.1:2",
        ] {
            assert_eq!(text.parse::<PortSpec>().unwrap().to_string(), text);
        }
        for wrong in [
            "1",
            "1@",
            "x@tap:left",
            "-1@eth0",
            "1@tap:",
            "1@packet:",
            "1@tap:sixteen-letters-a",
            "1@sixteen-letters-a",
            "1@a/b",
            "1@udp:127.0.0.1:1",
            "1@hub:a",
        ] {
            assert!(wrong.parse::<PortSpec>().is_err(), "{wrong}");
        }
    }
}
