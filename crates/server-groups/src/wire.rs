//! Frames of a group on the wire: fields of a hand-over's header, and instructions after it.
//!
//! ```text
//! kind        to        other                  number     flag      bucket, flow      after the header
//! FIRST       member    previous or none                            of the packet     the packet
//! PROBE       member    who gets the answer    question             of the packet     the packet
//! FORWARDED   member    who gets it back                            of the packet     the packet
//! RETURNED    member    previous                                    of the packet     the packet
//! ASK         member    who asks               question   is last   asked about
//! ANSWER      member    who answers            question   owns      asked about
//! INSTRUCTION member                                  term                            the instruction
//! REPORTED                                                                            to the switch (`reports`)
//! ```
//!
//! A member is its number plus 1, and 0 is none. A hand-over that leaves the program has `to` 0 until the switch has found its row.

mod bits;
mod instructions;
mod reports;
mod text;

use crate::{Frame, Hop, Member};
pub use bits::Place;
use bits::{get, get_bytes, set, set_bytes};
pub use reports::{Counts, Said, Says};

/// A flow: its key, most significant byte first; bits in front are 0.
pub type Flow = Vec<u8>;

/// Bits of [`Wire::kind`].
pub const KIND_BITS: u32 = 3;
/// Bits of a member.
pub const MEMBER_BITS: u32 = 8;
/// Bits of a question's number.
pub const NUMBER_BITS: u32 = 16;
/// Bits of a bucket.
pub const BUCKET_BITS: u32 = 16;
/// The most bits of a flow: an instruction names several.
pub const MOST_FLOW_BITS: u32 = 512;
/// Members of one group at most.
pub const MOST_MEMBERS: usize = 64;

const FIRST: u64 = 0;
const PROBE: u64 = 1;
const FORWARDED: u64 = 2;
const RETURNED: u64 = 3;
const ASK: u64 = 4;
const ANSWER: u64 = 5;
const INSTRUCTION: u64 = 6;

/// Where the fields of a group are, and which frames are its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wire {
    /// The header of a frame without a packet.
    pub header: Vec<u8>,
    /// The bits that are alike in all hand-overs of the program, from the EtherType on.
    pub alike: Place,
    /// The number of a section, by which a hand-over is for the group.
    pub section: Place,
    /// These sections.
    pub sections: Vec<u64>,
    /// Kind of the frame.
    pub kind: Place,
    /// The receiver.
    pub to: Place,
    /// Another member.
    pub other: Place,
    /// Number of a question.
    pub number: Place,
    /// One bit.
    pub flag: Place,
    /// Bucket of the flow.
    pub bucket: Place,
    /// The flow.
    pub flow: Place,
    /// The number of the call, if calls have one: its answer has it, too.
    pub call: Option<Place>,
}

/// A frame as a member reads it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Read {
    /// A frame of the group for this member.
    Frame(Frame<Flow, Vec<u8>>),
    /// A packet of a block that is leased to this member: no other one has anything of it.
    Leased(Vec<u8>),
    /// A frame of the group for another member, or a damaged one.
    Wrong,
    /// Not of the group.
    Other(Vec<u8>),
}

impl Wire {
    /// Reads a frame that has come to a member.
    pub fn read(&self, me: Member, frame: Vec<u8>) -> Read {
        if !self.is_own(&frame) {
            return Read::Other(frame);
        }
        if get(&frame, self.to) != Some(number(me)) {
            return Read::Wrong;
        }
        let is_call = get(&frame, self.kind) == Some(FIRST);
        if is_call && get(&frame, self.flag) == Some(1) {
            return Read::Leased(frame);
        }
        self.parse(frame).map_or(Read::Wrong, Read::Frame)
    }

    fn is_own(&self, frame: &[u8]) -> bool {
        self.is_alike(frame) && get(frame, self.section).is_some_and(|id| self.sections.contains(&id))
    }

    /// A hand-over of the program.
    fn is_alike(&self, frame: &[u8]) -> bool {
        frame.len() >= self.header.len() && get(frame, self.alike) == get(&self.header, self.alike)
    }

    /// The member that a call is for which leaves the switch; none of other frames.
    pub fn call_to(&self, frame: &[u8]) -> Option<Member> {
        let is_call = self.is_own(frame) && get(frame, self.kind) == Some(FIRST);
        member(get(frame, self.to).filter(|_| is_call)?)
    }

    /// The number of a call or of its answer; none of frames without one.
    pub fn call_number(&self, frame: &[u8]) -> Option<u64> {
        get(frame, self.call?).filter(|number| *number > 0)
    }

    /// True of a call that comes back from a member.
    pub fn comes_back(&self, frame: &[u8]) -> bool {
        self.is_alike(frame) && !self.is_own(frame)
    }

    /// The term of an instruction's controller, as [`Wire::set_term`] has set it; none of other frames, and none if it is 0.
    pub fn term(&self, frame: &[u8]) -> Option<u16> {
        let is_instruction = self.is_own(frame) && get(frame, self.kind) == Some(INSTRUCTION);
        get(frame, self.number).filter(|term| is_instruction && *term > 0).map(|term| term as u16)
    }

    /// Sets the term of an instruction's controller: a server that has instructions of another term restarts.
    pub fn set_term(&self, instruction: &mut [u8], term: u16) {
        set(instruction, self.number, term.into());
    }

    fn parse(&self, frame: Vec<u8>) -> Option<Frame<Flow, Vec<u8>>> {
        let value = |place| get(&frame, place);
        let other = member(value(self.other)?);
        let question = value(self.number)? as u16;
        let flag = value(self.flag)? == 1;
        let bucket = value(self.bucket)? as u32;
        let flow = get_bytes(&frame, self.flow)?;
        let hop = match value(self.kind)? {
            FIRST => Hop::First { previous: other },
            PROBE => Hop::Probe { back: other?, number: question },
            FORWARDED => Hop::Forwarded { back: other? },
            RETURNED => Hop::Returned { from: other? },
            ASK => return Some(Frame::Ask { flow, bucket, from: other?, number: question, is_last: flag }),
            ANSWER => {
                return Some(Frame::Answer { flow, bucket, from: other?, number: question, owns: flag });
            }
            INSTRUCTION => {
                let instruction = instructions::read(frame.get(self.header.len()..)?, self.flow.bytes())?;
                return Some(Frame::Instruction(instruction));
            }
            _ => return None,
        };
        Some(Frame::Packet { flow, bucket, hop, packet: frame })
    }

    /// The frames, for the switch, that bring this to a member: one, or several for a long list.
    pub fn write(&self, to: Member, frame: Frame<Flow, Vec<u8>>) -> Vec<Vec<u8>> {
        let fill = |bytes: &mut [u8], kind: u64, other: Option<Member>, question: u16, flag: bool| {
            set(bytes, self.kind, kind);
            set(bytes, self.to, number(to));
            set(bytes, self.other, other.map_or(0, number));
            set(bytes, self.number, question.into());
            set(bytes, self.flag, flag.into());
        };
        let about = |kind, from, question, flag, bucket: u32, flow: &Flow| {
            let mut bytes = self.header.clone();
            fill(&mut bytes, kind, Some(from), question, flag);
            set(&mut bytes, self.bucket, bucket.into());
            set_bytes(&mut bytes, self.flow, flow);
            vec![bytes]
        };
        match frame {
            Frame::Packet { hop, packet: mut bytes, .. } => {
                match hop {
                    Hop::First { previous } => fill(&mut bytes, FIRST, previous, 0, false),
                    Hop::Probe { back, number } => fill(&mut bytes, PROBE, Some(back), number, false),
                    Hop::Forwarded { back } => fill(&mut bytes, FORWARDED, Some(back), 0, false),
                    Hop::Returned { from } => fill(&mut bytes, RETURNED, Some(from), 0, false),
                }
                vec![bytes]
            }
            Frame::Ask { flow, bucket, from, number, is_last } => {
                about(ASK, from, number, is_last, bucket, &flow)
            }
            Frame::Answer { flow, bucket, from, number, owns } => {
                about(ANSWER, from, number, owns, bucket, &flow)
            }
            Frame::Instruction(instruction) => {
                let texts = instructions::write(&instruction, self.flow.bytes());
                let frame = |text: Vec<u8>| {
                    let mut bytes = self.header.clone();
                    fill(&mut bytes, INSTRUCTION, None, 0, false);
                    bytes.extend(text);
                    bytes
                };
                texts.into_iter().map(frame).collect()
            }
        }
    }
}

/// A member in a frame.
pub fn number(member: Member) -> u64 {
    u64::from(member.0) + 1
}

fn member(number: u64) -> Option<Member> {
    Some(Member(u16::try_from(number.checked_sub(1)?).ok()?))
}

#[cfg(test)]
mod tests {
    use super::{Counts, Flow, Place, Read, Said, Says, Wire};
    use crate::{Drops, Frame, Hop, Instruction, Member, Report, RowId};
    use std::collections::BTreeSet;

    fn wire() -> Wire {
        let mut header = vec![0; 32];
        header[12..14].copy_from_slice(&[0x88, 0xb5]);
        header[16] = 3;
        let place = |at, width| Place { at, width };
        Wire {
            header,
            alike: place(96, 36),
            section: place(132, 5),
            sections: vec![6, 9],
            kind: place(137, 3),
            to: place(140, 8),
            other: place(148, 8),
            number: place(156, 16),
            flag: place(172, 1),
            bucket: place(173, 16),
            flow: place(189, 45),
            call: None,
        }
    }

    fn flow(byte: u8) -> Flow {
        vec![0x1f, byte, 0, 0, 0xff, 1]
    }

    /// A frame of the program, whose flow is in bucket 300.
    fn packet(flow: &Flow) -> Vec<u8> {
        let wire = wire();
        let mut bytes = wire.header.clone();
        super::set(&mut bytes, wire.bucket, 300);
        super::set_bytes(&mut bytes, wire.flow, flow);
        bytes.extend([1, 2, 3]);
        bytes
    }

    fn all() -> Vec<Frame<Flow, Vec<u8>>> {
        let (me, other) = (Member(0), Member(63));
        let hops = [
            Hop::First { previous: None },
            Hop::First { previous: Some(other) },
            Hop::Probe { back: other, number: 0xffff },
            Hop::Forwarded { back: me },
            Hop::Returned { from: other },
        ];
        let of = |hop| Frame::Packet { flow: flow(7), bucket: 300, hop, packet: packet(&flow(7)) };
        let mut all: Vec<_> = hops.into_iter().map(of).collect();
        all.push(Frame::Ask { flow: flow(1), bucket: 65_535, from: other, number: 9, is_last: true });
        all.push(Frame::Answer { flow: flow(2), bucket: 0, from: me, number: 0, owns: false });
        let row = RowId { bucket: 12, pin: Some(flow(3)) };
        let kept = vec![(12, flow(3)), (12, flow(4))];
        let instructions = [
            Instruction::Members { version: 70_000, alive: BTreeSet::from([me, other]) },
            Instruction::Settle { row: row.clone(), epoch: 1, current: other, most: 16 },
            Instruction::Close { row: RowId::bucket(7), epoch: u32::MAX, previous: me, kept },
            Instruction::Close { row, epoch: 0, previous: other, kept: vec![] },
            Instruction::Check { flows: vec![(1, flow(1)), (2, flow(2))] },
            Instruction::Lease { version: 70_001, blocks: vec![0, 0x80, 3] },
            Instruction::Lease { version: 0, blocks: vec![] },
        ];
        all.extend(instructions.into_iter().map(Frame::Instruction));
        all
    }

    #[test]
    fn what_is_written_is_read() {
        let to = Member(4);
        for frame in all() {
            let [bytes] = wire().write(to, frame.clone()).try_into().expect("one frame");
            let read = match wire().read(to, bytes.clone()) {
                // The packet is the frame itself.
                Read::Frame(Frame::Packet { flow, bucket, hop, packet }) if packet == bytes => {
                    Read::Frame(Frame::Packet { flow, bucket, hop, packet: self::packet(&self::flow(7)) })
                }
                read => read,
            };
            assert_eq!(read, Read::Frame(frame));
            assert_eq!(wire().read(Member(5), bytes), Read::Wrong, "for another member");
        }
    }

    #[test]
    fn packets_of_leased_blocks_are_marked() {
        let mut bytes = wire().write(Member(4), all().remove(0)).remove(0);
        super::set(&mut bytes, wire().flag, 1);
        assert_eq!(wire().read(Member(4), bytes.clone()), Read::Leased(bytes.clone()));
        assert_eq!(wire().read(Member(5), bytes.clone()), Read::Wrong, "for another member");
        assert_eq!(wire().call_to(&bytes), Some(Member(4)), "it is a call");
    }

    #[test]
    fn frames_of_others_are_passed_on() {
        let to = Member(4);
        let [own] = wire().write(to, all().remove(0)).try_into().expect("one frame");
        for at in [100, 115, 134] {
            let mut other = own.clone();
            other[at / 8] ^= 0x80 >> (at % 8);
            assert_eq!(wire().read(to, other.clone()), Read::Other(other));
        }
        assert_eq!(wire().read(to, own[..31].to_vec()), Read::Other(own[..31].to_vec()));
    }

    #[test]
    fn damaged_frames_are_refused() {
        for frame in all() {
            let is_instruction = matches!(frame, Frame::Instruction(_));
            let [bytes] = wire().write(Member(4), frame).try_into().expect("one frame");
            for length in (32..bytes.len()).filter(|_| is_instruction) {
                assert_eq!(wire().read(Member(4), bytes[..length].to_vec()), Read::Wrong, "{length}");
            }
            // Nothing panics, whatever the bytes.
            for at in 32..bytes.len() {
                for value in [0, 1, 0x7f, 0xff] {
                    let mut other = bytes.clone();
                    other[at] = value;
                    let _ = wire().read(Member(4), other);
                }
            }
        }
    }

    fn messages() -> Vec<Says> {
        let row = RowId { bucket: 12, pin: Some(flow(3)) };
        let all = [
            Report::Members { version: 70_000 },
            Report::Settled { row: row.clone(), epoch: 1, kept: vec![(12, flow(3)), (12, flow(4))] },
            Report::Busy { row: RowId::bucket(7), epoch: u32::MAX, count: 17 },
            Report::Closed { row, epoch: 0 },
            Report::Ended { bucket: 9, flow: flow(8) },
            Report::Leased { version: 70_001, busy: vec![0, 0x40], usable: 3 },
        ];
        let counts = Counts {
            flows: 1,
            opened: 2,
            handled: 1 << 40,
            extra_hops: u64::MAX,
            drops: Drops::of_counts([5, 0, 1, 0, 7, u64::MAX, 3]),
        };
        std::iter::once(Says::Here(counts)).chain(all.map(Says::Report)).collect()
    }

    #[test]
    fn what_a_server_says_is_read_and_nothing_else() {
        for says in messages() {
            let said = Said { from: Member(63), start: 0xdead_beef, says };
            let frame = wire().write_said(&said);
            assert_eq!(wire().read_said(&frame), Some(Some(said)));
            for length in 32..frame.len() {
                assert_eq!(wire().read_said(&frame[..length]), Some(None), "{length}");
            }
            assert_eq!(wire().read_said(&frame[..31]), None);
            assert!(!matches!(wire().read(Member(4), frame), Read::Frame(_)), "it is for the switch");
        }
        for frame in all() {
            assert_eq!(wire().read_said(&wire().write(Member(4), frame)[0]), None);
        }
    }

    #[test]
    fn instructions_have_a_term() {
        for frame in all() {
            let is_instruction = matches!(frame, Frame::Instruction(_));
            let mut bytes = wire().write(Member(4), frame.clone()).remove(0);
            assert_eq!(wire().term(&bytes), None);
            if is_instruction {
                wire().set_term(&mut bytes, 0xfedc);
                assert_eq!(wire().term(&bytes), Some(0xfedc));
                assert_eq!(wire().read(Member(4), bytes), Read::Frame(frame));
            }
        }
    }

    #[test]
    fn a_wire_is_read_as_it_was_written() {
        let numbered = Wire { call: Some(super::Place { at: 234, width: 20 }), ..wire() };
        assert_eq!(Wire::of_text(&numbered.to_text()), Some(numbered.clone()));
        for wrong in [";", ";234+23", ";234+20;1"] {
            assert_eq!(Wire::of_text(&(wire().to_text() + wrong)), None, "{wrong}");
        }
        let text = wire().to_text();
        assert_eq!(Wire::of_text(&text), Some(wire()));
        // Cut off or changed anywhere, it is another wire or none.
        for at in 0..text.len() {
            assert_ne!(Wire::of_text(&text[..at]), Some(wire()));
            for other in ["", "x", "99999999999", "é"] {
                let changed = format!("{}{other}{}", &text[..at], &text[at + 1..]);
                assert_ne!(Wire::of_text(&changed), Some(wire()), "{changed}");
            }
        }
        let after = text.replace("189+45", "212+45");
        assert_eq!(Wire::of_text(&after), None, "it ends after the header");
    }

    #[test]
    fn long_lists_of_checks_go_in_several_frames() {
        let flows: Vec<_> = (0..200u8).map(|n| (u32::from(n), flow(n))).collect();
        let frames = wire().write(Member(1), Frame::Instruction(Instruction::Check { flows: flows.clone() }));
        assert!(frames.len() > 1 && frames.iter().all(|frame| frame.len() < 1400));
        let read = frames.into_iter().flat_map(|frame| match wire().read(Member(1), frame) {
            Read::Frame(Frame::Instruction(Instruction::Check { flows })) => flows,
            other => panic!("{other:?}"),
        });
        assert_eq!(read.collect::<Vec<_>>(), flows);
    }
}
