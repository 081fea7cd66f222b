//! The program of rank 0: it decides how a call travels, reduces, and passes the result on.

use super::decide::decide;
use super::form::Range;
use super::link::{Call, Go, Link, Message};
use super::member::{NOBODY, place_bytes};
use super::stock::{Key, Names, fold};
use super::{Answer, GroupError, GroupPlan, Pulse, Report, Work, problem};
use crate::wire::Wire;
use crate::worker::{Waits, now, random, until};
use aggregate::datagram::AROUND;
use aggregate::reducer::{Config, Sums, To, Trouble};
use aggregate::{Op, Packet, Place, Reducer};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::{Duration, Instant};

/// Time for the first line of a connection.
const STRANGERS: Duration = Duration::from_secs(5);

pub(super) struct Root {
    /// By rank, from 1.
    links: Vec<Link>,
    wire: Wire,
    reducer: Reducer,
    mappers: Vec<Ipv4Addr>,
    begun: Instant,
    /// Bytes to the reducer, and from it.
    bytes: (u64, u64),
}

impl Root {
    /// Waits for all others.
    pub fn listen(
        plan: &GroupPlan,
        address: SocketAddr,
        wire: Wire,
        (patience, (least_wait, most_wait)): (Duration, Waits),
        pulse: Pulse,
    ) -> Result<Root, GroupError> {
        let others = plan.members.len() - 1;
        let mut links: Vec<Option<Link>> = (0..others).map(|_| None).collect();
        let help = "`root` is an address of this machine with a free port";
        let cannot =
            |error: std::io::Error| problem(format!("rank 0 cannot listen at {address}: {error}"), help);
        let listener = TcpListener::bind(address).map_err(cannot)?;
        listener.set_nonblocking(true).map_err(cannot)?;
        let since = Instant::now();
        while links.iter().any(Option::is_none) {
            match listener.accept() {
                Ok((stream, from)) => {
                    let Ok(mut link) = Link::new(stream, from.to_string(), patience) else { continue };
                    // Whoever connects without a greeting is no rank.
                    let Ok((Message::Hello { rank, size, version, name }, _)) =
                        link.receive(STRANGERS, pulse)
                    else {
                        continue;
                    };
                    let place = rank.checked_sub(1).and_then(|at| links.get_mut(at));
                    let own = (plan.members.len(), super::plan::version().to_string(), plan.name.clone());
                    match place {
                        Some(place) if place.is_none() && own == (size, version.clone(), name.clone()) => {
                            link.peer = format!("rank {rank}");
                            *place = Some(link);
                        }
                        _ => {
                            let title = format!(
                                "rank {rank} of {size} in `{name}`, version {version}, does not fit `{}` with {} programs, version {}, or is there already",
                                own.2, own.0, own.1
                            );
                            let refused = problem(
                                title,
                                "start all programs with the same file and version, each with a rank of its own",
                            );
                            // It may be gone already.
                            let _ = link.send(&refused.message(), &[]);
                            links
                                .iter_mut()
                                .flatten()
                                .for_each(|link| drop(link.send(&refused.message(), &[])));
                            return Err(refused);
                        }
                    }
                }
                Err(_) if !pulse() => return Err(super::interrupted()),
                Err(_) if since.elapsed() < patience => std::thread::sleep(Duration::from_millis(10)),
                Err(_) => {
                    let missing: Vec<String> = (1..)
                        .zip(&links)
                        .filter(|(_, link)| link.is_none())
                        .map(|(rank, _): (usize, _)| rank.to_string())
                        .collect();
                    let title =
                        format!("rank {} did not come within {} s", missing.join(", "), patience.as_secs());
                    return Err(problem(title, "start it with the address of rank 0"));
                }
            }
        }
        let mut links: Vec<Link> = links.into_iter().flatten().collect();
        links.iter_mut().try_for_each(|link| link.send(&Message::Welcome, &[]))?;
        let config = Config {
            job: plan.job,
            op: Op::Add,
            layout: plan.layout(),
            channels: others as u16,
            switches: plan.switches.len() as u16,
            parents: plan.parents,
            rounds: 0,
            banks: 2,
            least_wait,
            most_wait,
            patience: base_time::Duration::from_ms(patience.as_millis() as u64),
            nonce: random(),
        };
        let mappers = plan.members[1..].iter().map(|member| member.address()).collect();
        let reducer = Reducer::new(config);
        Ok(Root { links, wire, reducer, mappers, begun: Instant::now(), bytes: (0, 0) })
    }

    /// Reduces what all programs have. An error is sent to all.
    pub fn call(&mut self, work: Work, pulse: Pulse) -> Result<Answer, GroupError> {
        let done = self.reduce(work, pulse);
        let (message, body) = match &done {
            Ok(Answer { report, is_signed, body }) => {
                (Message::Done { report: report.clone(), is_signed: *is_signed }, body.as_slice())
            }
            Err(error) => (error.message(), &[][..]),
        };
        // All get the error, even if one of them is gone.
        let results: Vec<Result<(), GroupError>> =
            self.links.iter_mut().map(|link| link.send(&message, body)).collect();
        let answer = done?;
        results.into_iter().collect::<Result<(), GroupError>>()?;
        Ok(answer)
    }

    fn reduce(&mut self, work: Work, pulse: Pulse) -> Result<Answer, GroupError> {
        let Work { plan, call, combined, patience } = work;
        let mut stocks = vec![];
        for link in &mut self.links {
            let (message, _) = link.receive(patience, pulse)?;
            let Message::Call(other, stock) = message else {
                return Err(problem(format!("{} makes no call", link.peer), "start the group again"));
            };
            if let Some(difference) = call.difference(&other) {
                let title = format!("rank 0 and {} make different calls: {difference}", link.peer);
                return Err(problem(title, "all programs make the same calls in the same order"));
            }
            stocks.push(stock);
        }
        let op = call.operator().ok_or_else(|| problem(format!("no operator `{}`", call.op), "report it"))?;
        let (range, go, fallback) = decide(plan, call, op, &stocks)?;
        let before = (self.reducer.counts(), self.bytes);
        let mut values = std::collections::BTreeMap::new();
        if !self.links.is_empty() {
            self.links.iter_mut().try_for_each(|link| link.send(&Message::Go(go.clone()), &[]))?;
            // A mapper drops a START of rounds that it does not have yet, and the next one comes after a wait.
            for link in &mut self.links {
                if link.receive(patience, pulse)?.0 != Message::Ready {
                    return Err(problem(format!("{} is not ready", link.peer), "start the group again"));
                }
            }
            self.reducer.extend(go.rounds, op, go.most_value.is_some());
            if let Some(length) = call.array.filter(|_| plan.layout().is_dense()) {
                self.reducer.set_elements(length * u64::from(go.form.chunks()));
            }
            self.run(plan, patience, pulse)?;
            let sums = self.reducer.take_result();
            values = self.values(work, &range, &go, &sums, pulse)?;
        }
        for (key, value) in &combined.0 {
            values.entry(key.clone()).and_modify(|held| *held = fold(op, *held, *value)).or_insert(*value);
        }
        let counts = self.reducer.counts();
        let report = Report {
            pairs_sent: stocks.iter().map(|stock| stock.keys).sum(),
            pairs_arrived: counts.read + counts.overflowed - before.0.read - before.0.overflowed,
            keys: values.len() as u64,
            bytes_to: self.bytes.0 - before.1.0,
            bytes_from: self.bytes.1 - before.1.1,
            rounds: go.rounds,
            restarts: counts.restarts - before.0.restarts,
            fallback,
        };
        let is_signed = call.dtype.starts_with('i') && op != Op::Or;
        Ok(Answer { report, is_signed, body: body(call, is_signed, &values)? })
    }

    /// Moves packets until all rounds are committed.
    fn run(&mut self, plan: &GroupPlan, patience: Duration, pulse: Pulse) -> Result<(), GroupError> {
        let layout = plan.layout();
        let mut looked = Instant::now();
        loop {
            while let Some((to, packet)) = self.reducer.poll(now(self.begun)) {
                let to = match to {
                    To::Mapper(channel) => self.mappers.get(usize::from(channel)),
                    To::Switch(switch) => plan.switches.get(usize::from(switch)).map(|(_, address)| address),
                };
                if let Some(to) = to {
                    let bytes = packet.bytes(&layout);
                    self.bytes.1 += AROUND + bytes.len() as u64;
                    self.wire.send(*to, &bytes);
                }
            }
            if self.reducer.is_done() {
                return Ok(());
            }
            if let Some(what) = self.reducer.trouble(now(self.begun)) {
                return Err(trouble(plan, what));
            }
            for (payload, is_marked) in self.wire.receive(until(self.begun, self.reducer.deadline())) {
                if let Some(packet) = Packet::parse(&payload, &layout) {
                    self.bytes.0 += AROUND + payload.len() as u64;
                    self.reducer.handle(now(self.begun), &packet, is_marked);
                }
            }
            if looked.elapsed() < super::LOOKS {
                continue;
            }
            looked = Instant::now();
            if !pulse() {
                return Err(super::interrupted());
            }
            // A program speaks now only if it fails.
            if let Some(link) = self.links.iter_mut().find(|link| link.has_news()) {
                link.receive(patience, pulse)?;
                return Err(problem(
                    format!("{} sends an unexpected message", link.peer),
                    "start the group again",
                ));
            }
        }
    }

    /// The values of keys. Hashed keys are asked of one program that has them.
    fn values(
        &mut self,
        work: Work,
        range: &Range,
        go: &Go,
        sums: &Sums,
        pulse: Pulse,
    ) -> Result<std::collections::BTreeMap<Key, i128>, GroupError> {
        let Work { plan, call, combined: own, patience } = work;
        let (layout, chunks) = (plan.layout(), go.form.chunks());
        let correction =
            if call.array.is_some() || range.op != Op::Add { go.form.correction(range) } else { 0 };
        let mut values = std::collections::BTreeMap::new();
        let mut add = |key: Key, chunk: u32, sum: u64| {
            *values.entry(key).or_insert(correction) += go.form.value(chunk, sum);
        };
        if !go.is_hashed {
            for (place, sum) in sums {
                let number = if layout.is_dense() { place.element(&layout) } else { place.number(&layout) };
                add(Key::Number(number / u64::from(chunks)), (number % u64::from(chunks)) as u32, *sum);
            }
            return Ok(values);
        }
        let places = |key: &Key| {
            (0..chunks)
                .filter_map(|chunk| key.place(chunk, chunks, true, plan.seed, &layout))
                .collect::<Vec<_>>()
        };
        let mut names = Names::new();
        let learn = |names: &mut Names, key: Key| {
            for place in places(&key).into_iter().filter(|place| sums.contains_key(place)) {
                names.insert(place, key.clone());
            }
        };
        own.0.iter().for_each(|(key, _)| learn(&mut names, key.clone()));
        for link in &mut self.links {
            let unknown: Vec<&Place> = sums.keys().filter(|place| !names.contains_key(*place)).collect();
            if unknown.is_empty() {
                break;
            }
            let question: Vec<u8> = unknown.iter().flat_map(|place| place_bytes(place)).collect();
            link.send(&Message::Name, &question)?;
            let (message, body) = link.receive(patience, pulse)?;
            if message != Message::Names {
                return Err(problem(
                    format!("{} does not name its keys", link.peer),
                    "start the group again",
                ));
            }
            let mut rest = body.as_slice();
            while let Some((length, more)) = rest.split_at_checked(2) {
                let length = u16::from_be_bytes([length[0], length[1]]);
                rest = more;
                if length == NOBODY {
                    continue;
                }
                let Some((key, more)) = rest.split_at_checked(length.into()) else { break };
                rest = more;
                Key::of_bytes(key, call.is_text).into_iter().for_each(|key| learn(&mut names, key));
            }
        }
        let known: std::collections::BTreeSet<Key> = names.into_values().collect();
        let mut found = 0;
        for key in known {
            for (place, chunk) in places(&key).iter().zip(0..) {
                if let Some(sum) = sums.get(place) {
                    found += 1;
                    add(key.clone(), chunk, *sum);
                }
            }
        }
        match found == sums.len() {
            true => Ok(values),
            false => Err(problem(
                "two keys have the same hash, or no program knows a key",
                "use another `seed`, or `profile = software`",
            )),
        }
    }
}

/// The result as it is sent: an array of the call's type, or keys and values.
fn body(
    call: &Call,
    is_signed: bool,
    values: &std::collections::BTreeMap<Key, i128>,
) -> Result<Vec<u8>, GroupError> {
    let mut body = vec![];
    for (key, value) in values {
        let narrow = match (call.array, call.dtype.as_str()) {
            (Some(_), "u32") => u32::try_from(*value).is_ok(),
            (Some(_), "i32") if is_signed => i32::try_from(*value).is_ok(),
            _ if is_signed => i64::try_from(*value).is_ok(),
            _ => u64::try_from(*value).is_ok(),
        };
        if !narrow {
            let (what, wide) = match (call.array, key) {
                (Some(_), Key::Number(at)) => (format!("element {at}"), call.dtype.as_str()),
                (_, key) => (key.shown(), if is_signed { "i64" } else { "u64" }),
            };
            return Err(problem(
                format!("the result of {what} is {value}, which does not fit `{wide}`"),
                "use a wider type, or a coarser unit",
            ));
        }
        match (call.array, key) {
            (Some(_), _) if call.dtype.ends_with("32") => body.extend((*value as u32).to_le_bytes()),
            (Some(_), _) => body.extend((*value as u64).to_le_bytes()),
            (None, Key::Number(number)) => {
                body.extend(number.to_le_bytes());
                body.extend((*value as u64).to_le_bytes());
            }
            (None, Key::Text(text)) => {
                body.extend((text.len() as u16).to_le_bytes());
                body.extend(text);
                body.extend((*value as u64).to_le_bytes());
            }
        }
    }
    Ok(body)
}

fn trouble(plan: &GroupPlan, what: Trouble) -> GroupError {
    let switch = |number: u16| {
        plan.switches.get(usize::from(number)).map_or("?", |(name, _)| name.as_str()).to_string()
    };
    match what {
        Trouble::Vanished(channel) => problem(
            format!("rank {} does not answer packets", channel + 1),
            "does its host reach the others through the switches, and is the file that of this network?",
        ),
        Trouble::NoSwitch(number) => problem(
            format!("switch `{}` does not answer", switch(number)),
            "does it run the program and the entries of `p4rack job compile`, and do its ports have links?",
        ),
        Trouble::BootKept(number) => problem(
            format!("switch `{}` has restarted and kept its boot number", switch(number)),
            "its control plane must write another `boot` after each start, as `p4rack switch` does",
        ),
        Trouble::Shared(number) => problem(
            format!("another group or run of the job uses switch `{}` at the same time", switch(number)),
            "end one of them, and start the group again",
        ),
        Trouble::TooManyGenerations => problem(
            "there are no numbers for another round",
            "restart the switches: from one start to the next, all groups and runs of a job have 65,535 attempts at rounds",
        ),
    }
}
