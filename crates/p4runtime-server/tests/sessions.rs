//! Controllers' sessions with one device, as files in `testdata`.
//!
//! ```text
//! stream 1                        # a message of controller 1, as text of its type
//!   arbitration { device_id: 1 election_id { low: 5 } }
//! < 1: arbitration { .. }         what it, and others, are told
//! write                           also: read, set_config (with the P4Info), get_config
//!   election_id { low: 5 } ..
//! < device: hosts [0x1] is set    what the device does
//! < OK
//! close 1                         the stream ends
//! frame 0007aabb                  leaves by the CPU port
//! device breaks 1                 after one change it refuses one; it also `counts PACKETS`, `sends DIGEST`, `forgets MAC`
//! time 1000                       milliseconds
//! ```
//!
//! `UPDATE_EXPECT=1` writes the lines that begin with `<`.

mod device;

use base_bits::Bits;
use base_time::{Duration, Time};
use control_writes::{Count, EntryKey, Match};
use device::{Device, Maker};
use expect_test::expect_file;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{
    GetForwardingPipelineConfigRequest, P4Data, ReadRequest, SetForwardingPipelineConfigRequest,
    StreamMessageRequest, WriteRequest,
};
use p4runtime_proto::{Message, from_text, to_text};
use p4runtime_server::{Output, Server, Status, StreamId};
use std::path::PathBuf;

const HOSTS: u32 = 33_554_433;
const LEARN: u32 = 385_875_969;

/// Each file has a test of its name.
macro_rules! sessions {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*

        #[test]
        fn every_file_is_a_test() {
            let files = std::fs::read_dir(folder()).expect("the folder is there").flatten();
            let mut names: Vec<String> =
                files.filter_map(|f| Some(f.file_name().to_str()?.strip_suffix(".session")?.to_string())).collect();
            names.sort();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

sessions! { arbitration batches configuration device_messages packets reads roles }

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata"))
}

fn check(name: &str) {
    let path = folder().join(format!("{name}.session"));
    let text = std::fs::read_to_string(&path).expect("the session is there");
    let mut session = Session { server: Server::new(Maker, 1, 0), now: Time::ZERO };
    let mut out = String::new();
    let mut lines = text.lines().filter(|line| !line.starts_with('<')).peekable();
    while let Some(line) = lines.next() {
        out += &format!("{line}\n");
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut body = String::new();
        while let Some(more) = lines.next_if(|line| line.starts_with(' ')) {
            out += &format!("{more}\n");
            body += &format!("{more}\n");
        }
        for reported in session.step(line, &body) {
            out += &format!("< {reported}\n");
        }
    }
    expect_file![path].assert_eq(&out);
}

struct Session {
    server: Server<Maker>,
    now: Time,
}

impl Session {
    /// Does one step; what comes of it, a line each.
    fn step(&mut self, line: &str, body: &str) -> Vec<String> {
        let words: Vec<&str> = line.split(' ').collect();
        let mut reported = match words.as_slice() {
            ["stream", number] => {
                let message: StreamMessageRequest = message(body);
                outputs(self.server.message(stream(number), &message))
            }
            ["close", number] => outputs(self.server.close(stream(number))),
            ["write"] => ended(self.server.write(message::<WriteRequest>(body))),
            ["read"] => {
                let (pieces, status) = self.server.read(message::<ReadRequest>(body));
                pieces.entities().map(|entity| line_of(&entity)).chain(ended(status)).collect()
            }
            ["set_config"] => {
                let mut request: SetForwardingPipelineConfigRequest = message(body);
                if let Some(config) = &mut request.config {
                    let info: P4Info = message(include_str!("../testdata/info.txtpb"));
                    config.p4info = Some(info);
                }
                ended(self.server.set_config(request))
            }
            ["get_config"] => {
                match self.server.get_config(&message::<GetForwardingPipelineConfigRequest>(body)) {
                    Ok(response) => vec![line_of(&response)],
                    Err(status) => ended(Err(status)),
                }
            }
            ["frame", hex] => {
                let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
                let frame: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
                outputs(self.server.packet_in(&frame))
            }
            ["device", what, number] => {
                let device = self.server.target().expect("a program runs");
                device_does(device, what, number.parse().expect("a number"));
                vec![]
            }
            ["time", milliseconds] => {
                self.now = Time::ZERO + Duration::from_ms(milliseconds.parse().expect("milliseconds"));
                outputs(self.server.tick(self.now))
            }
            _ => panic!("no step: {line}"),
        };
        let changes: Vec<String> =
            self.server.targets().flat_map(|device| std::mem::take(&mut device.changes)).collect();
        reported.splice(0..0, changes.into_iter().map(|change| format!("device: {change}")));
        reported
    }
}

fn device_does(device: &mut Device, what: &str, number: u64) {
    let mac = || Bits::new(48, number.into());
    match what {
        "breaks" => device.breaks_after = Some(number as u32),
        "counts" => device.counted = Count { packets: number, bytes: 0 },
        "sends" => {
            let data: P4Data = message(&format!("bitstring: \"\\{number:03o}\""));
            device.digests.push((LEARN, data));
        }
        "forgets" => {
            device.idle.push((HOSTS, EntryKey { matches: [Match::Exact(mac())].into(), priority: 0 }));
        }
        _ => panic!("a device does no such thing: {what}"),
    }
}

fn message<M: Message + Default>(text: &str) -> M {
    from_text(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn stream(number: &str) -> StreamId {
    StreamId(number.parse().expect("a number"))
}

fn line_of<M: Message>(message: &M) -> String {
    let text = to_text(message).expect("it has a text");
    match text.split_whitespace().collect::<Vec<_>>().join(" ") {
        empty if empty.is_empty() => "nothing".to_string(),
        text => text,
    }
}

fn outputs(outputs: Vec<Output>) -> Vec<String> {
    let one = |output| match output {
        Output::Send(to, message) => format!("{}: {}", to.0, line_of(&message)),
        Output::End(to, status) => format!("{} ends: {status}", to.0),
        Output::Inject(frame) => {
            format!("into the device: {}", frame.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        }
    };
    outputs.into_iter().map(one).collect()
}

/// How a call ended; the errors of its parts beside it.
fn ended(status: Result<(), Status>) -> Vec<String> {
    match status {
        Ok(()) => vec!["OK".to_string()],
        Err(status) => {
            let parts = status.details.iter().map(|error| match error.canonical_code {
                0 => "  OK".to_string(),
                _ => format!("  {}", line_of(error)),
            });
            std::iter::once(status.to_string()).chain(parts).collect()
        }
    }
}
