//! The blocks of TNA around those of the program.

use target_p4::Apart;

/// Blocks of the program that do anything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    pub has_egress: bool,
    pub has_sums: bool,
    /// The deparser takes the standard metadata and its own, too.
    pub has_digests: bool,
    /// The control that verifies takes the standard metadata, too.
    pub verifies: bool,
    /// The program reads the time.
    pub ticks: bool,
}

/// The program without its `main`, with the blocks of TNA around its blocks; `None` if `main` is no switch of v1model.
pub(crate) fn frame(printed: &str, parts: Parts) -> Option<String> {
    let Parts { has_egress, has_sums, has_digests, verifies, ticks } = parts;
    let apart = Apart::of(printed, "V1Switch");
    let [parser, verify, ingress, egress, sums, deparser] = apart.blocks[..] else { return None };
    let types = apart.parameter_types(parser);
    let [_, headers, user, ..] = &types[..] else { return None };
    let mut body = apart.body.to_string();
    if body.contains("mark_to_drop(") {
        body = with_drop(&body);
    }
    let (egress_part, egress_code) = if has_egress {
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
            "        verify_part.apply(hdr, meta.user, meta.standard);\n",
        )
    } else {
        (String::new(), "")
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
        (
            format!("    @name(\".{sums}\") {sums}() sums_part;\n"),
            format!("        {user} user = meta.user;\n        sums_part.apply(hdr, user);\n"),
        )
    } else {
        (String::new(), String::new())
    };
    let name = |name: &str| apart.fresh(name);
    let [all, none, pipe] = [name("TofinoMetadata"), name("TofinoNothing"), name("pipe")];
    let [ip, ig, id] = [name("TofinoParser"), name("TofinoIngress"), name("TofinoDeparser")];
    let [ep, eg, ed] = [name("TofinoEgressParser"), name("TofinoEgress"), name("TofinoEgressDeparser")];
    let added = format!(
        "
struct {all} {{
    {user} user;
    standard_metadata_t standard;
}}

struct {none} {{
}}

parser {ip}(packet_in packet, out {headers} hdr, out {all} meta, out ingress_intrinsic_metadata_t ig) {{
    @name(\".{parser}\") {parser}() parser_part;

    state start {{
        packet.extract(ig);
        packet.advance(PORT_METADATA_SIZE);
        meta.standard.ingress_port = ig.ingress_port;
        parser_part.apply(packet, hdr, meta.user, meta.standard);
        transition accept;
    }}
}}

control {ig}(inout {headers} hdr, inout {all} meta, in ingress_intrinsic_metadata_t ig,
        in ingress_intrinsic_metadata_from_parser_t prsr,
        inout ingress_intrinsic_metadata_for_deparser_t dprsr,
        inout ingress_intrinsic_metadata_for_tm_t tm) {{
{verify_part}    @name(\".{ingress}\") {ingress}() ingress_part;
{egress_part}
    apply {{
{time_code}{verify_code}        ingress_part.apply(hdr, meta.user, meta.standard);
        tm.bypass_egress = 1;
        if (meta.standard.mcast_grp != 0) {{
            tm.mcast_grp_a = meta.standard.mcast_grp;
        }} else if (meta.standard.egress_spec == 511) {{
            dprsr.drop_ctl = 1;
        }} else {{
            meta.standard.egress_port = meta.standard.egress_spec;
            tm.ucast_egress_port = meta.standard.egress_spec;{egress_code}
        }}{digest_code}
    }}
}}

control {id}(packet_out packet, inout {headers} hdr, in {all} meta,
        in ingress_intrinsic_metadata_for_deparser_t dprsr) {{
    @name(\".{deparser}\") {deparser}() deparser_part;
{sums_part}
    apply {{
{sums_code}        deparser_part.apply(packet, hdr{digest_args});
    }}
}}

parser {ep}(packet_in packet, out {none} hdr, out {none} meta, out egress_intrinsic_metadata_t eg) {{
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

Pipeline({ip}(), {ig}(), {id}(), {ep}(), {eg}(), {ed}()) {pipe};

Switch({pipe}) main;
"
    );
    Some(body + &added)
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
