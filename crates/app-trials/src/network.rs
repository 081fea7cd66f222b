//! The network of an app: one device, or a rack that looks like one.

use crate::frames::AtPort;
use base_bits::Bits;
use base_diag::SourceMap;
use base_time::{Duration, Time};
use control_writes::{ActionCall, Count, Data, Entry, EntryKey, Match, Run, Write};
use device::{Options, Switch};
use ir::{Name, Program};
use p4_arch::Texts;
use std::sync::Arc;

/// A report of the program: the name of its type, and its fields.
pub type Report = (String, Vec<u128>);

/// Where an app runs.
pub trait Network {
    /// Frames that leave when a frame comes.
    fn frame(&mut self, port: u32, frame: &[u8]) -> Vec<AtPort>;
    /// The reports since the last call.
    fn reports(&mut self) -> Vec<Report>;
    /// A write of the app's controller, which is done when this returns.
    fn write(&mut self, write: Write<Name>) -> Result<(), String>;
    /// A cell of a counter.
    fn count(&mut self, counter: &str, index: u64) -> Count;
    /// The direct counter of an entry with exact keys; `None` where it is not read.
    fn entry_count(&mut self, _table: &str, _key: &[Bits]) -> Option<Count> {
        None
    }
    /// A cell of a register.
    fn cell(&mut self, register: &str, index: u64) -> u128;
    /// Time passes.
    fn pass(&mut self, span: Duration);
}

/// How one device runs its program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// The reference interpreter.
    Interpreter,
    /// Machine code.
    Native,
}

/// Name and source of each app that this crate runs.
pub const APPS: [(&str, &str); 8] = [
    ("acl", include_str!("../../../examples/apps/acl.p4")),
    ("firewall", include_str!("../../../examples/apps/firewall.p4")),
    ("vpn", include_str!("../../../examples/apps/vpn.p4")),
    ("nat", include_str!("../../../examples/apps/nat.p4")),
    ("vm-nat", include_str!("../../../examples/apps/vm-nat.p4")),
    ("syn-proxy", include_str!("../../../examples/apps/syn-proxy.p4")),
    ("univmon", include_str!("../../../examples/apps/univmon.p4")),
    ("netcache", include_str!("../../../examples/apps/netcache.p4")),
];

/// An app's program after `change` has had its source. An error names the first diagnostic.
pub fn program(app: &str, change: &dyn Fn(&str) -> String) -> Result<Arc<Program>, String> {
    let (_, source) = APPS.iter().find(|(name, _)| *name == app).ok_or("no app has this name")?;
    let main = format!("{app}.p4");
    let changed = change(source);
    let texts = [
        (main.as_str(), changed.as_str()),
        ("headers.p4", include_str!("../../../examples/apps/headers.p4")),
        ("translate.p4", include_str!("../../../examples/apps/translate.p4")),
    ];
    let program =
        ir_elaborate::program(&main, &Texts(&texts), &p4_syntax::Options::default(), &mut SourceMap::new());
    program.map(Arc::new).map_err(|found| format!("{:?}", found.first()))
}

/// One device.
pub struct OneDevice {
    switch: Switch,
    now: Time,
}

impl OneDevice {
    /// A device with a program.
    pub fn new(program: Arc<Program>, engine: Engine) -> Result<OneDevice, String> {
        let switch = match engine {
            Engine::Interpreter => ir_interp::switch(program, Options::default()),
            Engine::Native => target_native::Engine::compile(&program, Options::default())
                .map(|engine| engine.into_switch()),
        };
        let switch = switch.map_err(|found| format!("{:?}", found.first()))?;
        Ok(OneDevice { switch, now: Time::ZERO })
    }

    /// The device with this app.
    pub fn of(app: &str, engine: Engine) -> Result<OneDevice, String> {
        OneDevice::new(program(app, &str::to_string)?, engine)
    }
}

impl Network for OneDevice {
    fn frame(&mut self, port: u32, frame: &[u8]) -> Vec<AtPort> {
        let outputs = self.switch.process(port, frame, self.now);
        outputs.into_iter().map(|output| (output.port, output.frame)).collect()
    }

    fn reports(&mut self) -> Vec<Report> {
        let taken = self.switch.take_digests();
        taken.into_iter().map(|digest| (digest.name.to_string(), fields(&digest.data))).collect()
    }

    fn write(&mut self, write: Write<Name>) -> Result<(), String> {
        self.switch.write(&write, self.now).map_err(|error| error.message)
    }

    fn count(&mut self, counter: &str, index: u64) -> Count {
        self.switch.counter_read(counter, index).unwrap_or_default()
    }

    fn entry_count(&mut self, table: &str, key: &[Bits]) -> Option<Count> {
        let matches: Vec<Match> = key.iter().cloned().map(Match::Exact).collect();
        let all = self.switch.table_entries(table).ok()?;
        all.into_iter().find(|entry| *entry.key.matches == *matches).map(|entry| entry.count)
    }

    fn cell(&mut self, register: &str, index: u64) -> u128 {
        match self.switch.register_data(register, index) {
            Ok(Some(Data::Bits(bits))) => bits.low_u128(),
            _ => 0,
        }
    }

    fn pass(&mut self, span: Duration) {
        self.now += span;
    }
}

/// The numbers of a report.
fn fields(value: &ir_value::Value) -> Vec<u128> {
    match value {
        ir_value::Value::Struct(values) => values.iter().flat_map(fields).collect(),
        ir_value::Value::Bits(bits) => vec![bits.low_u128()],
        _ => vec![],
    }
}

/// A value of so many bits.
pub fn bits(width: u32, value: impl Into<u128>) -> Bits {
    Bits::new(width, value.into())
}

/// An entry of a table with exact keys, or its deletion.
pub fn entry(table: &str, key: &[Bits], action: Option<(&str, Vec<Bits>)>) -> Write<Name> {
    let matches: Vec<Match> = key.iter().cloned().map(Match::Exact).collect();
    with_key(table, matches, action)
}

fn with_key(table: &str, matches: Vec<Match>, action: Option<(&str, Vec<Bits>)>) -> Write<Name> {
    let run = |(action, args): (&str, _)| Run::Action(ActionCall { action: action.into(), args });
    let to = action.map(|action| Box::new(Entry::new(run(action))));
    let key = EntryKey { matches: matches.into(), priority: 0 };
    Write::Entry { table: table.into(), key, to, count: None }
}

/// A route of `control`'s table: addresses with this prefix leave by a port, to the host with that number.
pub fn route(control: &str, prefix: u32, length: u32, port: u32) -> Write<Name> {
    let key = vec![Match::Lpm { value: bits(32, prefix), prefix_len: length }];
    let args = vec![bits(9, port), bits(48, OUR_MAC + u64::from(port)), bits(48, HOST_MAC + u64::from(port))];
    with_key(&format!("{control}.routes"), key, Some((&format!("{control}.forward"), args)))
}

/// Our address at port 0.
pub const OUR_MAC: u64 = 0x0200_0000_0000;
/// The host's address at port 0.
pub const HOST_MAC: u64 = 0x0200_0001_0000;

/// A frame after a route to `port`: other MAC addresses, a smaller TTL.
pub fn routed(frame: &[u8], port: u32) -> Vec<u8> {
    let mut frame = frame.to_vec();
    let mac = |base: u64| (base + u64::from(port)).to_be_bytes();
    frame[..6].copy_from_slice(&mac(HOST_MAC)[2..]);
    frame[6..12].copy_from_slice(&mac(OUR_MAC)[2..]);
    frame[22] -= 1;
    frame[24..26].copy_from_slice(&[0, 0]);
    let sum = !crate::frames::folded(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame
}
