//! Frames of an interface by packet sockets (packet(7)).
//!
//! The kernel fills a ring of slots (`TPACKET_V2`): one copy, and no call of the system, for a frame. `TPACKET_V3` has blocks of frames instead of slots; it hands
//! over a block that is not full after a millisecond at the earliest, in which a `ping` answers twenty times.
//!
//! Frames that do not fit into a slot, mostly segments larger than the MTU, are received by a system call.

mod receive;
mod send;

pub use receive::{Frame, Place, Receiver};
pub use send::{Sender, Work};

use base_offload::{Large, Offload, Partial, Protocol};

/// Bytes of the header that describes the work left to the card (`virtio_net_hdr`).
const HEAD: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;

const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const UDP: u8 = 5;
/// A flag beside the others: the sender knows congestion notifications.
const NOTIFIES: u8 = 0x80;

/// Work left to the card; `None` if this module cannot do it in software.
fn offload(head: &[u8; HEAD]) -> Option<Offload> {
    let word = |at: usize| usize::from(u16::from_ne_bytes([head[at], head[at + 1]]));
    let checksum = (head[0] & NEEDS_CHECKSUM != 0).then(|| Partial { start: word(6), offset: word(8) });
    let protocol = match head[1] & !NOTIFIES {
        0 => return Some(Offload { checksum, large: None }),
        TCP_V4 | TCP_V6 => Protocol::Tcp,
        UDP => Protocol::Udp,
        _ => return None,
    };
    Some(Offload { checksum, large: Some(Large { protocol, size: word(4) }) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_say_what_is_left_to_the_card() {
        assert_eq!(offload(&[0; HEAD]), Some(Offload::default()));
        let checksum = Some(Partial { start: 34, offset: 16 });
        let words = |words: [u16; 4]| words.into_iter().flat_map(u16::to_ne_bytes);
        let head = |flags, kind, rest: [u16; 4]| -> [u8; HEAD] {
            let bytes: Vec<u8> = [flags, kind].into_iter().chain(words(rest)).collect();
            bytes.try_into().unwrap()
        };
        assert_eq!(offload(&head(1, 0, [0, 0, 34, 16])), Some(Offload { checksum, large: None }));
        let large = Some(Large { protocol: Protocol::Tcp, size: 1448 });
        assert_eq!(offload(&head(1, 0x81, [66, 1448, 34, 16])), Some(Offload { checksum, large }));
        // Fragments of UDP.
        assert_eq!(offload(&head(1, 3, [66, 1448, 34, 16])), None);
    }
}
