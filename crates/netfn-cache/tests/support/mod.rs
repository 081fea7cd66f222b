//! Frames between clients and a server, and a server.
#![allow(dead_code)]

use base_time::{Duration, Time};
use std::collections::BTreeMap;

pub const SERVER: [u8; 4] = [10, 0, 0, 100];

pub fn ms(n: u64) -> Time {
    Time::ZERO + Duration::from_ms(n)
}

fn sum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0)));
    let sum: u32 = words.sum();
    let once = (sum & 0xffff) + (sum >> 16);
    (once & 0xffff) + (once >> 16)
}

fn complement(sum: u32) -> [u8; 2] {
    (!(sum as u16)).to_be_bytes()
}

/// A UDP frame with right checksums.
pub fn udp(from: ([u8; 4], u16), to: ([u8; 4], u16), payload: &[u8]) -> Vec<u8> {
    let mut udp =
        [from.1.to_be_bytes(), to.1.to_be_bytes(), ((payload.len() + 8) as u16).to_be_bytes(), [0, 0]]
            .concat();
    udp.extend(payload);
    let pseudo = [&from.0[..], &to.0, &[0, 17], &((udp.len() as u16).to_be_bytes())].concat();
    let check = complement({
        let all = sum(&pseudo) + sum(&udp);
        (all & 0xffff) + (all >> 16)
    });
    udp[6..8].copy_from_slice(&check);
    let mut ip = vec![0x45, 0];
    ip.extend(((udp.len() + 20) as u16).to_be_bytes());
    ip.extend([0, 7, 0x40, 0, 63, 17, 0, 0]);
    ip.extend(from.0);
    ip.extend(to.0);
    let check = complement(sum(&ip));
    ip[10..12].copy_from_slice(&check);
    [&[2, 0, 0, 0, 0, to.0[3]][..], &[2, 0, 0, 0, 0, from.0[3]], &[8, 0], &ip, &udp].concat()
}

/// A client by its number.
pub fn client(n: u8) -> ([u8; 4], u16) {
    ([10, 0, 0, n], 4000 + u16::from(n))
}

fn framed(id: u16, text: &[u8]) -> Vec<u8> {
    [&id.to_be_bytes()[..], &[0, 0, 0, 1, 0, 0], text].concat()
}

pub fn request(from: u8, id: u16, text: &str) -> Vec<u8> {
    udp(client(from), (SERVER, 11211), &framed(id, text.as_bytes()))
}

pub fn answer(to: u8, id: u16, text: &str) -> Vec<u8> {
    udp((SERVER, 11211), client(to), &framed(id, text.as_bytes()))
}

/// The text of a frame whose lengths and checksums are right.
pub fn text(frame: &[u8]) -> String {
    let (ip, udp) = (&frame[14..34], &frame[34..]);
    assert_eq!(sum(ip), 0xffff);
    assert_eq!(usize::from(u16::from_be_bytes([ip[2], ip[3]])), frame.len() - 14);
    assert_eq!(usize::from(u16::from_be_bytes([udp[4], udp[5]])), udp.len());
    let pseudo = [&ip[12..20], &[0, 17], &udp[4..6]].concat();
    assert_eq!(sum(&[&pseudo[..], udp].concat()), 0xffff);
    String::from_utf8(udp[16..].to_vec()).unwrap()
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    pub data: String,
    pub flags: u32,
    pub unique: u64,
    /// The server's second at which it is gone.
    pub end: Option<u64>,
}

/// memcached as far as tests need it: text, one datagram, seconds that tick.
#[derive(Default)]
pub struct Server {
    pub items: BTreeMap<String, Item>,
    pub unique: u64,
    pub reads: u64,
    pub writes: u64,
}

impl Server {
    pub fn serve(&mut self, text: &str, now: Time) -> Option<String> {
        let second = now.as_us() / 1_000_000;
        self.items.retain(|_, item| item.end.is_none_or(|end| second < end));
        let (line, data) = text.split_once("\r\n")?;
        let words: Vec<&str> = line.split(' ').collect();
        let noreply = words.last() == Some(&"noreply");
        let key = words.get(1).unwrap_or(&"").to_string();
        let answer = match words[0] {
            verb @ ("get" | "gets") => {
                self.reads += 1;
                let mut out = String::new();
                for key in &words[1..] {
                    if let Some(item) = self.items.get(*key) {
                        let unique = if verb == "gets" { format!(" {}", item.unique) } else { String::new() };
                        out += &format!(
                            "VALUE {key} {} {}{unique}\r\n{}\r\n",
                            item.flags,
                            item.data.len(),
                            item.data
                        );
                    }
                }
                out + "END\r\n"
            }
            verb @ ("set" | "add" | "replace" | "cas") => {
                self.writes += 1;
                let old = self.items.get(&key);
                let refused = match verb {
                    "add" if old.is_some() => Some("NOT_STORED\r\n"),
                    "replace" if old.is_none() => Some("NOT_STORED\r\n"),
                    "cas" if old.is_none() => Some("NOT_FOUND\r\n"),
                    "cas" if old.map(|o| o.unique.to_string()) != Some(words[5].to_string()) => {
                        Some("EXISTS\r\n")
                    }
                    _ => None,
                };
                if refused.is_none() {
                    self.unique += 1;
                    let seconds: u64 = words[3].parse().unwrap();
                    let end = (seconds > 0).then_some(second + seconds);
                    let (data, flags) = (data.trim_end().to_string(), words[2].parse().unwrap());
                    self.items.insert(key, Item { data, flags, unique: self.unique, end });
                }
                refused.unwrap_or("STORED\r\n").to_string()
            }
            "delete" => match self.items.remove(&key) {
                Some(_) => "DELETED\r\n".into(),
                None => "NOT_FOUND\r\n".into(),
            },
            "touch" => match self.items.get_mut(&key) {
                Some(item) => {
                    let seconds: u64 = words[2].parse().unwrap();
                    item.end = (seconds > 0).then_some(second + seconds);
                    "TOUCHED\r\n".into()
                }
                None => "NOT_FOUND\r\n".into(),
            },
            "flush_all" => {
                self.items.clear();
                "OK\r\n".into()
            }
            _ => "ERROR\r\n".into(),
        };
        (!noreply).then_some(answer)
    }
}
