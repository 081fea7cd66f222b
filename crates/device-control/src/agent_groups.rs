//! Server groups beside the agent of a device: the controller of each group that its program leads packets to, and the front of a device
//! that serves a group. The programs say what there is (`ir_split::LedGroup`, `ServedGroup`), so that nothing here waits for the rack's
//! controller.
//!
//! ```text
//! server   front ── Said { here | report } ── a frame ──> switch   GroupControl ── entries ──> its tables
//!                <── instructions, as frames, after the entries ──────────────────────┘
//! ```
//!
//! **Invariant: a server that was taken for dead restarts before it is a member again**, since its flows are elsewhere by then. The
//! same holds after a new start of the switch, which knows no flows. Instructions have a *term* for this: a server that has an instruction of another
//! term forgets its flows.

use super::group_control::{front_settings, us};
use super::group_show::{change_group, counts_of, no_group, show_group};
use super::{Controlled, GroupControl, GroupStep, Standing, write_group};
use base_time::{Duration, Time};
use dataplane_api::{Counters as Counted, Device as _, Output};
use group_front::{Front, Meter};
use ir_split::{DeviceIndex, LedGroup, ServedGroup};
use p4runtime_proto::p4rack::v1::Group;
use p4runtime_proto::p4rack::v1::steer_request::ChangeGroup;
use p4runtime_server::Status;
use server_groups::wire::{Counts, Said, Says};
use server_groups::{Counters, Frame, Instruction, Member};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Messages of a server in the time after which it is dead.
const BEATS: u64 = 4;

/// Groups that the program of a device says.
#[derive(Clone, Default, Debug)]
pub(super) struct SaidGroups {
    pub led: Vec<LedGroup>,
    pub served: Option<ServedGroup>,
}

impl SaidGroups {
    pub fn of_program(program: &ir::Program) -> SaidGroups {
        SaidGroups { led: LedGroup::of_program(program), served: ServedGroup::of_program(program) }
    }

    /// True if frames pass a front, or are counted: then only the owner of the device runs them, one after the other.
    pub fn is_any(&self) -> bool {
        !self.led.is_empty() || self.served.is_some()
    }
}

/// The groups of the program that runs.
#[derive(Default)]
pub(super) struct AgentGroups {
    /// Stands for the program.
    of: Option<Arc<()>>,
    led: Vec<Led>,
    served: Option<Served>,
}

/// A group at its switch.
struct Led {
    said: LedGroup,
    control: GroupControl,
    meter: Meter,
    known: BTreeMap<Member, Known>,
    next: Time,
}

/// A switch's view of a server.
#[derive(Clone, Copy, Default)]
struct Known {
    /// Nothing before its first message.
    start: Option<u32>,
    at: Time,
    counts: Counts,
    /// Term of instructions for the server.
    term: u16,
    /// True if the server was taken for dead and has not restarted.
    is_fenced: bool,
}

/// A server.
struct Served {
    said: ServedGroup,
    front: Front,
    start: u32,
    /// Term of the last instruction.
    term: Option<u16>,
    next: Time,
    /// Counters of fronts before.
    past: Counters,
}

/// The next term, which is never 0.
fn after(term: u16) -> u16 {
    term.checked_add(1).unwrap_or(1)
}

impl AgentGroups {
    /// Follows a change of the program; gives frames that leave. A switch has the entries of its groups, and has sent its instructions, before a
    /// frame reaches it.
    pub fn follow(&mut self, target: &mut Controlled, now: Time) -> Vec<Output> {
        if self.follows(target) {
            return vec![];
        }
        self.of = Some(Arc::clone(target.token()));
        let (said, starts) = (target.groups().clone(), target.starts());
        self.served = said.served.map(|said| Served::new(said, starts, target, now));
        // The same group goes on: its servers have their flows still, or restart themselves.
        let mut before = std::mem::take(&mut self.led);
        let led = |said: LedGroup| match before.iter().position(|led| led.said == said) {
            Some(at) => before.swap_remove(at),
            None => Led::new(said, starts, now),
        };
        self.led = said.led.into_iter().map(led).collect();
        for led in &self.led {
            // A program that only looks like one of ours has no such tables; then nothing is led to the group.
            let _ = write_group(&mut target.switch(), &led.control.refill());
        }
        target.publish();
        self.work(target, now)
    }

    /// True if this is the program whose groups are here.
    fn follows(&self, target: &Controlled) -> bool {
        self.of.as_ref().is_some_and(|of| Arc::ptr_eq(of, target.token()))
    }

    /// Runs a frame that comes to the device, and has waited for so long; gives the frames that leave.
    pub fn process(
        &mut self,
        target: &mut Controlled,
        port: u32,
        frame: &[u8],
        waited: Duration,
        now: Time,
    ) -> Vec<Output> {
        // Messages of servers to the group are removed before the device sees them.
        for led in &mut self.led {
            if let Some(said) = led.said(port, frame) {
                if let Some(said) = said {
                    led.hear(said, now);
                }
                return self.work(target, now);
            }
        }
        self.led.iter_mut().for_each(|led| led.meter.came(port, frame));
        let left = match &mut self.served {
            Some(served) => served.process(target, port, frame, waited, now),
            None => target.process(port, frame, now),
        };
        for output in &left {
            self.led.iter_mut().for_each(|led| led.meter.left(output));
        }
        left
    }

    /// Runs the timers of the device, and does what is due.
    pub fn tick(&mut self, target: &mut Controlled, now: Time) -> Vec<Output> {
        let mut left = match &mut self.served {
            Some(served) => served.tick(target, now),
            None => target.run_timers(now),
        };
        let due = self.led.iter_mut().filter(|led| led.next <= now);
        if due.map(|led| led.look(now)).count() > 0 {
            left.extend(self.work(target, now));
        }
        left
    }

    /// When [`tick`](AgentGroups::tick) has something to do, the device's timers included.
    pub fn deadline(&self, target: &mut Controlled) -> Option<Time> {
        // The groups of a new program are there at once, not with its first frame.
        if target.groups().is_any() && !self.follows(target) {
            return Some(Time::ZERO);
        }
        let device = match &self.served {
            Some(served) => served.front.deadline(&*target.switch()).into_iter().chain([served.next]).min(),
            None => target.switch().deadline(),
        };
        self.led.iter().map(|led| led.next).chain(device).min()
    }

    /// Counters of a server's device and front.
    pub fn counters(&self) -> Option<&Counted> {
        self.served.as_ref().map(|served| served.front.counters())
    }

    /// A server comes or goes; the frames that leave for this come with the next [`tick`](AgentGroups::tick).
    pub fn change(&mut self, change: &ChangeGroup, now: Time) -> Result<(), Status> {
        let Some(at) = self.led.iter().position(|led| led.said.name == change.group) else {
            return Err(no_group(&change.group, self.led.iter().map(|led| led.said.name.as_str())));
        };
        let Led { said, control, next, .. } = &mut self.led[at];
        *next = now;
        change_group(change, control, |device| said.name_of(device), now)
    }

    /// The groups of a switch, for operators; they do not have the switch's name.
    pub fn show(&self) -> Vec<Group> {
        self.led.iter().map(Led::show).collect()
    }

    /// Does what the groups' controllers want of the switch; gives the frames that leave.
    fn work(&mut self, target: &mut Controlled, now: Time) -> Vec<Output> {
        let mut left = vec![];
        for led in &mut self.led {
            while let Some(steps) = led.control.step() {
                for step in steps {
                    match step {
                        GroupStep::Write(entries) => {
                            // Fails only where the program has no such tables: then nothing is led to the group.
                            let _ = write_group(&mut target.switch(), &entries);
                            target.publish();
                        }
                        GroupStep::HandIn(port, frame) => {
                            left.extend(led.instruction(target, port, frame, now))
                        }
                    }
                }
            }
            for (member, port) in led.fenced() {
                let nobody = Instruction::Members { version: 0, alive: BTreeSet::new() };
                for frame in led.said.edge.wire.write(member, Frame::Instruction(nobody)) {
                    left.extend(led.instruction(target, port, frame, now));
                }
            }
        }
        left
    }
}

impl Led {
    fn new(said: LedGroup, starts: u32, now: Time) -> Led {
        let numbered = (0..).map(Member).zip(&said.servers);
        let members: Vec<(Member, u32)> =
            numbered.filter(|(_, (_, is_member))| *is_member).map(|(member, _)| (member, 1)).collect();
        let control = GroupControl::new(said.edge.clone(), &members, said.rules);
        // Two starts are different terms, even after each other.
        let term = after((starts as u16).wrapping_mul(0x9e37));
        let fresh = Known { at: now, term, ..Known::default() };
        let known = control.all().map(|(member, _)| (member, fresh)).collect();
        Led { meter: control.meter(), control, said, known, next: now }
    }

    /// The message in a frame that comes from a server's port.
    #[allow(clippy::option_option)]
    fn said(&self, port: u32, frame: &[u8]) -> Option<Option<Said>> {
        let by = |member: Member| self.said.edge.members.get(usize::from(member.0)).map(|(_, port)| *port);
        let is_inner = self.said.edge.members.iter().any(|(_, known)| *known == u64::from(port));
        let said = self.said.edge.wire.read_said(frame).filter(|_| is_inner)?;
        Some(said.filter(|said| by(said.from) == Some(port.into())))
    }

    fn hear(&mut self, said: Said, now: Time) {
        let Some(known) = self.known.get_mut(&said.from) else { return };
        let began = known.start.is_some_and(|start| start != said.start);
        let is_first = known.start.is_none();
        (known.start, known.at) = (Some(said.start), now);
        known.is_fenced &= !began;
        let is_up = !known.is_fenced;
        self.control.look(said.from, is_up, began, now);
        if is_first {
            self.control.began(said.from, now);
        }
        match said.says {
            Says::Here(counts) => known.counts = counts,
            Says::Report(_) if known.is_fenced => {}
            Says::Report(report) => self.control.report(said.from, report, now),
        }
        self.next = self.next.min(now);
    }

    /// Looks at all servers.
    fn look(&mut self, now: Time) {
        let recent = us(self.said.rules.hold_us / 2);
        self.next = now + us((self.said.rules.hold_us / BEATS).max(1));
        for (member, known) in &mut self.known {
            let is_up = known.start.is_some() && now.since(known.at) <= recent && !known.is_fenced;
            if self.control.look(*member, is_up, false, now) == Some(Standing::Dead) {
                known.is_fenced = known.start.is_some();
                known.term = after(known.term);
            }
        }
        let handled = self.known.iter().map(|(member, known)| (*member, known.counts.handled)).collect();
        self.control.measure(&handled, now);
        self.control.poll(now);
    }

    /// Servers that are there but have not restarted since they were taken for dead, with their ports.
    fn fenced(&self) -> Vec<(Member, u32)> {
        let fenced = self.known.iter().filter(|(_, known)| known.is_fenced);
        fenced
            .filter_map(|(member, _)| {
                Some((*member, u32::try_from(self.said.edge.members.get(usize::from(member.0))?.1).ok()?))
            })
            .collect()
    }

    /// Hands in an instruction, as if it came from a server.
    fn instruction(&self, target: &mut Controlled, port: u32, mut frame: Vec<u8>, now: Time) -> Vec<Output> {
        let is_it = |(_, known): &(Member, u32)| *known == port;
        let member = (0..).map(Member).zip(&self.said.edge.members);
        let mut member = member.map(|(member, (_, port))| (member, *port as u32));
        let known = member.find(is_it).and_then(|(member, _)| self.known.get(&member));
        self.said.edge.wire.set_term(&mut frame, known.map_or(1, |known| known.term));
        target.process(port, &frame, now)
    }

    fn show(&self) -> Group {
        let group = Group { name: self.said.name.clone(), ..Group::default() };
        let counts = |device: DeviceIndex| {
            Some(self.known.get(&self.control.all().find(|(_, at)| *at == device)?.0)?.counts)
        };
        show_group(group, &self.control, &self.meter, |device| self.said.name_of(device), counts)
    }
}

impl Served {
    fn new(said: ServedGroup, starts: u32, target: &mut Controlled, now: Time) -> Served {
        let front = Served::front(&said, target);
        let start = starts.wrapping_mul(0x9e37_79b1);
        Served { said, front, start, term: None, next: now, past: Counters::default() }
    }

    fn front(said: &ServedGroup, target: &mut Controlled) -> Front {
        let settings = front_settings(said.wire.clone(), said.me, said.port, &said.rules);
        Front::new(settings, &*target.switch())
    }

    fn process(
        &mut self,
        target: &mut Controlled,
        port: u32,
        frame: &[u8],
        waited: Duration,
        now: Time,
    ) -> Vec<Output> {
        if port == self.said.port
            && let Some(term) = self.said.wire.term(frame)
            && self.term.replace(term).is_some_and(|known| known != term)
        {
            self.restart(target, now);
        }
        let mut left = self.front.process(&mut *target.switch(), port, frame.to_vec(), waited, now);
        self.report(&mut left);
        left
    }

    /// Restarts the server without flows: they are elsewhere by now.
    fn restart(&mut self, target: &mut Controlled, now: Time) {
        self.past = self.counts();
        self.past.drops.no_answer += self.front.server().held() as u64;
        self.front = Served::front(&self.said, target);
        self.start = self.start.wrapping_add(1);
        self.next = now;
    }

    fn tick(&mut self, target: &mut Controlled, now: Time) -> Vec<Output> {
        let mut left = self.front.run_timers(&mut *target.switch(), now);
        self.report(&mut left);
        if self.next <= now {
            self.next = now + us((self.said.rules.hold_us / BEATS).max(1));
            let flows = self.front.server().owned().count() as u64;
            left.push(self.say(Says::Here(counts_of(&self.counts(), flows))));
        }
        left
    }

    fn report(&mut self, left: &mut Vec<Output>) {
        let reports = self.front.take_reports();
        left.extend(reports.into_iter().map(|report| self.say(Says::Report(report))));
    }

    fn say(&self, says: Says) -> Output {
        let said = Said { from: self.said.me, start: self.start, says };
        Output { port: self.said.port, frame: self.said.wire.write_said(&said) }
    }

    fn counts(&self) -> Counters {
        let mut sum = self.past.plus(&self.front.server().counters);
        sum.drops.refused += self.front.refused();
        sum
    }
}
