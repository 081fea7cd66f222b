//! Source text: what an include gives, and programs around a block.

use crate::{Arch, BLOCKS, Block, Body, Direction, PURPOSES, Port, Purpose, Request, Values, Wanted, find};
use std::fmt::Write;
use std::sync::LazyLock;

/// Selects one of two controls with one interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// The block, for limited switches.
    Approximate,
    /// The exact twin of the block, for software devices.
    Exact,
}

const FOLDER: &str = "p4rack/blocks/";

/// Beginning of a line in which a block reports an output; `CONTROL.output VALUE` follows.
pub const REPORT: &str = "p4rack block ";

/// The text of `p4rack/blocks/NAME.p4` or `p4rack/blocks/NAME/PARAMETERS.p4`; `None` for any other name and for unknown blocks. Wrong
/// parameters give a text with an `#error`.
pub fn include(name: &str, form: Form) -> Option<String> {
    included(name, |block, request| source(block, request, form))
}

/// The same block, which also reports its outputs in the log of the device; only v1model has one.
pub fn include_reporting(name: &str, form: Form) -> Option<String> {
    included(name, |block, request| {
        if request.arch == Arch::Tna {
            return "#error \"outputs of blocks are compared in programs for v1model only\"\n".to_string();
        }
        let mut body = body(block, &request.values, form);
        for port in (block.ports)(&request.values).iter().filter(|port| port.direction == Direction::Out) {
            let output = format!("{REPORT}{}.{}", request.control, port.name);
            let _ = writeln!(body.apply, "log_msg(\"{output} {{}}\", {{ {} }});", port.name);
        }
        written(block, request, form, &body)
    })
}

fn included(name: &str, text: impl Fn(&Block, &Request) -> String) -> Option<String> {
    let inner = name.strip_prefix(FOLDER)?.strip_suffix(".p4")?;
    let (name, parameters) = inner.split_once('/').unwrap_or((inner, ""));
    let found = match (find(name), PURPOSES.iter().find(|purpose| purpose.name == name)) {
        (Some(block), _) => block.read(parameters).map(|request| (block, request)),
        (None, Some(purpose)) => {
            let best = purpose.read(parameters).and_then(|wanted| purpose.best(&wanted));
            best.and_then(|best| Ok((find(best.block).ok_or("no such block")?, best.request)))
        }
        (None, None) => return None,
    };
    Some(match found {
        Ok((block, request)) => text(block, &request),
        Err(why) => format!("#error \"{}\"\n", why.replace('"', "'")),
    })
}

/// The purpose that an include names, with its requirements; `None` for other names, and if the requirements are wrong.
pub fn include_by_purpose(name: &str) -> Option<(&'static Purpose, Wanted)> {
    let inner = name.strip_prefix(FOLDER)?.strip_suffix(".p4")?;
    let (name, parameters) = inner.split_once('/')?;
    let purpose = PURPOSES.iter().find(|purpose| purpose.name == name)?;
    Some((purpose, purpose.read(parameters).ok()?))
}

/// The names of all blocks with their default parameters, for did-you-mean.
pub fn include_names() -> impl Iterator<Item = &'static str> {
    static NAMES: LazyLock<Vec<String>> =
        LazyLock::new(|| BLOCKS.iter().map(|block| format!("{FOLDER}{}.p4", block.name)).collect());
    NAMES.iter().map(String::as_str)
}

/// The name by which a program includes a block with these parameters.
pub fn path(block: &Block, request: &Request) -> String {
    let defaults = block.defaults();
    let changed = request.values.iter().filter(|(name, value)| defaults.get(name) != *value);
    let mut parts: Vec<String> = changed.map(|(name, value)| format!("{name}={value}")).collect();
    if request.control != block.control {
        parts.push(format!("as={}", request.control));
    }
    if request.arch == Arch::Tna {
        parts.push("for=tna".to_string());
    }
    let parts = if parts.is_empty() { String::new() } else { format!("/{}", parts.join(",")) };
    format!("{FOLDER}{}{parts}.p4", block.name)
}

/// The block as P4. Exact twins are for v1model: a Tofino cannot run them.
pub fn source(block: &Block, request: &Request, form: Form) -> String {
    written(block, request, form, &body(block, &request.values, form))
}

fn body(block: &Block, values: &Values, form: Form) -> Body {
    match form {
        Form::Approximate => (block.p4)(values),
        Form::Exact => (block.exact)(values),
    }
}

fn written(block: &Block, request: &Request, form: Form, body: &Body) -> String {
    let Request { values, control, arch } = request;
    if (form, *arch) == (Form::Exact, Arch::Tna) {
        return "#error \"exact twins are for v1model: a Tofino cannot run them\"\n".to_string();
    }
    let (members, apply) = arch.written(body);
    let guard: String = path(block, request)
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' })
        .collect();
    let twin = if form == Form::Exact { ", exact twin" } else { "" };
    let ports: Vec<String> = (block.ports)(values).iter().map(Port::declaration).collect();
    format!(
        "// {}{twin}: {}\n\
         // {}\n\
         #ifndef {guard}\n\
         #define {guard}\n\
         {}\n\
         {}control {control}({}) {{\n{}    apply {{\n{}    }}\n}}\n\
         #endif\n",
        block.name,
        block.about,
        described(values),
        arch.includes(),
        body.before,
        ports.join(", "),
        indented(&members, 1),
        indented(&apply, 2),
    )
    .replace("KeyedRegister", &format!("{control}KeyedRegister"))
}

impl Port {
    fn declaration(&self) -> String {
        let direction = match self.direction {
            Direction::In => "in",
            Direction::Out => "out",
        };
        format!("{direction} bit<{}> {}", self.bits, self.name)
    }
}

/// A whole program: a packet brings the block's inputs, in bytes, and takes its outputs.
pub fn example(block: &Block, request: &Request) -> String {
    let ports = (block.ports)(&request.values);
    let header = |name: &str, direction: Direction| {
        let mut fields = String::new();
        for port in ports.iter().filter(|port| port.direction == direction) {
            let padding = port.bits.next_multiple_of(8) - port.bits;
            if padding > 0 {
                let _ = writeln!(fields, "    bit<{padding}> {}_padding;", port.name);
            }
            let _ = writeln!(fields, "    bit<{}> {};", port.bits, port.name);
        }
        format!("header {name} {{\n{fields}}}\n")
    };
    let arguments: Vec<String> = ports
        .iter()
        .map(|port| match port.direction {
            Direction::In => format!("hdr.inputs.{}", port.name),
            Direction::Out => format!("hdr.outputs.{}", port.name),
        })
        .collect();
    let headers = format!(
        "#include <{}>\n\n{}{}struct headers_t {{ inputs_h inputs; outputs_h outputs; }}\nstruct metadata_t {{}}\n",
        path(block, request),
        header("inputs_h", Direction::In),
        header("outputs_h", Direction::Out),
    );
    let (control, arguments) = (&request.control, arguments.join(", "));
    match request.arch {
        Arch::V1Model => format!(
            "#include <v1model.p4>\n{headers}\
parser BlockParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{
    state start {{ packet.extract(hdr.inputs); transition accept; }}
}}
control BlockIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{
    {control}() block;
    apply {{
        hdr.outputs.setValid();
        block.apply({arguments});
        sm.egress_spec = 1;
    }}
}}
control BlockEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {{ apply {{}} }}
control BlockChecksum(inout headers_t hdr, inout metadata_t meta) {{ apply {{}} }}
control BlockDeparser(packet_out packet, in headers_t hdr) {{ apply {{ packet.emit(hdr.outputs); }} }}
V1Switch(BlockParser(), BlockChecksum(), BlockIngress(), BlockEgress(), BlockChecksum(), BlockDeparser()) main;
"
        ),
        Arch::Tna => format!(
            "#include <tna.p4>\n{headers}\
parser BlockParser(packet_in packet, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t ig) {{
    state start {{
        packet.extract(ig);
        packet.advance(PORT_METADATA_SIZE);
        packet.extract(hdr.inputs);
        transition accept;
    }}
}}
control BlockIngress(inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t ig,
        in ingress_intrinsic_metadata_from_parser_t from_parser, inout ingress_intrinsic_metadata_for_deparser_t to_deparser,
        inout ingress_intrinsic_metadata_for_tm_t to_manager) {{
    {control}() block;
    apply {{
        hdr.outputs.setValid();
        block.apply({arguments});
        to_manager.ucast_egress_port = 1;
        to_manager.bypass_egress = 1;
    }}
}}
control BlockDeparser(packet_out packet, inout headers_t hdr, in metadata_t meta,
        in ingress_intrinsic_metadata_for_deparser_t to_deparser) {{ apply {{ packet.emit(hdr.outputs); }} }}
struct no_headers_t {{}}
parser NoParser(packet_in packet, out no_headers_t hdr, out metadata_t meta, out egress_intrinsic_metadata_t eg) {{
    state start {{ packet.extract(eg); transition accept; }}
}}
control NoEgress(inout no_headers_t hdr, inout metadata_t meta, in egress_intrinsic_metadata_t eg,
        in egress_intrinsic_metadata_from_parser_t from_parser, inout egress_intrinsic_metadata_for_deparser_t to_deparser,
        inout egress_intrinsic_metadata_for_output_port_t to_port) {{ apply {{}} }}
control NoDeparser(packet_out packet, inout no_headers_t hdr, in metadata_t meta,
        in egress_intrinsic_metadata_for_deparser_t to_deparser) {{ apply {{}} }}
Pipeline(BlockParser(), BlockIngress(), BlockDeparser(), NoParser(), NoEgress(), NoDeparser()) pipe;
Switch(pipe) main;
"
        ),
    }
}

/// `columns = 2048, key = 32, rows = 3`
fn described(values: &Values) -> String {
    let parts: Vec<String> = values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    parts.join(", ")
}

fn indented(text: &str, levels: usize) -> String {
    let line = |line: &str| format!("{}{line}\n", "    ".repeat(levels));
    text.lines().map(line).collect()
}
