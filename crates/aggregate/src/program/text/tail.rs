//! Checksums, marks of ECN, the deparser.

use super::each;
use crate::program::Program;

pub(super) fn tail(program: &Program) -> String {
    let lanes = each(program, |lane| format!("        packet.emit(hdr.lane_{lane});"));
    let more = if program.layout.has_extension() { "        packet.emit(hdr.more);\n" } else { "" };
    let summed = "hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len, hdr.ipv4.identification,
              hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16";
    format!(
        "control AggVerify(inout headers_t hdr, inout metadata_t meta) {{
    apply {{
        verify_checksum({summed});
    }}
}}

control AggEgress(inout headers_t hdr,
                  inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {{
    apply {{
        if (hdr.ipv4.isValid() && hdr.ipv4.ecn != 0 && standard_metadata.enq_qdepth >= MARK_AT) {{
            hdr.ipv4.ecn = 3;
        }}
        // A request for several answers comes back for the first one, and its copy for the rows after those.
        if (meta.rest != 0) {{
            if (standard_metadata.instance_type == 2) {{
                hdr.agg.valid = hdr.agg.aux;
                hdr.agg.seq = hdr.agg.seq + hdr.agg.aux;
                hdr.agg.aux = meta.rest;
            }} else {{
                clone_preserving_field_list(CloneType.E2E, COPIES, 1);
            }}
            meta.again = 1;
        }}
        if (meta.again == 1) {{
            recirculate_preserving_field_list(0);
        }}
    }}
}}

control AggCompute(inout headers_t hdr, inout metadata_t meta) {{
    apply {{
        update_checksum({summed});
    }}
}}

control AggDeparser(packet_out packet, in headers_t hdr) {{
    apply {{
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.agg);
{more}{lanes}        packet.emit(hdr.row);
    }}
}}

V1Switch(AggParser(), AggVerify(), AggIngress(), AggEgress(), AggCompute(), AggDeparser()) main;
"
    )
}
