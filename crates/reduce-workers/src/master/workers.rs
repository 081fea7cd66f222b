//! The connections of workers.

use super::{Event, Settings, problem, stopped};
use crate::control::{Instruction, Name, Report, Task, WirePlace, Work, receive, send};
use crate::worker::first_incarnation;
use aggregate::Place;
use aggregate::datagram::mac;
use aggregate::reducer::Sums;
use base_diag::{Code, Diagnostic};
use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Places in a question.
const AT_ONCE: usize = 10_000;

/// Connections that are served; others wait.
const MOST_CONNECTIONS: usize = 1 << 13;

/// The workers of a job.
pub(super) struct Workers<'s> {
    settings: &'s Settings,
    news: Receiver<Said>,
    /// By mapper.
    workers: Vec<Worker>,
    /// Incarnations are larger.
    first: u32,
}

/// Mapper, number of the connection, and news.
type Said = (String, u64, News);

enum News {
    Came(TcpStream),
    Said(Report),
    Left,
}

#[derive(Default)]
struct Worker {
    connection: u64,
    stream: Option<TcpStream>,
    incarnation: u32,
    /// Pairs for each of its tasks, when it has read its data.
    pairs: Option<Vec<u64>>,
    /// When it left, or when the master began to wait for it.
    absent: Option<Instant>,
}

impl<'s> Workers<'s> {
    pub fn listen(listener: TcpListener, settings: &'s Settings) -> io::Result<Workers<'s>> {
        let (sender, news) = channel();
        std::thread::Builder::new().name("workers".into()).spawn(move || {
            for (number, stream) in (1..).zip(listener.incoming().take(MOST_CONNECTIONS).flatten()) {
                let sender = sender.clone();
                std::thread::spawn(move || listen_to(stream, number, &sender));
            }
        })?;
        let absent = Some(Instant::now());
        let worker = |_: &_| Worker { absent, ..Worker::default() };
        let workers = settings.mappers.iter().map(worker).collect();
        Ok(Workers { settings, news, workers, first: first_incarnation() })
    }

    fn name(&self, at: usize) -> String {
        self.settings.job.mappers[at].name.value.clone()
    }

    /// Mappers whose pairs a reducer wants.
    fn is_needed(&self, at: usize) -> bool {
        self.settings.job.reducers.iter().any(|reducer| reducer.mappers.contains(&at))
    }

    /// Waits until every worker has read its data.
    pub fn wait_until_ready(&mut self, on_event: &mut dyn FnMut(Event)) -> Result<(), Box<Diagnostic>> {
        while (0..self.workers.len()).any(|at| self.is_needed(at) && self.workers[at].pairs.is_none()) {
            self.next(Duration::from_millis(50), on_event)?;
            self.check()?;
        }
        Ok(())
    }

    /// Handles what has happened.
    pub fn look(&mut self, on_event: &mut dyn FnMut(Event)) -> Result<(), Box<Diagnostic>> {
        while self.next(Duration::ZERO, on_event)? {}
        self.check()
    }

    /// One thing that has happened, except for names.
    fn next(&mut self, wait: Duration, on_event: &mut dyn FnMut(Event)) -> Result<bool, Box<Diagnostic>> {
        let (name, connection, news) = match self.news.recv_timeout(wait) {
            Ok(news) => news,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(false),
        };
        let mapper = self.settings.job.mappers.iter().position(|mapper| mapper.name.value == name);
        // Strangers are not answered.
        let Some(at) = mapper.filter(|at| self.is_needed(*at)) else { return Ok(true) };
        let is_old = connection < self.workers[at].connection;
        match news {
            _ if is_old => {}
            News::Came(stream) => {
                let incarnation = self.workers[at].incarnation.max(self.first) + 1;
                let pairs = self.workers[at].pairs.take();
                self.workers[at] = Worker { connection, stream: None, incarnation, pairs, absent: None };
                if send(&stream, &self.work(at, incarnation)).is_ok() {
                    self.workers[at].stream = Some(stream);
                }
                on_event(Event::Joined(name));
            }
            News::Said(Report::Ready { pairs }) => {
                on_event(Event::Ready(name, pairs.iter().sum()));
                self.workers[at].pairs = Some(pairs);
            }
            News::Said(Report::Failed { title, place, help, code }) => {
                let title = format!("mapper `{name}`: {title}");
                return Err(Box::new(problem(Code(code), title, help).note(format!("at {place}"))));
            }
            News::Said(_) => {}
            News::Left => {
                self.workers[at].stream = None;
                self.workers[at].absent = Some(Instant::now());
                on_event(Event::Gone(name));
            }
        }
        Ok(true)
    }

    /// An error if a worker has been absent for too long.
    fn check(&self) -> Result<(), Box<Diagnostic>> {
        let patience = self.settings.patience;
        let is_lost = |at: &usize| {
            self.is_needed(*at) && self.workers[*at].absent.is_some_and(|since| since.elapsed() > patience)
        };
        let Some(at) = (0..self.workers.len()).find(is_lost) else { return Ok(()) };
        let name = self.name(at);
        let help =
            format!("check its host, and start it again: `p4rack job worker --master HOST:PORT {name}`");
        Err(match self.workers[at].incarnation {
            0 => stopped(format!("no worker has connected for mapper `{name}`"), help),
            _ => stopped(format!("the worker of mapper `{name}` has disappeared"), help),
        })
    }

    fn work(&self, at: usize, incarnation: u32) -> Work {
        let settings = self.settings;
        let task = |(reducer, seat): (&reduce_jobs::job::Reducer, &super::Seat)| {
            let channel = reducer.mappers.iter().position(|mapper| *mapper == at)?;
            let to = seat.attachment.address();
            let card = settings.cards.iter().find(|(host, _)| *host == to).map(|(_, card)| *card);
            Some(Task {
                reducer: reducer.name.value.clone(),
                number: reducer.number,
                channel: channel as u16,
                is_switched: !seat.switches.is_empty(),
                to,
                card: card.unwrap_or(mac(to.into())),
            })
        };
        Work {
            text: settings.text.clone(),
            mapper: self.name(at),
            incarnation,
            tasks: settings.job.reducers.iter().zip(&settings.reducers).filter_map(task).collect(),
            attachment: settings.mappers[at].clone(),
            loss: settings.loss,
            wait: settings.wait,
            directory: settings.directory.clone(),
        }
    }

    /// Pairs that mappers had for a reducer.
    pub fn pairs(&self, reducer: usize) -> u64 {
        let reducers = &self.settings.job.reducers;
        let of = |at: &usize| {
            let task = reducers[..reducer].iter().filter(|other| other.mappers.contains(at)).count();
            self.workers[*at].pairs.as_ref().and_then(|pairs| pairs.get(task)).copied().unwrap_or(0)
        };
        reducers[reducer].mappers.iter().map(of).sum()
    }

    /// The keys of a reducer's places, by the place of their first chunk.
    pub fn names(
        &mut self,
        reducer: usize,
        sums: &Sums,
    ) -> Result<BTreeMap<Place, Vec<u8>>, Box<Diagnostic>> {
        let mut names = BTreeMap::new();
        let own = &self.settings.job.reducers[reducer];
        for at in own.mappers.clone() {
            let unknown: Vec<Place> =
                sums.keys().filter(|place| !names.contains_key(*place)).copied().collect();
            for places in unknown.chunks(AT_ONCE) {
                let wire: Vec<WirePlace> = places.iter().copied().map(WirePlace::from).collect();
                let instruction = Instruction::Name { reducer: own.name.value.clone(), places: wire };
                let lost = || {
                    let title = format!("the worker of mapper `{}` has disappeared", self.name(at));
                    stopped(title, "it knows the names of keys: run the job again")
                };
                let stream = self.workers[at].stream.as_ref().ok_or_else(lost)?;
                send(stream, &instruction).map_err(|_| lost())?;
                let found = self.answer(at)?;
                let known =
                    places.iter().zip(found).filter_map(|(place, name)| Some((*place, name?.into_bytes())));
                names.extend(known);
            }
        }
        Ok(names)
    }

    /// The names that a worker was asked for.
    fn answer(&mut self, at: usize) -> Result<Vec<Option<Name>>, Box<Diagnostic>> {
        let begun = Instant::now();
        let name = self.name(at);
        while begun.elapsed() < self.settings.patience {
            match self.news.recv_timeout(Duration::from_millis(100)) {
                Ok((from, _, News::Said(Report::Names { names }))) if from == name => return Ok(names),
                Ok((from, _, News::Left)) if from == name => break,
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Err(stopped(
            format!("the worker of mapper `{name}` has disappeared"),
            "it knows the names of keys: run the job again",
        ))
    }

    /// The job is over.
    pub fn end(&mut self) {
        for stream in self.workers.iter_mut().filter_map(|worker| worker.stream.take()) {
            let _ = send(&stream, &Instruction::End);
        }
    }
}

/// Passes on what a worker says.
fn listen_to(stream: TcpStream, number: u64, news: &Sender<Said>) {
    let _ = stream.set_nodelay(true);
    let Ok(own) = stream.try_clone() else { return };
    let mut reader = BufReader::new(own);
    let Some(Report::Hello { mapper }) = receive(&mut reader) else { return };
    if news.send((mapper.clone(), number, News::Came(stream))).is_err() {
        return;
    }
    while let Some(report) = receive(&mut reader) {
        if news.send((mapper.clone(), number, News::Said(report))).is_err() {
            return;
        }
    }
    let _ = news.send((mapper, number, News::Left));
}
