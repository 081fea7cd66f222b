//! Direct counters and meters of default actions: PSA's misses count and are metered, v1model's are not.

use crate::common;

use base_bits::Bits;
use base_time::Time;
use common::Test;
use control_writes::{Count, Match, Rate, Rates};
use dataplane_api::Device;
use device::{Cells, Event, EventKind, Options, Switch};

/// `t` counts and meters as its actions say; the colour is in the packet's last byte.
const PSA: &str = r#"
#include "psa_common.p4"
parser IP(packet_in packet, out headers_t hdr, inout meta_t meta, in psa_ingress_parser_input_metadata_t istd,
          in none_t resubmit_meta, in none_t recirculate_meta) {
    state start { packet.extract(hdr.data); transition accept; }
}
control I(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
          inout psa_ingress_output_metadata_t ostd) {
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS_AND_BYTES) counts;
    DirectMeter(PSA_MeterType_t.PACKETS) limits;
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS) all;
    action measured(bit<8> mark) {
        counts.count();
        hdr.data.port = mark;
        if (limits.execute() == PSA_MeterColor_t.RED) { hdr.data.b = 0xff; }
    }
    action unmeasured() { }
    action seen() { all.count(); }
    table t {
        key = { hdr.data.a: exact; }
        actions = { measured; unmeasured; }
        default_action = measured(7);
        psa_direct_counter = counts;
        psa_direct_meter = limits;
    }
    table keyless {
        actions = { seen; }
        const default_action = seen();
        psa_direct_counter = all;
    }
    apply { send_to_port(ostd, (PortId_t) 1); t.apply(); keyless.apply(); }
}
control ID(packet_out packet, out none_t clone_i2e_meta, out none_t resubmit_meta, out none_t normal_meta,
           inout headers_t hdr, in meta_t meta, in psa_ingress_output_metadata_t istd) {
    apply { packet.emit(hdr.data); }
}
parser EP(packet_in packet, out headers_t hdr, inout meta_t meta, in psa_egress_parser_input_metadata_t istd,
          in none_t normal_meta, in none_t clone_i2e_meta, in none_t clone_e2e_meta) {
    state start { transition accept; }
}
control E(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
          inout psa_egress_output_metadata_t ostd) {
    apply { }
}
control ED(packet_out packet, out none_t clone_e2e_meta, out none_t recirculate_meta, inout headers_t hdr,
           in meta_t meta, in psa_egress_output_metadata_t istd, in psa_egress_deparser_input_metadata_t edstd) {
    apply { }
}
IngressPipeline(IP(), I(), ID()) ip;
EgressPipeline(EP(), E(), ED()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
"#;

fn psa() -> Switch {
    Test::inline(PSA).switch(Options::default()).expect("a device")
}

/// A packet with this key; what it says in the end.
fn send(switch: &mut Switch, key: u8) -> [u8; 2] {
    let frame = switch.process(1, &[0, 0, 0, key, 0, 0, 0, 0], Time::ZERO).remove(0).frame;
    [frame[1], frame[7]]
}

#[test]
fn misses_count_and_are_metered_for_the_default_action() {
    let mut switch = psa();
    let start = switch.state();
    switch.table_add("t", &[Match::Exact(Bits::new(16, 1))], "measured", &[Bits::new(8, 9)], None).unwrap();
    let two = Rate { per_gigamicrosecond: 0, burst: 2 };
    switch.default_set_rates("t", Some(Rates { committed: two, peak: two })).unwrap();
    let colours: Vec<_> = [1, 2, 3, 4, 1].map(|key| send(&mut switch, key)).into();
    assert_eq!(colours, [[9, 0], [7, 0], [7, 0], [7, 0xff], [9, 0]]);
    assert_eq!(switch.default_count("t"), Ok(Count { packets: 3, bytes: 24 }));
    assert_eq!(switch.counter_read("counts", 0), Ok(Count { packets: 2, bytes: 16 }));
    assert_eq!(switch.default_count("keyless").map(|count| count.packets), Ok(5));
    assert_ne!(switch.state()["I.counts"], start["I.counts"]);
    assert_ne!(switch.state()["I.limits"], start["I.limits"]);
    let objects = switch.objects();
    let of =
        |name: &str| objects.iter().find(|object| object.name == name).map(|object| object.cells.clone());
    let counts = vec![(Some(0), Count { packets: 2, bytes: 16 }), (None, Count { packets: 3, bytes: 24 })];
    assert_eq!(of("I.counts"), Some(Cells::DirectCounter("I.t".into(), counts)));
    assert!(
        matches!(of("I.limits"), Some(Cells::DirectMeter(_, set)) if set.len() == 1 && set[0].0.is_none())
    );
}

#[test]
fn the_trace_shows_the_colour_by_the_meter_of_the_default_action() {
    let mut switch = psa();
    let two = Rate { per_gigamicrosecond: 0, burst: 2 };
    switch.default_set_rates("t", Some(Rates { committed: two, peak: two })).unwrap();
    switch.set_trace(true);
    send(&mut switch, 1);
    let meter = |event: &Event| match &event.kind {
        EventKind::Meter { meter, index, colour } => Some((meter.to_string(), *index, *colour)),
        _ => None,
    };
    let said: Vec<_> = switch.take_trace().iter().filter_map(meter).collect();
    assert_eq!(said, [("I.limits".to_string(), None, 0)]);
}

#[test]
fn what_misses_have_counted_belongs_to_the_table() {
    let mut switch = psa();
    send(&mut switch, 1);
    switch.table_set_default("t", "unmeasured", &[]).unwrap();
    send(&mut switch, 1);
    assert_eq!(switch.default_count("t").map(|count| count.packets), Ok(1), "the action does not count");
    switch.table_reset_default("t").unwrap();
    send(&mut switch, 1);
    assert_eq!(switch.default_count("t").map(|count| count.packets), Ok(2));
    switch.default_set_count("t", Count { packets: 40, bytes: 50 }).unwrap();
    send(&mut switch, 1);
    assert_eq!(switch.default_count("t"), Ok(Count { packets: 41, bytes: 58 }));
    let none = Rate::default();
    switch.default_set_rates("t", Some(Rates { committed: none, peak: none })).unwrap();
    assert_eq!(send(&mut switch, 1), [7, 0xff]);
    switch.default_set_rates("t", None).unwrap();
    assert_eq!(send(&mut switch, 1), [7, 0]);
}

#[test]
fn v1model_counts_hits_alone() {
    let params = "inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm";
    let text = format!(
        "#include \"common.p4\"\ncontrol I({params}) {{
             direct_counter(CounterType.packets) hits;
             table t {{ key = {{ hdr.data.op: exact; }} actions = {{ NoAction; }} counters = hits; }}
             apply {{ t.apply(); }}
         }}\ncontrol E({params}) {{ apply {{ }} }}\nV1Switch(P(), V(), I(), E(), C(), D()) main;\n"
    );
    let mut switch = Test::inline(&text).switch(Options::default()).expect("a device");
    let start = switch.state();
    switch.process(1, &[0; 8], Time::ZERO);
    assert_eq!(switch.state(), start);
    let refusal = switch.default_count("t").unwrap_err().message;
    assert_eq!(refusal, "in v1model, direct counters and meters see only hits");
    assert!(switch.default_set_rates("t", None).is_err());
}
