//! The memory of a cache as bytes: format 2, the constructor's arguments, then everything in the order of its fields.

use crate::cache::{Counted, KvCache, at};
use crate::pending::{About, Asker, MOST, Pending, Record, Written};
use crate::sketch::{Frequency, LINE, Mortal};
use crate::store::{Entry, Store};
use crate::text::{LONGEST_KEY, Value};
use base_time::Duration;
use dataplane_api::{ExternError, SnapshotReader, SnapshotWriter};

const FORMAT: u8 = 2;

type Read<T> = Result<T, ExternError>;

pub(crate) fn write(cache: &KvCache) -> Vec<u8> {
    let mut out = SnapshotWriter::default();
    out.u8(FORMAT);
    out.count(cache.store.slots.len());
    out.u64(cache.max_age.map_or(0, Duration::as_ps));
    out.u64(cache.all);
    out.time(cache.closed_until);
    let Counted { hits, misses, writes, kept, emptied } = cache.counted;
    [hits, misses, writes, kept, emptied].iter().for_each(|n| out.u64(*n));
    cache.stamps.iter().for_each(|stamp| out.u64(*stamp));
    cache.mortal.bits.iter().for_each(|bits| out.u64(*bits));
    cache.store.frequency.counts.iter().for_each(|line| out.raw(line));
    out.count(cache.store.frequency.hand);
    out.count(cache.store.hand);
    out.count(cache.store.weakest);
    cache.store.slots.iter().for_each(|slot| put_entry(&mut out, slot.as_ref()));
    out.count(cache.store.free.len());
    cache.store.free.iter().for_each(|slot| out.u32(*slot));
    out.u32(cache.pending.next as u32);
    out.count(cache.pending.slots.len());
    cache.pending.slots.iter().for_each(|slot| put_record(&mut out, slot.as_ref()));
    out.finish()
}

fn put_entry(out: &mut SnapshotWriter, entry: Option<&Entry>) {
    out.u8(entry.is_some().into());
    if let Some(entry) = entry {
        out.raw(&entry.server);
        out.bytes(entry.key());
        out.u32(entry.flags);
        out.u8(entry.unique.is_some().into());
        out.u64(entry.unique.unwrap_or(0));
        out.bytes(entry.data());
        out.time(entry.until);
    }
}

fn put_record(out: &mut SnapshotWriter, record: Option<&Record>) {
    let Some(Record { asker, about, come }) = record else { return out.u8(0) };
    out.u8(match about {
        About::Nothing => 1,
        About::Unknown => 2,
        About::Read { .. } => 3,
        About::Write { .. } => 4,
    });
    out.raw(&asker.client.0);
    out.u16(asker.client.1);
    out.raw(&asker.server);
    out.u16(asker.id);
    out.u16(*come);
    match about {
        About::Nothing | About::Unknown => {}
        About::Read { list, stamps, at } => {
            out.bytes(list);
            out.count(stamps.len());
            stamps.iter().for_each(|stamp| out.u64(*stamp));
            out.time(*at);
        }
        About::Write { list, value } => {
            out.bytes(list);
            out.u8(value.is_some().into());
            if let Some((stamp, Written { flags, until, data })) = value {
                out.u64(*stamp);
                out.u32(*flags);
                out.time(*until);
                out.bytes(data);
            }
        }
    }
}

pub(crate) fn read(like: &KvCache, bytes: &[u8]) -> Read<KvCache> {
    let mut from = SnapshotReader::new(bytes, FORMAT)?;
    let (entries, max_age) = (from.u32()? as usize, from.u64()?);
    if (entries, max_age) != (like.store.slots.len(), like.max_age.map_or(0, Duration::as_ps)) {
        return Err(ExternError("the snapshot is of a cache with other arguments".into()));
    }
    let all = from.u64()?;
    let closed_until = from.time()?;
    let counted = Counted {
        hits: from.u64()?,
        misses: from.u64()?,
        writes: from.u64()?,
        kept: from.u64()?,
        emptied: from.u64()?,
    };
    let mut numbers = |count: usize| (0..count).map(|_| from.u64()).collect::<Read<Vec<u64>>>();
    let (stamps, bits) = (numbers(like.stamps.len())?, numbers(like.mortal.bits.len())?);
    let counts: Read<Vec<_>> = (0..like.store.frequency.counts.len()).map(|_| from.array()).collect();
    let counts = counts?;
    let (hand, store_hand, weakest) = (from.u32()? as usize, from.u32()? as usize, from.u32()? as usize);
    let frequency = Frequency { hand: from.sensible(hand, hand < counts.len() * LINE)?, counts };
    let hands = from.sensible((store_hand, weakest), store_hand.max(weakest) < entries)?;
    let slots: Read<Vec<_>> = (0..entries).map(|_| get_entry(&mut from)).collect();
    let slots = slots?;
    let free = from.count()?;
    let free: Read<Vec<u32>> = (0..free).map(|_| from.u32()).collect();
    let free = free?;
    let mut empty: Vec<u32> = free.clone();
    empty.sort_unstable();
    // The free list has each empty slot once.
    let holds = (0..).zip(&slots).filter(|(_, s)| s.is_none()).map(|(at, _)| at).eq(empty);
    let free = from.sensible(free, holds)?;
    let next = from.u32()? as usize;
    let records = from.count()?;
    // A ring: `next` comes after the last record until it is full.
    let records = from.sensible(records, records <= MOST && next < MOST && next <= records)?;
    let records: Read<Vec<_>> = (0..records).map(|_| get_record(&mut from)).collect();
    let pending = Pending::from_parts(records?, next);
    from.end()?;
    let store = Store::from_parts(slots, free, hands, frequency);
    let (mortal, max_age) = (Mortal { bits }, like.max_age);
    Ok(KvCache { max_age, store, pending, mortal, stamps, all, closed_until, counted })
}

fn get_entry(from: &mut SnapshotReader<'_>) -> Read<Option<Entry>> {
    if !from.bool()? {
        return Ok(None);
    }
    let (server, key, flags) = (from.array()?, from.bytes()?, from.u32()?);
    let (has_unique, unique) = (from.bool()?, from.u64()?);
    let (data, until) = (from.bytes()?, from.time()?);
    let value = Value { key, flags, unique: has_unique.then_some(unique), data };
    let value = from.sensible(value, key.len() <= LONGEST_KEY)?;
    Ok(Some(Entry::new(at(server, key), &value, until)))
}

fn get_record(from: &mut SnapshotReader<'_>) -> Read<Option<Record>> {
    let kind = from.u8()?;
    if kind == 0 {
        return Ok(None);
    }
    let client = (from.array()?, from.u16()?);
    let asker = Asker { client, server: from.array()?, id: from.u16()? };
    let come = from.u16()?;
    let about = match kind {
        1 => About::Nothing,
        2 => About::Unknown,
        3 => {
            let list = from.bytes()?.into();
            let stamps: Read<_> = (0..from.count()?).map(|_| from.u64()).collect();
            About::Read { list, stamps: stamps?, at: from.time()? }
        }
        _ => {
            let list = from.bytes()?.into();
            let value = match from.bool()? {
                true => {
                    let stamp = from.u64()?;
                    let (flags, until) = (from.u32()?, from.time()?);
                    Some((stamp, Written { flags, until, data: from.bytes()?.into() }))
                }
                false => None,
            };
            About::Write { list, value }
        }
    };
    Ok(Some(Record { asker, about, come }))
}
