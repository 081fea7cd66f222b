//! `p4rack ctl tick`

use crate::command::Preprocessor;
use agent::SentTick;
use base_diag::codes::elaborate::BAD_TICK;
use base_diag::{Diagnostic, SourceMap};
use compiler::{Until, compile};
use ir::Program;
use p4rack::Disk;
use p4runtime_proto::p4::v1::{PacketMetadata, PacketOut};
use std::time::Duration;

#[derive(clap::Args)]
pub struct Args {
    /// P4-16 program that the switch runs, with `@tick`
    program: String,
    #[command(flatten)]
    preprocessor: Preprocessor,
    /// Id of the device
    #[arg(long, value_name = "ID", default_value_t = 1)]
    pub device_id: u64,
    /// Role of the controller that sends the frames; the default role without it
    #[arg(long, value_name = "NAME", default_value = "")]
    pub role: String,
    /// Stop after N frames
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
}

/// The ticks of the program, as packets from a controller. Their ingress port must be the switch's CPU port.
pub fn read(args: &Args) -> Result<Vec<SentTick>, (Vec<Diagnostic>, SourceMap)> {
    let mut map = SourceMap::new();
    let compiled = compile(&args.program, &Disk, &args.preprocessor.options(), Until::Elaborated, &mut map);
    let Some(program) = compiled.program else { return Err((compiled.diagnostics, map)) };
    let refused = |why: String| {
        Diagnostic::error(BAD_TICK, format!("`{}` has no ticks to send", args.program)).note(why)
    };
    let ticks = program.ticks();
    if ticks.is_empty() {
        let none = refused("it has no `@tick` before `main`".to_string());
        return Err((
            vec![none.help("write `@tick(\"1ms\", 510, \"0001\")` before `main`: period, CPU port, frame")],
            map,
        ));
    }
    let fields = fields(&program);
    let sent = ticks.iter().map(|tick| {
        let bits: u32 = fields.iter().map(|(_, bits)| bits).sum();
        let bytes = bits.div_ceil(8) as usize;
        let Some((header, payload)) = tick.frame.split_at_checked(bytes) else {
            return Err(refused(format!(
                "the frame has {} bytes, and the header `packet_out` {bytes}",
                tick.frame.len()
            )));
        };
        let packet = PacketOut { payload: payload.to_vec(), metadata: metadata(&fields, header) };
        Ok(SentTick { period: Duration::from_nanos(tick.period.as_ns()), packet })
    });
    sent.collect::<Result<_, _>>().map_err(|refused| (vec![refused], map))
}

/// The id and width of each field of the header with `@controller_header("packet_out")`.
fn fields(program: &Program) -> Vec<(u32, u32)> {
    let Ok(info) = p4info::p4info(program) else { return vec![] };
    let is_out = |name: Option<&str>| name == Some("packet_out");
    let header = info.controller_packet_metadata.iter();
    let header =
        { header }.find(|header| is_out(header.preamble.as_ref().map(|preamble| preamble.name.as_str())));
    let fields = header.into_iter().flat_map(|header| &header.metadata);
    fields.map(|field| (field.id, field.bitwidth as u32)).collect()
}

/// The fields of a header, as numbers without leading zeros.
fn metadata(fields: &[(u32, u32)], header: &[u8]) -> Vec<PacketMetadata> {
    let mut reader = base_bits::BitReader::new(header);
    let mut value = |bits: u32| reader.read(bits).map_or(vec![], |bits| bits.to_canonical_bytes());
    fields.iter().map(|(id, bits)| PacketMetadata { metadata_id: *id, value: value(*bits) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_a_packet_with_its_header_as_metadata() {
        let args = Args {
            program: concat!(env!("CARGO_MANIFEST_DIR"), "/tests/agents/tick.p4").to_string(),
            preprocessor: Preprocessor { define: vec![], undefine: vec![], include: vec![] },
            device_id: 1,
            role: String::new(),
            count: None,
        };
        let read = read(&args);
        let Ok([SentTick { period, packet }]) = read.as_deref() else { panic!("one tick") };
        assert_eq!(*period, Duration::from_millis(3));
        assert_eq!(packet.payload, [0xc0, 0xff, 0xee]);
        let metadata: Vec<(u32, &[u8])> =
            packet.metadata.iter().map(|field| (field.metadata_id, field.value.as_slice())).collect();
        assert_eq!(metadata, [(1, &[1, 1][..]), (2, &[2])]);
    }
}
