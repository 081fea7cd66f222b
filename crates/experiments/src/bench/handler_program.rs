//! Time of a handler's call in a program: packets with the request and room for the response, and the same program without the call.
//!
//! ```text
//! | request | response |  ──> q := request; if (called.call(q, r)) port 1 else port 2; response := r ──> out
//! ```

use super::{source, thread};
use base_diag::{SourceMap, Style, render};
use base_time::{Duration, Time};
use dataplane_api::{Registry, ValueOffer, ValueType};
use device::Options;
use handlers::{Built, Inline, Isolation};
use ir_handlers::{Field, FieldKind, Handler, Struct};
use p4_arch::Texts;
use std::fmt::Write;
use std::sync::Arc;
use target_native::{Engine, Packet};

/// Packets of a batch.
const BATCH: usize = 32;

/// Slices of time in which the programs take turns. The fastest of each counts: other work on the machine only makes slices slower.
const SLICES: u32 = 16;

/// Nanoseconds of processor time for each packet: without the call, and with it.
pub(super) fn packets(
    built: &Arc<Built>,
    handler: &Handler,
    seed: u64,
    requests: &[Vec<u8>],
    time: std::time::Duration,
) -> Result<(f64, f64), String> {
    let mut registry = Registry::default();
    handlers::register(built, Isolation::Inline, seed, &mut registry);
    let offer = registry.value(&handler.name).cloned().ok_or("the library does not have it")?;
    registry.add_value(&handler.name, flat(offer));
    let engine = |has_call: bool| {
        let options = Options { registry: registry.clone(), ..Options::default() };
        Engine::compile(&*compile(handler, has_call)?, options).map_err(source::first)
    };
    let mut engines = [engine(false)?, engine(true)?];
    let response = vec![0; handler.response.as_ref().map_or(0, |fields| fields.size)];
    let frames: Vec<Vec<u8>> =
        requests.iter().map(|request| [request.as_slice(), &response].concat()).collect();
    let mut packets = vec![Packet::default(); BATCH];
    let mut least = [f64::MAX; 2];
    let mut calls = 0u64;
    for _ in 0..SLICES {
        for (engine, least) in engines.iter_mut().zip(&mut least) {
            let (start, mut count) = (thread(), 0u64);
            loop {
                for frames in frames.chunks_exact(BATCH) {
                    for (packet, frame) in packets.iter_mut().zip(frames) {
                        packet.receive(0, frame);
                    }
                    calls += 1;
                    count += BATCH as u64;
                    engine.process(&mut packets, Time::ZERO + Duration::from_us(calls));
                }
                let took = thread() - start;
                if took >= time / SLICES {
                    *least = least.min(took.as_nanos() as f64 / count.max(1) as f64);
                    break;
                }
            }
        }
    }
    Ok((least[0], least[1]))
}

/// Nanoseconds of processor time for each packet in a loop of C over batches of the same packets, which are copied into their buffers first.
pub(super) fn loop_in_c(
    one: &mut Inline,
    handler: &Handler,
    requests: &[Vec<u8>],
    time: std::time::Duration,
) -> Result<f64, String> {
    let size = handler.request.size + handler.response.as_ref().map_or(0, |fields| fields.size);
    let mut buffers = vec![vec![0; size]; BATCH];
    let mut ports = [0; BATCH];
    let (mut least, mut calls) = (f64::MAX, 0u64);
    for _ in 0..SLICES {
        let (start, mut count) = (thread(), 0u64);
        loop {
            for requests in requests.chunks_exact(BATCH) {
                for (buffer, request) in buffers.iter_mut().zip(requests) {
                    buffer[..request.len()].copy_from_slice(request);
                }
                calls += 1;
                count += BATCH as u64;
                if !one.batch(&mut buffers, &mut ports, Time::ZERO + Duration::from_us(calls)) {
                    return Err("the library has no loop over batches".to_string());
                }
            }
            let took = thread() - start;
            if took >= time / SLICES {
                least = least.min(took.as_nanos() as f64 / count.max(1) as f64);
                break;
            }
        }
    }
    Ok(least)
}

/// The offer with structs without structs in them, as the program declares it: calls pass the same numbers.
fn flat(mut offer: ValueOffer) -> ValueOffer {
    fn numbers(ty: &ValueType, all: &mut Vec<ValueType>) {
        match ty {
            ValueType::Struct(fields) => fields.iter().for_each(|field| numbers(field, all)),
            number => all.push(number.clone()),
        }
    }
    for (_, ty) in offer.methods.iter_mut().flat_map(|method| &mut method.params) {
        let mut all = vec![];
        numbers(ty, &mut all);
        *ty = ValueType::Struct(all);
    }
    offer
}

fn compile(handler: &Handler, has_call: bool) -> Result<Arc<ir::Program>, String> {
    let text = program(handler, has_call);
    let (mut map, until) = (SourceMap::new(), compiler::Until::Elaborated);
    let texts = [("call.p4", text.as_str())];
    let compiled =
        compiler::compile("call.p4", &Texts(&texts), &p4_syntax::Options::default(), until, &mut map);
    compiled
        .program
        .ok_or_else(|| compiled.diagnostics.iter().map(|found| render(found, &map, Style::Plain)).collect())
}

/// A program that calls the handler once for each packet, or the same with zeros instead of the response.
fn program(handler: &Handler, has_call: bool) -> String {
    let mut text = "#include <core.p4>\n#include <v1model.p4>\n".to_string();
    let none = Struct { name: String::new(), fields: vec![], size: 0 };
    let response = handler.response.as_ref().unwrap_or(&none);
    for (name, of) in [("request", &handler.request), ("response", response)] {
        let each = of.fields.iter().enumerate();
        let fields: String = each.clone().map(|(at, field)| format!("{} f{at}; ", of_field(field))).collect();
        let bytes: String = each.map(|(at, field)| format!("bit<{}> f{at}; ", 8 * field.size)).collect();
        let _ = writeln!(text, "struct {name}_t {{ {fields}}}\nheader {name}_bytes_t {{ {bytes}}}");
    }
    let (returns, out) = (
        if handler.returns { "bool" } else { "void" },
        if handler.response.is_some() { ", out response_t r" } else { "" },
    );
    let _ = writeln!(
        text,
        "@value_extern(\"{}\") extern Called {{ Called(); {returns} call(in request_t q{out}); }}",
        handler.name
    );
    let ask: String = numbered(&handler.request)
        .map(|(at, field)| {
            let from = format!("hdr.request.f{at}");
            let low = format!("(bit<{}>){from}", field.width);
            let value = match field.kind {
                FieldKind::Bool => format!("{from} != 0"),
                FieldKind::Unsigned => low,
                FieldKind::Signed => format!("(int<{}>)({low})", field.width),
            };
            format!("        q.f{at} = {value};\n")
        })
        .collect();
    let zero: String = numbered(response)
        .map(|(at, field)| {
            format!("        r.f{at} = {};\n", if field.kind == FieldKind::Bool { "false" } else { "0" })
        })
        .collect();
    let give: String = numbered(response)
        .map(|(at, field)| {
            let bits = 8 * field.size;
            let value = match field.kind {
                FieldKind::Bool => format!("r.f{at} ? 8w1 : 0"),
                FieldKind::Unsigned => format!("(bit<{bits}>)r.f{at}"),
                FieldKind::Signed => format!("(bit<{bits}>)(bit<{}>)r.f{at}", field.width),
            };
            format!("        hdr.response.f{at} = {value};\n")
        })
        .collect();
    let args = if handler.response.is_some() { "q, r" } else { "q" };
    let call = match (has_call, handler.returns) {
        (true, true) => format!("        if (!called.call({args})) {{ std.egress_spec = 2; }}\n"),
        (true, false) => format!("        called.call({args});\n"),
        (false, true) => zero + "        if (hdr.request.f0 == 1) { std.egress_spec = 2; }\n",
        (false, false) => zero,
    };
    let _ = write!(
        text,
        r"struct headers_t {{ request_bytes_t request; response_bytes_t response; }}
struct metadata_t {{ }}
parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {{
    state start {{ p.extract(hdr.request); p.extract(hdr.response); transition accept; }}
}}
control V(inout headers_t hdr, inout metadata_t meta) {{ apply {{ }} }}
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {{
    {instance}request_t q;
    response_t r;
    apply {{
        std.egress_spec = 1;
{ask}{call}{give}    }}
}}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {{ apply {{ }} }}
control D(packet_out p, in headers_t hdr) {{ apply {{ p.emit(hdr.request); p.emit(hdr.response); }} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;
",
        instance = if has_call { "Called() called;\n    " } else { "" },
    );
    text
}

fn numbered(of: &Struct) -> impl Iterator<Item = (usize, &Field)> {
    of.fields.iter().enumerate()
}

/// Type of a field in P4.
fn of_field(field: &Field) -> String {
    match field.kind {
        FieldKind::Bool => "bool".to_string(),
        FieldKind::Unsigned => format!("bit<{}>", field.width),
        FieldKind::Signed => format!("int<{}>", field.width),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base_bits::Bits;
    use dataplane_api::{ExternError, ValueExtern};

    struct Nothing;

    impl ValueExtern for Nothing {
        fn call(&mut self, _method: usize, _inputs: &[Bits], _outputs: &mut [Bits], _now: Time) {}

        fn snapshot(&self) -> Vec<u8> {
            vec![]
        }

        fn restore(&mut self, _snapshot: &[u8]) -> Result<(), ExternError> {
            Ok(())
        }
    }

    /// Programs of all kinds of fields are code, without a call and with one.
    #[test]
    fn all_of_a_program_is_code() {
        let main = r#"
            #include <core.p4>
            #include <v1model.p4>
            struct inner_t { int<5> low; bool flag; bit<72> wide; }
            struct q_t { bit<13> a; inner_t inner; int<64> b; }
            struct r_t { bool flag; int<13> a; bit<128> whole; }
            @remote(handler = "one") extern bool one(in q_t q, out r_t r);
            @remote(handler = "two") extern void two(in q_t q);
            header h_t { bit<8> a; }
            struct headers_t { h_t h; }
            struct metadata_t { }
            parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
                state start { transition accept; }
            }
            control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
            control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
                apply { q_t q; r_t r; q.a = 1; two(q); one(q, r); }
            }
            control D(packet_out p, in headers_t hdr) { apply { } }
            control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
            V1Switch(P(), V(), I(), E(), V(), D()) main;
        "#;
        let texts = [("main.p4", main)];
        let until = compiler::Until::Elaborated;
        let mut map = SourceMap::new();
        let compiled =
            compiler::compile("main.p4", &Texts(&texts), &p4_syntax::Options::default(), until, &mut map);
        let program = compiled.program.expect("it compiles");
        let handlers = ir_handlers::handlers(&program);
        assert_eq!(handlers.len(), 2);
        for (handler, has_call) in
            handlers.iter().flat_map(|(_, handler)| [(handler, true), (handler, false)])
        {
            let program = compile(handler, has_call).unwrap_or_else(|found| panic!("{found}"));
            let mut registry = Registry::default();
            let make = |_: &[Bits]| -> Result<Box<dyn ValueExtern>, ExternError> { Ok(Box::new(Nothing)) };
            registry.add_value(&handler.name, flat(ir_handlers::offer(handler, Arc::new(make))));
            let engine = Engine::compile(&program, Options { registry, ..Options::default() });
            let engine = engine.unwrap_or_else(|found| panic!("{found:?}"));
            assert_eq!(program.instances.len(), usize::from(has_call));
            assert!(
                engine.report().compiled && engine.report().fallbacks.is_empty(),
                "{:?}",
                engine.report()
            );
        }
    }
}
