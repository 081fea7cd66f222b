//! The programs of the rack: a register, or a counter, in which the switch and its helpers count.

use crate::rig::CELLS;

/// Packets with `b` = 255 are counted by the switch, all others by a helper; `a` is the cell.
pub fn source(operator: &str, width: u32, step: &str) -> String {
    format!(
        "#include <core.p4>
        #include <v1model.p4>
        header h_t {{ bit<8> a; bit<8> b; bit<32> v; }}
        struct headers {{ h_t h; }}
        struct metadata {{ @shard(\"R\", 64) bit<8> shard; }}
        parser P(packet_in pkt, out headers hdr, inout metadata meta, inout standard_metadata_t std) {{
            state start {{ pkt.extract(hdr.h); transition accept; }}
        }}
        control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{
            @merge({operator}) register<bit<{width}>>({CELLS}) seen;
            apply {{
                std.egress_spec = 2;
                meta.shard = hdr.h.b & 63;
                bit<{width}> n;
                bit<{width}> v = (bit<{width}>)hdr.h.v;
                if (hdr.h.b == 255) {{
                    seen.read(n, (bit<32>)hdr.h.a);
                    {step}
                    seen.write((bit<32>)hdr.h.a, n);
                }} else {{
                    @region(\"R\") {{
                        seen.read(n, (bit<32>)hdr.h.a);
                        {step}
                        seen.write((bit<32>)hdr.h.a, n);
                    }}
                }}
            }}
        }}
        control O(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{ apply {{ }} }}
        control C(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
        control D(packet_out pkt, in headers hdr) {{ apply {{ pkt.emit(hdr.h); }} }}
        V1Switch(P(), C(), I(), O(), C(), D()) main;"
    )
}

pub fn sums() -> String {
    source("\"add\"", 32, "n = n + v;")
}

/// The same with a counter in the place of the register: it counts packets.
pub fn counts() -> String {
    let text = sums().replace(
        &format!("register<bit<32>>({CELLS}) seen"),
        &format!("counter({CELLS}, CounterType.packets) seen"),
    );
    let text = text.replace("seen.read(n, (bit<32>)hdr.h.a);", "");
    text.replace("seen.write((bit<32>)hdr.h.a, n);", "seen.count((bit<32>)hdr.h.a);")
}

/// A table at the helpers, whose entries count packets.
pub fn entries() -> String {
    let text = sums().replace(
        &format!("register<bit<32>>({CELLS}) seen;"),
        "direct_counter(CounterType.packets) seen;
            table known {
                key = { hdr.h.a: exact; }
                actions = { NoAction; }
                counters = seen;
            }",
    );
    let step = "seen.read(n, (bit<32>)hdr.h.a);";
    let (begin, end) = (text.rfind(step).expect("a step"), "seen.write((bit<32>)hdr.h.a, n);");
    let stop = text.rfind(end).expect("its end") + end.len();
    let text = format!("{}known.apply();{}", &text[..begin], &text[stop..]);
    let (begin, stop) = (text.find(step).expect("a step"), text.find(end).expect("its end") + end.len());
    format!("{}{}", &text[..begin], &text[stop..])
}
