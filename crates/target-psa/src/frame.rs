//! The blocks of PSA around those of the program.

use crate::convert::fields;
use target_p4::Apart;

/// The program without its `main`, with the blocks of PSA around its blocks; `None` if `main` is no NIC of PNA.
pub(crate) fn frame(printed: &str, has_pre: bool) -> Option<String> {
    let apart = Apart::of(printed, "PNA_NIC");
    let [parser, pre, control, deparser] = apart.blocks[..] else { return None };
    let types = apart.parameter_types(parser);
    let [_, headers, user, ..] = &types[..] else { return None };
    let [drops, repeats, port] = fields();
    let name = |name: &str| apart.fresh(name);
    let [all, nothing, again] = [name("PsaMetadata"), name("PsaNothing"), name("PsaAgain")];
    let [first, second] = [name("psa_ingress"), name("psa_egress")];
    let [ip, ig, id] = [name("PsaParser"), name("PsaIngress"), name("PsaDeparser")];
    let [ep, eg, ed] = [name("PsaEgressParser"), name("PsaEgress"), name("PsaEgressDeparser")];
    let (pre_part, pre_code) = if has_pre {
        (
            format!("    @name(\".{pre}\") {pre}() pre_part;\n"),
            "        pna_pre_output_metadata_t before = { false, (SecurityAssocId_t)0, 0 };
        pre_part.apply(hdr, meta.user,
            { meta.again.port, istd.parser_error, PNA_Direction_t.NET_TO_HOST, (PassNumber_t)meta.again.pass, false }, before);\n",
        )
    } else {
        (String::new(), "")
    };
    let added = format!(
        "
struct {again} {{
    bit<3> pass;
    PortId_t port;
}}

struct {all} {{
    {user} user;
    {again} again;
    pna_main_output_metadata_t asked;
}}

struct {nothing} {{
}}

parser {ip}(packet_in packet, out {headers} hdr, inout {all} meta, in psa_ingress_parser_input_metadata_t istd,
        in {nothing} resubmitted, in {again} recirculated) {{
    @name(\".{parser}\") {parser}() parser_part;

    state start {{
        transition select(istd.packet_path) {{
            PSA_PacketPath_t.RECIRCULATE: again;
            default: first;
        }}
    }}
    state again {{
        meta.again = recirculated;
        transition parse;
    }}
    state first {{
        meta.again.port = istd.ingress_port;
        transition parse;
    }}
    state parse {{
        parser_part.apply(packet, hdr, meta.user,
            {{ PNA_Direction_t.NET_TO_HOST, (PassNumber_t)meta.again.pass, false, meta.again.port }});
        transition accept;
    }}
}}

control {ig}(inout {headers} hdr, inout {all} meta, in psa_ingress_input_metadata_t istd,
        inout psa_ingress_output_metadata_t ostd) {{
{pre_part}    @name(\".{control}\") {control}() main_part;

    apply {{
{pre_code}        meta.asked.{drops} = true;
        main_part.apply(hdr, meta.user, {{ PNA_Direction_t.NET_TO_HOST, (PassNumber_t)meta.again.pass, false,
            istd.ingress_timestamp, istd.parser_error, (ClassOfService_t)0, meta.again.port }}, meta.asked);
        ostd.class_of_service = meta.asked.class_of_service;
        ostd.drop = meta.asked.{drops};
        ostd.egress_port = meta.asked.{port};
        if (meta.asked.{repeats}) {{
            ostd.egress_port = PSA_PORT_RECIRCULATE;
        }}
    }}
}}

control {id}(packet_out packet, out {nothing} cloned, out {nothing} resubmitted, out {again} normal,
        inout {headers} hdr, in {all} meta, in psa_ingress_output_metadata_t istd) {{
    @name(\".{deparser}\") {deparser}() deparser_part;

    apply {{
        normal.pass = meta.again.pass + 1;
        normal.port = meta.again.port;
        deparser_part.apply(packet, hdr, meta.user, meta.asked);
    }}
}}

parser {ep}(packet_in packet, out {nothing} hdr, inout {again} meta, in psa_egress_parser_input_metadata_t istd,
        in {again} normal, in {nothing} cloned, in {nothing} cloned_again) {{
    state start {{
        meta = normal;
        transition accept;
    }}
}}

control {eg}(inout {nothing} hdr, inout {again} meta, in psa_egress_input_metadata_t istd,
        inout psa_egress_output_metadata_t ostd) {{
    apply {{
    }}
}}

control {ed}(packet_out packet, out {nothing} cloned, out {again} recirculated, inout {nothing} hdr, in {again} meta,
        in psa_egress_output_metadata_t istd, in psa_egress_deparser_input_metadata_t edstd) {{
    apply {{
        recirculated = meta;
    }}
}}

IngressPipeline({ip}(), {ig}(), {id}()) {first};
EgressPipeline({ep}(), {eg}(), {ed}()) {second};

PSA_Switch({first}, PacketReplicationEngine(), {second}, BufferingQueueingEngine()) main;
"
    );
    Some(apart.body.to_string() + &added)
}
