// Everything of TNA that P4Runtime reaches.
#include <core.p4>
#include <tna.p4>

header data_t {
    bit<8>  op;
    bit<8>  key;
    bit<16> value;
}

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> padding;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<7> padding;
}

struct headers_t {
    packet_out_t packet_out;
    packet_in_t  packet_in;
    data_t       data;
}

struct port_md_t {
    bit<16> vlan;
    bit<9>  peer;
    bit<7>  class;
}

struct meta_t {
    port_md_t port;
    bool      is_chosen;
}

struct pair_t {
    bit<16> low;
    bit<16> high;
}

struct learn_t {
    bit<8>   key;
    PortId_t port;
}

parser TofinoParse(packet_in packet, out headers_t hdr, out meta_t meta, out ingress_intrinsic_metadata_t ig) {
    value_set<bit<8>>(4) chosen;
    state start {
        packet.extract(ig);
        meta.port = port_metadata_unpack<port_md_t>(packet);
        meta.is_chosen = false;
        transition select(ig.ingress_port) {
            510: parse_packet_out;
            default: parse_data;
        }
    }
    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition parse_data;
    }
    state parse_data {
        packet.extract(hdr.data);
        transition select(hdr.data.key) {
            chosen: is_chosen;
            default: accept;
        }
    }
    state is_chosen {
        meta.is_chosen = true;
        transition accept;
    }
}

control Tofino(inout headers_t hdr, inout meta_t meta, in ingress_intrinsic_metadata_t ig,
               in ingress_intrinsic_metadata_from_parser_t prsr,
               inout ingress_intrinsic_metadata_for_deparser_t dprsr, inout ingress_intrinsic_metadata_for_tm_t tm) {
    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) direct_counts;
    DirectMeter(MeterType_t.PACKETS) direct_limits;
    Counter<bit<32>, bit<4>>(4, CounterType_t.PACKETS) counts;
    Meter<bit<4>>(4, MeterType_t.PACKETS) limits;
    Register<pair_t, bit<8>>(4) pairs;
    Lpf<bit<16>, bit<4>>(4) smooth;
    RegisterParam<bit<16>>(5) step;
    RegisterAction<pair_t, bit<8>, bit<16>>(pairs) add = {
        void apply(inout pair_t value, out bit<16> before) {
            before = value.high;
            value.high = value.high + step.read();
        }
    };
    ActionProfile(8) members;
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) hash;
    ActionSelector(members, hash, SelectorMode_t.FAIR, 8, 4) selector;

    action to(PortId_t port) { tm.ucast_egress_port = port; }
    action counted(PortId_t port) {
        direct_counts.count();
        hdr.data.value = (bit<16>)direct_limits.execute();
        tm.ucast_egress_port = port;
    }
    action copies(MulticastGroupId_t group) { tm.mcast_grp_a = group; }
    action mirrored(MirrorId_t session) {
        dprsr.mirror_type = 1;
        meta.port.vlan = (bit<16>)session;
    }
    action learned() { dprsr.digest_type = 1; }
    table hosts {
        key = { hdr.data.key: exact; }
        actions = { counted; }
        default_action = counted(1);
        counters = direct_counts;
        meters = direct_limits;
        size = 16;
    }
    table hops {
        key = { hdr.data.key: ternary; hdr.data.value: selector; }
        actions = { to; NoAction; }
        const default_action = NoAction();
        implementation = selector;
        size = 16;
    }
    table effects {
        key = { hdr.data.key: exact; }
        actions = { copies; mirrored; learned; NoAction; }
        const default_action = NoAction();
        idle_timeout = true;
        size = 16;
    }
    apply {
        if (hdr.packet_out.isValid()) {
            tm.ucast_egress_port = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        } else if (hdr.data.op == 0) {
            hosts.apply();
        } else if (hdr.data.op == 1) {
            hops.apply();
        } else if (hdr.data.op == 2) {
            effects.apply();
        } else if (hdr.data.op == 3) {
            counts.count(hdr.data.key[3:0]);
            hdr.data.value = 8w0 ++ limits.execute(hdr.data.key[3:0]);
            tm.ucast_egress_port = 2;
        } else if (hdr.data.op == 4) {
            hdr.data.value = add.execute(hdr.data.key);
            tm.ucast_egress_port = 2;
        } else if (hdr.data.op == 5) {
            hdr.data.value = meta.port.vlan;
            tm.ucast_egress_port = meta.port.peer;
        } else if (hdr.data.op == 8) {
            hdr.data.value = smooth.execute(hdr.data.value, hdr.data.key[3:0]);
            tm.ucast_egress_port = 2;
        } else if (hdr.data.op == 6) {
            hdr.data.value = meta.is_chosen ? 16w1 : 0;
            tm.ucast_egress_port = 2;
        } else {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = ig.ingress_port;
            hdr.packet_in.padding = 0;
            tm.ucast_egress_port = 510;
        }
    }
}

control TofinoDeparse(packet_out packet, inout headers_t hdr, in meta_t meta,
                      in ingress_intrinsic_metadata_for_deparser_t dprsr) {
    Digest<learn_t>() learn;
    Mirror() mirror;
    apply {
        if (dprsr.digest_type == 1) {
            learn.pack({hdr.data.key, 3});
        }
        if (dprsr.mirror_type == 1) {
            mirror.emit((MirrorId_t)meta.port.vlan);
        }
        packet.emit(hdr);
    }
}

struct none_t {}

parser EgressParse(packet_in packet, out none_t hdr, out none_t meta, out egress_intrinsic_metadata_t eg) {
    state start {
        packet.extract(eg);
        transition accept;
    }
}

control NoEgress(inout none_t hdr, inout none_t meta, in egress_intrinsic_metadata_t eg,
                 in egress_intrinsic_metadata_from_parser_t prsr,
                 inout egress_intrinsic_metadata_for_deparser_t dprsr,
                 inout egress_intrinsic_metadata_for_output_port_t oport) {
    apply { }
}

control EgressDeparse(packet_out packet, inout none_t hdr, in none_t meta,
                      in egress_intrinsic_metadata_for_deparser_t dprsr) {
    apply { }
}

Pipeline(TofinoParse(), Tofino(), TofinoDeparse(), EgressParse(), NoEgress(), EgressDeparse()) pipe;
Switch(pipe) main;
