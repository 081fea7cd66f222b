//! The world around the protocol: links, helpers, a controller, and what is remembered to judge it.

use failover::keeper::Kept;
use failover::{Allowed, Keeper, Report, Sender, Sent, Stamp, Target, Targets, Thresholds, Verdict};

/// Time for which the controller of the model holds a helper down.
pub const HOLD_DOWN: u64 = 1;

/// So many packets are sent at most while a frame is under way.
const LAG: u8 = 2;

/// Ways to get the protocol wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mutant {
    /// A report of an earlier generation counts.
    AnyGeneration,
    /// A number is missing as soon as the next one arrives.
    NoTolerance,
    /// Missed requests are not added up.
    MissedForgotten,
    /// Nothing is asked while no packets pass.
    SilentWhenIdle,
    /// A report of losses does not acknowledge.
    NakWithoutAck,
    /// An acknowledgement does not report losses.
    AckWithoutNak,
    /// Missed requests add up though reports arrive.
    ProgressForgotten,
    /// Losses add up over all windows.
    NoWindow,
    /// A hand-over that came before is processed.
    DoublesTaken,
    /// The last packet is sent again when a target has failed.
    SentAgain,
    /// A helper is used as soon as its state is right.
    NoHoldDown,
    /// A helper is used after the hold-down, whatever its state.
    StateNotMadeRight,
    /// The sender uses targets that are barred.
    BarNotHeeded,
    /// A sender that restarts begins with the first generation.
    OldGeneration,
    /// A target whose port went down is used again as soon as its port is up.
    BackWithPort,
    /// A target whose port went down is not used again without the controller, though no other is usable.
    GoneForGood,
    /// Where only targets are left whose port went down, the first one whose port is up is used.
    FirstOfTheLeft,
    /// The controller does not bar targets that were left because of their port.
    LeftNotBarred,
    /// A target whose port is down has failed, though no other is usable.
    LastOneFails,
}

/// Numbers of events that may still happen.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Budget {
    pub packets: u8,
    pub time: u8,
    pub losses: u8,
    pub doubles: u8,
    pub crashes: u8,
    pub controller: u8,
    pub sender_crashes: u8,
    /// Ports that go down or come up.
    pub ports: u8,
}

/// When a frame began: its time, and the number of packets before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Born {
    time: u64,
    packets: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Frame {
    /// A hand-over, with a packet or without.
    Data {
        at: Target,
        stamp: Stamp,
        packet: Option<u8>,
        born: Born,
    },
    Back {
        from: Target,
        report: Report,
        born: Born,
    },
}

impl Frame {
    fn born(&self) -> Born {
        match self {
            Frame::Data { born, .. } | Frame::Back { born, .. } => *born,
        }
    }

    pub fn helper(&self) -> Target {
        match self {
            Frame::Data { at, .. } => *at,
            Frame::Back { from, .. } => *from,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Helper {
    pub is_up: bool,
    /// The tables equal those of the other targets.
    pub is_right: bool,
    pub receiver: failover::Receiver,
    /// When its state was made right after it had failed.
    pub right_since: Option<u64>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct World {
    pub mutant: Option<Mutant>,
    pub limits: Thresholds,
    pub budget: Budget,
    pub now: u64,
    pub sender: Sender,
    pub allowed: Allowed,
    pub keeper: Keeper,
    pub helpers: Vec<Helper>,
    pub frames: Vec<Frame>,
    /// Number of times that each packet was handed to a helper's program.
    pub handed: Vec<u8>,
    /// The property that does not hold.
    pub broken: Option<&'static str>,
    /// Numbers of hand-overs of this generation that were lost.
    pub lost: Vec<u32>,
    /// Numbers of requests of this generation that were lost, and those in lost reports.
    pub unanswered: Vec<u32>,
    /// The target in use was down in this generation.
    pub was_down: bool,
    /// Targets that have failed and may not be used yet.
    pub out: Targets,
    /// Targets of `out` whose frames were lost. The others were left because of their port, and may be used while no other target can.
    pub silent: Targets,
    /// Ports that were down when the controller read the sender.
    pub down_as_read: Targets,
    /// Targets let back before their hold-down, because no other was usable.
    pub early: Targets,
}

impl World {
    pub fn new(targets: usize, limits: Thresholds, budget: Budget) -> World {
        let helper = Helper {
            is_up: true,
            is_right: true,
            receiver: failover::Receiver::default(),
            right_since: None,
        };
        World {
            mutant: None,
            limits,
            budget,
            now: 10,
            sender: Sender::new(1),
            allowed: Allowed::default(),
            keeper: Keeper::new(targets, HOLD_DOWN),
            helpers: vec![helper; targets],
            frames: vec![],
            handed: vec![],
            broken: None,
            lost: vec![],
            unanswered: vec![],
            was_down: false,
            out: Targets::NONE,
            silent: Targets::NONE,
            down_as_read: Targets::NONE,
            early: Targets::NONE,
        }
    }

    fn all(&self) -> Targets {
        Targets::first(self.helpers.len())
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    pub fn helper(&mut self, target: Target) -> &mut Helper {
        &mut self.helpers[usize::from(target.0)]
    }

    fn born(&self) -> Born {
        Born { time: self.now, packets: self.handed.len() as u8 }
    }

    fn may_lag(&self, frame: &Frame) -> bool {
        frame.born().packets + LAG > self.handed.len() as u8
    }

    /// Registers of the control plane, as the sender reads them.
    fn seen(&self) -> Allowed {
        let Allowed { barred, down, .. } = self.allowed;
        match self.mutant {
            Some(Mutant::BarNotHeeded) => Allowed { barred: Targets::NONE, ..self.allowed },
            Some(Mutant::BackWithPort) => {
                Allowed { barred: barred | down, down: Targets::NONE, ..self.allowed }
            }
            _ => self.allowed,
        }
    }

    /// Targets that packets can reach, as far as the sender can know: at worst one that was left because of its port.
    fn possible(&self) -> Targets {
        self.all() & !self.allowed.barred & !self.allowed.down & !self.silent
    }

    /// The sender looks at its ports.
    fn see_ports(&mut self) {
        let down = self.all() & self.allowed.down & !self.allowed.barred;
        if !self.possible().is_empty() {
            self.out = self.out | down;
        }
        match self.mutant {
            Some(Mutant::FirstOfTheLeft) => {
                let left = self.sender.left & self.possible();
                if !(left & self.sender.used).is_empty() && left.preferred() != self.sender.used {
                    self.sender.used = Targets::NONE;
                }
            }
            Some(Mutant::LastOneFails) => {
                let gone = down & !(self.sender.failed ^ self.allowed.forgiven);
                self.sender.failed = self.sender.failed ^ gone;
            }
            _ => {}
        }
    }

    /// The sender has acted.
    fn acted(&mut self, before: &Sender) {
        self.judge(before);
        if self.is(Mutant::GoneForGood) {
            self.sender.left = Targets::NONE;
        }
    }

    /// All worlds after one more event.
    pub fn next(&self) -> Vec<World> {
        let mut worlds = vec![];
        let mut add = |allows: bool, event: &dyn Fn(&mut World)| {
            if allows {
                let mut next = self.clone();
                event(&mut next);
                next.frames.sort();
                worlds.push(next);
            }
        };
        let Budget { packets, time, losses, doubles, crashes, controller, sender_crashes, ports } =
            self.budget;
        add(packets > 0 && self.frames.iter().all(|frame| self.may_lag(frame)), &|w| {
            w.budget.packets -= 1;
            w.send();
        });
        // A frame takes one unit of time at most.
        add(time > 0 && self.frames.iter().all(|f| f.born().time == self.now), &|w| {
            w.budget.time -= 1;
            w.pass_time();
        });
        for at in 0..self.frames.len() {
            if at > 0 && self.frames[at] == self.frames[at - 1] {
                continue;
            }
            add(self.may_arrive(at), &|w| w.deliver(at));
            add(losses > 0, &|w| {
                w.budget.losses -= 1;
                let frame = w.frames.remove(at);
                w.lose(frame);
            });
            add(doubles > 0, &|w| {
                w.budget.doubles -= 1;
                w.frames.push(w.frames[at]);
            });
        }
        for target in (0..self.helpers.len() as u8).map(Target) {
            let Helper { is_up, is_right, .. } = self.helpers[usize::from(target.0)];
            add(crashes > 0 && is_up, &|w| {
                w.budget.crashes -= 1;
                w.crash(target);
            });
            add(ports > 0, &|w| {
                w.budget.ports -= 1;
                w.turn_port(target);
            });
            let is_out = self.keeper.kept(target) == Some(Kept::Out);
            add(controller > 0 && !is_right && !is_out, &|w| {
                w.budget.controller -= 1;
                w.keeper.bar(target);
            });
            add(controller > 0 && is_out, &|w| {
                w.budget.controller -= 1;
                w.fill(target);
            });
        }
        add(controller > 0, &|w| {
            w.budget.controller -= 1;
            w.read();
        });
        add(controller > 0, &|w| {
            w.budget.controller -= 1;
            w.release();
        });
        add(controller > 0 && self.keeper.to_write().is_some(), &|w| {
            w.budget.controller -= 1;
            w.write();
        });
        add(sender_crashes > 0, &|w| {
            w.budget.sender_crashes -= 1;
            w.restart_sender();
        });
        worlds.retain(|world| world != self);
        worlds
    }

    pub fn send(&mut self) {
        let before = self.sender;
        self.see_ports();
        let (all, allowed) = (self.all(), self.seen());
        let sent = self.sender.send(self.now, all, allowed, &self.limits);
        let packet = self.handed.len() as u8;
        self.handed.push(0);
        self.acted(&before);
        if sent.is_none() && !self.possible().is_empty() {
            self.broken = Some("a packet has no way");
        }
        self.go(&before, sent, Some(packet));
        if self.is(Mutant::SentAgain) && packet > 0 && before.used != self.sender.used {
            self.go(&before, sent, Some(packet - 1));
        }
    }

    pub fn pass_time(&mut self) {
        self.now += 1;
        if self.is(Mutant::SilentWhenIdle) {
            return;
        }
        let before = self.sender;
        self.see_ports();
        let (all, allowed) = (self.all(), self.seen());
        let sent = self.sender.tick(self.now, all, allowed, &self.limits);
        self.acted(&before);
        self.go(&before, sent, None);
    }

    fn go(&mut self, before: &Sender, sent: Option<Sent>, packet: Option<u8>) {
        if self.is(Mutant::MissedForgotten) {
            self.sender.missed = 0;
        }
        if self.is(Mutant::NoWindow) && before.generation == self.sender.generation {
            self.sender.gaps = self.sender.gaps.max(before.gaps);
        }
        let Some(Sent { target, stamp }) = sent else { return };
        if self.keeper.is_unused(target) {
            self.broken = Some("used, and writes go on without it");
        }
        // One that was left is used only where all others were, too, and the one in use is as long as it can be.
        let possible = self.possible();
        let is_last = (possible & !self.out).is_empty()
            && (before.used == Targets::from(target) || (before.used & possible).is_empty());
        if !possible.contains(target) || self.out.contains(target) && !is_last {
            self.broken = Some("used before it may be");
        }
        self.frames.push(Frame::Data { at: target, stamp, packet, born: self.born() });
    }

    /// A frame may overtake so few others that the tolerance bears it.
    pub fn may_arrive(&self, at: usize) -> bool {
        let Frame::Data { at: target, stamp, .. } = self.frames[at] else { return true };
        !self.frames.iter().any(|other| match other {
            Frame::Data { at, stamp: earlier, .. } => {
                *at == target
                    && earlier.generation == stamp.generation
                    && earlier.sequence + u32::from(self.limits.tolerance) <= stamp.sequence
            }
            Frame::Back { .. } => false,
        })
    }

    pub fn deliver(&mut self, at: usize) {
        let frame = self.frames.remove(at);
        let helper = &self.helpers[usize::from(frame.helper().0)];
        match frame {
            Frame::Data { .. } if !helper.is_up || !helper.is_right => self.lose(frame),
            Frame::Data { at, stamp, packet, .. } => self.arrive(at, stamp, packet),
            Frame::Back { report, .. } => self.hear(report),
        }
    }

    fn arrive(&mut self, at: Target, stamp: Stamp, packet: Option<u8>) {
        let mut limits = self.limits;
        if self.is(Mutant::NoTolerance) {
            limits.tolerance = 1;
        }
        let before = self.helpers[usize::from(at.0)].receiver.gaps;
        let received = self.helper(at).receiver.receive(stamp, &limits);
        let is_taken = received.verdict == Verdict::Fresh || self.is(Mutant::DoublesTaken);
        if let (Some(packet), true) = (packet, is_taken) {
            let times = &mut self.handed[usize::from(packet)];
            *times += 1;
            if *times > 1 {
                self.broken = Some("handed twice");
            }
        }
        if let Some(mut report) = received.report {
            if self.is(Mutant::NakWithoutAck) && report.gaps != before {
                report.sequence = 0;
            }
            if self.is(Mutant::AckWithoutNak) && stamp.ask {
                report.gaps = 0;
            }
            self.frames.push(Frame::Back { from: at, report, born: self.born() });
        }
    }

    fn hear(&mut self, mut report: Report) {
        let before = self.sender;
        self.see_ports();
        if self.is(Mutant::AnyGeneration) {
            report = Report {
                generation: before.generation,
                sequence: report.sequence.min(before.sequence),
                ..report
            };
        }
        let (all, allowed) = (self.all(), self.seen());
        self.sender.hear(report, all, allowed, &self.limits);
        self.acted(&before);
        if self.is(Mutant::ProgressForgotten) {
            self.sender.missed = self.sender.missed.max(before.missed);
        }
    }

    /// A frame that came twice is lost when its last copy is.
    fn lose(&mut self, frame: Frame) {
        let is_same = |other: &Frame| match (frame, *other) {
            (Frame::Data { stamp, .. }, Frame::Data { stamp: other, .. }) => stamp == other,
            (Frame::Back { report, .. }, Frame::Back { report: other, .. }) => report == other,
            _ => false,
        };
        let has_come = match frame {
            Frame::Data { at, stamp, .. } => {
                let mut receiver = self.helpers[usize::from(at.0)].receiver;
                let is_known = receiver.generation == stamp.generation;
                is_known && receiver.receive(stamp, &self.limits).verdict != Verdict::Fresh
            }
            Frame::Back { .. } => false,
        };
        if has_come || self.frames.iter().any(is_same) {
            return;
        }
        match frame {
            Frame::Data { stamp, .. } if stamp.generation == self.sender.generation => {
                self.lost.push(stamp.sequence);
                self.unanswered.extend(stamp.ask.then_some(stamp.sequence));
            }
            Frame::Back { report, .. } if report.generation == self.sender.generation => {
                self.unanswered.push(report.sequence);
            }
            _ => {}
        }
        self.lost.sort_unstable();
        self.unanswered.sort_unstable();
    }

    /// A target may fail only for enough frames that were lost, or because it was down.
    fn judge(&mut self, before: &Sender) {
        let has_failed = self.sender.failed ^ self.allowed.forgiven;
        let changed = before.failed ^ self.sender.failed | before.left & !self.sender.left & has_failed;
        let failed = changed & !self.allowed.down;
        if !failed.is_empty() {
            let unanswered = self.unanswered.iter().filter(|number| **number > before.acked).count();
            let slack = self.limits.window + u32::from(self.limits.tolerance) + 2 * u32::from(LAG);
            let together =
                |first: &u32| self.lost.iter().filter(|n| (*first..*first + slack).contains(n)).count();
            let missing = self.lost.iter().map(together).max().unwrap_or(0);
            let enough = unanswered >= usize::from(self.limits.most_missed)
                || missing >= usize::from(self.limits.most_gaps);
            if !enough && !self.was_down {
                self.broken = Some("failed without enough evidence");
            }
            self.out = self.out | failed;
            self.silent = self.silent | failed;
        }
        if before.generation != self.sender.generation {
            self.lost.clear();
            self.unanswered.clear();
            self.was_down = self.sender.used.target().is_some_and(|target| !self.helper(target).is_right);
        }
    }

    pub fn crash(&mut self, target: Target) {
        let helper = self.helper(target);
        *helper = Helper {
            is_up: false,
            is_right: false,
            receiver: failover::Receiver::default(),
            right_since: None,
        };
        self.was_down |= self.sender.used.contains(target);
        self.cut(target);
    }

    /// All that is on a link is lost.
    fn cut(&mut self, target: Target) {
        let (gone, left) = self.frames.iter().partition(|frame| frame.helper() == target);
        self.frames = left;
        let gone: Vec<Frame> = gone;
        gone.into_iter().for_each(|frame| self.lose(frame));
    }

    /// A port goes down, with what is on its link, or comes up.
    fn turn_port(&mut self, target: Target) {
        let port = Targets::from(target);
        if !self.allowed.down.contains(target) {
            self.cut(target);
        }
        self.allowed.down = self.allowed.down ^ port;
    }

    /// The controller starts a helper, makes its state right, and says so.
    fn fill(&mut self, target: Target) {
        let now = self.now;
        let helper = self.helper(target);
        helper.is_up = true;
        helper.right_since = Some(now);
        helper.is_right = true;
        if self.is(Mutant::StateNotMadeRight) {
            *self.helper(target) =
                Helper { is_right: false, right_since: None, ..self.helper(target).clone() };
        }
        let early = if self.is(Mutant::NoHoldDown) { HOLD_DOWN } else { 0 };
        self.keeper.state_is_right(target, now - early);
    }

    fn read(&mut self) {
        let left = if self.is(Mutant::LeftNotBarred) { Targets::NONE } else { self.sender.left };
        self.keeper.read(self.sender.failed, left);
        self.down_as_read = self.allowed.down;
    }

    fn release(&mut self) {
        let let_back = self.let_back();
        let is_last = (let_back & !self.down_as_read).is_empty();
        self.keeper.release(self.now, self.down_as_read);
        let back = self.let_back() & !let_back;
        self.early = if is_last { self.early | back } else { self.early & !back };
    }

    /// Targets that the controller takes as usable.
    fn let_back(&self) -> Targets {
        let all = (0..self.helpers.len() as u8).map(Target);
        let usable = all.filter(|target| self.keeper.kept(*target) == Some(Kept::Usable));
        usable.fold(Targets::NONE, Targets::with)
    }

    fn write(&mut self) {
        let Some(allowed) = self.keeper.to_write() else { return };
        self.allowed = Allowed { down: self.allowed.down, ..allowed };
        self.keeper.wrote(allowed);
        let usable = self.all() & !(self.sender.failed ^ allowed.forgiven) & !allowed.barred;
        for target in (0..self.helpers.len() as u8).map(Target) {
            let since = self.helpers[usize::from(target.0)].right_since;
            let is_early = self.early.contains(target);
            let is_fit = since.is_some_and(|since| since + HOLD_DOWN <= self.now || is_early);
            if usable.contains(target) && is_fit {
                self.out = self.out & !Targets::from(target);
                self.silent = self.silent & !Targets::from(target);
            }
        }
    }

    fn restart_sender(&mut self) {
        let last = self.sender.generation;
        self.sender = Sender::new(if self.is(Mutant::OldGeneration) { 1 } else { last + 10 });
        self.allowed = Allowed { down: self.allowed.down, ..self.keeper.restart() };
        self.lost.clear();
        self.unanswered.clear();
        self.out = Targets::NONE;
        self.silent = Targets::NONE;
    }
}
