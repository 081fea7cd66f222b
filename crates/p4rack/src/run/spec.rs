//! Ports and packets of the command line: `1@in.pcap,out.pcap`, `1:0a 0b 0c`.

use std::path::PathBuf;

/// A port with its files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortFiles {
    /// The port.
    pub port: u32,
    /// Capture of input packets; `-` is standard input.
    pub input: Option<PathBuf>,
    /// Packets that go out.
    pub output: Option<PathBuf>,
}

/// A packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HexPacket {
    /// Port of arrival.
    pub port: u32,
    /// The packet.
    pub bytes: Vec<u8>,
}

/// The longest packet that can be given in hexadecimal, in bytes.
const LONGEST: usize = 1 << 20;

/// `PORT@IN`, `PORT@IN,OUT`, `PORT@,OUT`
pub fn port_files(text: &str) -> Result<PortFiles, String> {
    let (port, files) = text
        .split_once('@')
        .ok_or_else(|| format!("`{text}` has no `@`: write PORT@IN.pcap or PORT@IN.pcap,OUT.pcap"))?;
    let port = port_number(port)?;
    let (input, output) = match files.split_once(',') {
        Some((input, output)) => (input, Some(output)),
        None => (files, None),
    };
    let path = |text: &str| (!text.is_empty()).then(|| PathBuf::from(text));
    let found = PortFiles { port, input: path(input), output: output.and_then(path) };
    if found.input.is_none() && found.output.is_none() {
        return Err(format!("`{text}` names no file after `@`"));
    }
    Ok(found)
}

/// `PORT:HEX`; spaces and colons between bytes, and `0x` before them, are allowed.
pub fn hex_packet(text: &str) -> Result<HexPacket, String> {
    let (port, hex) = text
        .split_once(':')
        .ok_or_else(|| "there is no `:`: write PORT:HEX, as in 1:00 1b 2c".to_string())?;
    let port_digits = port.len() + 1;
    let port = port_number(port)?;
    let trimmed = hex.trim_start();
    let skipped = hex.len() - trimmed.len();
    let (trimmed, skipped) = match trimmed.strip_prefix("0x") {
        Some(rest) => (rest, skipped + 2),
        None => (trimmed, skipped),
    };
    let mut digits = vec![];
    for (at, c) in trimmed.char_indices() {
        match c.to_digit(16) {
            Some(digit) => digits.push(digit as u8),
            None if c.is_whitespace() || c == ':' => {}
            None => {
                let column =
                    text.get(..port_digits + skipped + at).map_or(0, |before| before.chars().count()) + 1;
                return Err(format!("`{}` in column {column} is not a hexadecimal digit", c.escape_debug()));
            }
        }
    }
    if !digits.len().is_multiple_of(2) {
        return Err(format!("{} digits are not whole bytes: one is missing or too many", digits.len()));
    }
    if digits.len() / 2 > LONGEST {
        return Err(format!("a packet has at most {LONGEST} bytes here"));
    }
    let bytes =
        digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect();
    Ok(HexPacket { port, bytes })
}

fn port_number(text: &str) -> Result<u32, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("the port's number is missing".to_string());
    }
    text.parse().map_err(|_| format!("`{}` is not a port number", text.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::{hex_packet, port_files};

    fn hex(text: &str) -> String {
        match hex_packet(text) {
            Ok(packet) => format!("{} {:?}", packet.port, packet.bytes),
            Err(error) => error,
        }
    }

    #[test]
    fn packets() {
        assert_eq!(hex("1:0a0B"), "1 [10, 11]");
        assert_eq!(hex("1: 0x0a 0b"), "1 [10, 11]");
        assert_eq!(hex("12:02:00:ff"), "12 [2, 0, 255]");
        assert_eq!(hex("1:"), "1 []");
        assert_eq!(hex("0a0b"), "there is no `:`: write PORT:HEX, as in 1:00 1b 2c");
        assert_eq!(hex("x:0a"), "`x` is not a port number");
        assert_eq!(hex(":0a"), "the port's number is missing");
        assert_eq!(hex("1:0a 0g"), "`g` in column 7 is not a hexadecimal digit");
        assert_eq!(hex("1:0a0"), "3 digits are not whole bytes: one is missing or too many");
    }

    fn files(text: &str) -> String {
        match port_files(text) {
            Ok(found) => format!("{} {:?} {:?}", found.port, found.input, found.output),
            Err(error) => error,
        }
    }

    #[test]
    fn ports() {
        assert_eq!(files("1@a.pcap"), "1 Some(\"a.pcap\") None");
        assert_eq!(files("1@a.pcap,b.pcap"), "1 Some(\"a.pcap\") Some(\"b.pcap\")");
        assert_eq!(files("1@,b.pcap"), "1 None Some(\"b.pcap\")");
        assert_eq!(files("1@-"), "1 Some(\"-\") None");
        assert_eq!(files("1@"), "`1@` names no file after `@`");
        assert_eq!(files("a.pcap"), "`a.pcap` has no `@`: write PORT@IN.pcap or PORT@IN.pcap,OUT.pcap");
        assert_eq!(files("@a.pcap"), "the port's number is missing");
    }
}
