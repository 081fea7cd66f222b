//! Instructions as bytes: a byte for the kind, then the fields, most significant byte first; a list follows its length. Padding by links is
//! ignored.

use super::Flow;
use crate::leases::Blocks;
use crate::{Instruction, Member, RowId};
use std::collections::BTreeSet;

const MEMBERS: u8 = 1;
const SETTLE: u8 = 2;
const CLOSE: u8 = 3;
const CHECK: u8 = 4;
const LEASE: u8 = 5;

/// Bytes of a list in one instruction: frames of 1,500 bytes carry it after a header.
const MOST_LIST: usize = 1200;

/// One instruction, or several that say the same together. `width`: bytes of a flow.
pub fn write(instruction: &Instruction<Flow>, width: usize) -> Vec<Vec<u8>> {
    let mut out = vec![];
    match instruction {
        Instruction::Members { version, alive } => {
            out.push(MEMBERS);
            out.extend(version.to_be_bytes());
            out.extend((alive.len() as u16).to_be_bytes());
            out.extend(alive.iter().flat_map(|member| member.0.to_be_bytes()));
        }
        Instruction::Settle { row, epoch, current, most } => {
            out.push(SETTLE);
            put_row(&mut out, row, width);
            out.extend(epoch.to_be_bytes());
            out.extend(current.0.to_be_bytes());
            out.extend((*most as u32).to_be_bytes());
        }
        Instruction::Close { row, epoch, previous, kept } => {
            out.push(CLOSE);
            put_row(&mut out, row, width);
            out.extend(epoch.to_be_bytes());
            out.extend(previous.0.to_be_bytes());
            put_keys(&mut out, kept, width);
        }
        Instruction::Lease { version, blocks } => {
            out.push(LEASE);
            out.extend(version.to_be_bytes());
            put_blocks(&mut out, blocks);
        }
        Instruction::Check { flows } => {
            let several = flows.chunks((MOST_LIST / (4 + width)).max(1)).map(|part| {
                let mut out = vec![CHECK];
                put_keys(&mut out, part, width);
                out
            });
            return several.collect();
        }
    }
    vec![out]
}

pub(super) fn put_blocks(out: &mut Vec<u8>, blocks: &[u8]) {
    out.extend((blocks.len() as u16).to_be_bytes());
    out.extend(blocks);
}

pub(super) fn put_keys(out: &mut Vec<u8>, keys: &[(u32, Flow)], width: usize) {
    out.extend((keys.len() as u16).to_be_bytes());
    for (bucket, flow) in keys {
        out.extend(bucket.to_be_bytes());
        put_flow(out, flow, width);
    }
}

pub(super) fn put_flow(out: &mut Vec<u8>, flow: &Flow, width: usize) {
    let mut bytes = flow.clone();
    bytes.resize(width, 0);
    out.extend(bytes);
}

pub(super) fn put_row(out: &mut Vec<u8>, row: &RowId<Flow>, width: usize) {
    out.extend(row.bucket.to_be_bytes());
    out.push(row.pin.is_some().into());
    put_flow(out, row.pin.as_ref().unwrap_or(&vec![]), width);
}

/// An instruction; none if the bytes are not one.
pub fn read(bytes: &[u8], width: usize) -> Option<Instruction<Flow>> {
    let mut rest = bytes;
    Some(match number::<1>(&mut rest)? as u8 {
        MEMBERS => {
            let version = number::<4>(&mut rest)?;
            let count = number::<2>(&mut rest)?;
            let alive = (0..count).map(|_| take_member(&mut rest)).collect::<Option<BTreeSet<_>>>()?;
            Instruction::Members { version, alive }
        }
        SETTLE => {
            let row = take_row(&mut rest, width)?;
            let epoch = number::<4>(&mut rest)?;
            let current = take_member(&mut rest)?;
            Instruction::Settle { row, epoch, current, most: number::<4>(&mut rest)? as usize }
        }
        CLOSE => {
            let row = take_row(&mut rest, width)?;
            let epoch = number::<4>(&mut rest)?;
            let previous = take_member(&mut rest)?;
            Instruction::Close { row, epoch, previous, kept: take_keys(&mut rest, width)? }
        }
        CHECK => Instruction::Check { flows: take_keys(&mut rest, width)? },
        LEASE => {
            let version = number::<4>(&mut rest)?;
            Instruction::Lease { version, blocks: take_blocks(&mut rest)? }
        }
        _ => return None,
    })
}

pub(super) fn number<const N: usize>(rest: &mut &[u8]) -> Option<u32> {
    let (first, others) = rest.split_first_chunk::<N>()?;
    *rest = others;
    Some(first.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
}

fn take_member(rest: &mut &[u8]) -> Option<Member> {
    Some(Member(number::<2>(rest)? as u16))
}

pub(super) fn take_flow(rest: &mut &[u8], width: usize) -> Option<Flow> {
    let (flow, others) = rest.split_at_checked(width)?;
    *rest = others;
    Some(flow.to_vec())
}

pub(super) fn take_blocks(rest: &mut &[u8]) -> Option<Blocks> {
    let size = number::<2>(rest)? as usize;
    take_flow(rest, size)
}

pub(super) fn take_row(rest: &mut &[u8], width: usize) -> Option<RowId<Flow>> {
    let bucket = number::<4>(rest)?;
    let is_pin = number::<1>(rest)?;
    let flow = take_flow(rest, width)?;
    match is_pin {
        0 => Some(RowId { bucket, pin: None }),
        1 => Some(RowId { bucket, pin: Some(flow) }),
        _ => None,
    }
}

pub(super) fn take_keys(rest: &mut &[u8], width: usize) -> Option<Vec<(u32, Flow)>> {
    let count = number::<2>(rest)?;
    (0..count).map(|_| Some((number::<4>(rest)?, take_flow(rest, width)?))).collect()
}
