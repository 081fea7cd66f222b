//! memcached's protocol at its edges, from `protocol.txt` and `binary_protocol` of memcached: lengths, framing, other ways to a server.

use crate::support;

use base_time::{Rng, Time};
use netfn_cache::KvCache;
use support::*;

const NOW: Time = Time::ZERO;

fn pass(cache: &mut KvCache, frame: &[u8]) {
    assert_eq!(cache.process(frame, NOW), None, "{frame:02x?}");
}

/// A cache that has `key` with `value`, which its server has stored.
fn with(key: &str, value: &str) -> KvCache {
    let mut cache = KvCache::new(8, None);
    pass(&mut cache, &request(1, 1, &format!("set {key} 7 0 {}\r\n{value}\r\n", value.len())));
    pass(&mut cache, &answer(1, 1, "STORED\r\n"));
    cache
}

/// The answer to a read of one key; of one that goes on the server says that it is not there.
fn get(cache: &mut KvCache, line: &str) -> Option<String> {
    let answered = cache.process(&request(2, 2, &format!("{line}\r\n")), NOW);
    if answered.is_none() {
        pass(cache, &answer(2, 2, "ERROR\r\n"));
    }
    answered.map(|frame| text(&frame))
}

/// A datagram of memcached's with any header: id, sequence number, datagrams, reserved.
fn datagram(header: [u16; 4], payload: &[u8]) -> Vec<u8> {
    let header: Vec<u8> = header.iter().flat_map(|half| half.to_be_bytes()).collect();
    udp(client(1), (SERVER, 11211), &[&header, payload].concat())
}

#[test]
fn keys_of_250_bytes_are_kept_and_longer_ones_are_none() {
    let longest = "k".repeat(250);
    let mut cache = with(&longest, "v");
    assert_eq!(
        get(&mut cache, &format!("get {longest}")),
        Some(format!("VALUE {longest} 7 1\r\nv\r\nEND\r\n"))
    );
    // One that begins in the same way is another.
    assert_eq!(get(&mut cache, &format!("get {}", &longest[1..])), None);
    // memcached refuses the next one; nobody can rely on what it does with the rest.
    let mut cache = with(&longest, "v");
    assert_eq!(get(&mut cache, &format!("get {longest}k")), None);
    assert_eq!(get(&mut cache, &format!("get {longest}")), None);
    let mut cache = with(&format!("{longest}k"), "v");
    assert_eq!((get(&mut cache, &format!("get {longest}k")), cache.counted().kept), (None, 0));
}

/// memcached puts 1,400 bytes into a datagram, with its header; an answer that it would cut is none of the cache's.
#[test]
fn no_answer_is_longer_than_the_servers_datagrams() {
    let mut kept = vec![];
    for length in 1300..1500 {
        let value = "v".repeat(length);
        if let Some(reply) = get(&mut with("key", &value), "get key") {
            assert_eq!(reply, format!("VALUE key 7 {length}\r\n{value}\r\nEND\r\n"));
            assert!(reply.len() + 8 <= 1400, "{length}");
            kept.push(length);
        }
    }
    // All of them up to one, which leaves room for the number that `gets` returns.
    let last = 1400 - 8 - "VALUE key 7 1400 18446744073709551615\r\n\r\nEND\r\n".len();
    assert_eq!(kept, (1300..=last).collect::<Vec<_>>());
    // Two that fit one by one and not together.
    let mut cache = with("a", &"a".repeat(700));
    pass(&mut cache, &request(1, 1, &format!("set b 0 0 700\r\n{}\r\n", "b".repeat(700))));
    pass(&mut cache, &answer(1, 1, "STORED\r\n"));
    assert!(get(&mut cache, "get a").is_some() && get(&mut cache, "get b").is_some());
    assert_eq!(get(&mut cache, "get a b"), None);
    assert!(get(&mut cache, "get a").is_none(), "the server said `ERROR`");
}

#[test]
fn an_answer_in_several_datagrams_is_not_kept_in_parts() {
    let part = |sequence: u16, text: &str| {
        let header: Vec<u8> = [5, sequence, 3, 0u16].iter().flat_map(|half| half.to_be_bytes()).collect();
        udp((SERVER, 11211), client(1), &[&header, text.as_bytes()].concat())
    };
    for order in [[0, 1, 2], [2, 1, 0]] {
        let mut cache = with("a", "old");
        pass(&mut cache, &request(1, 5, "get a b\r\n"));
        // Each is a whole answer by its looks.
        for sequence in order {
            pass(&mut cache, &part(sequence, "VALUE b 0 1\r\nb\r\nEND\r\n"));
            assert_eq!(cache.counted().emptied, 0);
        }
        assert_eq!((get(&mut cache, "get b"), cache.counted().kept), (None, 1));
        // Its request is done with: a fourth one belongs to none, and the cache is emptied.
        let emptied = cache.counted().emptied;
        pass(&mut cache, &part(3, "END\r\n"));
        assert!(cache.counted().emptied > emptied);
    }
}

#[test]
fn requests_in_several_datagrams_and_binary_ones_empty_the_cache() {
    let binary_set = [&[0x80, 1, 0, 1, 8, 0, 0, 0, 0, 0, 0, 10][..], &[0; 20], b"a", b"x"].concat();
    let mut rng = Rng::new(3);
    let mut odd = vec![
        datagram([9, 0, 2, 0], b"set a 0 0 100\r\nfirst part"),
        datagram([9, 1, 2, 0], b"get a\r\n"),
        datagram([9, 0, 0, 0], b"get a\r\n"),
        datagram([9, 0, 1, 0], &binary_set),
        datagram([9, 0, 1, 0], b""),
        datagram([9, 0, 1, 0], b"get a"),
        datagram([9, 0, 1, 0], b"get a\0b\r\n"),
        datagram([9, 0, 1, 0], b"get \ta\r\n"),
        datagram([9, 0, 1, 0], b"GET a\r\n"),
        datagram([9, 0, 1, 0], b"get a\r\nset a 0 0 1\r\nx\r\n"),
        datagram([9, 0, 1, 0], b"set a 0 0 18446744073709551617\r\nx\r\n"),
        datagram([9, 0, 1, 0], b"set a 4294967296 0 1\r\nx\r\n"),
        datagram([9, 0, 1, 0], b"set a 0 0 1\r\nx\r\n\r\n"),
    ];
    odd.extend((0..200).map(|_| {
        let length = rng.between(1, 60) as usize;
        datagram([9, 0, 1, 0], &rng.bytes(length))
    }));
    for frame in odd {
        let mut cache = with("a", "v");
        pass(&mut cache, &frame);
        assert_eq!(get(&mut cache, "get a"), None, "{}", String::from_utf8_lossy(&frame[50..]));
    }
}

/// Lines may end without a carriage return, and words have several spaces between them, as memcached takes them.
#[test]
fn what_memcached_takes_is_taken() {
    let mut cache = with("a", "v");
    for line in ["get a\n", "get  a\r\n", "get a \r\n", " get a\r\n"] {
        let answered = cache.process(&request(2, 2, line), NOW).map(|frame| text(&frame));
        assert_eq!(answered.as_deref(), Some("VALUE a 7 1\r\nv\r\nEND\r\n"), "{line:?}");
    }
    for (set, value) in [
        ("set a 1 0 2 noreply\r\nxy\r\n", None),
        ("set a 1 -1 2\r\nxy\r\n", None),
        ("set a 1 2592000 2\r\nxy\r\n", Some("VALUE a 1 2\r\nxy\r\nEND\r\n")),
        ("set a 1 2592001 2\r\nxy\r\n", None),
        ("append a 1 0 2\r\nxy\r\n", None),
        ("prepend a 1 0 2\r\nxy\r\n", None),
        ("set a 1 0 4\r\n\r\n\r\n\r\n", Some("VALUE a 1 4\r\n\r\n\r\n\r\nEND\r\n")),
        ("set a 1 0 5\r\nEND\r\n\r\n", Some("VALUE a 1 5\r\nEND\r\n\r\nEND\r\n")),
        (
            "cas a 4294967295 0 2 18446744073709551615\r\nxy\r\n",
            Some("VALUE a 4294967295 2\r\nxy\r\nEND\r\n"),
        ),
    ] {
        let mut cache = with("a", "v");
        pass(&mut cache, &request(1, 1, set));
        assert_eq!(cache.process(&request(3, 3, "get a\r\n"), NOW), None, "{set:?}: not stored yet");
        if !set.contains("noreply") {
            pass(&mut cache, &answer(1, 1, "STORED\r\n"));
        }
        pass(&mut cache, &answer(3, 3, "END\r\n"));
        // The read between is a reason to keep nothing; so it is done again without it.
        let mut cache = with("a", "v");
        pass(&mut cache, &request(1, 1, set));
        if !set.contains("noreply") {
            pass(&mut cache, &answer(1, 1, "STORED\r\n"));
        }
        assert_eq!(get(&mut cache, "get a").as_deref(), value, "{set:?}");
    }
}

/// `udp` or `tcp` between a client and memcached's port, over IPv4 or IPv6, with `payload`.
fn by_another_way(is_ipv6: bool, protocol: u8, from_server: bool, payload: &[u8]) -> Vec<u8> {
    let ports = if from_server { [11211, 4001u16] } else { [4001, 11211] };
    let mut transport: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
    match protocol {
        6 => transport.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 1, 0, 0, 0, 0, 0]),
        _ => transport.extend([0, payload.len() as u8 + 8, 0, 0]),
    }
    transport.extend(payload);
    let length = (transport.len() as u16).to_be_bytes();
    let ip = if is_ipv6 {
        let addresses = [[0xfd; 16], [0xfc; 16]].concat();
        [&[0x60, 0, 0, 0][..], &length, &[protocol, 64], &addresses].concat()
    } else {
        let total = (transport.len() as u16 + 20).to_be_bytes();
        [&[0x45, 0][..], &total, &[0, 1, 0, 0, 64, protocol, 0, 0], &[10, 0, 0, 1], &SERVER].concat()
    };
    let kind: [u8; 2] = if is_ipv6 { [0x86, 0xdd] } else { [8, 0] };
    [&[2; 12][..], &kind, &ip, &transport].concat()
}

/// A client that changes a value over TCP, or IPv6: whoever knows of it must not read the old one.
#[test]
fn other_ways_to_the_server_empty_the_cache() {
    let tagged = |frame: Vec<u8>| [&frame[..12], &[0x81, 0, 0, 5], &frame[12..]].concat();
    for (is_ipv6, protocol) in [(false, 6), (true, 6), (true, 17)] {
        for from_server in [false, true] {
            let payload = b"set a 0 0 1\r\nx\r\n";
            let frame = by_another_way(is_ipv6, protocol, from_server, payload);
            for frame in [tagged(frame.clone()), frame[..frame.len() - 9].to_vec(), frame] {
                let mut cache = with("a", "v");
                pass(&mut cache, &frame);
                assert_eq!(get(&mut cache, "get a"), None, "{frame:02x?}");
            }
        }
    }
    // Behind headers that are not read, and in a fragment.
    for next in [0, 43, 44, 60] {
        let mut cache = with("a", "v");
        pass(&mut cache, &by_another_way(true, next, false, b"................"));
        assert_eq!(get(&mut cache, "get a"), None, "{next}");
    }
    // A read over UDP goes on before the change over TCP and is answered after it.
    let mut cache = KvCache::new(8, None);
    pass(&mut cache, &request(1, 1, "get a\r\n"));
    pass(&mut cache, &by_another_way(false, 6, false, b"delete a\r\n"));
    pass(&mut cache, &answer(1, 1, "VALUE a 0 1\r\nv\r\nEND\r\n"));
    assert_eq!(get(&mut cache, "get a"), None);
}

/// Frames that carry no values leave the cache unchanged: segments without data, other ports, neighbours of IPv6.
#[test]
fn frames_of_others_leave_the_cache_alone() {
    let mut other_port = by_another_way(false, 6, false, b"set a 0 0 1\r\nx\r\n");
    other_port[36..38].copy_from_slice(&80u16.to_be_bytes());
    let mut to_many = by_another_way(true, 0, false, b"................");
    to_many[38] = 0xff;
    let padded = [by_another_way(false, 6, false, b""), vec![0; 6]].concat();
    let padded_ipv6 = [by_another_way(true, 6, true, b""), vec![0; 6]].concat();
    for frame in [other_port, to_many, padded, padded_ipv6, by_another_way(true, 58, false, b"neighbours")] {
        let mut cache = with("a", "v");
        pass(&mut cache, &frame);
        assert!(get(&mut cache, "get a").is_some(), "{frame:02x?}");
    }
}

/// A server's answer and its requests may come without UDP's checksum; a wrong checksum of IPv4 no receiver takes.
#[test]
fn checksums_are_as_receivers_take_them() {
    let without = |mut frame: Vec<u8>| {
        frame[40..42].fill(0);
        frame
    };
    let mut cache = KvCache::new(8, None);
    pass(&mut cache, &without(request(1, 1, "set a 0 0 1\r\nv\r\n")));
    pass(&mut cache, &without(answer(1, 1, "STORED\r\n")));
    let answered = cache.process(&without(request(1, 2, "get a\r\n")), NOW);
    assert_eq!(answered.map(|frame| text(&frame)).as_deref(), Some("VALUE a 0 1\r\nv\r\nEND\r\n"));
    let mut wrong = request(1, 3, "delete a\r\n");
    wrong[24] ^= 1;
    pass(&mut cache, &wrong);
    assert!(get(&mut cache, "get a").is_some());
}

/// Some request ids give a sum that would mean "no checksum".
#[test]
fn no_answer_is_without_a_checksum() {
    let mut cache = with("a", "v");
    for id in 0..=u16::MAX {
        let frame = cache.process(&request(1, id, "get a\r\n"), NOW).unwrap();
        assert_ne!(frame[40..42], [0, 0], "{id}");
        assert_eq!(text(&frame), "VALUE a 7 1\r\nv\r\nEND\r\n");
    }
}

#[test]
fn an_answer_has_the_tag_of_its_request() {
    let mut cache = with("a", "v");
    let plain = request(1, 1, "get a\r\n");
    let tag = [0x81, 0, 0xa0, 0x2a];
    let answered = cache.process(&[&plain[..12], &tag, &plain[12..]].concat(), NOW).unwrap();
    assert_eq!(answered[12..16], tag);
    assert_eq!(text(&[&answered[..12], &answered[16..]].concat()), "VALUE a 7 1\r\nv\r\nEND\r\n");
}

/// Two servers, one key.
#[test]
fn a_key_of_another_server_is_another() {
    let from = |server: u8, id: u16, text: &str| {
        let header = [&id.to_be_bytes()[..], &[0, 0, 0, 1, 0, 0], text.as_bytes()].concat();
        udp(([10, 0, 0, server], 11211), client(1), &header)
    };
    let to = |server: u8, id: u16, text: &str| {
        let header = [&id.to_be_bytes()[..], &[0, 0, 0, 1, 0, 0], text.as_bytes()].concat();
        udp(client(1), ([10, 0, 0, server], 11211), &header)
    };
    let mut cache = KvCache::new(8, None);
    for server in [1, 2] {
        pass(&mut cache, &to(server, 1, &format!("set a 0 0 1\r\n{server}\r\n")));
        pass(&mut cache, &from(server, 1, "STORED\r\n"));
    }
    let mut read = |server: u8| cache.process(&to(server, 2, "get a\r\n"), NOW).map(|frame| text(&frame));
    assert_eq!(read(1).as_deref(), Some("VALUE a 0 1\r\n1\r\nEND\r\n"));
    assert_eq!(read(2).as_deref(), Some("VALUE a 0 1\r\n2\r\nEND\r\n"));
    assert_eq!(read(3), None);
}

/// A read that lengthens a value's life is for the server, whatever is kept.
#[test]
fn get_and_touch_goes_to_the_server() {
    for line in ["gat 10 a\r\n", "gats 0 a\r\n"] {
        let mut cache = with("a", "v");
        pass(&mut cache, &request(1, 1, line));
        pass(&mut cache, &answer(1, 1, "VALUE a 7 1\r\nv\r\nEND\r\n"));
        assert_eq!(get(&mut cache, "get a"), None, "{line:?}: it may end at a time that is not known");
    }
}

#[test]
fn arithmetic_leaves_other_keys() {
    for line in ["incr b 1\r\n", "decr b 1\r\n", "decr b 18446744073709551615 noreply\r\n"] {
        let mut cache = with("a", "v");
        pass(&mut cache, &request(1, 1, line));
        assert!(get(&mut cache, "get a").is_some(), "{line:?}");
    }
}
