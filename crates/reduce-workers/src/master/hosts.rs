//! The hosts of reducers: a thread for each moves the packets of its reducers.

use super::{Event, Link, Settings, stopped, trouble};
use crate::control::Attachment;
use crate::wire::{Loss, WAITING, Wire};
use crate::worker::{now, random, until, waits};
use aggregate::datagram::AROUND;
use aggregate::reducer::{Config, Counts, Sums, To, Trouble};
use aggregate::{Packet, Reducer};
use base_diag::Diagnostic;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Kernel's memory for a packet of 1,500 bytes that waits at a socket.
const PACKET: usize = 2304;

/// The reducers while they run.
pub(super) struct Hosts<'s> {
    settings: &'s Settings,
    news: Receiver<(usize, News)>,
    ended: std::cell::RefCell<Vec<Option<Ended>>>,
    stop: Arc<AtomicBool>,
}

/// Results of a reducer.
pub(super) type Ended = (Sums, Counts, Link);

enum News {
    Committed(u32),
    Restarted(u64),
    Ended(Box<Ended>),
    Trouble(Trouble),
}

/// A reducer on its host.
struct Running {
    at: usize,
    job: u16,
    layout: aggregate::Layout,
    reducer: Reducer,
    mappers: Vec<Ipv4Addr>,
    switches: Vec<Ipv4Addr>,
    link: Link,
    committed: u32,
    restarts: u64,
    is_ended: bool,
}

impl Drop for Hosts<'_> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl<'s> Hosts<'s> {
    pub fn start(
        settings: &'s Settings,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<Hosts<'s>, Box<Diagnostic>> {
        let (sender, news) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let mut hosts: Vec<(Attachment, u16, Vec<Running>)> = vec![];
        for (at, (reducer, seat)) in settings.job.reducers.iter().zip(&settings.reducers).enumerate() {
            let (least_wait, most_wait) = waits(settings.wait);
            let config = Config {
                job: reducer.number,
                op: reducer.op,
                layout: reducer.layout,
                channels: reducer.mappers.len() as u16,
                switches: seat.switches.len() as u16,
                parents: seat.parents,
                rounds: reducer.rounds,
                banks: 2,
                least_wait,
                most_wait,
                patience: base_time::Duration::from_ms(settings.patience.as_millis() as u64),
                nonce: random(),
            };
            let mut machine = Reducer::new(config);
            if let Some(elements) = reducer.elements() {
                machine.set_elements(elements * u64::from(reducer.chunks()));
            }
            let running = Running {
                at,
                job: reducer.number,
                layout: reducer.layout,
                reducer: machine,
                mappers: reducer.mappers.iter().map(|at| settings.mappers[*at].address()).collect(),
                switches: seat.switches.iter().map(|(_, address)| *address).collect(),
                link: Link::default(),
                committed: 0,
                restarts: 0,
                is_ended: false,
            };
            // Reducers of one host and port share a socket, and the thread that serves it.
            match hosts.iter_mut().find(|(known, port, _)| *known == seat.attachment && *port == reducer.port)
            {
                Some((.., reducers)) => reducers.push(running),
                None => hosts.push((seat.attachment.clone(), reducer.port, vec![running])),
            }
        }
        let begun = Instant::now();
        for (number, (attachment, port, reducers)) in hosts.into_iter().enumerate() {
            let loss = Loss::new(settings.loss, number as u64);
            let what = format!("{attachment:?}");
            let wire = Wire::open(attachment, port, loss).map_err(|error| {
                stopped(format!("no socket can be opened: {error}"), format!("the reducer's host is {what}"))
            })?;
            let windows = reducers.iter().map(|one| one.mappers.len() * one.layout.window as usize);
            let wanted = PACKET * windows.sum::<usize>();
            if let Some(allowed) = wire.allowed().filter(|allowed| *allowed < wanted) {
                on_event(Event::FewMayWait { allowed, wanted, is_kernels: allowed < WAITING });
            }
            let (sender, stop) = (sender.clone(), Arc::clone(&stop));
            std::thread::spawn(move || serve(wire, reducers, begun, &sender, &stop));
        }
        let ended = std::cell::RefCell::new(vec![None; settings.job.reducers.len()]);
        Ok(Hosts { settings, news, ended, stop })
    }

    /// Waits a little for news; gives the results when all reducers have ended.
    pub fn look(
        &self,
        on_event: &mut dyn FnMut(Event),
        wait: Duration,
    ) -> Result<Option<Vec<Ended>>, Box<Diagnostic>> {
        let mut ended = self.ended.borrow_mut();
        let Ok((at, news)) = self.news.recv_timeout(wait) else { return Ok(None) };
        let reducer = &self.settings.job.reducers[at];
        let name = reducer.name.value.clone();
        match news {
            News::Committed(rounds) => on_event(Event::Committed(name, rounds, reducer.rounds)),
            News::Restarted(times) => on_event(Event::Restarted(name, times)),
            News::Trouble(what) => return Err(trouble(self.settings, at, what)),
            News::Ended(result) => ended[at] = Some(*result),
        }
        Ok(ended.iter().all(Option::is_some).then(|| ended.iter_mut().filter_map(Option::take).collect()))
    }
}

/// Moves packets until all reducers are done, and then as long as mappers may ask again.
fn serve(
    mut wire: Wire,
    mut reducers: Vec<Running>,
    begun: Instant,
    news: &Sender<(usize, News)>,
    stop: &AtomicBool,
) {
    while !stop.load(Ordering::Relaxed) {
        let mut deadline = None;
        for one in &mut reducers {
            while let Some((to, packet)) = one.reducer.poll(now(begun)) {
                let to = match to {
                    To::Mapper(channel) => one.mappers.get(usize::from(channel)),
                    To::Switch(switch) => one.switches.get(usize::from(switch)),
                };
                if let Some(to) = to {
                    let bytes = packet.bytes(&one.layout);
                    one.link.from += AROUND + bytes.len() as u64;
                    wire.send(*to, &bytes);
                }
            }
            deadline = [deadline, one.reducer.deadline()].into_iter().flatten().min();
            if one.report(begun, news).is_err() {
                return;
            }
        }
        for (payload, is_marked) in wire.receive(until(begun, deadline)) {
            for one in &mut reducers {
                if let Some(packet) =
                    Packet::parse(&payload, &one.layout).filter(|packet| packet.job == one.job)
                {
                    one.link.to += AROUND + payload.len() as u64;
                    one.reducer.handle(now(begun), &packet, is_marked);
                }
            }
        }
    }
}

impl Running {
    fn report(&mut self, begun: Instant, news: &Sender<(usize, News)>) -> Result<(), ()> {
        let say = |what| news.send((self.at, what)).map_err(drop);
        let (committed, restarts) = (self.reducer.committed(), self.reducer.counts().restarts);
        if committed > self.committed {
            say(News::Committed(committed))?;
        }
        if restarts > self.restarts {
            say(News::Restarted(restarts))?;
        }
        if self.reducer.is_done() && !self.is_ended {
            say(News::Ended(Box::new((self.reducer.result().clone(), self.reducer.counts(), self.link))))?;
            self.is_ended = true;
        }
        if let Some(trouble) = self.reducer.trouble(now(begun)).filter(|_| !self.is_ended) {
            say(News::Trouble(trouble))?;
        }
        (self.committed, self.restarts) = (committed, restarts);
        Ok(())
    }
}
