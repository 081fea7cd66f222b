//! A program of a group that sends pairs to the root.

use super::link::{Go, Link, Message};
use super::stock::{Key, Names};
use super::{Answer, GroupError, GroupPlan, Pulse, Work, problem};
use crate::wire::Wire;
use crate::worker::{Waits, first_incarnation, now, until};
use aggregate::pack::pack;
use aggregate::{Mapper, Packet, Place, Slot, mapper};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Bytes of a place in a question: lane, index, tag.
pub(super) const PLACE: usize = 19;

/// Length of a key that a program does not have.
pub(super) const NOBODY: u16 = u16::MAX;

pub(super) struct Member {
    link: Link,
    wire: Wire,
    mapper: Mapper,
    begun: Instant,
}

impl Member {
    pub fn join(
        plan: &GroupPlan,
        rank: usize,
        root: SocketAddr,
        wire: Wire,
        (patience, (least_wait, most_wait)): (Duration, Waits),
        pulse: Pulse,
    ) -> Result<Member, GroupError> {
        let since = Instant::now();
        // The root may start later.
        let stream = loop {
            match TcpStream::connect_timeout(&root, Duration::from_secs(1)) {
                Ok(stream) => break stream,
                Err(_) if !pulse() => return Err(super::interrupted()),
                Err(_) if since.elapsed() < patience => std::thread::sleep(Duration::from_millis(50)),
                Err(error) => {
                    let title = format!("no program of rank 0 at {root}: {error}");
                    return Err(problem(title, "start it, or name the address at which it listens"));
                }
            }
        };
        let lost = |error: std::io::Error| {
            problem(format!("the connection to {root} fails: {error}"), "start the group again")
        };
        let mut link = Link::new(stream, super::ROOT.into(), patience).map_err(lost)?;
        let (size, version, name) = (plan.members.len(), super::plan::version().into(), plan.name.clone());
        link.send(&Message::Hello { rank, size, version, name }, &[])?;
        match link.receive(patience, pulse)? {
            (Message::Welcome, _) => {}
            _ => return Err(problem("rank 0 sends no welcome", "start the group again")),
        }
        let config = mapper::Config {
            job: plan.job,
            op: aggregate::Op::Add,
            layout: plan.layout(),
            channel: rank as u16 - 1,
            incarnation: first_incarnation(),
            least_wait,
            most_wait,
        };
        let mapper = Mapper::new(config, [].into());
        Ok(Member { link, wire, mapper, begun: Instant::now() })
    }

    /// Sends pairs, and waits for the result.
    pub fn call(&mut self, work: Work, pulse: Pulse) -> Result<Answer, GroupError> {
        self.link.send(&Message::Call(work.call.clone(), work.combined.stock()), &[])?;
        let go = match self.link.receive(work.patience, pulse)? {
            (Message::Go(go), _) => go,
            _ => return Err(problem("rank 0 does not say how to send", "start the group again")),
        };
        let sent = self.send(work, &go, pulse);
        if let Err(GroupError { title, help }) = &sent {
            // The root ends the group; it may be gone already.
            let _ = self.link.send(&Message::Failed { title: title.clone(), help: help.clone() }, &[]);
        }
        sent
    }

    fn send(&mut self, work: Work, go: &Go, pulse: Pulse) -> Result<Answer, GroupError> {
        let Work { plan, call, combined, patience } = work;
        let layout = plan.layout();
        let (pairs, names) = combined.pairs(go, plan.seed, &layout)?;
        let rounds = pack(pairs, &layout, go.rounds, go.most_value);
        let rounds = rounds.map_err(|error| problem(error.to_string(), "report it"))?;
        let op = call.operator().unwrap_or(aggregate::Op::Add);
        self.mapper.extend(rounds.into(), op);
        self.link.send(&Message::Ready, &[])?;
        let to = plan.members[0].address();
        let mut looked = Instant::now();
        loop {
            while let Some(packet) = self.mapper.poll(now(self.begun)) {
                self.wire.send(to, &packet.bytes(&layout));
            }
            for (payload, _) in self.wire.receive(until(self.begun, self.mapper.deadline())) {
                if let Some(packet) = Packet::parse(&payload, &layout) {
                    self.mapper.handle(now(self.begun), &packet);
                }
            }
            // A look at the connection is a system call: rare while packets flow.
            if self.mapper.is_busy() && looked.elapsed() < super::LOOKS {
                continue;
            }
            looked = Instant::now();
            if !pulse() {
                return Err(super::interrupted());
            }
            while self.link.has_news() {
                match self.link.receive(patience, pulse)? {
                    (Message::Name, body) => self.link.send(&Message::Names, &answer(&names, &body))?,
                    (Message::Done { report, is_signed }, body) => {
                        return Ok(Answer { report, is_signed, body });
                    }
                    _ => return Err(problem("rank 0 sends an unexpected message", "start the group again")),
                }
            }
        }
    }
}

/// The keys of places.
fn answer(names: &Names, places: &[u8]) -> Vec<u8> {
    let mut body = vec![];
    for place in places.chunks_exact(PLACE) {
        match place_of(place).and_then(|place| names.get(&place)).map(Key::bytes) {
            Some(key) => {
                body.extend((key.len() as u16).to_be_bytes());
                body.extend(key);
            }
            None => body.extend(NOBODY.to_be_bytes()),
        }
    }
    body
}

fn place_of(bytes: &[u8]) -> Option<Place> {
    let (lane, rest) = bytes.split_first()?;
    let (index, tag) = rest.split_at_checked(2)?;
    let index = u16::from_be_bytes(index.try_into().ok()?);
    Some(Place { slot: Slot { lane: *lane, index }, tag: u128::from_be_bytes(tag.try_into().ok()?) })
}

/// A place in a question.
pub(super) fn place_bytes(place: &Place) -> [u8; PLACE] {
    let mut bytes = [0; PLACE];
    bytes[0] = place.slot.lane;
    bytes[1..3].copy_from_slice(&place.slot.index.to_be_bytes());
    bytes[3..].copy_from_slice(&place.tag.to_be_bytes());
    bytes
}
