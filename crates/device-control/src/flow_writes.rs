//! Writes of controllers to the tables of a pinned program, while its flows move: entries that packets look up at the switch, too, go through the
//! moves, which give them to all copies in the right order. One request at a time.
//!
//! ```text
//! Write ──> tried on the desired state ──> updates that no copy is of, as they are ──> the others, through FlowMoves ──> reply
//! DATAPLANE_ATOMIC ──> tried ──> flows that look its entries up leave the switch ──> all updates, with those of copies, as one call ──> reply
//! ```
//!
//! If the state of the rack is stored, entries of copied tables are stored as they will be before a device gets any of them. A controller that takes over in the
//! middle of the request gives them to all devices, so packets that have found one of them do not find it as before.

use super::{AppFlows, FlowMoves};
use base_time::Time;
use controller::{Call, Controller, Reply, Rows, Ticket, Tried};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::entity::Entity as Kind;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use p4runtime_proto::p4::v1::{Error, Update, WriteRequest};
use p4runtime_server::{Outcomes, Status};
use p4runtime_store::{Change, Fault, Result, Within, fault};
use pinned_flows::{Refusal, WriteNumber};
use std::collections::{BTreeMap, VecDeque};

/// Requests that wait, at most.
const MOST_WAITING: usize = 1024;

/// A request of a controller, or of the operator, who needs no election id.
pub(super) struct Asked {
    pub ticket: Ticket,
    pub request: Box<WriteRequest>,
    pub is_operator: bool,
}

impl Asked {
    /// The call that it came as.
    pub fn call(self) -> (Ticket, Call) {
        let call = match self.is_operator {
            true => Call::Operate(self.request),
            false => Call::Write(self.request),
        };
        (self.ticket, call)
    }
}

/// The requests to the pinned programs of a rack.
#[derive(Default)]
pub(super) struct FlowWrites {
    waiting: VecDeque<Asked>,
    current: Option<InProgress>,
    /// Writes that all copies have, by app.
    done: BTreeMap<usize, u64>,
}

/// A request in progress.
enum InProgress {
    Each(Box<Current>),
    AtOnce(Box<AtOnce>),
}

/// A request whose updates are done one by one.
struct Current {
    ticket: Ticket,
    all_or_nothing: bool,
    /// Result of each update; `None` while it is in progress.
    ended: Vec<Option<Error>>,
    /// The call with the updates that no copy is of.
    plain: Option<(Ticket, Vec<usize>)>,
    /// Updates that are not begun, each with its place in the request and the app whose table it writes.
    left: VecDeque<(usize, usize, Change)>,
    /// Updates in progress with their places, by app.
    open: BTreeMap<(usize, WriteNumber), (usize, Change)>,
    /// Entries as they will be, which are stored before the first update of a copied table is begun; none once they are to be stored.
    rows: Option<Rows>,
    /// The changes of copied tables, if their entries are stored before.
    stored: Vec<Change>,
}

/// A request of whose updates no packet sees a part.
struct AtOnce {
    ticket: Ticket,
    request: Box<WriteRequest>,
    /// The writes of each app whose copies they concern, with the updates of copies once its flows have left.
    apps: BTreeMap<usize, (WriteNumber, Option<Vec<Update>>)>,
    /// The call that does all updates.
    call: Option<Ticket>,
    ended: Option<std::result::Result<(), Status>>,
}

impl FlowWrites {
    /// A request comes. False if too many wait.
    pub fn push(&mut self, asked: Asked) -> bool {
        let has_room = self.waiting.len() < MOST_WAITING;
        if has_room {
            self.waiting.push_back(asked);
        }
        has_room
    }

    /// Writes to an app's tables that all copies have.
    pub fn done(&self, app: usize) -> u64 {
        self.done.get(&app).copied().unwrap_or(0)
    }

    /// Requests that have not begun: they go where no flow moves.
    pub fn take_waiting(&mut self) -> impl Iterator<Item = (Ticket, Call)> {
        std::mem::take(&mut self.waiting).into_iter().map(Asked::call)
    }

    /// The program is gone. The reply to the request in progress.
    pub fn end(&mut self) -> Option<(Ticket, Reply)> {
        let ticket = match self.current.take()? {
            InProgress::Each(current) => current.ticket,
            InProgress::AtOnce(batch) => batch.ticket,
        };
        let why = "another program has taken over meanwhile: some of the updates may be done";
        Some((ticket, Reply::Done(Err(Status::new(Code::Aborted, why)))))
    }

    /// Goes on: calls to make; replies to give are appended. `tickets` makes tickets for calls.
    pub fn go_on(
        &mut self,
        now: Time,
        apps: &mut [AppFlows],
        controller: &Controller,
        tickets: &mut impl FnMut() -> Ticket,
        replies: &mut Vec<(Ticket, Reply)>,
    ) -> Vec<(Ticket, Call)> {
        let mut calls = vec![];
        loop {
            for (of, app) in apps.iter_mut().enumerate() {
                while let Some(number) = app.moves_mut().next_written() {
                    *self.done.entry(of).or_default() += 1;
                    if let Some(InProgress::Each(current)) = &mut self.current
                        && let Some((at, _)) = current.open.remove(&(of, number))
                    {
                        current.ended[at] = Some(Error::default());
                    }
                }
            }
            match self.current.take() {
                Some(InProgress::Each(mut current)) => {
                    current.begin_more(now, apps, controller);
                    if !current.is_over() {
                        self.current = Some(InProgress::Each(current));
                        break;
                    }
                    current.end_storing(controller);
                    replies.push(current.reply());
                }
                Some(InProgress::AtOnce(mut batch)) => {
                    calls.extend(batch.go_on(apps, tickets));
                    if !batch.is_over() {
                        self.current = Some(InProgress::AtOnce(batch));
                        break;
                    }
                    replies.push(batch.reply(now, apps));
                }
                None => {
                    let Some(asked) = self.waiting.pop_front() else { break };
                    match begin(now, asked, apps, controller, tickets) {
                        Begun::Pass(asked) => calls.push(asked.call()),
                        Begun::Refused(ticket, status) => replies.push((ticket, Reply::Done(Err(status)))),
                        Begun::Current(current, call) => {
                            calls.extend(call);
                            self.current = Some(InProgress::Each(current));
                        }
                        Begun::AtOnce(batch) => self.current = Some(InProgress::AtOnce(batch)),
                    }
                }
            }
        }
        calls
    }

    /// The call of a request that is done at once, if the flows have left that were in its way.
    pub fn call_at_once(
        &mut self,
        apps: &mut [AppFlows],
        tickets: &mut impl FnMut() -> Ticket,
    ) -> Option<(Ticket, Call)> {
        match &mut self.current {
            Some(InProgress::AtOnce(batch)) => batch.go_on(apps, tickets),
            _ => None,
        }
    }

    /// The reply to a call; false if it is somebody else's.
    pub fn replied(&mut self, ticket: Ticket, reply: &Reply) -> bool {
        let current = match &mut self.current {
            Some(InProgress::Each(current)) => current,
            Some(InProgress::AtOnce(batch)) => return batch.replied(ticket, reply),
            None => return false,
        };
        let Some((_, at)) = current.plain.take_if(|(plain, _)| *plain == ticket) else { return false };
        let status = match reply {
            Reply::Done(Err(status)) => Some(status),
            _ => None,
        };
        for (detail, at) in at.into_iter().enumerate() {
            let error = status.map(|status| match status.details.get(detail) {
                Some(error) => error.clone(),
                None => Error {
                    canonical_code: status.code as i32,
                    message: status.message.clone(),
                    ..Error::default()
                },
            });
            current.ended[at] = Some(error.unwrap_or_default());
        }
        if status.is_some() && current.all_or_nothing {
            current.left.clear();
        }
        true
    }
}

impl Current {
    /// Begins updates for which there is room.
    fn begin_more(&mut self, now: Time, apps: &mut [AppFlows], controller: &Controller) {
        if self.plain.is_some() || self.left.is_empty() {
            return;
        }
        if let Some(rows) = self.rows.take() {
            self.stored = self.left.iter().map(|(.., change)| change.clone()).collect();
            controller.store_first(rows);
        }
        if !controller.has_stored_first() {
            return;
        }
        while let Some((at, of, change)) = self.left.front() {
            // The full tables have an entry only when its write is done, and the next one may change or delete it.
            if self.open.values().any(|(_, open)| is_of_one_entry(open, change)) {
                return;
            }
            match apps[*of].moves_mut().write(now, change) {
                Ok(number) => drop(self.open.insert((*of, number), (*at, change.clone()))),
                Err(Refusal::TooManyWrites) => return,
                Err(refusal) => {
                    let (code, message) = (Code::FailedPrecondition as i32, why(refusal));
                    self.ended[*at] = Some(Error { canonical_code: code, message, ..Error::default() });
                }
            }
            self.left.pop_front();
        }
    }

    /// The entries are stored as the controller has them.
    fn end_storing(&self, controller: &Controller) {
        if !self.stored.is_empty() {
            controller.end_storing(&self.stored);
        }
    }

    fn is_over(&self) -> bool {
        self.plain.is_none() && self.left.is_empty() && self.open.is_empty()
    }

    fn reply(self) -> (Ticket, Reply) {
        let has_failed = self.ended.iter().flatten().any(|error| error.canonical_code != 0);
        let mut outcomes = Outcomes::default();
        for ended in self.ended {
            match ended {
                Some(error) => outcomes.follow(error),
                None => outcomes.not_tried(),
            }
        }
        let status = if has_failed { outcomes.status() } else { Ok(()) };
        (self.ticket, Reply::Done(status))
    }
}

impl AtOnce {
    /// The call, when the flows of all apps have left that were in its way.
    fn go_on(
        &mut self,
        apps: &mut [AppFlows],
        tickets: &mut impl FnMut() -> Ticket,
    ) -> Option<(Ticket, Call)> {
        for (of, (number, copies)) in &mut self.apps {
            while let Some((ready, updates)) = apps[*of].moves_mut().next_together() {
                if ready != *number {
                    continue;
                }
                if updates.is_none() {
                    let why = "P4Runtime cannot express an update of a copy";
                    self.ended = Some(Err(Status::new(Code::Internal, why)));
                }
                *copies = Some(updates.unwrap_or_default());
            }
        }
        if self.call.is_some() || self.ended.is_some() || !self.have_left() {
            return None;
        }
        let copies = self.apps.values().filter_map(|(_, copies)| copies.as_ref()).flatten();
        let updates = self.request.updates.iter().chain(copies).cloned().collect();
        // The role may not write copies; whether it may write the others was tried.
        let request =
            WriteRequest { updates, election_id: None, role: String::new(), ..(*self.request).clone() };
        let ticket = tickets();
        self.call = Some(ticket);
        Some((ticket, Call::Operate(Box::new(request))))
    }

    fn have_left(&self) -> bool {
        self.apps.values().all(|(_, copies)| copies.is_some())
    }

    fn replied(&mut self, ticket: Ticket, reply: &Reply) -> bool {
        let is_own = self.call.take_if(|call| *call == ticket).is_some();
        if is_own {
            self.ended = Some(match reply {
                Reply::Done(ended) => ended.clone(),
                _ => Ok(()),
            });
        }
        is_own
    }

    fn is_over(&self) -> bool {
        self.ended.is_some() && self.have_left()
    }

    /// The updates are done; with [`Code::DeadlineExceeded`], a device does not show the written value of a merged cell yet.
    fn is_done(&self) -> bool {
        match &self.ended {
            Some(Err(status)) => status.code == Code::DeadlineExceeded,
            Some(Ok(())) => true,
            None => false,
        }
    }

    /// The flows that have left come back.
    fn reply(self, now: Time, apps: &mut [AppFlows]) -> (Ticket, Reply) {
        let is_done = self.is_done();
        for (of, (number, _)) in self.apps {
            apps[of].moves_mut().end_together(now, number, is_done);
        }
        let mut ended = self.ended.unwrap_or(Ok(()));
        if let Err(status) = &mut ended {
            // Those of copies are not the client's.
            status.details.truncate(self.request.updates.len());
        }
        (self.ticket, Reply::Done(ended))
    }
}

fn is_of_one_entry(a: &Change, b: &Change) -> bool {
    match (a, b) {
        (Change::Entry { table, key, .. }, Change::Entry { table: other, key: known, .. }) => {
            (table, key) == (other, known)
        }
        (Change::Default { table, .. }, Change::Default { table: other, .. }) => table == other,
        (Change::ValueSet { set, .. }, Change::ValueSet { set: other, .. }) => set == other,
        _ => false,
    }
}

enum Begun {
    /// No copy is of what it writes, or it fails.
    Pass(Asked),
    Refused(Ticket, Status),
    Current(Box<Current>, Option<(Ticket, Call)>),
    AtOnce(Box<AtOnce>),
}

fn begin(
    now: Time,
    asked: Asked,
    apps: &mut [AppFlows],
    controller: &Controller,
    tickets: &mut impl FnMut() -> Ticket,
) -> Begun {
    let request = &asked.request;
    let all_or_nothing = request.atomicity() != Atomicity::ContinueOnError;
    // The controller says why.
    let is_theirs = apps.iter().any(|app| app.moves().device() == request.device_id);
    if !is_theirs || !asked.is_operator && controller.may_write(request).is_err() {
        return Begun::Pass(asked);
    }
    let kinds: Vec<Result<Option<usize>>> =
        request.updates.iter().map(|update| goes_through_moves(update, apps)).collect();
    if kinds.iter().all(|kind| matches!(kind, Ok(None))) {
        return Begun::Pass(asked);
    }
    let is_first = kinds.iter().position(std::result::Result::is_err);
    if let (Some(first), true) = (is_first, all_or_nothing) {
        return Begun::Refused(asked.ticket, refused(kinds, first));
    }
    let is_at_once = request.atomicity() == Atomicity::DataplaneAtomic && request.updates.len() > 1;
    if is_at_once {
        return begin_at_once(now, asked, kinds, apps, controller);
    }
    // Other updates are tried where they are done.
    let all = 0..request.updates.len();
    let of_app = |at: usize| Some((at, kinds[at].as_ref().ok().copied().flatten()?));
    let (copied, apps): (Vec<usize>, Vec<usize>) = all.clone().filter_map(of_app).unzip();
    let plain: Vec<usize> = all.filter(|at| matches!(kinds[*at], Ok(None))).collect();
    let pick =
        |places: &[usize]| places.iter().map(|at| request.updates[*at].clone()).collect::<Vec<Update>>();
    let Tried { each: tried, rows } = match controller.tried(&request.role, &pick(&copied)) {
        Ok(tried) => tried,
        Err(status) => return Begun::Refused(asked.ticket, status),
    };
    if all_or_nothing && tried.iter().any(std::result::Result::is_err) {
        return Begun::Pass(asked);
    }
    // A write that has begun waits for a device that is away, and later requests wait for it.
    if let Err(status) = controller.may_reach(&pick(&copied)) {
        return Begun::Refused(asked.ticket, status);
    }
    let mut ended: Vec<Option<Error>> =
        kinds.into_iter().map(|kind| kind.err().map(|fault| error(&fault))).collect();
    let mut left = VecDeque::new();
    for ((at, of), tried) in copied.into_iter().zip(apps).zip(tried) {
        match tried {
            Ok(changes) => left.extend(changes.into_iter().map(|change| (at, of, change))),
            Err(fault) => ended[at] = Some(error(&fault)),
        }
    }
    let (ticket, mut call, mut with) = (asked.ticket, None, None);
    if !plain.is_empty() {
        let own = tickets();
        let request = WriteRequest { updates: pick(&plain), election_id: None, ..(**request).clone() };
        call = Some((own, Call::Operate(Box::new(request))));
        with = Some((own, plain));
    }
    let rows = Some(rows).filter(|rows| !rows.is_empty());
    let current = Current {
        ticket,
        all_or_nothing,
        ended,
        plain: with,
        left,
        open: BTreeMap::new(),
        rows,
        stored: vec![],
    };
    Begun::Current(Box::new(current), call)
}

/// Begins a request whose updates can all be done.
fn begin_at_once(
    now: Time,
    asked: Asked,
    kinds: Vec<Result<Option<usize>>>,
    apps: &mut [AppFlows],
    controller: &Controller,
) -> Begun {
    let tried = match controller.tried(&asked.request.role, &asked.request.updates) {
        Ok(tried) => tried.each,
        Err(status) => return Begun::Refused(asked.ticket, status),
    };
    if let Err(status) = controller.may_reach(&asked.request.updates) {
        return Begun::Refused(asked.ticket, status);
    }
    let mut by_app: BTreeMap<usize, Vec<Change>> = BTreeMap::new();
    for (kind, tried) in kinds.into_iter().zip(tried) {
        match (kind, tried) {
            (Ok(Some(of)), Ok(changes)) => by_app.entry(of).or_default().extend(changes),
            (Ok(None), Ok(_)) => {}
            _ => return Begun::Pass(asked),
        }
    }
    let Asked { ticket, request, .. } = asked;
    let mut batch = AtOnce { ticket, request, apps: BTreeMap::new(), call: None, ended: None };
    for (of, changes) in by_app {
        match apps[of].moves_mut().write_together(now, &changes) {
            Ok(number) => drop(batch.apps.insert(of, (number, None))),
            // Those that have begun end without being done.
            Err(refusal) => {
                let status = Status::new(Code::FailedPrecondition, why(refusal));
                batch.ended = Some(Err(status));
                break;
            }
        }
    }
    Begun::AtOnce(Box::new(batch))
}

fn why(refusal: Refusal) -> String {
    match refusal {
        Refusal::Write(error) => error.message,
        other => format!("{other:?}"),
    }
}

/// The app in whose copy packets look up the entry that the update writes; none if there is no copy.
fn goes_through_moves(update: &Update, apps: &[AppFlows]) -> Result<Option<usize>> {
    for (of, app) in apps.iter().enumerate() {
        if goes_through(update, app.moves())? {
            return Ok(Some(of));
        }
    }
    Ok(None)
}

/// The same for one app.
fn goes_through(update: &Update, moves: &FlowMoves) -> Result<bool> {
    let entity = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
    let table = match entity {
        Some(Kind::TableEntry(entry)) => entry.table_id,
        Some(Kind::DirectCounterEntry(entry)) => entry.table_entry.as_ref().map_or(0, |entry| entry.table_id),
        Some(Kind::DirectMeterEntry(entry)) => entry.table_entry.as_ref().map_or(0, |entry| entry.table_id),
        Some(Kind::ValueSetEntry(entry)) => {
            return Ok(moves.value_sets().any(|known| known == entry.value_set_id));
        }
        _ => return Ok(false),
    };
    let Some(name) = moves.table(table) else { return Ok(false) };
    if moves.flows().is_own(name) {
        let why = format!("`{name}` has what resident flows look up");
        let mut refused = fault(format!("`{name}` is written by moves of flows alone"), why);
        if let Err(fault) = &mut refused {
            fault.help = Some(
                "write the program's own tables; `p4rack ctl promote` makes a flow resident".to_string(),
            );
        }
        return refused.code(Code::PermissionDenied);
    }
    let Some(Kind::TableEntry(entry)) = entity else { return Ok(false) };
    let is_copied = moves.flows().is_copied(name);
    if is_copied && entry.is_default_action && moves.flows().is_hot() {
        let why = "packets that miss at the switch run it, though the handler may have an entry for them";
        return fault(format!("the default action of `{name}` cannot change while the rack runs"), why)
            .code(Code::Unimplemented);
    }
    Ok(is_copied)
}

fn refused(kinds: Vec<Result<Option<usize>>>, first: usize) -> Status {
    let mut outcomes = Outcomes::default();
    for (at, kind) in kinds.into_iter().enumerate() {
        match at <= first {
            true => outcomes.note(kind.map(drop)),
            false => outcomes.not_tried(),
        }
    }
    outcomes.rolled_back();
    outcomes.status().err().unwrap_or_else(|| Status::new(Code::Internal, "nothing was refused"))
}

fn error(fault: &Fault) -> Error {
    Error { canonical_code: fault.code as i32, message: fault.to_string(), ..Error::default() }
}
