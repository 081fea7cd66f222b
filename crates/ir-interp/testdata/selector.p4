// Action profiles and selectors: entries name a member or a group; of a group the hash of the `selector` keys
// chooses, among the members by their numbers. selector.toml makes them.
#include "common.p4"

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    action_profile(8) profile;
    action_selector(HashAlgorithm.identity, 8, 16) first_bytes;
    action_selector(HashAlgorithm.crc16, 8, 16) crc;

    action to(bit<9> port) {
        sm.egress_spec = port;
    }
    action mark(bit<16> value) {
        hdr.data.a = value;
        sm.egress_spec = 1;
    }

    table by_profile {
        key = { hdr.data.port: exact; }
        actions = { to; mark; NoAction; }
        default_action = NoAction();
        implementation = profile;
    }
    table by_bytes {
        key = { hdr.data.port: exact; hdr.data.b: selector; }
        actions = { to; NoAction; }
        default_action = NoAction();
        implementation = first_bytes;
    }
    table by_crc {
        key = { hdr.data.port: exact; hdr.data.a: selector; hdr.data.b: selector; }
        actions = { to; NoAction; }
        default_action = NoAction();
        implementation = crc;
    }

    apply {
        sm.egress_spec = 9;
        if (hdr.data.op == 0) {
            by_profile.apply();
        } else if (hdr.data.op == 1) {
            by_bytes.apply();
        } else {
            by_crc.apply();
        }
    }
}

V1Switch(P(), V(), I(), NoEgress(), C(), D()) main;
