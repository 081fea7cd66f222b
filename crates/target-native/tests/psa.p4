// Every way of PSA and every extern of it, as the first byte of a frame says.
#include <core.p4>
#include <psa.p4>

header h_t {
    bit<8>  op;
    bit<8>  arg;
    bit<16> x;
    bit<24> y;
    bit<5>  a;
    bit<3>  b;
    bit<16> sum;
    bit<16> other;
}

header opt_t {
    bit<16> left;
    bit<8>  right;
    bit<8>  odd;
}

struct headers_t {
    h_t   h;
    opt_t opt;
    opt_t new;
}

struct meta_t {
    bit<8> rounds;
    bit<8> colour;
}

struct tag_t {
    bit<8> count;
    opt_t  opt;
}

struct normal_t {
    bit<16> tag;
    bool    marked;
}

struct nothing_t {}

typedef psa_ingress_output_metadata_t asked_t;

parser IngressParserOf(
    packet_in pkt, out headers_t hdr, inout meta_t meta, in psa_ingress_parser_input_metadata_t istd, in tag_t again,
    in normal_t around
) {
    InternetChecksum() check;
    state start {
        pkt.extract(hdr.h);
        check.add({hdr.h.op, hdr.h.arg, hdr.h.x});
        verify(check.get() != 0x1234, error.HeaderTooShort);
        meta.rounds = again.count + around.tag[7:0];
        if (istd.packet_path == PSA_PacketPath_t.RESUBMIT) {
            meta.rounds = meta.rounds + again.opt.right;
        }
        transition select(hdr.h.b) {
            3: opt;
            default: accept;
        }
    }
    state opt {
        pkt.extract(hdr.opt);
        transition accept;
    }
}

control IngressOf(
    inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd, inout asked_t asked
) {
    Counter<bit<32>, bit<8>>(16, PSA_CounterType_t.PACKETS_AND_BYTES) packets;
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS_AND_BYTES) hits;
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS_AND_BYTES) named;
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS) all;
    Meter<bit<8>>(8, PSA_MeterType_t.BYTES) speeds;
    Register<bit<16>, bit<8>>(12) cells;
    Register<bit<72>, bit<8>>(4) wide;
    Random<bit<16>>(3, 900) dice;
    Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) crc16;
    Hash<bit<32>>(PSA_HashAlgorithm_t.CRC32) crc32;

    action to(PortId_t port) {
        hits.count();
        asked.drop = false;
        asked.egress_port = port;
        asked.class_of_service = (ClassOfService_t) 2;
    }
    action nowhere() {
        hits.count();
        ingress_drop(asked);
    }
    table ports {
        key = {
            hdr.h.arg: ternary;
        }
        actions = {
            to;
            nowhere;
        }
        psa_direct_counter = hits;
        const default_action = nowhere();
        const entries = {
            0x00 &&& 0x03: to((PortId_t) 1);
            0x01 &&& 0x03: to((PortId_t) 2);
            0x02 &&& 0x07: to((PortId_t) 3);
            0x03 &&& 0x0f: nowhere();
        }
    }
    action name(bit<8> what) {
        named.count();
        hdr.h.arg = what;
    }
    action nameless(bit<24> what) {
        named.count();
        hdr.h.y = hdr.h.y + what;
    }
    action seen() {
        all.count();
    }
    table names {
        key = {
            hdr.h.x: exact;
        }
        actions = {
            name;
            nameless;
            NoAction;
        }
        psa_direct_counter = named;
        default_action = NoAction();
    }
    table keyless {
        actions = {
            seen;
        }
        psa_direct_counter = all;
        const default_action = seen();
    }
    // It has no counter: `all.count()` counts nothing here.
    table uncounted {
        actions = {
            seen;
        }
        const default_action = seen();
    }

    apply {
        names.apply();
        ports.apply();
        if (hdr.h.op[5:5] == 0) {
            keyless.apply();
            uncounted.apply();
        }
        packets.count(hdr.h.arg);
        cells.write(hdr.h.arg, cells.read(hdr.h.arg) + 1);
        wide.write(hdr.h.b[1:0] ++ 6w0, wide.read(0) + (bit<72>) hdr.h.y);
        hdr.h.other = crc16.get_hash({hdr.h.y, hdr.h.a});
        if (hdr.h.op[3:3] == 1) {
            hdr.h.y = crc32.get_hash(32w5, {hdr.h.x, hdr.opt.left, hdr.opt.right}, 32w1000)[23:0];
        }
        if (hdr.h.op[4:4] == 1) {
            hdr.h.x = dice.read();
        }
        PSA_MeterColor_t before = PSA_MeterColor_t.GREEN;
        if (hdr.h.a == 1) {
            before = PSA_MeterColor_t.YELLOW;
        }
        PSA_MeterColor_t colour = speeds.execute(hdr.h.arg, before);
        if (colour == PSA_MeterColor_t.RED) {
            meta.colour = 1;
        } else if (colour == PSA_MeterColor_t.YELLOW) {
            meta.colour = 2;
        }
        if (istd.parser_error != error.NoError) {
            meta.colour = meta.colour | 0x80;
        }
        bit<3> way = hdr.h.op[2:0];
        if (way == 1 && meta.rounds < 3) {
            asked.drop = false;
            asked.resubmit = true;
        } else if (way == 2) {
            asked.clone = true;
            asked.clone_session_id = (CloneSessionId_t) 5;
        } else if (way == 3) {
            multicast(asked, (MulticastGroup_t) 1);
        } else if (way == 4 && meta.rounds < 3) {
            send_to_port(asked, PSA_PORT_RECIRCULATE);
        } else if (way == 5) {
            multicast(asked, (MulticastGroup_t) 9);
        }
    }
}

control IngressDeparserOf(
    packet_out pkt, out opt_t cloned, out tag_t again, out normal_t normal, inout headers_t hdr, in meta_t meta,
    in asked_t asked
) {
    InternetChecksum() sum;
    Digest<tag_t>() seen;
    apply {
        sum.clear();
        sum.add({hdr.h.op, hdr.h.arg, hdr.h.x, hdr.opt.left, hdr.opt.right, hdr.opt.odd});
        sum.subtract({hdr.h.y, hdr.opt.right});
        hdr.h.sum = sum.get();
        if (psa_clone_i2e(asked)) {
            cloned.setValid();
            cloned.left = hdr.h.x;
            cloned.right = meta.colour;
        }
        if (psa_resubmit(asked)) {
            again.count = meta.rounds + 1;
            again.opt = hdr.opt;
        }
        if (psa_normal(asked)) {
            normal.tag = (bit<16>) hdr.h.arg;
            normal.marked = meta.colour != 0;
        }
        if (hdr.h.a == 7) {
            seen.pack({hdr.h.op, hdr.opt});
        }
        pkt.emit(hdr.h);
        pkt.emit(hdr.opt);
    }
}

parser EgressParserOf(
    packet_in pkt, out headers_t hdr, inout meta_t meta, in psa_egress_parser_input_metadata_t istd, in normal_t normal,
    in opt_t cloned, in tag_t cloned_again
) {
    state start {
        pkt.extract(hdr.h);
        meta.colour = (bit<8>) normal.tag;
        if (normal.marked) {
            meta.colour = 0xff;
        }
        hdr.new = cloned;
        meta.rounds = cloned_again.count;
        transition accept;
    }
}

control EgressOf(
    inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
    inout psa_egress_output_metadata_t asked
) {
    apply {
        if (istd.instance == (EgressInstance_t) 3) {
            hdr.h.x = hdr.h.x + 1;
        }
        if (hdr.h.op == 0x42) {
            egress_drop(asked);
        }
        if (hdr.h.op[7:5] == 5 && istd.packet_path != PSA_PacketPath_t.CLONE_E2E) {
            asked.clone = true;
            asked.clone_session_id = (CloneSessionId_t) 6;
        }
        if (istd.packet_path == PSA_PacketPath_t.CLONE_I2E) {
            hdr.h.a = 31;
        }
        hdr.h.other = meta.colour ++ meta.rounds;
    }
}

control EgressDeparserOf(
    packet_out pkt, out tag_t cloned, out normal_t around, inout headers_t hdr, in meta_t meta,
    in psa_egress_output_metadata_t asked, in psa_egress_deparser_input_metadata_t edstd
) {
    InternetChecksum() sum;
    apply {
        sum.set_state(hdr.h.sum);
        sum.add({hdr.h.other});
        hdr.h.sum = sum.get_state();
        if (psa_clone_e2e(asked)) {
            cloned.count = 0x77;
        }
        if (psa_recirculate(asked, edstd)) {
            around.tag = 3;
        }
        if (hdr.new.isValid()) {
            pkt.emit(hdr.new);
        }
        pkt.emit(hdr.h);
    }
}

IngressPipeline(IngressParserOf(), IngressOf(), IngressDeparserOf()) ip;
EgressPipeline(EgressParserOf(), EgressOf(), EgressDeparserOf()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
