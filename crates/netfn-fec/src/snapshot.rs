//! The memory of encoders and decoders as bytes: format 1, the constructor's arguments, the counters, then all streams.

use crate::STREAMS;
use crate::code::{MOST_DATA, MOST_PARITY, Parity};
use crate::decoder::{Block, Counted, Decoder, Limits, Stream as Received};
use crate::encoder::{Encoder, Stream as Sent};
use crate::mark::Watch;
use base_time::Time;
use dataplane_api::{ExternError, SnapshotReader, SnapshotWriter};
use std::collections::BTreeMap;

const FORMAT: u8 = 1;

type Read<T> = Result<T, ExternError>;

fn of_another(what: &str) -> ExternError {
    ExternError(format!("the snapshot is of another {what}: the constructor's arguments differ"))
}

fn put_time(out: &mut SnapshotWriter, time: Option<Time>) {
    out.time(time.unwrap_or(Time::MAX));
}

fn get_time(from: &mut SnapshotReader<'_>) -> Read<Option<Time>> {
    from.time().map(|time| Some(time).filter(|time| *time < Time::MAX))
}

pub(crate) fn of_encoder(encoder: &Encoder) -> Vec<u8> {
    let mut out = SnapshotWriter::default();
    out.u8(FORMAT);
    out.u64(encoder.hold.as_ps());
    out.u64(encoder.passed);
    out.count(encoder.streams.len());
    for ((port, class), stream) in &encoder.streams {
        out.u16(*port);
        out.raw(&[*class, stream.data, stream.before, stream.count]);
        out.u32(stream.block);
        out.raw(&stream.addresses);
        put_time(&mut out, stream.deadline);
        out.u32(stream.parity.longest as u32);
        out.count(stream.parity.rows.len());
        stream.parity.rows.iter().for_each(|row| out.bytes(row.as_flattened()));
    }
    out.finish()
}

pub(crate) fn to_encoder(like: &Encoder, bytes: &[u8]) -> Read<Encoder> {
    let mut from = SnapshotReader::new(bytes, FORMAT)?;
    if from.u64()? != like.hold.as_ps() {
        return Err(of_another("encoder"));
    }
    let passed = from.u64()?;
    let mut streams = BTreeMap::new();
    let count = from.count()?;
    for _ in 0..from.sensible(count, count <= STREAMS)? {
        let port = from.u16()?;
        let [class, data, before, count] = from.array()?;
        let block = from.u32()?;
        let addresses = from.array()?;
        let deadline = get_time(&mut from)?;
        let longest = from.u32()? as usize;
        let rows = from.count()?;
        let holds = rows <= MOST_PARITY && count < data.max(1) && usize::from(data) <= MOST_DATA;
        let rows = from.sensible(rows, holds)?;
        let rows: Read<Vec<_>> = (0..rows).map(|_| chunks(&mut from)).collect();
        let parity = Parity { longest, rows: rows? };
        let holds =
            parity.rows.iter().all(|row| row.len() == if count == 0 { 0 } else { longest.div_ceil(64) });
        let parity = from.sensible(parity, holds)?;
        streams.insert((port, class), Sent { data, parity, block, before, count, addresses, deadline });
    }
    from.end()?;
    let timers = streams.iter().filter_map(|(key, s)| Some((s.deadline?, *key))).collect();
    Ok(Encoder { hold: like.hold, streams, timers, passed, field: like.field.clone() })
}

fn chunks(from: &mut SnapshotReader<'_>) -> Read<Vec<[u8; 64]>> {
    let (chunks, rest) = from.bytes()?.as_chunks::<64>();
    from.sensible(chunks.to_vec(), rest.is_empty())
}

pub(crate) fn of_decoder(decoder: &Decoder) -> Vec<u8> {
    let mut out = SnapshotWriter::default();
    out.u8(FORMAT);
    let Limits { wait, reach, over, faulty_ppm } = decoder.limits;
    out.u64(wait.as_ps());
    [reach, over, faulty_ppm].iter().for_each(|n| out.u32(*n));
    let Counted { received, recovered, lost, late, malformed, crowded, restarts } = decoder.counted;
    let counts = [received, recovered, lost, late, malformed, crowded, restarts];
    counts.iter().for_each(|n| out.u64(*n));
    out.count(decoder.watches.len());
    for (port, watch) in &decoder.watches {
        out.u16(*port);
        out.u32(watch.sent);
        out.u32(watch.lost);
        out.u8(watch.faulty.into());
    }
    out.count(decoder.streams.len());
    for ((port, class), stream) in &decoder.streams {
        out.u16(*port);
        out.u8(*class);
        put_received(&mut out, stream);
    }
    out.finish()
}

fn put_received(out: &mut SnapshotWriter, stream: &Received) {
    out.u32(stream.first);
    out.u8(stream.next);
    out.u8(stream.usual);
    put_time(out, stream.deadline);
    out.count(stream.waiting.len());
    for (came, block, index) in &stream.waiting {
        out.time(*came);
        out.u32(*block);
        out.u8(*index);
    }
    out.count(stream.blocks.len());
    for block in &stream.blocks {
        out.raw(&[block.most, block.count.unwrap_or(0), block.recovered]);
        out.count(block.data.len());
        block.data.iter().for_each(|frame| out.bytes(frame.as_deref().unwrap_or_default()));
        out.count(block.parity.len());
        for (row, coded) in &block.parity {
            out.u8(*row);
            out.bytes(coded);
        }
    }
}

pub(crate) fn to_decoder(like: &Decoder, bytes: &[u8]) -> Read<Decoder> {
    let mut from = SnapshotReader::new(bytes, FORMAT)?;
    let Limits { wait, reach, over, faulty_ppm } = like.limits;
    if from.u64()? != wait.as_ps() || [from.u32()?, from.u32()?, from.u32()?] != [reach, over, faulty_ppm] {
        return Err(of_another("decoder"));
    }
    let counted = Counted {
        received: from.u64()?,
        recovered: from.u64()?,
        lost: from.u64()?,
        late: from.u64()?,
        malformed: from.u64()?,
        crowded: from.u64()?,
        restarts: from.u64()?,
    };
    let mut watches = BTreeMap::new();
    for _ in 0..from.count()? {
        let port = from.u16()?;
        watches.insert(port, Watch { sent: from.u32()?, lost: from.u32()?, faulty: from.bool()? });
    }
    let mut streams = BTreeMap::new();
    let count = from.count()?;
    for _ in 0..from.sensible(count, count <= STREAMS)? {
        let key = (from.u16()?, from.u8()?);
        streams.insert(key, get_received(&mut from, reach)?);
    }
    from.end()?;
    let timers = streams.iter().filter_map(|(key, s)| Some((s.deadline?, *key))).collect();
    Ok(Decoder { limits: like.limits, streams, timers, watches, counted, field: like.field.clone() })
}

fn get_received(from: &mut SnapshotReader<'_>, reach: u32) -> Read<Received> {
    let (first, next, usual) = (from.u32()?, from.u8()?, from.u8()?);
    let usual = from.sensible(usual, usize::from(usual) <= MOST_DATA)?;
    let deadline = get_time(from)?;
    let waiting: Read<_> = (0..from.count()?).map(|_| Ok((from.time()?, from.u32()?, from.u8()?))).collect();
    let count = from.count()?;
    let blocks = from.sensible(count, count <= reach as usize + 1)?;
    let blocks: Read<_> = (0..blocks).map(|_| get_block(from)).collect();
    Ok(Received { first, next, blocks: blocks?, waiting: waiting?, usual, deadline })
}

fn get_block(from: &mut SnapshotReader<'_>) -> Read<Block> {
    let [most, count, recovered] = from.array()?;
    let frames = from.count()?;
    let holds = frames <= MOST_DATA
        && [most, count].iter().all(|n| usize::from(*n) <= MOST_DATA)
        && (count == 0 || frames <= count.into());
    let frames = from.sensible(frames, holds)?;
    let frame = |bytes: &[u8]| (!bytes.is_empty()).then(|| bytes.to_vec());
    let data: Read<Vec<_>> = (0..frames).map(|_| from.bytes().map(frame)).collect();
    let data = data?;
    let came = data.iter().flatten().count();
    let data = from.sensible(data, usize::from(recovered) <= came)?;
    let rows = from.count()?;
    let rows = from.sensible(rows, rows <= MOST_PARITY)?;
    let parity: Read<_> = (0..rows).map(|_| Ok((from.u8()?, from.bytes()?.to_vec()))).collect();
    Ok(Block { most, count: (count > 0).then_some(count), data, recovered, parity: parity? })
}
