// Errors, lookahead, advance, varbit, stacks, sub-parsers. `op` says which; the header shows how it ended.
#include <core.p4>
#include <v1model.p4>

header op_t {
    bit<8> op;
    bit<8> length;
}

header var_t {
    bit<8>     before;
    varbit<32> middle;
    bit<8>     after;
}

header item_t {
    bit<1> last;
    bit<7> value;
}

header report_t {
    bit<8> error_number;
    bit<8> seen;
}

struct headers_t {
    report_t  report;
    op_t      op;
    var_t     var;
    item_t[3] items;
}

struct meta_t {
    bit<8> seen;
}

error { Mine }

parser Items(packet_in packet, out item_t[3] items, inout bit<8> seen) {
    state start {
        packet.extract(items.next);
        seen = items.last.value ++ items.last.last;
        transition select(items.last.last) {
            1: accept;
            _: start;
        }
    }
}

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    Items() items;
    state start {
        packet.extract(hdr.op);
        transition select(hdr.op.op) {
            0: accept;
            1: varbits;
            2: stack;
            3: ahead;
            4: skip;
            5: checks;
            6: stuck;
            7: reject;
        }
    }
    state varbits {
        packet.extract(hdr.var, (bit<32>)hdr.op.length);
        transition accept;
    }
    state stack {
        items.apply(packet, hdr.items, meta.seen);
        meta.seen = (bit<8>)hdr.items.lastIndex;
        transition accept;
    }
    state ahead {
        bit<12> next = packet.lookahead<bit<12>>();
        meta.seen = next[7:0];
        transition select(next) {
            0xabc: accept;
            0xa00 &&& 0xf00: varbits;
            0x100 .. 0x1ff: stack;
            default: reject;
        }
    }
    state skip {
        packet.advance((bit<32>)hdr.op.length);
        transition stack;
    }
    state checks {
        verify(hdr.op.length != 0, error.Mine);
        meta.seen = 0x55;
        transition accept;
    }
    state stuck {
        transition stuck;
    }
}

control V(inout headers_t hdr, inout meta_t meta) { apply { } }

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        hdr.report.setValid();
        hdr.report.seen = meta.seen;
        if (sm.parser_error == error.PacketTooShort) {
            hdr.report.error_number = 1;
        } else if (sm.parser_error == error.NoMatch) {
            hdr.report.error_number = 2;
        } else if (sm.parser_error == error.StackOutOfBounds) {
            hdr.report.error_number = 3;
        } else if (sm.parser_error == error.HeaderTooShort) {
            hdr.report.error_number = 4;
        } else if (sm.parser_error == error.ParserInvalidArgument) {
            hdr.report.error_number = 6;
        } else if (sm.parser_error == error.Mine) {
            hdr.report.error_number = 7;
        } else if (sm.parser_error != error.NoError) {
            hdr.report.error_number = 0xff;
        }
        // What was parsed before an error is there; each header is dropped and its place marked.
        if (hdr.var.isValid()) {
            hdr.report.seen = hdr.var.after;
        }
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) { apply { } }
control C(inout headers_t hdr, inout meta_t meta) { apply { } }

control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
