// What P4Info bounds, default actions with data, and packets that are copied.
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
struct headers_t { ethernet_t ethernet; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.ethernet); transition accept; }
}

control Check(inout headers_t hdr, inout meta_t meta) { apply { } }

control Limits(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action send(bit<9> port) { std.egress_spec = port; }
    action address(bit<48> value) { hdr.ethernet.src = value; }
    action_selector(HashAlgorithm.crc16, 32w8, 32w16) weights;
    @max_group_size(4) @selector_size_semantics("sum_of_members") @max_member_weight(2)
    action_selector(HashAlgorithm.crc16, 32w6, 32w16) members;
    table weighed {
        key = { hdr.ethernet.dst: exact; hdr.ethernet.src: selector; }
        actions = { send; NoAction; }
        implementation = weights;
    }
    table counted {
        key = { hdr.ethernet.dst: exact; hdr.ethernet.src: selector; }
        actions = { send; NoAction; }
        implementation = members;
    }
    table first {
        key = { hdr.ethernet.dst: exact; }
        actions = { address; send; NoAction; }
        default_action = address(48w1);
    }
    table always {
        key = { hdr.ethernet.dst: exact; }
        actions = { address; NoAction; }
        const default_action = address(48w0x100);
    }
    apply {
        std.egress_spec = 1;
        if (hdr.ethernet.type == 0x11) {
            clone(CloneType.I2E, 5);
        } else if (hdr.ethernet.type == 0x12) {
            std.mcast_grp = 2;
        } else if (hdr.ethernet.type == 0x14) {
            first.apply();
            always.apply();
            weighed.apply();
            counted.apply();
        }
    }
}

control Copies(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (std.instance_type == 0 && hdr.ethernet.type == 0x13) {
            clone(CloneType.E2E, 5);
        } else if (std.instance_type != 0) {
            hdr.ethernet.dst = (bit<48>) std.packet_length;
            hdr.ethernet.src = (bit<48>) std.priority;
        }
    }
}

control Compute(inout headers_t hdr, inout meta_t meta) { apply { } }
control Deparse(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.ethernet); } }

V1Switch(Parse(), Check(), Limits(), Copies(), Compute(), Deparse()) main;
