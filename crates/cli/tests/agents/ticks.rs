//! Ticks of a switch of its own, and those that an agent sends to one that makes none.

use crate::controllers::Client;
use crate::setup::{PATIENCE, Switch, ctl, text};
use std::net::UdpSocket;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Ticks and packets from the controller leave by port 1, without their header. `tick` stands before `main`.
fn program(name: &str, tick: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let text = format!(
        "#include <v1model.p4>
@controller_header(\"packet_out\") header out_h {{ bit<9> kind; bit<7> padding; }}
struct headers_t {{ out_h sent; }}
struct metadata_t {{}}
parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{
    state start {{ transition select(sm.ingress_port) {{ 510: tick; default: accept; }} }}
    state tick {{ p.extract(hdr.sent); transition accept; }}
}}
control C(inout headers_t hdr, inout metadata_t meta) {{ apply {{}} }}
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{
    apply {{ if (hdr.sent.isValid() && hdr.sent.kind == 257) {{ sm.egress_spec = 1; }} else {{ mark_to_drop(sm); }} }}
}}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{ apply {{}} }}
control D(packet_out p, in headers_t hdr) {{ apply {{}} }}
{tick}
V1Switch(P(), C(), I(), E(), C(), D()) main;
"
    );
    std::fs::write(&path, text).expect("it is written");
    path.display().to_string()
}

const TICK: &str = "@tick(\"2ms\", 510, \"8080c0ffee\")";

/// A switch with this program, and what comes out of its port 1.
fn switch(program: &str) -> (Switch, UdpSocket) {
    let port = UdpSocket::bind("127.0.0.1:0").expect("a port");
    port.set_read_timeout(Some(PATIENCE)).expect("it waits");
    let to = format!("1@udp:127.0.0.1:0,{}", port.local_addr().expect("an address"));
    let args = [program, "--grpc-server-addr", "127.0.0.1:0", "--cpu-port", "510", "-i", &to];
    (Switch::start(&args), port)
}

#[track_caller]
fn arrives(port: &UdpSocket) {
    let mut frame = [0; 64];
    let length = port.recv(&mut frame).expect("a frame");
    assert_eq!(frame[..length], [0xc0, 0xff, 0xee]);
}

#[test]
fn a_switch_makes_the_frames_of_its_program() {
    let (_switch, port) = switch(&program("own_ticks.p4", TICK));
    (0..3).for_each(|_| arrives(&port));
}

#[test]
fn an_agent_sends_them_to_a_switch_that_makes_none() {
    let (switch, port) = switch(&program("no_ticks.p4", ""));
    let source = program("sent_ticks.p4", TICK);
    text(&ctl(&switch.address, &["tick", &source, "--count", "5"]));
    (0..5).for_each(|_| arrives(&port));
    // It had no more to send.
    port.set_nonblocking(true).expect("it does not wait");
    assert!(port.recv(&mut [0; 64]).is_err());
    // As the primary of a role of its own.
    text(&ctl(&switch.address, &["tick", &source, "--role", "ticks", "--count", "1"]));
    port.set_nonblocking(false).expect("it waits");
    arrives(&port);
}

#[test]
fn ticks_need_a_role_without_a_primary() {
    let (switch, port) = switch(&program("primary.p4", ""));
    let mut primary = Client::new(&switch.address, 5, None).expect("it is connected");
    assert_eq!(primary.reported(), (0, 5));
    let source = program("secondary.p4", TICK);
    let refused = ctl(&switch.address, &["tick", &source, "--count", "1"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("another controller is the primary"), "{said}");
    text(&ctl(&switch.address, &["tick", &source, "--role", "ticks", "--count", "1"]));
    arrives(&port);
}

/// A header of one field, where the switch has two.
#[test]
fn a_switch_that_refuses_a_tick_is_said() {
    let (switch, _port) = switch(&program("two_fields.p4", ""));
    let source = program("one_field.p4", TICK);
    let text = std::fs::read_to_string(&source)
        .expect("it is there")
        .replace("bit<9> kind; bit<7> padding", "bit<16> kind");
    std::fs::write(&source, text).expect("it is written");
    let refused = ctl(&switch.address, &["tick", &source, "--count", "1"]);
    assert_eq!(refused.status.code(), Some(1), "{}", String::from_utf8_lossy(&refused.stderr));
}

#[test]
fn the_first_tick_comes_after_a_period() {
    let (switch, port) = switch(&program("later.p4", ""));
    let source = program("slow_ticks.p4", &TICK.replace("2ms", "150ms"));
    let begun = Instant::now();
    text(&ctl(&switch.address, &["tick", &source, "--count", "2"]));
    assert!(begun.elapsed() >= Duration::from_millis(300), "{:?}", begun.elapsed());
    (0..2).for_each(|_| arrives(&port));
}

#[test]
fn a_program_without_ticks_is_refused() {
    let refused = |program: &str| {
        let output = ctl("127.0.0.1:1", &["tick", program]);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).expect("it is text")
    };
    let none = refused(&program("without.p4", ""));
    assert!(none.contains("it has no `@tick` before `main`"), "{none}");
    let short = refused(&program("short.p4", "@tick(\"2ms\", 510, \"80\")"));
    assert!(short.contains("the frame has 1 bytes, and the header `packet_out` 2"), "{short}");
}
