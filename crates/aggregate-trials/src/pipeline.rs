//! A device that runs a switch program of AGG.

use crate::addresses::{MAPPERS, REDUCER, SWITCH};
use aggregate::Datagram;
use aggregate::Kind;
use aggregate::datagram::mac;
use aggregate::program::{Entry, Program, Seat, Sender};
use base_bits::Bits;
use base_diag::{Diagnostic, SourceMap};
use base_time::Time;
use control_writes::Match;
use dataplane_api::{Device as _, Output};
use device::{Options, Session, Switch};
use std::sync::Arc;

/// The reducer's port; that of channel `n` is `n + 1`.
pub const REDUCER_PORT: u32 = 200;

/// Channels from this one on stand for ports to other switches, the first to switch 0.
pub const CHILDREN: u16 = 100;

/// How the program is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// Reference interpreter.
    Interpreter,
    /// Machine code.
    Native,
}

/// A compiled source.
pub struct Compiled {
    program: Arc<ir::Program>,
    code: target_native::Engine,
}

/// Compiles a source; errors are the diagnostics' texts.
pub fn compile(source: &str) -> Result<Compiled, String> {
    let mut map = SourceMap::new();
    let refused =
        |found: Vec<Diagnostic>| found.iter().map(|problem| format!("{problem:?}\n")).collect::<String>();
    let program = compiler::reparse("agg.p4", source, &mut map).map_err(refused)?;
    let code = target_native::Engine::compile(&program, Options::default()).map_err(refused)?;
    Ok(Compiled { program, code })
}

/// Where a datagram came out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reached {
    /// At the reducer.
    Reducer(Datagram),
    /// At the mapper of a channel.
    Mapper(u16, Datagram),
}

/// A device with a program and one job.
pub struct Pipeline<'a> {
    program: Program,
    compiled: &'a Compiled,
    engine: Engine,
    seat: Seat,
    switch: Switch,
}

impl<'a> Pipeline<'a> {
    /// A device that folds the data of the channels 0 to `channels` - 1 of a job.
    pub fn new(
        program: Program,
        compiled: &'a Compiled,
        engine: Engine,
        (job, number, boot): (u16, u16, u16),
    ) -> Result<Pipeline<'a>, String> {
        let senders = data(&program);
        Pipeline::of_senders(program, compiled, engine, (job, number, boot), false, &senders)
    }

    /// A device that folds these streams. `has_parent`: another one folds what it leaves.
    pub fn of_senders(
        program: Program,
        compiled: &'a Compiled,
        engine: Engine,
        (job, number, boot): (u16, u16, u16),
        has_parent: bool,
        senders: &[(Kind, u16)],
    ) -> Result<Pipeline<'a>, String> {
        let seat = seat(&program, (job, number, boot), has_parent, senders);
        let mut switch = start(compiled, engine)?;
        fill(&mut switch, &program, &seat)?;
        Ok(Pipeline { program, compiled, engine, seat, switch })
    }

    /// Loses all registers; the control plane gives it another boot number.
    pub fn restart(&mut self, boot: u16) -> Result<(), String> {
        self.seat.boot = boot;
        self.switch = start(self.compiled, self.engine)?;
        fill(&mut self.switch, &self.program, &self.seat)
    }

    /// A datagram of the reducer (none), or of the mapper of a channel; see [`CHILDREN`]. Gives the last one that comes out.
    pub fn handle(&mut self, from: Option<u16>, datagram: &Datagram) -> Option<Reached> {
        self.outputs(from, datagram).pop()
    }

    /// The same; gives all that come out.
    pub fn outputs(&mut self, from: Option<u16>, datagram: &Datagram) -> Vec<Reached> {
        self.together(&[(from, datagram)])
    }

    /// Datagrams that come in before any of them goes out or around.
    pub fn together(&mut self, datagrams: &[(Option<u16>, &Datagram)]) -> Vec<Reached> {
        let mut queued = vec![];
        for (from, datagram) in datagrams {
            let port = from.map_or(REDUCER_PORT, |channel| u32::from(channel) + 1);
            queued.extend(self.switch.ingress(port, frame(datagram), Time::ZERO));
        }
        let reached = |output: Output| {
            let datagram = Datagram::parse(&output.frame)?;
            (output.frame[..6] == mac(datagram.destination)).then_some(())?;
            Some(match output.port {
                REDUCER_PORT => Reached::Reducer(datagram),
                port => Reached::Mapper((port - 1) as u16, datagram),
            })
        };
        self.switch.drain(queued, Time::ZERO).into_iter().filter_map(reached).collect()
    }

    /// Frames of the mapper of a channel; gives those that come out.
    pub fn pass(&mut self, channel: u16, frames: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let mut came = Vec::with_capacity(frames.len());
        for frame in frames {
            let queued = self.switch.ingress(u32::from(channel) + 1, frame, Time::ZERO);
            came.extend(self.switch.drain(queued, Time::ZERO).into_iter().map(|output| output.frame));
        }
        came
    }

    /// Packets that it has refused.
    pub fn refused(&mut self) -> u64 {
        self.switch.counter_read("AggIngress.refused", 0).map_or(0, |count| count.packets)
    }
}

/// Machine code that folds the data of all channels of a job, for batches of packets.
pub fn batches(
    program: &Program,
    compiled: &Compiled,
    numbers: (u16, u16, u16),
) -> Result<target_native::Engine, String> {
    let mut engine = machine_code(compiled)?;
    fill(engine.switch(), program, &seat(program, numbers, false, &data(program)))?;
    Ok(engine)
}

/// DATA of all channels.
fn data(program: &Program) -> Vec<(Kind, u16)> {
    (0..program.channels).map(|channel| (Kind::Data, channel)).collect()
}

fn seat(
    program: &Program,
    (job, number, boot): (u16, u16, u16),
    has_parent: bool,
    senders: &[(Kind, u16)],
) -> Seat {
    let sender = |((kind, channel), place): (&(Kind, u16), u16)| {
        let first = if *kind == Kind::ReadReply { CHILDREN } else { 0 };
        Sender { kind: *kind, port: u32::from(first + channel) + 1, channel: *channel, place }
    };
    let senders = senders.iter().zip(0..).map(sender).collect();
    // A seat that is not the first one.
    let place = program.jobs - 1;
    Seat { job, place, switch: number, boot, reducer_port: REDUCER_PORT, has_parent, senders }
}

fn fill(switch: &mut Switch, program: &Program, seat: &Seat) -> Result<(), String> {
    for entry in seat.entries(&program.layout) {
        let Entry { table, keys, action, args } = entry;
        let keys: Vec<Match> =
            keys.iter().map(|(_, width, value)| Match::Exact(Bits::new(*width, *value))).collect();
        let args: Vec<Bits> = args.iter().map(|(_, width, value)| Bits::new(*width, *value)).collect();
        switch
            .table_add(table, &keys, action, &args, None)
            .map_err(|problem| format!("{table}: {problem:?}"))?;
    }
    // For v1model the port may be any.
    switch.clone_session_set(
        Program::COPIES.into(),
        Some(Session { port: Some(Program::AROUND), ..Session::default() }),
    );
    let hosts = (0..program.channels).map(|channel| (MAPPERS + u32::from(channel), u32::from(channel) + 1));
    let children = (0..4).map(|switch| (SWITCH + switch, u32::from(CHILDREN) + switch + 1));
    for (address, port) in hosts.chain(children).chain([(REDUCER, REDUCER_PORT)]) {
        let keys = [Match::Lpm { value: Bits::new(32, address.into()), prefix_len: 32 }];
        let next_hop = mac(address).iter().fold(0, |mac, byte| mac << 8 | u128::from(*byte));
        let args = [Bits::new(9, port.into()), Bits::new(48, next_hop)];
        let added = switch.table_add("AggIngress.routes", &keys, "AggIngress.forward", &args, None);
        added.map_err(|problem| format!("routes: {problem:?}"))?;
    }
    Ok(())
}

/// A datagram between the cards of its hosts.
pub fn frame(datagram: &Datagram) -> Vec<u8> {
    datagram.frame(mac(datagram.source), mac(datagram.destination))
}

/// A device with the program and empty tables.
pub fn start(compiled: &Compiled, engine: Engine) -> Result<Switch, String> {
    match engine {
        Engine::Interpreter => ir_interp::switch(Arc::clone(&compiled.program), Options::default())
            .map_err(|found| format!("{found:?}")),
        Engine::Native => machine_code(compiled).map(target_native::Engine::into_switch),
    }
}

fn machine_code(compiled: &Compiled) -> Result<target_native::Engine, String> {
    let code = target_native::Engine::of(&compiled.code.compiled(), Options::default());
    code.map_err(|found| format!("{found:?}"))
}
