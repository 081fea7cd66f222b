//! A network that loses, doubles and delays packets, with the machines around it.

// Each test uses some of it.
#![allow(dead_code)]

use aggregate::pack::pack;
use aggregate::packet::{HEADER, ROUND_BITS};
use aggregate::reducer::{self, Sums, To};
use aggregate::{Direction, Kind, Layout, Mapper, Op, Packet, Pair, Place, Reducer, Switch, mapper};
use base_time::{Duration, Rng, Time};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Events outside the protocol: crashes and changes. Events are counted from 0.
#[derive(Clone, Default, Debug)]
pub struct Disturbance {
    /// In millionths, of each packet on each link.
    pub loss: u32,
    pub doubling: u32,
    pub overtaking: u32,
    /// In millionths, of each packet with pairs to the reducer: only its header arrives.
    pub trimming: u32,
    /// Events after which the switch restarts.
    pub restarts: Vec<usize>,
    /// Events after which the mapper of a channel starts anew.
    pub crashes: Vec<(usize, u16)>,
    /// The event after which a mapper is there no more.
    pub gone: Option<(usize, u16)>,
}

impl Disturbance {
    /// Losses and doubles of up to a fifth, and up to two restarts and a crash.
    pub fn some(rng: &mut Rng) -> Disturbance {
        let mut rate = || rng.below(200_001) as u32;
        let (loss, doubling, overtaking) = (rate(), rate(), rate());
        let restarts = (0..rng.below(3)).map(|_| rng.below(2000) as usize).collect();
        let crashes = (0..rng.below(2)).map(|_| (rng.below(2000) as usize, rng.below(3) as u16)).collect();
        Disturbance { loss, doubling, overtaking, trimming: 0, restarts, crashes, gone: None }
    }
}

/// Ends of links.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum At {
    Reducer,
    Mapper(u16),
    /// A switch, on the way from one to the other.
    Switch(u16, From),
}

/// Where a packet has entered a switch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum From {
    Reducer,
    Mapper(u16),
    /// Answers of another switch to requests.
    Switch(u16),
}

/// A switch with the job.
pub trait Node {
    fn handle(&mut self, from: From, packet: Packet, is_marked: bool) -> Vec<(Direction, Packet)>;
    fn restart(&mut self, boot: u16);
}

impl Node for Switch {
    fn handle(&mut self, _from: From, packet: Packet, is_marked: bool) -> Vec<(Direction, Packet)> {
        Switch::handle(self, packet, is_marked)
    }

    fn restart(&mut self, boot: u16) {
        Switch::restart(self, boot);
    }
}

pub struct World {
    layout: Layout,
    op: Op,
    pub reducer: Reducer,
    config: reducer::Config,
    mappers: Vec<Option<Mapper>>,
    rounds: Vec<Arc<[aggregate::pack::Round]>>,
    switches: Vec<Box<dyn Node>>,
    wanted: Sums,
    chance: Rng,
    /// By time and order.
    frames: BTreeMap<(Time, u64), (At, Packet)>,
    /// Packets that were sent, for later runs: the last [`MOST_KEPT`] of them.
    kept: VecDeque<(At, Packet)>,
    /// Incarnations of the run's mappers are larger.
    first: u32,
    order: u64,
    now: Time,
    boots: u16,
    keeps_boots: bool,
}

/// Streams that a switch of a tree folds: mappers' own, and for the parent all that the leaves have left.
pub fn tree_senders(number: u16, leaves: u16, channels: u16) -> Vec<(Kind, u16)> {
    let is_own = |channel: &u16| channel % (leaves + 1) == number;
    let own = (0..channels).filter(is_own).map(|channel| (Kind::Data, channel));
    if number < leaves {
        return own.collect();
    }
    let left = (0..channels).filter(|channel| !is_own(channel)).map(|channel| (Kind::Overflow, channel));
    own.chain(left).chain((0..leaves).map(|leaf| (Kind::ReadReply, leaf))).collect()
}

/// The job's number.
pub const JOB: u16 = 9;

const TRIP: Duration = Duration::from_us(10);

/// Packets that may come once more in a later run, and those of them that do.
const MOST_KEPT: usize = 2000;
const MOST_LATE: u64 = 100;

/// The rounds of each mapper, and the fold of all.
type Drawn = (Vec<Arc<[aggregate::pack::Round]>>, Sums);

fn draw(
    layout: Layout,
    op: Op,
    mappers: u16,
    pairs: u32,
    rounds: u32,
    is_switched: bool,
    rng: &mut Rng,
) -> Drawn {
    let own = |_| {
        let mut own = BTreeMap::new();
        for at in 0..u64::from(pairs) {
            let place = match layout.is_dense() {
                true => Place::of_element(at, &layout),
                false => Place::of_hashed(&rng.below(u64::from(pairs) + 1).to_be_bytes(), 1, &layout),
            };
            let value = if rng.chance(1, 30) { u32::MAX } else { rng.below(1000) as u32 };
            own.insert(place, value);
        }
        own.into_iter().map(|(place, value)| Pair { place, value }).collect()
    };
    packed(layout, op, (0..mappers).map(own).collect(), rounds, is_switched)
}

/// The rounds of mappers with these pairs.
fn packed(layout: Layout, op: Op, pairs: Vec<Vec<Pair>>, rounds: u32, is_switched: bool) -> Drawn {
    let most = is_switched.then(|| op.most_value(pairs.len() as u32));
    let mut wanted = Sums::new();
    for Pair { place, value } in pairs.iter().flatten() {
        let value = u64::from(*value);
        wanted.entry(*place).and_modify(|held| *held = op.fold_wide(*held, value)).or_insert(value);
    }
    let rounds_of = |pairs| pack(pairs, &layout, rounds, most).expect("it packs").into();
    (pairs.into_iter().map(rounds_of).collect(), wanted)
}

/// A reducer that has sent nothing.
fn fresh(config: &reducer::Config, wanted: &Sums) -> Reducer {
    let mut reducer = Reducer::new(config.clone());
    if config.layout.is_dense() {
        reducer.set_elements(wanted.len() as u64);
    }
    reducer
}

impl World {
    /// Mappers with up to so many pairs of a common set of keys each.
    pub fn new(layout: Layout, op: Op, mappers: u16, pairs: u32, rounds: u32, rng: &mut Rng) -> World {
        let drawn = draw(layout, op, mappers, pairs, rounds, true, rng);
        World::of_drawn(layout, op, rounds, drawn, rng)
    }

    /// Mappers with these pairs.
    pub fn of_pairs(layout: Layout, op: Op, pairs: Vec<Vec<Pair>>, rounds: u32, rng: &mut Rng) -> World {
        World::of_drawn(layout, op, rounds, packed(layout, op, pairs, rounds, true), rng)
    }

    fn of_drawn(layout: Layout, op: Op, rounds: u32, (rounds_of_all, wanted): Drawn, rng: &mut Rng) -> World {
        let mappers = rounds_of_all.len() as u16;
        let config = reducer::Config {
            job: JOB,
            op,
            layout,
            channels: mappers,
            switches: 1,
            parents: 0,
            rounds,
            banks: 2,
            least_wait: Duration::from_us(100),
            most_wait: Duration::from_ms(2),
            patience: Duration::from_ms(50),
            nonce: rng.split("nonce").next_u64(),
        };
        let mut world = World {
            layout,
            op,
            reducer: fresh(&config, &wanted),
            config,
            mappers: vec![],
            rounds: rounds_of_all,
            switches: vec![Box::new(Switch::new(layout, 0, JOB, mappers, 1))],
            wanted,
            chance: rng.split("network"),
            frames: BTreeMap::new(),
            kept: VecDeque::new(),
            first: rng.split("incarnations").next_u64() as u32 >> 1,
            order: 0,
            now: Time::ZERO,
            boots: 1,
            keeps_boots: false,
        };
        world.mappers = (0..mappers).map(|channel| Some(world.mapper(channel, 1))).collect();
        world
    }

    fn mapper(&self, channel: u16, incarnation: u32) -> Mapper {
        let config = mapper::Config {
            job: JOB,
            op: self.op,
            layout: self.layout,
            channel,
            incarnation: self.first + incarnation,
            least_wait: Duration::from_us(100),
            most_wait: Duration::from_ms(2),
        };
        let mut rounds = self.rounds[usize::from(channel)].to_vec();
        // A mapper that starts anew need not pack its pairs as before, but for arrays.
        if incarnation > 1 && !self.layout.is_dense() {
            rounds.iter_mut().for_each(|round| {
                round.reverse();
                // Packets past the switches stay the last ones.
                round.sort_by_key(|parcel| parcel.is_direct);
            });
        }
        Mapper::new(config, rounds.into())
    }

    pub fn banks(&mut self, banks: u8) {
        self.config.banks = banks;
        self.reducer = fresh(&self.config, &self.wanted);
    }

    /// Further rounds of the same machines, with other pairs. Packets of the previous rounds are still under way.
    pub fn extend(&mut self, op: Op, pairs: u32, rounds: u32, rng: &mut Rng) {
        let is_switched = rng.chance(3, 4);
        let (layout, channels) = (self.layout, self.config.channels);
        let (rounds_of_all, wanted) = draw(layout, op, channels, pairs, rounds, is_switched, rng);
        (self.op, self.wanted) = (op, wanted);
        self.reducer.take_result();
        self.reducer.extend(rounds, op, is_switched);
        if layout.is_dense() {
            self.reducer.set_elements(self.wanted.len() as u64);
        }
        for (mapper, rounds) in self.mappers.iter_mut().flatten().zip(rounds_of_all) {
            mapper.extend(rounds, op);
        }
    }

    /// Ends a job after so many events, whatever its state: another reducer and other mappers follow, with other pairs and rounds. Packets of earlier runs are still
    /// under way, and any of them come once more.
    pub fn replace(&mut self, events: usize, disturbance: &Disturbance, rng: &mut Rng) {
        let _ = self.steps(events, disturbance, |_| false);
        (self.config.nonce, self.first) = (rng.next_u64(), rng.next_u64() as u32 >> 1);
        self.config.rounds =
            if self.layout.is_dense() { self.config.rounds } else { rng.between(1, 3) as u32 };
        let (layout, config) = (self.layout, &self.config);
        (self.rounds, self.wanted) = draw(layout, self.op, config.channels, 40, config.rounds, true, rng);
        self.reducer = fresh(config, &self.wanted);
        for _ in 0..rng.below(MOST_LATE) {
            let Some((at, packet)) = rng.pick(self.kept.make_contiguous()).cloned() else { break };
            self.order += 1;
            let late = Duration::from_us(rng.below(3000));
            self.frames.insert((self.now + late, self.order), (at, packet));
        }
        self.mappers = (0..self.config.channels).map(|channel| Some(self.mapper(channel, 1))).collect();
    }

    /// After so many events, an OPEN of another run opens a bank of the first switch.
    pub fn intrude(&mut self, events: usize, bank: u32) {
        let _ = self.steps(events, &Disturbance::default(), |_| false);
        let run = (self.reducer.generation() >> ROUND_BITS) + 1;
        let (generation, boot) = (run << ROUND_BITS | 2 | bank, self.boots);
        let open = Packet { generation, boot, ..Packet::new(Kind::Open, JOB, self.op) };
        self.switches[0].handle(From::Reducer, open, false);
    }

    /// Lets so many milliseconds pass in which nobody looks at what arrives.
    pub fn rest(&mut self, milliseconds: u64) {
        self.now += Duration::from_ms(milliseconds);
    }

    /// A control plane that does not count restarts.
    pub fn keep_boots(&mut self) {
        self.keeps_boots = true;
    }

    /// So many models of switches.
    pub fn switches(&mut self, switches: u16) {
        let (layout, channels) = (self.layout, self.config.channels);
        let node = |number| Box::new(Switch::new(layout, number, JOB, channels, 1)) as Box<dyn Node>;
        self.nodes((0..switches).map(node).collect());
    }

    /// These switches; their boot number is 1.
    pub fn nodes(&mut self, nodes: Vec<Box<dyn Node>>) {
        self.config.switches = nodes.len() as u16;
        self.switches = nodes;
        self.reducer = fresh(&self.config, &self.wanted);
    }

    /// These switches; the last one folds what the others have left, and the pairs of a mapper of its own.
    pub fn tree(&mut self, nodes: Vec<Box<dyn Node>>) {
        self.config.parents = 1;
        self.nodes(nodes);
    }

    /// Models of switches as a tree of so many leaves and a parent.
    pub fn model_tree(&mut self, leaves: u16) {
        let (layout, channels) = (self.layout, self.config.channels);
        let node = |number| {
            let senders = tree_senders(number, leaves, channels);
            let switch = Switch::of_senders(layout, number, JOB, senders, 1);
            let switch = if number < leaves { switch.before_a_parent() } else { switch };
            Box::new(switch) as Box<dyn Node>
        };
        self.tree((0..=leaves).map(node).collect());
    }

    /// The switch of a channel.
    fn switch_of(&self, channel: u16) -> Option<u16> {
        channel.checked_rem(self.switches.len() as u16)
    }

    /// The switch that folds what this one has left.
    fn parent(&self, switch: u16) -> Option<u16> {
        let last = self.config.switches.checked_sub(1)?;
        (self.config.parents == 1 && switch < last).then_some(last)
    }

    fn send(&mut self, to: At, packet: Packet, disturbance: &Disturbance) {
        if self.kept.len() == MOST_KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back((to, packet.clone()));
        let copies = 1 + u32::from(self.chance.chance_ppm(disturbance.doubling));
        for _ in 0..copies {
            if self.chance.chance_ppm(disturbance.loss) {
                continue;
            }
            let late =
                if self.chance.chance_ppm(disturbance.overtaking) { self.chance.below(300) } else { 0 };
            self.order += 1;
            let key = (self.now + TRIP + Duration::from_us(late), self.order);
            self.frames.insert(key, (to, packet.clone()));
        }
    }

    /// Until the job is done and the mappers know it; gives how many events that took.
    pub fn run(&mut self, disturbance: Disturbance) -> Result<usize, String> {
        self.until(disturbance, |mapper| !mapper.is_busy())
    }

    /// Until the reducer is done.
    pub fn reduce(&mut self, disturbance: Disturbance) -> Result<usize, String> {
        self.until(disturbance, |_| true)
    }

    fn until(
        &mut self,
        disturbance: Disturbance,
        is_over: impl Fn(&Mapper) -> bool,
    ) -> Result<usize, String> {
        self.steps(400_000, &disturbance, is_over)
    }

    fn steps(
        &mut self,
        events: usize,
        disturbance: &Disturbance,
        is_over: impl Fn(&Mapper) -> bool,
    ) -> Result<usize, String> {
        for event in 0..events {
            self.disturb(event, disturbance);
            self.poll(disturbance);
            if self.reducer.is_done() && self.mappers.iter().flatten().all(&is_over) {
                let is_exact = *self.reducer.result() == self.wanted;
                return if is_exact { Ok(event) } else { Err("the result is wrong".into()) };
            }
            if let Some(trouble) = self.reducer.trouble(self.now) {
                return Err(format!("{trouble:?}"));
            }
            let timers =
                self.mappers.iter().flatten().filter_map(Mapper::deadline).chain(self.reducer.deadline());
            let frame = self.frames.keys().next().map(|(at, _)| *at);
            let Some(next) = timers.chain(frame).min() else {
                return Err("nothing can happen any more".into());
            };
            self.now = self.now.max(next);
            if let Some(first) = self.frames.first_entry().filter(|first| first.key().0 <= self.now) {
                let (at, packet) = first.remove();
                self.arrive(at, packet, disturbance);
            }
        }
        Err(format!("no end: {} of {} rounds", self.reducer.committed(), self.config.rounds))
    }

    fn disturb(&mut self, event: usize, disturbance: &Disturbance) {
        if disturbance.restarts.contains(&event) && !self.switches.is_empty() {
            self.boots += u16::from(!self.keeps_boots);
            let at = self.chance.index(self.switches.len());
            self.switches[at].restart(self.boots);
        }
        for (at, channel) in disturbance.crashes.iter().filter(|(at, _)| *at == event) {
            self.mappers[usize::from(*channel)] = Some(self.mapper(*channel, 2 + *at as u32));
        }
        if let Some((_, channel)) = disturbance.gone.filter(|(at, _)| *at == event) {
            self.mappers[usize::from(channel)] = None;
        }
    }

    fn poll(&mut self, disturbance: &Disturbance) {
        let now = self.now;
        while let Some((to, packet)) = self.reducer.poll(now) {
            let to = match to {
                To::Switch(switch) => At::Switch(self.parent(switch).unwrap_or(switch), From::Reducer),
                To::Mapper(channel) => At::Mapper(channel),
            };
            self.send(to, packet, disturbance);
        }
        for channel in 0..self.config.channels {
            while let Some(packet) = self.mappers[usize::from(channel)].as_mut().and_then(|m| m.poll(now)) {
                let by = self.switch_of(channel).map(|switch| At::Switch(switch, From::Mapper(channel)));
                // Without a switch, data would have nobody to fold it.
                let kind =
                    if by.is_none() && packet.kind == Kind::Data { Kind::Overflow } else { packet.kind };
                self.send(by.unwrap_or(At::Reducer), Packet { kind, ..packet }, disturbance);
            }
        }
    }

    fn arrive(&mut self, at: At, packet: Packet, disturbance: &Disturbance) {
        // Every packet passes its bytes.
        let bytes = packet.bytes(&self.layout);
        let has_pairs = !packet.pairs.is_empty() && at == At::Reducer && disturbance.trimming > 0;
        if has_pairs && self.chance.chance_ppm(disturbance.trimming) {
            let header = Packet::parse_trimmed(&bytes[..HEADER], &self.layout).expect("it is a header");
            return self.reducer.trimmed(self.now, &header);
        }
        let packet = Packet::parse(&bytes, &self.layout).expect("it comes back");
        let is_marked = self.chance.chance(1, 50);
        match at {
            At::Reducer => self.reducer.handle(self.now, &packet, is_marked),
            At::Mapper(channel) => {
                if let Some(mapper) = &mut self.mappers[usize::from(channel)] {
                    mapper.handle(self.now, &packet);
                }
            }
            At::Switch(number, from) => {
                for (direction, packet) in self.switches[usize::from(number)].handle(from, packet, is_marked)
                {
                    let up =
                        |from| self.parent(number).map_or(At::Reducer, |parent| At::Switch(parent, from));
                    let to = match (direction, from) {
                        (Direction::Back, From::Mapper(channel)) => At::Mapper(channel),
                        (Direction::Back, From::Reducer) => up(From::Switch(number)),
                        (Direction::On, From::Mapper(_)) => up(from),
                        (Direction::On, From::Reducer) => At::Switch(packet.channel, From::Reducer),
                        (_, From::Switch(_)) => At::Reducer,
                    };
                    self.send(to, packet, disturbance);
                }
            }
        }
    }
}
