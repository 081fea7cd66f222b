// Value externs: functions and objects, with results, `out` and `inout` arguments, structs, in expressions, conditions, actions and keys.
#include "common.p4"

struct rtt_t {
    bit<32> smoothed;
    bit<32> variation;
    bit<32> timeout;
}

enum bit<8> kind_t { ONE = 1, TWO = 2 }

@value_extern("crc7") extern bit<7> crc7(in bit<64> data);
// Another width is another function.
@value_extern("crc7") extern bit<7> crc7_short(in bit<8> data);
@value_extern("crc7") extern bit<7> crc7_long(in bit<200> data);
@value_extern("divide") extern bool divide(inout bit<64> number, in bit<32> by, out bit<32> rest);

@value_extern("ewma")
extern Ewma {
    Ewma(bit<8> shift);
    bit<32> update(in bit<32> sample);
    @noSideEffects bit<32> value();
}

@value_extern("rtt")
extern Rtt {
    Rtt(bit<32> least);
    void sample(in bit<32> measured, out rtt_t estimate);
    @noSideEffects bool known();
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    Ewma(1) average;
    Ewma(2) other;
    Rtt(1000) path;

    action sampled() {
        hdr.data.b = other.update(hdr.data.b);
    }
    table by_crc {
        key = { crc7(16w0 ++ hdr.data.a ++ hdr.data.b) : exact @name("crc"); }
        actions = { sampled; NoAction; }
        const entries = { 7w0x1c : sampled(); }
        default_action = NoAction();
    }

    apply {
        sm.egress_spec = (bit<9>)hdr.data.port;
        if (hdr.data.op == 1) {
            // In an operand, with another effect behind it.
            hdr.data.b = average.update(hdr.data.b) + (bit<32>)crc7_short(hdr.data.op);
        } else if (hdr.data.op == 2) {
            hdr.data.b = average.value();
        } else if (hdr.data.op == 3) {
            bit<64> number = (bit<64>)hdr.data.b;
            bit<32> rest;
            if (!divide(number, (bit<32>)hdr.data.a, rest)) {
                hdr.data.op = 0xff;
            }
            hdr.data.b = (bit<32>)number;
            hdr.data.a = (bit<16>)rest;
        } else if (hdr.data.op == 4) {
            rtt_t estimate;
            bool before = path.known();
            path.sample(hdr.data.b, estimate);
            hdr.data.a = (bit<16>)estimate.variation;
            hdr.data.b = estimate.timeout;
            hdr.data.op = before ? 8w1 : 8w0;
        } else if (hdr.data.op == 5) {
            hdr.data.a = (bit<16>)crc7(hdr.data.a ++ hdr.data.b ++ 16w0);
            hdr.data.b = (bit<32>)crc7_long(96w0 ++ hdr.data.b ++ 72w1);
        } else if (hdr.data.op == 6) {
            by_crc.apply();
        } else if (hdr.data.op == 7) {
            // One place is input and output, and another part of a packet.
            bit<64> number = 32w0 ++ hdr.data.b;
            bool done = divide(number, 3, hdr.data.b);
            hdr.data.a = done ? (bit<16>)number : 16w0;
            hdr.data.op = crc7_short((bit<8>)kind_t.TWO) ++ 1w1;
        } else if (hdr.data.op == 8) {
            // Nobody takes the result.
            bit<64> number = 32w0 ++ hdr.data.b;
            bit<32> rest;
            divide(number, (bit<32>)hdr.data.a, rest);
            hdr.data.b = (bit<32>)number;
            hdr.data.a = (bit<16>)rest;
        }
    }
}

V1Switch(P(), V(), I(), NoEgress(), C(), D()) main;
