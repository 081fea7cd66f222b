//! The memory of compressors and decompressors as bytes: format 1, the constructor's arguments, the counters, then each port's contexts.

use crate::PORTS;
use crate::block::Block;
use crate::compress::{Compressor, Context as Sent, Counted as Out, Flow};
use crate::decompress::{Context as Received, Counted as In, Decompressor};
use dataplane_api::{ExternError, SnapshotReader, SnapshotWriter};
use std::collections::BTreeMap;

const FORMAT: u8 = 1;

type Read<T> = Result<T, ExternError>;

fn of_another(what: &str) -> ExternError {
    ExternError(format!("the snapshot is of a {what} with other arguments"))
}

fn get_block(from: &mut SnapshotReader<'_>) -> Read<Block> {
    let block = Block::of_reference(from.bytes()?);
    block.ok_or_else(|| ExternError("the snapshot has an invalid reference".into()))
}

pub(crate) fn of_compressor(compressor: &Compressor) -> Vec<u8> {
    let mut out = SnapshotWriter::default();
    out.u8(FORMAT);
    out.u16(compressor.contexts);
    out.u16(compressor.refresh);
    let Out { plain, references, compressed, bytes_in, bytes_out } = compressor.counted;
    [compressor.clock, plain, references, compressed, bytes_in, bytes_out].iter().for_each(|n| out.u64(*n));
    out.count(compressor.ports.len());
    for (port, contexts) in &compressor.ports {
        out.u16(*port);
        for Sent { flow, generation, used } in contexts {
            out.u8(*generation);
            out.u64(*used);
            out.u8(flow.is_some().into());
            if let Some(Flow { reference, kept: _, shown, since, misfits }) = flow {
                out.bytes(reference.bytes());
                out.u8(*shown);
                out.u16(*since);
                out.u8(*misfits);
            }
        }
    }
    out.finish()
}

pub(crate) fn to_compressor(like: &Compressor, bytes: &[u8]) -> Read<Compressor> {
    let mut from = SnapshotReader::new(bytes, FORMAT)?;
    let (contexts, refresh) = (from.u16()?, from.u16()?);
    if (contexts, refresh) != (like.contexts, like.refresh) {
        return Err(of_another("compressor"));
    }
    let clock = from.u64()?;
    let counted = Out {
        plain: from.u64()?,
        references: from.u64()?,
        compressed: from.u64()?,
        bytes_in: from.u64()?,
        bytes_out: from.u64()?,
    };
    let mut ports = BTreeMap::new();
    let count = from.count()?;
    for _ in 0..from.sensible(count, count <= PORTS)? {
        let port = from.u16()?;
        let all: Read<Vec<Sent>> = (0..contexts).map(|_| get_sent(&mut from)).collect();
        ports.insert(port, all?);
    }
    from.end()?;
    Ok(Compressor { contexts, refresh, ports, clock, counted })
}

fn get_sent(from: &mut SnapshotReader<'_>) -> Read<Sent> {
    let (generation, used) = (from.u8()?, from.u64()?);
    let flow = match from.bool()? {
        true => {
            let reference = get_block(from)?;
            let (shown, since, misfits) = (from.u8()?, from.u16()?, from.u8()?);
            Some(Flow { reference, kept: reference.kept(), shown, since, misfits: misfits.min(u8::MAX - 1) })
        }
        false => None,
    };
    Ok(Sent { flow, generation, used })
}

pub(crate) fn of_decompressor(decompressor: &Decompressor) -> Vec<u8> {
    let mut out = SnapshotWriter::default();
    out.u8(FORMAT);
    out.u16(decompressor.contexts);
    let In { whole, malformed, unknown, mismatched } = decompressor.counted;
    [whole, malformed, unknown, mismatched].iter().for_each(|n| out.u64(*n));
    out.count(decompressor.ports.len());
    for (port, contexts) in &decompressor.ports {
        out.u16(*port);
        for reference in contexts.iter().flat_map(|context| &context.references) {
            out.u8(reference.is_some().into());
            if let Some((generation, block)) = reference {
                out.u8(*generation);
                out.bytes(block.bytes());
            }
        }
    }
    out.finish()
}

pub(crate) fn to_decompressor(like: &Decompressor, bytes: &[u8]) -> Read<Decompressor> {
    let mut from = SnapshotReader::new(bytes, FORMAT)?;
    let contexts = from.u16()?;
    if contexts != like.contexts {
        return Err(of_another("decompressor"));
    }
    let counted =
        In { whole: from.u64()?, malformed: from.u64()?, unknown: from.u64()?, mismatched: from.u64()? };
    let mut ports = BTreeMap::new();
    let count = from.count()?;
    for _ in 0..from.sensible(count, count <= PORTS)? {
        let port = from.u16()?;
        let mut reference = || -> Read<Option<(u8, Block)>> {
            Ok(if from.bool()? { Some((from.u8()?, get_block(&mut from)?)) } else { None })
        };
        let all: Read<Vec<Received>> =
            (0..contexts).map(|_| Ok(Received { references: [reference()?, reference()?] })).collect();
        ports.insert(port, all?);
    }
    from.end()?;
    Ok(Decompressor { contexts, ports, counted })
}
