// CLIP's selection of flows: a count-min sketch of two rows of 65,536 cells, for Table II.
#include <core.p4>
#include <tna.p4>
header packet_t { bit<48> dst; bit<48> src; bit<16> type; bit<40> flow; }
struct headers { packet_t h; }
struct metadata { bit<32> x; bit<32> y; }
parser P(packet_in p, out headers h, out metadata m, out ingress_intrinsic_metadata_t i) {
    state start { p.extract(i); p.advance(PORT_METADATA_SIZE); p.extract(h.h); m = { 0, 0 }; transition accept; }
}
control I(inout headers h, inout metadata m, in ingress_intrinsic_metadata_t i, in ingress_intrinsic_metadata_from_parser_t f,
          inout ingress_intrinsic_metadata_for_deparser_t d, inout ingress_intrinsic_metadata_for_tm_t t) {
    Register<bit<32>, bit<16>>(65536) first; Register<bit<32>, bit<16>>(65536) second;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) h1; Hash<bit<16>>(HashAlgorithm_t.CRC32) h2;
    RegisterAction<bit<32>, bit<16>, bit<32>>(first) add1 = { void apply(inout bit<32> v, out bit<32> r) { v = v + 1; r = v; } };
    RegisterAction<bit<32>, bit<16>, bit<32>>(second) add2 = { void apply(inout bit<32> v, out bit<32> r) { v = v + 1; r = v; } };
    apply { m.x = add1.execute(h1.get({ h.h.flow })); m.y = add2.execute(h2.get({ h.h.flow })); t.ucast_egress_port = 1; if (m.x > 100 && m.y > 100) { t.ucast_egress_port = 2; } }
}
control D(packet_out p, inout headers h, in metadata m, in ingress_intrinsic_metadata_for_deparser_t d) { apply { p.emit(h); } }
parser EP(packet_in p, out headers h, out metadata m, out egress_intrinsic_metadata_t e) { state start { p.extract(e); m = { 0, 0 }; transition accept; } }
control E(inout headers h, inout metadata m, in egress_intrinsic_metadata_t e, in egress_intrinsic_metadata_from_parser_t f,
          inout egress_intrinsic_metadata_for_deparser_t d, inout egress_intrinsic_metadata_for_output_port_t o) { apply { } }
control ED(packet_out p, inout headers h, in metadata m, in egress_intrinsic_metadata_for_deparser_t d) { apply { p.emit(h); } }
Pipeline(P(), I(), D(), EP(), E(), ED()) pipe;
Switch(pipe) main;
