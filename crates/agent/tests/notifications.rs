//! Digests and hashes for BMv2's clients: a subscriber written from nanomsg's protocol, and parameters of hashes by Thrift.

use crate::thrift::{Running, about};
use agent::Setup;
use bmv2::wire::Value;
use bmv2_thrift::{NotificationsAddress, NotificationsListener};
use dataplane_ports::{Cable, cable};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/learn.p4");

/// Greetings of a subscriber and of a publisher.
const SUB: [u8; 8] = [0, b'S', b'P', 0, 0, 0x21, 0, 0];
const PUB: [u8; 8] = [0, b'S', b'P', 0, 0, 0x20, 0, 0];

/// A switch on one cable that publishes digests, and the address it does so at.
fn start(address: &NotificationsAddress) -> (Running, Cable, String) {
    let (inside, outside) = cable(64);
    let listener = NotificationsListener::bind(address).unwrap();
    let address = listener.address().to_string();
    let with = |setup| Setup { notifications: Some(listener), cables: vec![(1, inside)], ..setup };
    (Running::start_with(PROGRAM, with), outside, address)
}

/// Sends a frame; the hash in the frame that comes back.
fn hash(cable: &mut Cable, from: [u8; 6]) -> [u8; 2] {
    assert!(cable.send(&[&from[..], &[0, 0]].concat()));
    loop {
        match cable.receive() {
            Some(frame) => return [frame[6], frame[7]],
            None => std::thread::yield_now(),
        }
    }
}

/// Buffer and sample of the next message, after `prefix`.
fn next(subscriber: &mut impl Read, prefix: &[u8]) -> (u64, Vec<u8>) {
    let mut head = vec![0; prefix.len() + 8];
    subscriber.read_exact(&mut head).unwrap();
    assert_eq!(&head[..prefix.len()], prefix);
    let length = u64::from_be_bytes(head[prefix.len()..].try_into().unwrap());
    let mut message = vec![0; length as usize];
    subscriber.read_exact(&mut message).unwrap();
    assert_eq!(message[..20], *b"LEA|\x07\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0");
    assert_eq!(message[28..32], [1, 0, 0, 0]);
    (u64::from_le_bytes(message[20..28].try_into().unwrap()), message[32..].to_vec())
}

#[test]
fn digests_are_published_until_they_are_acknowledged() {
    let path = std::env::temp_dir().join(format!("p4rack-{}-learn.ipc", std::process::id()));
    // Left by a switch that was killed.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let (switch, mut cable, address) = start(&NotificationsAddress::Ipc(path.clone()));
    assert_eq!(address, format!("ipc://{}", path.display()));
    let twice = NotificationsListener::bind(&NotificationsAddress::Ipc(path.clone())).expect_err("in use");
    assert_eq!(twice.to_string(), "another process listens on it");
    let mut client = switch.client();
    let Some(Value::Struct(info)) = client.standard("bm_mgmt_get_info", vec![]) else { panic!() };
    assert_eq!(info[2], (3, Value::text(address)));
    let mut subscriber = UnixStream::connect(&path).unwrap();
    subscriber.write_all(&SUB).unwrap();
    let mut theirs = [0; 8];
    subscriber.read_exact(&mut theirs).unwrap();
    assert_eq!(theirs, PUB);

    let [a, b] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];
    let sample = |from: [u8; 6]| [&from[..], &[0, 1]].concat();
    hash(&mut cable, a);
    assert_eq!(next(&mut subscriber, &[1]), (0, sample(a)));
    // The first one again is not published.
    hash(&mut cable, a);
    hash(&mut cable, b);
    assert_eq!(next(&mut subscriber, &[1]), (1, sample(b)));
    let list = |more: Vec<Value>| (1..).zip([Value::I32(0), Value::I32(1)].into_iter().chain(more)).collect();
    assert_eq!(client.standard("bm_learning_ack_buffer", list(vec![Value::I64(0)])), None);
    hash(&mut cable, a);
    assert_eq!(next(&mut subscriber, &[1]), (2, sample(a)));
    let wrong = (1..).zip([Value::I32(0), Value::I32(2), Value::I64(0)]).collect();
    assert_eq!(client.code("bm_learning_ack_buffer", wrong), 1);
    drop((client, subscriber, switch));
    // The socket goes with the switch; its last thread may end after the switch. A socket that stays fails by the runner's time limit.
    while path.exists() {
        std::thread::yield_now();
    }
}

#[test]
fn subscribers_come_by_tcp_too_and_must_speak_the_protocol() {
    let (_switch, mut cable, address) = start(&"tcp://127.0.0.1:0".parse().unwrap());
    let address = address.strip_prefix("tcp://").unwrap();
    let mut stranger = TcpStream::connect(address).unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut heard = vec![];
    // Closed, or reset because it did not read all.
    let _ = stranger.read_to_end(&mut heard);
    assert!(heard.is_empty() || heard == PUB);
    let mut subscriber = TcpStream::connect(address).unwrap();
    subscriber.write_all(&SUB).unwrap();
    let mut theirs = [0; 8];
    subscriber.read_exact(&mut theirs).unwrap();
    hash(&mut cable, [2, 0, 0, 0, 0, 3]);
    assert_eq!(next(&mut subscriber, &[]), (0, vec![2, 0, 0, 0, 0, 3, 0, 1]));
    for wrong in ["ipc://", "tcp://host", "127.0.0.1:5000"] {
        assert!(wrong.parse::<NotificationsAddress>().is_err(), "{wrong}");
    }
}

#[test]
fn frames_wait_in_queues_that_have_a_rate() {
    let (inside, mut outside) = cable(64);
    let with = |setup| Setup { cables: vec![(1, inside)], priority_queues: 2, ..setup };
    let switch = Running::start_with(PROGRAM, with);
    let mut client = switch.client();
    let set = |client: &mut crate::thrift::Client, method: &str, numbers: &[i32], last: Value| {
        let numbers = numbers.iter().map(|number| Value::I32(*number)).chain([last]);
        client.method(&format!("simple_switch:{method}"), (1..).zip(numbers).collect())
    };
    let done = Some(Value::I32(0));
    assert_eq!(set(&mut client, "set_egress_queue_rate", &[1], Value::I64(500)), done);
    assert_eq!(set(&mut client, "set_egress_priority_queue_depth", &[1, 1], Value::I32(9)), done);
    // A queue and a number that do not exist are refused.
    assert_eq!(set(&mut client, "set_egress_priority_queue_depth", &[1, 2], Value::I32(9)), None);
    assert_eq!(set(&mut client, "set_all_egress_queue_rates", &[], Value::I64(-1)), None);
    for number in 0..5 {
        hash(&mut outside, [2, 0, 0, 0, 0, number]);
    }
    // Workers run frames again.
    assert_eq!(set(&mut client, "set_all_egress_queue_rates", &[], Value::I64(0)), done);
    hash(&mut outside, [2, 0, 0, 0, 0, 9]);
    let mut cli =
        bmv2::cli::Cli::new(bmv2_thrift::Client::connect(&switch.thrift.to_string()).unwrap()).unwrap();
    assert!(cli.run("set_queue_rate 100 1 1").is_ok());
    assert!(cli.run("set_queue_rate 100 1 7").is_err());
    hash(&mut outside, [2, 0, 0, 0, 0, 10]);
}

/// The remainder of `data`, not reflected, from and with zero.
fn crc16(polynomial: u16, data: &[u8]) -> [u8; 2] {
    let step = |crc: u16, byte: &u8| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| {
            if crc & 0x8000 != 0 { crc << 1 ^ polynomial } else { crc << 1 }
        })
    };
    data.iter().fold(0, step).to_be_bytes()
}

#[test]
fn parameters_of_a_hash_are_set_by_thrift() {
    let (switch, mut cable, _) = start(&"tcp://127.0.0.1:0".parse().unwrap());
    let mut client = switch.client();
    let Some(Value::String(config)) = client.standard("bm_get_config", vec![]) else { panic!() };
    let config = String::from_utf8(config).unwrap();
    assert!(config.contains(r#""algo": "crc16_custom""#) && config.contains(r#""name": "calc""#), "{config}");
    let parameters = |polynomial: u16| {
        let words = [polynomial as i16, 0, 0].map(Value::I16);
        let all = words.into_iter().chain([false, false].map(Value::Bool));
        Value::Struct((1..).zip(all).collect())
    };
    let from = [2, 3, 5, 7, 11, 13];
    for polynomial in [0x1021, 0x8bb7] {
        let set = about("calc", vec![parameters(polynomial)]);
        assert_eq!(client.standard("bm_set_crc16_custom_parameters", set), None);
        assert_eq!(hash(&mut cable, from), crc16(polynomial, &from));
    }
    let wrong = about("calc_0", vec![parameters(1)]);
    assert_eq!(client.code("bm_set_crc16_custom_parameters", wrong), 1);
    let mut cli =
        bmv2::cli::Cli::new(bmv2_thrift::Client::connect(&switch.thrift.to_string()).unwrap()).unwrap();
    cli.run("set_crc16_parameters calc 0x1021 0 0 false false").map_err(|_| ()).unwrap();
    assert_eq!(hash(&mut cable, from), crc16(0x1021, &from));
}
