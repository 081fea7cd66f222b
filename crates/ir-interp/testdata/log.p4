// log_msg: `{}` stands for the next value, decimal; digests have the values at the call, in the order of the calls.
#include "common.p4"

struct seen_t {
    bit<8>  op;
    bit<32> what;
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        if (hdr.data.op == 1) {
            log_msg("one plain line");
        } else if (hdr.data.op == 2) {
            log_msg("a = {}, b = {}", { hdr.data.a, hdr.data.b });
            hdr.data.a = hdr.data.a + 1;
            log_msg("now a = {}", { hdr.data.a });
        } else if (hdr.data.op == 3) {
            digest<seen_t>(1, { hdr.data.op, hdr.data.b });
            hdr.data.b = 0;
        } else if (hdr.data.op == 4) {
            // Dropped and told all the same.
            digest<seen_t>(1, { hdr.data.op, hdr.data.b });
            mark_to_drop(sm);
        } else if (hdr.data.op == 5 && sm.instance_type == 0) {
            // Sent before the packet starts again, which sends its own.
            digest<seen_t>(1, { hdr.data.op, 32w0 });
            resubmit_preserving_field_list(1);
        } else if (hdr.data.op == 5) {
            digest<seen_t>(1, { hdr.data.op, sm.instance_type });
        }
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.data.op == 2) {
            log_msg("port {} in egress", { sm.egress_port });
        }
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
