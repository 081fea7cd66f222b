//! Whole programs with the real architectures.

use crate::support::{ok, run};

#[test]
fn the_architectures_themselves_are_sound() {
    for name in p4_arch::include_names() {
        if name.starts_with("tofino") {
            continue;
        }
        let (_, diagnostics, _) = run(&format!("#include <{name}>"));
        assert!(diagnostics.is_empty(), "{name}: {diagnostics:#?}");
    }
}

#[test]
fn v1model_knows_its_versions() {
    use crate::support::syntax_errors;
    for version in ["20180101", "20200408"] {
        ok(&format!("#define V1MODEL_VERSION {version}\n#include <v1model.p4>"));
    }
    for version in ["20000101", "20300101", "-1"] {
        let found = syntax_errors(&format!("#define V1MODEL_VERSION {version}\n#include <v1model.p4>"));
        assert_eq!(found.len(), 1, "{version}: {found:?}");
        assert!(found[0].contains("V1MODEL_VERSION"), "{version}: {found:?}");
    }
}

#[test]
fn a_v1model_program_checks() {
    ok(r#"
#include <core.p4>
#include <v1model.p4>

typedef bit<48> mac_t;
typedef bit<9> port_t;
const bit<16> TYPE_IPV4 = 0x800;
enum bit<8> proto_t { tcp = 6, udp = 17 }

header ethernet_t { mac_t dst; mac_t src; bit<16> type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> len; bit<16> id; bit<3> flags; bit<13> frag;
    bit<8> ttl; proto_t protocol; bit<16> checksum; bit<32> src; bit<32> dst;
}
header tag_t { bit<8> kind; bit<8> next; }
struct headers { ethernet_t ethernet; tag_t[3] tags; ipv4_t ipv4; }
struct metadata { bit<16> hash; bool seen; }
error { BadVersion }

parser MyParser(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ethernet); transition select(hdr.ethernet.type) {
        TYPE_IPV4: ipv4; 0x8100 &&& 0xff00: tag; default: accept; } }
    state tag { packet.extract(hdr.tags.next); transition select(hdr.tags.last.next) { 0: ipv4; _: tag; } }
    state ipv4 { packet.extract(hdr.ipv4); verify(hdr.ipv4.version == 4, error.BadVersion); transition accept; }
}
control MyVerify(inout headers hdr, inout metadata meta) { apply {
    verify_checksum(hdr.ipv4.isValid(), { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.len }, hdr.ipv4.checksum, HashAlgorithm.csum16);
} }
bit<8> dec(in bit<8> ttl) { return ttl == 0 ? 0 : ttl - 1; }
control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    register<bit<32>>(16) seen;
    counter(4, CounterType.packets) hits;
    action drop() { mark_to_drop(std); }
    action forward(mac_t mac, port_t port) {
        std.egress_spec = port; hdr.ethernet.src = hdr.ethernet.dst; hdr.ethernet.dst = mac; hdr.ipv4.ttl = dec(hdr.ipv4.ttl);
    }
    table lpm { key = { hdr.ipv4.dst: lpm; } actions = { forward; drop; NoAction; } size = 1024; default_action = drop(); }
    table acl {
        key = { hdr.ipv4.src: ternary; hdr.ipv4.protocol: exact; std.ingress_port: range; }
        actions = { drop; NoAction; }
        const entries = { (0x0a000000 &&& 0xff000000, proto_t.tcp, 1 .. 4): drop(); (_, proto_t.udp, _): NoAction(); }
    }
    apply {
        if (hdr.ipv4.isValid()) {
            bit<32> n;
            hash(meta.hash, HashAlgorithm.crc16, (bit<16>) 0, { hdr.ipv4.src, hdr.ipv4.dst }, (bit<16>) 16);
            @region("count") { seen.read(n, (bit<32>) meta.hash); seen.write((bit<32>) meta.hash, n + 1); }
            hits.count(0);
            if (lpm.apply().hit) { acl.apply(); }
        } else { drop(); }
    }
}
control MyEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) { apply {
    hdr.tags.push_front(1); hdr.tags[0] = { 1, 2 };
} }
control MyCompute(inout headers hdr, inout metadata meta) { apply {
    update_checksum(hdr.ipv4.isValid(), { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.len }, hdr.ipv4.checksum, HashAlgorithm.csum16);
} }
control MyDeparser(packet_out packet, in headers hdr) { apply { packet.emit(hdr.ethernet); packet.emit(hdr.tags); packet.emit(hdr.ipv4); } }
V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
"#);
}

#[test]
fn a_psa_program_checks() {
    ok(r#"
#include <core.p4>
#include <psa.p4>
struct empty {}
header eth { bit<48> dst; bit<48> src; bit<16> type; }
struct headers { eth ethernet; }
parser IP(packet_in b, out headers h, inout empty u, in psa_ingress_parser_input_metadata_t i, in empty r, in empty c) {
    state start { b.extract(h.ethernet); transition accept; }
}
parser EP(packet_in b, out headers h, inout empty u, in psa_egress_parser_input_metadata_t i, in empty n, in empty c, in empty d) {
    state start { b.extract(h.ethernet); transition accept; }
}
control I(inout headers h, inout empty u, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {
    Register<bit<32>, bit<8>>(16) reg;
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS) hits;
    action send(PortId_t port) { hits.count(); send_to_port(o, port); reg.write(0, reg.read(0) + 1); }
    table t { key = { h.ethernet.dst: exact; } actions = { send; NoAction; } psa_direct_counter = hits; }
    apply { t.apply(); }
}
control E(inout headers h, inout empty u, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) { apply {} }
control ID(packet_out b, out empty c, out empty r, out empty n, inout headers h, in empty m, in psa_ingress_output_metadata_t o) {
    apply { b.emit(h); }
}
control ED(packet_out b, out empty c, out empty r, inout headers h, in empty m, in psa_egress_output_metadata_t o,
           in psa_egress_deparser_input_metadata_t d) { apply { b.emit(h); } }
IngressPipeline(IP(), I(), ID()) ip;
EgressPipeline(EP(), E(), ED()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
"#);
}
