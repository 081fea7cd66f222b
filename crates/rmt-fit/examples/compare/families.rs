//! The families of programs that were measured: each has one thing that takes resources, in a known amount.
//!
//! `exact_KEY_SIZE`, `ternary_KEY_SIZE`, `lpm_SIZE`, `idle_SIZE`, `counter_SIZE`, `selector_GROUPS`: one table.
//! `register_BITS_CELLS`, `regpair_CELLS`: one register. `chain_N`: tables of which each matches what the one before it writes.
//! `par_N`: tables side by side. `grow_FAMILY_SIZE` is the same table, in the search for the largest that fits.

/// The program of this name, if it is of one of the families.
pub fn program(name: &str) -> Option<String> {
    let name = name.strip_prefix("grow_").unwrap_or(name);
    let words: Vec<&str> = name.split('_').collect();
    let number = |word: &str| word.parse::<u64>().ok();
    let x = || Metadata { fields: "bit<8> x;".to_string(), init: "m.x = 0;".to_string() };
    let (metadata, declarations, body) = match words[..] {
        ["exact", key, size] => (x(), table(&keys(key, "exact")?, number(size)?, ""), APPLY.to_string()),
        ["ternary", key, size] => (x(), table(&keys(key, "ternary")?, number(size)?, ""), APPLY.to_string()),
        ["lpm", .., size] => (x(), table("h.v4.dst: lpm;", number(size)?, ""), APPLY.to_string()),
        ["idle", .., size] => {
            (x(), table(&keys("five104", "exact")?, number(size)?, "idle_timeout = true;"), APPLY.to_string())
        }
        ["counter", size] => (x(), counter(number(size)?), APPLY.to_string()),
        ["selector", groups] => (x(), selector(number(groups)?), APPLY.to_string()),
        ["register", bits, cells] => register(number(bits)?, number(cells)?),
        ["regpair", cells] => (x(), pair(number(cells)?), pair_body(number(cells)?)),
        ["chain", tables] => chain(number(tables)?),
        ["par", tables] => side_by_side(number(tables)?),
        _ => return None,
    };
    Some(whole(&metadata, &declarations, &body))
}

struct Metadata {
    fields: String,
    init: String,
}

const APPLY: &str = "t.apply();";

fn keys(key: &str, kind: &str) -> Option<String> {
    let fields: &[&str] = match key {
        "dst32" => &["h.v4.dst"],
        "pair64" => &["h.v4.src", "h.v4.dst"],
        "five104" => &["h.v4.src", "h.v4.dst", "h.v4.proto", "h.l4.sport", "h.l4.dport"],
        "mac48" => &["h.eth.dst"],
        "v6" => &["h.v6.dst"],
        "v6pair" => &["h.v6.src", "h.v6.dst"],
        _ => return None,
    };
    Some(fields.iter().map(|f| format!("{f}: {kind}; ")).collect())
}

fn table(keys: &str, size: u64, more: &str) -> String {
    format!("    table t {{ key = {{ {keys} }} actions = {{ send; drop; }} size = {size}; {more} }}\n")
}

fn counter(size: u64) -> String {
    format!(
        "    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) c;
    action counted(PortId_t port) {{ c.count(); tm.ucast_egress_port = port; }}
    table t {{ key = {{ h.v4.dst: exact; }} actions = {{ counted; }} counters = c; size = {size}; }}\n"
    )
}

fn selector(groups: u64) -> String {
    let members = groups * 16;
    format!(
        "    ActionProfile({members}) profile;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) hash;
    ActionSelector(profile, hash, SelectorMode_t.FAIR, 64, {groups}) chosen;
    table t {{
        key = {{ h.v4.dst: exact; h.v4.src: selector; h.l4.sport: selector; }}
        actions = {{ send; drop; }}
        implementation = chosen;
        size = 4096;
    }}\n"
    )
}

fn register(bits: u64, cells: u64) -> (Metadata, String, String) {
    let step = if bits == 1 { "value = 1; result = 0;" } else { "value = value + 1; result = value;" };
    let metadata = Metadata { fields: format!("bit<{bits}> v;"), init: "m.v = 0;".to_string() };
    let declarations = format!(
        "    Register<bit<{bits}>, bit<32>>({cells}) r;
    RegisterAction<bit<{bits}>, bit<32>, bit<{bits}>>(r) count = {{
        void apply(inout bit<{bits}> value, out bit<{bits}> result) {{ {step} }}
    }};
    Hash<bit<32>>(HashAlgorithm_t.CRC32) hash;\n"
    );
    let body = format!(
        "bit<32> at = hash.get({{ h.v4.src, h.v4.dst }}) & {}; m.v = count.execute(at); tm.ucast_egress_port = 1; h.l4.seq = (bit<32>)m.v;",
        cells - 1
    );
    (metadata, declarations, body)
}

fn pair(cells: u64) -> String {
    format!(
        "    Register<pair_t, bit<32>>({cells}) r;
    RegisterAction<pair_t, bit<32>, bit<32>>(r) count = {{
        void apply(inout pair_t v, out bit<32> result) {{
            if (v.a == h.l4.seq) {{ v.b = v.b + 1; }} else {{ v.a = h.l4.seq; v.b = 1; }}
            result = v.b;
        }}
    }};
    Hash<bit<32>>(HashAlgorithm_t.CRC32) hash;\n"
    )
}

fn pair_body(cells: u64) -> String {
    format!(
        "bit<32> at = hash.get({{ h.v4.src, h.v4.dst }}) & {}; h.l4.ack = count.execute(at); tm.ucast_egress_port = 1;",
        cells - 1
    )
}

fn chain(tables: u64) -> (Metadata, String, String) {
    let metadata = Metadata { fields: "bit<8> x;".to_string(), init: "m.x = 0;".to_string() };
    let of = |n: u64| {
        let key = if n == 0 { "h.v4.dst" } else { "m.x" };
        format!(
            "    action set{n}(bit<8> v) {{ m.x = v; }}
    table t{n} {{ key = {{ {key}: exact; }} actions = {{ set{n}; drop; }} size = 256; }}\n"
        )
    };
    let applied: String = (0..tables).map(|n| format!("t{n}.apply(); ")).collect();
    (metadata, (0..tables).map(of).collect(), format!("{applied}tm.ucast_egress_port = (bit<9>)m.x;"))
}

fn side_by_side(tables: u64) -> (Metadata, String, String) {
    let metadata = Metadata {
        fields: (0..tables).map(|n| format!("bit<8> f{n}; ")).collect(),
        init: (0..tables).map(|n| format!("m.f{n} = 0; ")).collect(),
    };
    let of = |n: u64| {
        format!(
            "    action mark{n}(bit<8> v) {{ m.f{n} = v; }}
    table t{n} {{ key = {{ h.v4.dst: exact; h.v4.src: ternary; }} actions = {{ mark{n}; drop; }} size = 512; }}\n"
        )
    };
    let applied: String = (0..tables).map(|n| format!("t{n}.apply(); ")).collect();
    let all: Vec<String> = (0..tables.min(4)).map(|n| format!("m.f{n}")).collect();
    (metadata, (0..tables).map(of).collect(), format!("{applied}h.v4.tos = {};", all.join(" ^ ")))
}

fn whole(metadata: &Metadata, declarations: &str, body: &str) -> String {
    let Metadata { fields, init } = metadata;
    format!(
        "#include <core.p4>
#if __TARGET_TOFINO__ == 2
#include <t2na.p4>
#else
#include <tna.p4>
#endif
header eth_t {{ bit<48> dst; bit<48> src; bit<16> type; }}
header ipv4_t {{
    bit<8> vihl; bit<8> tos; bit<16> len; bit<16> id; bit<16> frag;
    bit<8> ttl; bit<8> proto; bit<16> sum; bit<32> src; bit<32> dst;
}}
header ipv6_t {{ bit<32> vtf; bit<16> len; bit<8> next; bit<8> hop; bit<128> src; bit<128> dst; }}
header l4_t {{ bit<16> sport; bit<16> dport; bit<32> seq; bit<32> ack; }}
struct headers_t {{ eth_t eth; ipv4_t v4; ipv6_t v6; l4_t l4; }}
struct pair_t {{ bit<32> a; bit<32> b; }}
struct metadata_t {{ {fields} }}
struct no_headers_t {{ }}
struct no_metadata_t {{ }}
parser IngressParser(packet_in p, out headers_t h, out metadata_t m, out ingress_intrinsic_metadata_t i) {{
    state start {{ p.extract(i); p.advance(PORT_METADATA_SIZE); {init} transition eth; }}
    state eth {{
        p.extract(h.eth);
        transition select(h.eth.type) {{ 0x800: v4; 0x86dd: v6; default: accept; }}
    }}
    state v4 {{ p.extract(h.v4); transition select(h.v4.proto) {{ 6: l4; 17: l4; default: accept; }} }}
    state v6 {{ p.extract(h.v6); transition select(h.v6.next) {{ 6: l4; 17: l4; default: accept; }} }}
    state l4 {{ p.extract(h.l4); transition accept; }}
}}
control Ingress(inout headers_t h, inout metadata_t m, in ingress_intrinsic_metadata_t i,
        in ingress_intrinsic_metadata_from_parser_t ip, inout ingress_intrinsic_metadata_for_deparser_t id,
        inout ingress_intrinsic_metadata_for_tm_t tm) {{
    action drop() {{ id.drop_ctl = 1; }}
    action send(PortId_t port) {{ tm.ucast_egress_port = port; }}
{declarations}    apply {{ {body} }}
}}
control IngressDeparser(packet_out p, inout headers_t h, in metadata_t m,
        in ingress_intrinsic_metadata_for_deparser_t id) {{ apply {{ p.emit(h); }} }}
parser EgressParser(packet_in p, out no_headers_t h, out no_metadata_t m, out egress_intrinsic_metadata_t i) {{
    state start {{ p.extract(i); transition accept; }}
}}
control Egress(inout no_headers_t h, inout no_metadata_t m, in egress_intrinsic_metadata_t i,
        in egress_intrinsic_metadata_from_parser_t ip, inout egress_intrinsic_metadata_for_deparser_t id,
        inout egress_intrinsic_metadata_for_output_port_t op) {{ apply {{ }} }}
control EgressDeparser(packet_out p, inout no_headers_t h, in no_metadata_t m,
        in egress_intrinsic_metadata_for_deparser_t id) {{ apply {{ }} }}
Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
"
    )
}
