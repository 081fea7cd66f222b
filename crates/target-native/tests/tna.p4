// What the packet tests of TNA use with constants only, or not at all: times, arguments that are computed, cells of unequal
// parts, headers that do not fill their bytes.
#include "tna_common.p4"

header short_md_t {
    bit<16> first;
}

header odd_t {
    bit<8> op;
    bit<9> a;
    bit<4> b;
    @flexible bit<1> c;
}

header rest_t {
    int<16> x;
    bit<16> y;
    bit<8>  z;
}

header sums_t {
    bit<16> sum;
    bit<16> residual;
    bit<8>  count;
    bit<48> time;
}

struct more_t {
    odd_t  odd;
    rest_t rest;
    sums_t sums;
}

struct local_t {
    short_md_t port;
    bit<16>    residual;
    bit<8>     is_counted;
}

parser IngressParser(packet_in packet, out more_t hdr, out local_t meta, out ingress_intrinsic_metadata_t ig) {
    Checksum() sum;
    ParserCounter() counter;

    state start {
        packet.extract(ig);
        meta.port = port_metadata_unpack<short_md_t>(packet);
        packet.extract(hdr.odd);
        transition select(hdr.odd.op) {
            20: short_of_metadata;
            21: turned;
            22: deposit;
            default: rest;
        }
    }
    // The packet's own bytes, as many as there are.
    state short_of_metadata {
        meta.port = port_metadata_unpack<short_md_t>(packet);
        transition accept;
    }
    state turned {
        packet.extract(hdr.rest);
        counter.set(hdr.rest.z, 0xc0, 3, 4, 0xfd);
        meta.is_counted = 1;
        transition select(counter.is_zero(), counter.is_negative()) {
            (true, _): zero;
            (_, true): negative;
            default: accept;
        }
    }
    state zero { meta.is_counted = 2; transition accept; }
    state negative { counter.increment(0x81); transition select(counter.is_zero()) { true: zero; false: accept; } }
    // The error comes after the deposit: nothing is taken away from the sum.
    state deposit {
        sum.subtract(hdr.odd);
        sum.subtract_all_and_deposit(meta.residual);
        packet.extract(hdr.rest);
        packet.advance(32);
        transition accept;
    }
    state rest {
        packet.extract(hdr.rest);
        transition accept;
    }
}

struct cell_t {
    bit<5>  few;
    bit<27> many;
    bool    is_set;
}

control Ingress(inout more_t hdr, inout local_t meta, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr,
                inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    Meter<bit<8>>(4, MeterType_t.BYTES) limit;
    Counter<bit<64>, bit<8>>(4, CounterType_t.PACKETS_AND_BYTES) counted;
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) hits;
    Register<cell_t, bit<8>>(3, {3, 7, true}) cells;
    RegisterAction<cell_t, bit<8>, bit<32>>(cells) turn = {
        void apply(inout cell_t value, out bit<32> result) {
            result = value.few ++ value.many;
            if (value.is_set) {
                value.few = value.few + (hdr.odd.b ++ 1w1);
            } else {
                value.many = value.many + 27w1;
            }
            value.is_set = !value.is_set;
        }
    };
    Register<bit<16>, bit<8>>(3) trail;
    RegisterAction<bit<16>, bit<8>, bit<16>>(trail) note = {
        void apply(inout bit<16> value, out bit<16> before) {
            before = value;
            value = hdr.rest.y;
        }
    };
    DirectRegister<cell_t>({1, 2, false}) last;
    DirectRegisterAction<cell_t, bit<8>>(last) next = {
        void apply(inout cell_t value, out bit<8> result) {
            result = this.predicate(value.many > 4, value.is_set);
            value.many = value.many + 27w3;
            value.few = value.few - 5w1;
            value.is_set = value.few > 5w9;
        }
    };
    action less() { hits.count(16w0 ++ hdr.rest.y); }
    action step() { hdr.rest.z = next.execute(); hits.count(); }
    table entries {
        key = { hdr.rest.z : exact; }
        actions = { less; step; }
        const default_action = step();
        const entries = { 1 : less(); 2 : step(); 3 : step(); }
        counters = hits;
        registers = last;
    }

    apply {
        tm.ucast_egress_port = 3;
        hdr.sums.setValid();
        hdr.sums.time = prsr.global_tstamp;
        hdr.sums.sum = prsr.parser_err;
        hdr.sums.residual = meta.residual;
        hdr.sums.count = meta.is_counted;
        // A sum of ones, whose checksum is zero.
        if (hdr.odd.op == 16) { hdr.rest.y = hdr.rest.y | 0xfffe; }
        switch (hdr.odd.op) {
            0: { hdr.rest.z = limit.execute(index = hdr.rest.z, color = (MeterColor_t)hdr.odd.a[7:0]); }
            1: { funnel_shift_right(hdr.rest.y, hdr.rest.y, (bit<16>)hdr.odd.a, 3); }
            18: { funnel_shift_right(hdr.rest.y, hdr.rest.y, (bit<16>)hdr.odd.a, 130); }
            2: { hdr.rest.x = max(hdr.rest.x, (int<16>)hdr.rest.y); }
            3: { hdr.rest.x = min(hdr.rest.x, (int<16>)hdr.rest.y); }
            4: { counted.count(hdr.rest.z, 16w0 ++ hdr.rest.y); }
            5: { bit<32> all = turn.execute(hdr.rest.z); hdr.rest.y = all[31:16] ^ all[15:0]; }
            6: { cell_t cell = cells.read(hdr.rest.z); hdr.rest.y = cell.few ++ cell.many[10:0]; }
            7: { cells.write(hdr.rest.z, {hdr.odd.b ++ 1w0, 11w5 ++ hdr.rest.y, hdr.odd.c == 1}); }
            8: { entries.apply(); }
            9: { hdr.rest.y = note.execute_log(); }
            10: { if (is_validated(hdr.rest)) { hdr.rest.z = 0x77; } }
            11: { invalidate(hdr.rest.y); }
            12: { hdr.rest.y = meta.port.first; }
            13: { hdr.odd.setInvalid(); }
            14: { hdr.odd = {14, 9w0x1ff, 4w3, 1w1}; }
            15: { dprsr.digest_type = 1; }
            default: {}
        }
    }
}

control IngressDeparser(packet_out packet, inout more_t hdr, in local_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t dprsr) {
    Checksum() sum;
    Digest<rest_t>() seen;
    apply {
        if (hdr.odd.op == 16) {
            hdr.sums.sum = sum.update({hdr.rest.y}, true);
        }
        if (hdr.odd.op == 17) {
            hdr.sums.sum = sum.update({hdr.rest, hdr.odd.b}, hdr.odd.c == 1);
        }
        if (dprsr.digest_type == 1) { seen.pack(hdr.rest); }
        packet.emit(hdr.odd);
        packet.emit(hdr.sums);
        packet.emit(hdr.rest);
    }
}

struct none_t {}

parser EgressParser(packet_in packet, out none_t hdr, out meta_t meta, out egress_intrinsic_metadata_t eg) {
    state start {
        packet.extract(eg);
        transition accept;
    }
}

control Egress(inout none_t hdr, inout meta_t meta, in egress_intrinsic_metadata_t eg,
               in egress_intrinsic_metadata_from_parser_t prsr,
               inout egress_intrinsic_metadata_for_deparser_t dprsr,
               inout egress_intrinsic_metadata_for_output_port_t oport) {
    apply {}
}

control EgressDeparser(packet_out packet, inout none_t hdr, in meta_t meta,
                       in egress_intrinsic_metadata_for_deparser_t dprsr) {
    apply {}
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
