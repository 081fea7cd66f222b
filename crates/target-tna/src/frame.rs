//! The blocks of TNA around those of the program.

use crate::bridge::{Bridge, bit_of};
use target_p4::Apart;

/// Blocks of the program that do anything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts<'p> {
    pub has_egress: bool,
    pub has_sums: bool,
    /// The control that computes conditions of checksums after all others.
    pub conditions: Option<&'p str>,
    /// The deparser takes the standard metadata and its own, too.
    pub has_digests: bool,
    /// The control that verifies takes the standard metadata, too.
    pub verifies: bool,
    /// The program reads the time.
    pub ticks: bool,
    /// Egress reads the length of the packet.
    pub reads_length: bool,
}

/// The program without its `main`, with the blocks of TNA around its blocks; `None` if `main` is no switch of v1model.
/// With a bridge, egress is a pipeline of its own.
pub(crate) fn frame(printed: &str, parts: Parts<'_>, bridge: Option<&Bridge>) -> Option<String> {
    let Parts { has_egress, has_sums, conditions, has_digests, verifies, ticks, reads_length } = parts;
    let apart = Apart::of(printed, "V1Switch");
    let [parser, verify, ingress, egress, sums, deparser] = apart.blocks[..] else { return None };
    let types = apart.parameter_types(parser);
    let [_, headers, user, ..] = &types[..] else { return None };
    let mut body = apart.body.to_string();
    if body.contains("mark_to_drop(") {
        body = with_drop(&body);
    }
    let name = |name: &str| apart.fresh(name);
    // The headers of the program in those of the new blocks.
    let inner = if bridge.is_some() { "hdr.inner" } else { "hdr" };
    let both = name("TofinoHeaders");
    let ht = if bridge.is_some() { both.as_str() } else { headers.as_str() };
    let (egress_part, egress_code) = if has_egress && bridge.is_none() {
        (
            format!("    @name(\".{egress}\") {egress}() egress_part;\n"),
            "
            meta.standard.egress_spec = 0;
            egress_part.apply(hdr, meta.user, meta.standard);
            if (meta.standard.egress_spec == 511) {
                dprsr.drop_ctl = 1;
            }",
        )
    } else {
        (String::new(), "")
    };
    let (verify_part, verify_code) = if verifies {
        (
            format!("    @name(\".{verify}\") {verify}() verify_part;\n"),
            format!("        verify_part.apply({inner}, meta.user, meta.standard);\n"),
        )
    } else {
        (String::new(), String::new())
    };
    let time_code = if ticks {
        "        meta.standard.ingress_global_timestamp = (bit<48>)prsr.global_tstamp[47:10];\n"
    } else {
        ""
    };
    let (digest_code, digest_args) = if has_digests {
        (
            "
        if (meta.standard.digest_type != 0) {
            dprsr.digest_type = meta.standard.digest_type;
        }",
            ", meta.standard, dprsr",
        )
    } else {
        ("", "")
    };
    let (sums_part, sums_code) = if has_sums {
        let standard = if conditions.is_some() { ", meta.standard" } else { "" };
        (
            format!("    @name(\".{sums}\") {sums}() sums_part;\n"),
            format!("        sums_part.apply({inner}, meta.user{standard});\n"),
        )
    } else {
        (String::new(), String::new())
    };
    let (conditions_part, conditions_code) = match conditions {
        Some(control) => (
            format!("    @name(\".{control}\") {control}() conditions_part;\n"),
            format!("        conditions_part.apply({inner}, meta.user, meta.standard);\n"),
        ),
        None => (String::new(), String::new()),
    };
    let [all, none, pipe] = [name("TofinoMetadata"), name("TofinoNothing"), name("pipe")];
    let [ip, ig, id] = [name("TofinoParser"), name("TofinoIngress"), name("TofinoDeparser")];
    let [ep, eg, ed] = [name("TofinoEgressParser"), name("TofinoEgress"), name("TofinoEgressDeparser")];
    let sums = [sums_part.as_str(), sums_code.as_str()];
    let conditions = [conditions_part.as_str(), conditions_code.as_str()];
    let egress_names = EgressNames { parser: &ep, control: &eg, deparser: &ed };
    let (header_types, egress_blocks) = match bridge {
        Some(bridge) => {
            let bridged = name("TofinoBridge");
            let length = if reads_length {
                let bytes = bridge.bytes;
                format!("        meta.standard.packet_length = (bit<32>)eg.pkt_length - {bytes};\n")
            } else {
                String::new()
            };
            let fields = &bridge.fields;
            let types = format!(
                "header {bridged} {{
{fields}}}

struct {ht} {{
    {bridged} bridge;
    {headers} inner;
}}

"
            );
            (types, bridged_egress(bridge, egress_names, [ht, &all], egress, &length, sums, conditions))
        }
        None => (format!("struct {none} {{\n}}\n\n"), empty_egress(egress_names, &none)),
    };
    let [[ingress_sums_part, ingress_sums_code], [conditions_part, conditions_code]] =
        if bridge.is_some() { [["", ""]; 2] } else { [sums, conditions] };
    let (bypass_code, keep_code, emit_bridge) = match bridge {
        Some(bridge) => {
            let keep = format!("        hdr.bridge.setValid();\n{}", bridge.keep);
            ("", keep, "        packet.emit(hdr.bridge);\n")
        }
        None => ("        tm.bypass_egress = 1;\n", String::new(), ""),
    };
    let tables = bridge.map_or("", |bridge| bridge.tables.as_str());
    let added = format!(
        "
struct {all} {{
    {user} user;
    standard_metadata_t standard;
}}

{header_types}parser {ip}(packet_in packet, out {ht} hdr, out {all} meta, out ingress_intrinsic_metadata_t ig) {{
    @name(\".{parser}\") {parser}() parser_part;

    state start {{
        packet.extract(ig);
        packet.advance(PORT_METADATA_SIZE);
        meta.standard.ingress_port = ig.ingress_port;
        parser_part.apply(packet, {inner}, meta.user, meta.standard);
        transition accept;
    }}
}}

control {ig}(inout {ht} hdr, inout {all} meta, in ingress_intrinsic_metadata_t ig,
        in ingress_intrinsic_metadata_from_parser_t prsr,
        inout ingress_intrinsic_metadata_for_deparser_t dprsr,
        inout ingress_intrinsic_metadata_for_tm_t tm) {{
{verify_part}    @name(\".{ingress}\") {ingress}() ingress_part;
{egress_part}{conditions_part}{tables}
    apply {{
{time_code}{verify_code}        ingress_part.apply({inner}, meta.user, meta.standard);
{bypass_code}        if (meta.standard.mcast_grp != 0) {{
            tm.mcast_grp_a = meta.standard.mcast_grp;
        }} else if (meta.standard.egress_spec == 511) {{
            dprsr.drop_ctl = 1;
        }} else {{
            meta.standard.egress_port = meta.standard.egress_spec;
            tm.ucast_egress_port = meta.standard.egress_spec;{egress_code}
        }}{digest_code}
{conditions_code}{keep_code}    }}
}}

control {id}(packet_out packet, inout {ht} hdr, in {all} meta,
        in ingress_intrinsic_metadata_for_deparser_t dprsr) {{
    @name(\".{deparser}\") {deparser}() deparser_part;
{ingress_sums_part}
    apply {{
{ingress_sums_code}{emit_bridge}        deparser_part.apply(packet, {inner}{digest_args});
    }}
}}

{egress_blocks}
Pipeline({ip}(), {ig}(), {id}(), {ep}(), {eg}(), {ed}()) {pipe};

Switch({pipe}) main;
"
    );
    Some(body + &added)
}

/// Names of the blocks of egress.
#[derive(Clone, Copy)]
struct EgressNames<'n> {
    parser: &'n str,
    control: &'n str,
    deparser: &'n str,
}

/// Egress blocks for packets that bypass egress.
fn empty_egress(names: EgressNames<'_>, none: &str) -> String {
    let EgressNames { parser: ep, control: eg, deparser: ed } = names;
    format!(
        "parser {ep}(packet_in packet, out {none} hdr, out {none} meta, out egress_intrinsic_metadata_t eg) {{
    state start {{
        packet.extract(eg);
        transition accept;
    }}
}}

control {eg}(inout {none} hdr, inout {none} meta, in egress_intrinsic_metadata_t eg,
        in egress_intrinsic_metadata_from_parser_t prsr,
        inout egress_intrinsic_metadata_for_deparser_t dprsr,
        inout egress_intrinsic_metadata_for_output_port_t port) {{
    apply {{
    }}
}}

control {ed}(packet_out packet, inout {none} hdr, in {none} meta,
        in egress_intrinsic_metadata_for_deparser_t dprsr) {{
    apply {{
    }}
}}
"
    )
}

/// Egress blocks that apply the program's egress: the types of headers and metadata, the name of the egress control, code for the length, and the parts of the
/// checksums and of their conditions.
fn bridged_egress(
    bridge: &Bridge,
    names: EgressNames<'_>,
    [ht, all]: [&str; 2],
    egress: &str,
    length: &str,
    [sums_part, sums_code]: [&str; 2],
    [conditions_part, conditions_code]: [&str; 2],
) -> String {
    let EgressNames { parser: ep, control: eg, deparser: ed } = names;
    let (mut states, mut emits) = (String::new(), String::new());
    for (at, path) in bridge.headers.iter().enumerate() {
        let next = at + 1;
        let (byte, bit) = bit_of(at);
        states += &format!(
            "
    state next{at} {{
        transition select(hdr.bridge.valid{byte}) {{
            {bit} &&& {bit}: take{at};
            default: next{next};
        }}
    }}

    state take{at} {{
        packet.extract(hdr.inner.{path});
        transition next{next};
    }}
"
        );
        emits += &format!("        packet.emit(hdr.inner.{path});\n");
    }
    let last = bridge.headers.len();
    let restore = &bridge.restore;
    format!(
        "parser {ep}(packet_in packet, out {ht} hdr, out {all} meta, out egress_intrinsic_metadata_t eg) {{
    state start {{
        packet.extract(eg);
        packet.extract(hdr.bridge);
        transition next0;
    }}
{states}
    state next{last} {{
        transition accept;
    }}
}}

control {eg}(inout {ht} hdr, inout {all} meta, in egress_intrinsic_metadata_t eg,
        in egress_intrinsic_metadata_from_parser_t prsr,
        inout egress_intrinsic_metadata_for_deparser_t dprsr,
        inout egress_intrinsic_metadata_for_output_port_t port) {{
    @name(\".{egress}\") {egress}() egress_part;
{conditions_part}
    apply {{
{restore}        meta.standard.egress_port = eg.egress_port;
        meta.standard.egress_rid = eg.egress_rid;
        if (meta.standard.mcast_grp != 0) {{
            meta.standard.instance_type = 5;
        }}
{length}        hdr.bridge.setInvalid();
        egress_part.apply(hdr.inner, meta.user, meta.standard);
        if (meta.standard.egress_spec == 511) {{
            dprsr.drop_ctl = 1;
        }}
{conditions_code}    }}
}}

control {ed}(packet_out packet, inout {ht} hdr, in {all} meta,
        in egress_intrinsic_metadata_for_deparser_t dprsr) {{
{sums_part}
    apply {{
{sums_code}{emits}    }}
}}
"
    )
}

/// `mark_to_drop` as a function after the declaration of the metadata.
fn with_drop(body: &str) -> String {
    const DROP: &str = "
void mark_to_drop(inout standard_metadata_t standard_metadata) {
    standard_metadata.egress_spec = 511;
    standard_metadata.mcast_grp = 0;
}
";
    let after = body
        .find("struct standard_metadata_t {")
        .and_then(|at| body[at..].find("}\n").map(|end| at + end + 2));
    let (first, rest) = body.split_at(after.unwrap_or(0));
    format!("{first}{DROP}{rest}")
}
