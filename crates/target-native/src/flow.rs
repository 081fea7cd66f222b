//! Flows: packets that several workers must keep in order.

/// A number that is the same for all packets of a flow, for assigning each flow to one worker.
///
/// ```
/// # use target_native::flow;
/// # let (frame, workers) = ([0; 60], 4);
/// let worker = flow(&frame) % workers;
/// ```
///
/// Depends on the addresses of IPv4 and IPv6, and on the ports of TCP and UDP over them; for other frames on the
/// Ethernet addresses. Fragments lack ports, so all fragments of a datagram depend on the addresses. Callers must
/// handle programs that distinguish flows by other fields, and state that flows share in a certain order.
pub fn flow(frame: &[u8]) -> u64 {
    let (addresses, ports) = match frame.get(12..14) {
        Some([0x08, 0x00]) => (26..34, has_ports(frame).then_some(34..38)),
        Some([0x86, 0xdd]) => (22..54, is_tcp_or_udp(frame.get(20)).then_some(54..58)),
        _ => (0..12, None),
    };
    let addresses = frame.get(addresses).unwrap_or(frame);
    let ports = ports.and_then(|ports| frame.get(ports)).unwrap_or_default();
    // FNV-1a, whose high bits are the better ones.
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    addresses.iter().chain(ports).fold(0xcbf2_9ce4_8422_2325, step) >> 20
}

/// True if the ports are where a header without options has them, and this is no fragment.
fn has_ports(frame: &[u8]) -> bool {
    let is_whole = frame.get(20..22).is_some_and(|at| u16::from_be_bytes([at[0], at[1]]) & 0x3fff == 0);
    frame.get(14) == Some(&0x45) && is_whole && is_tcp_or_udp(frame.get(23))
}

fn is_tcp_or_udp(protocol: Option<&u8>) -> bool {
    matches!(protocol, Some(6 | 17))
}

#[cfg(test)]
mod tests {
    use super::flow;

    /// IPv4 from and to these, with this in the bytes for flags and offset, and these ports.
    fn packet(protocol: u8, addresses: [u8; 2], fragment: u16, ports: [u8; 2]) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[14] = 0x45;
        frame[20..22].copy_from_slice(&fragment.to_be_bytes());
        frame[23] = protocol;
        (frame[29], frame[33]) = (addresses[0], addresses[1]);
        (frame[35], frame[37]) = (ports[0], ports[1]);
        frame
    }

    #[test]
    fn packets_of_a_flow_have_one_number() {
        let of = |protocol, ports| flow(&packet(protocol, [1, 2], 0, ports));
        let mut later = packet(6, [1, 2], 0, [3, 4]);
        (later[0], later[22], later[45]) = (7, 60, 9);
        assert_eq!(flow(&later), of(6, [3, 4]));
        assert_ne!(of(6, [3, 4]), of(6, [3, 5]));
        assert_ne!(of(6, [3, 4]), flow(&packet(6, [1, 9], 0, [3, 4])));
        // ICMP has no ports.
        assert_eq!(of(1, [3, 4]), of(1, [3, 5]));
    }

    #[test]
    fn fragments_of_a_datagram_have_one_number() {
        let of = |fragment, ports| flow(&packet(17, [1, 2], fragment, ports));
        assert_eq!(of(0x2000, [3, 4]), of(0x2010, [200, 201]));
        assert_eq!(of(0x2000, [3, 4]), of(0x0020, [77, 78]));
        // "Don't fragment" makes none.
        assert_eq!(of(0x4000, [3, 4]), of(0, [3, 4]));
    }

    #[test]
    fn short_frames_have_a_number() {
        let whole = packet(17, [1, 2], 0, [3, 4]);
        (0..whole.len()).for_each(|length| {
            flow(&whole[..length]);
        });
    }
}
