//! Egress: lengths, answers to the sender, copies of requests, marks of ECN.

use crate::program::text::{EXCHANGE, SELECT_IPV4};

/// Bytes of the bridge and of the headers before IPv4, and before UDP.
const BEFORE: [u32; 2] = [17, 37];

pub(super) fn egress() -> String {
    let [before_ipv4, before_udp] = BEFORE;
    format!(
        "struct egress_headers_t {{
    copy_h     copy;
    bridge_h   bridge;
    ethernet_t ethernet;
    ipv4_h     ipv4;
    udp_t      udp;
    agg_h      agg;
}}

struct egress_metadata_t {{
    bit<10> session;
    // The first byte of a copy: the open compiler takes no constant there.
    step_t  first;
    bit<32> excess;
}}

parser AggEgressParser(packet_in packet,
                       out egress_headers_t hdr,
                       out egress_metadata_t meta,
                       out egress_intrinsic_metadata_t eg_intr_md) {{
    state start {{
        packet.extract(eg_intr_md);
        meta = {{ 0, 0, 0 }};
        transition select(packet.lookahead<step_t>()) {{
            COPY: parse_copy;
            default: parse_bridge;
        }}
    }}

    state parse_copy {{
        packet.extract(hdr.copy);
        transition parse_bridge;
    }}

    state parse_bridge {{
        packet.extract(hdr.bridge);
        packet.extract(hdr.ethernet);
{SELECT_IPV4}
    }}

    state parse_ipv4 {{
        packet.extract(hdr.ipv4);
        transition select(hdr.bridge.step) {{
            PLAIN: accept;
            default: parse_agg;
        }}
    }}

    state parse_agg {{
        packet.extract(hdr.udp);
        packet.extract(hdr.agg);
        transition accept;
    }}
}}

control AggEgress(inout egress_headers_t hdr,
                  inout egress_metadata_t meta,
                  in egress_intrinsic_metadata_t eg_intr_md,
                  in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
                  inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
                  inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {{
    // The length of the packet counts the bridge.
    action set_length() {{
        hdr.ipv4.total_len = eg_intr_md.pkt_length - {before_ipv4};
        hdr.udp.len = eg_intr_md.pkt_length - {before_udp};
        hdr.udp.checksum = 0;
    }}

    action leave() {{
        hdr.bridge.setInvalid();
    }}

    action leave_shorter() {{
        set_length();
        hdr.bridge.setInvalid();
    }}

    // The packet goes back to its sender.
    action turn() {{
        set_length();
        hdr.bridge.setInvalid();
{EXCHANGE}
    }}

    // A request for several answers comes around for the first one.
    action mirror() {{
        hdr.bridge.step = NEXT_ROW;
        eg_dprsr_md.mirror_type = 1;
        meta.session = COPIES;
        meta.first = COPY;
    }}

    // Its copy comes around for the rows after those.
    action shift() {{
        hdr.copy.setInvalid();
        hdr.agg.valid = 16w0 ++ hdr.agg.count;
        hdr.agg.seq = hdr.agg.seq + (bit<32>)hdr.agg.count;
        hdr.agg.count = hdr.bridge.rest;
    }}

    table steps {{
        key = {{ hdr.copy.isValid(): exact; hdr.bridge.step: exact; }}
        actions = {{ leave; leave_shorter; turn; set_length; mirror; shift; NoAction; }}
        const default_action = NoAction();
        const entries = {{
            (false, PLAIN): leave();
            (false, ON): leave_shorter();
            (false, BACK): turn();
            (false, NEXT_ROW): set_length();
            (false, VALUES): set_length();
            (false, TWO_WAYS): mirror();
            (true, NEXT_ROW): shift();
        }}
        size = 7;
    }}

    apply {{
        steps.apply();
        meta.excess = (bit<32>)eg_intr_md.enq_qdepth |-| (MARK_AT - 1);
        if (hdr.ipv4.isValid() && hdr.ipv4.ecn != 0 && meta.excess != 0) {{
            hdr.ipv4.ecn = 3;
        }}
    }}
}}

control AggEgressDeparser(packet_out packet,
                          inout egress_headers_t hdr,
                          in egress_metadata_t meta,
                          in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {{
    Checksum() sum;
    Mirror(1) copies;

    apply {{
        hdr.ipv4.hdr_checksum = sum.update({{
            hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len, hdr.ipv4.identification,
            hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr
        }});
        if (eg_dprsr_md.mirror_type == 1) {{
            copies.emit<copy_h>(meta.session, {{ meta.first }});
        }}
        packet.emit(hdr.bridge);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.agg);
    }}
}}

Pipeline(AggParser(), AggIngress(), AggDeparser(), AggEgressParser(), AggEgress(), AggEgressDeparser()) pipe;
Switch(pipe) main;
"
    )
}
