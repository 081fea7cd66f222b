//! Value externs: functions on values, with memory or without, that a program calls like externs of the architecture.
//!
//! ```p4
//! @value_extern("ewma") extern Ewma {
//!     Ewma(bit<8> shift);
//!     bit<32> update(in bit<32> sample);
//!     @noSideEffects bit<32> value();
//! }
//! @value_extern("crc7") extern bit<7> crc7(in bit<64> data);
//! ```
//!
//! Values pass as a flat list of [`Bits`], one for each number: a struct is its fields in order, a `bool` has 1 bit, an enum
//! without an underlying type is the index of its member in 32 bits. So an implementation needs to know neither programs nor devices:
//! one in C takes the list as a struct without padding.
//!
//! | here | in C |
//! |---|---|
//! | [`ValueExtern::call`] | `void call(state *, unsigned method, const in *, out *, uint64_t now_ps)` |
//! | [`ValueExtern::deadline`], [`tick`](ValueExtern::tick) | `uint64_t deadline(state *)`, `void tick(state *, uint64_t now_ps)` |
//! | [`ValueExtern::snapshot`], [`restore`](ValueExtern::restore) | `long snapshot(state *, void *, long)`, `int restore(state *, const void *, long)` |
//! | [`ValueOffer::make`] | `int init(state *, const arguments *)` |
//!
//! **Invariant**: the only clock is `now`. An extern that draws random numbers takes a seed as an argument of its constructor and has
//! the generator in its snapshot.

use crate::{ExternError, Leased};
use base_bits::Bits;
use base_time::{Duration, Time};
use state_modes::Merge;
use std::fmt;
use std::sync::Arc;

/// Tables of the program that an instance may look up: those with the annotation `@mirror("NAME")`, where `NAME` is that in
/// `@value_extern("NAME")`.
pub trait Mirrors {
    /// Looks up a table by its control-plane name. `key` has the values of the table's keys, in order. `None`: no such table, or another number
    /// of keys.
    fn look_up(&self, table: &str, key: &[Bits]) -> Option<Mirrored>;
}

/// Result of a look-up: as a packet would find it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mirrored {
    /// An entry fits; otherwise this is the default action.
    pub hit: bool,
    /// The action, by its position in the table's list.
    pub action: usize,
    /// Data of the action, one number for each value.
    pub data: Vec<Bits>,
}

/// No tables.
pub struct NoMirrors;

impl Mirrors for NoMirrors {
    fn look_up(&self, _table: &str, _key: &[Bits]) -> Option<Mirrored> {
        None
    }
}

/// One instance.
///
/// Time never runs backwards between calls. An implementation does a bounded amount of work in a call, gives the same outputs for
/// the same sequence of calls, and accepts every value of its inputs.
pub trait ValueExtern: Send {
    /// A packet calls the method of this position in [`ValueOffer::methods`]. `inputs` has the numbers of `in` and `inout`
    /// parameters, in order. `outputs` has a slot for each number of `out` and `inout` parameters and then of the result, in order: at
    /// first what came in by an `inout` parameter, and zero elsewhere. Values are cut to the slot's width.
    fn call(&mut self, method: usize, inputs: &[Bits], outputs: &mut [Bits], now: Time);

    /// The same, of an instance that may look up tables.
    fn call_with(
        &mut self,
        method: usize,
        inputs: &[Bits],
        outputs: &mut [Bits],
        _mirrors: &dyn Mirrors,
        now: Time,
    ) {
        self.call(method, inputs, outputs, now);
    }

    /// The same with packed numbers: each takes whole bytes, the most significant first, without padding between them; unused bits are zero, and
    /// copies of the sign in inputs of `int<N>`. Unused bits of outputs are dropped. Returns false, and has done nothing, if the instance takes
    /// only lists of numbers. Engines try this first: it needs no [`Bits`].
    fn call_packed(
        &mut self,
        _method: usize,
        _inputs: &[u8],
        _outputs: &mut [u8],
        _mirrors: &dyn Mirrors,
        _now: Time,
    ) -> bool {
        false
    }

    /// Calls by several threads at once, of an instance that takes them and looks up no tables. They change the same memory as the instance's
    /// own calls. Engines with several threads then make calls without locking the device.
    fn shared(&self) -> Option<Arc<dyn SharedCalls>> {
        None
    }

    /// When [`tick`](ValueExtern::tick) wants to run next; `None` if no timer is running.
    fn deadline(&self) -> Option<Time> {
        None
    }

    /// A deadline has come: `now` is at or past it. Afterwards the deadline is later than `now`, or none.
    fn tick(&mut self, _now: Time) {}

    /// The same, of an instance that may look up tables.
    fn tick_with(&mut self, _mirrors: &dyn Mirrors, now: Time) {
        self.tick(now);
    }

    /// Leases exactly these blocks, a set as in [`Leased`], to an instance that takes numbers of blocks. With none, the instance begins anew without a
    /// block: what it knew of flows is forgotten. Before the first call, the arguments say which blocks it has.
    fn lease(&mut self, _blocks: Option<&[u8]>) -> Leased {
        Leased::default()
    }

    /// The whole memory: instances of equal arguments and equal snapshots behave alike.
    fn snapshot(&self) -> Vec<u8>;

    /// Takes the memory of another instance of the same kind and arguments. On an error nothing has changed.
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), ExternError>;
}

/// Calls of an instance by several threads at once. Calls of different threads happen in any order, each as a whole. Calls of one thread happen in
/// order.
pub trait SharedCalls: Send + Sync {
    /// See [`ValueExtern::call_packed`].
    fn call_packed(&self, method: usize, inputs: &[u8], outputs: &mut [u8], now: Time);
}

/// Makes an instance from its constructor's arguments, each number as in [`ValueExtern::call`].
pub type ValueExternFactory = Arc<dyn Fn(&[Bits]) -> Result<Box<dyn ValueExtern>, ExternError> + Send + Sync>;

/// A value extern that a device offers.
#[derive(Clone)]
pub struct ValueOffer {
    /// An extern function, or an extern object.
    pub form: Form,
    /// In the order of their numbers. A function has one.
    pub methods: Vec<Method>,
    /// How copies of its memory on several devices become one. Then a snapshot is a list of numbers of 64 bits, big-endian, which
    /// are merged one by one.
    pub merge: Option<Merge>,
    /// Added latency of a call, on a device whose file gives none (`externs = { ewma = "2us" }`).
    pub cost: Duration,
    /// Makes an instance; that of a function is made without arguments.
    pub make: ValueExternFactory,
}

/// The form in which programs declare a value extern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// `extern bit<7> crc7(in bit<64> data);`: it has no memory.
    Function,
    /// `extern Ewma { ... }`: each instance has its own memory.
    Object,
}

/// A method, or what a function does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Method {
    /// Name in P4.
    pub name: &'static str,
    /// In order.
    pub params: Vec<(Direction, ValueType)>,
    /// The result; `None` for `void`.
    pub returns: Option<ValueType>,
    /// Effect of a call on the memory.
    pub effect: Effect,
}

impl Method {
    /// A method without parameters and result.
    pub fn new(name: &'static str, effect: Effect) -> Method {
        Method { name, params: vec![], returns: None, effect }
    }

    /// With one parameter more.
    pub fn param(mut self, direction: Direction, ty: ValueType) -> Method {
        self.params.push((direction, ty));
        self
    }

    /// With this result.
    pub fn returns(mut self, ty: ValueType) -> Method {
        self.returns = Some(ty);
        self
    }
}

/// How a parameter passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Direction {
    In,
    Out,
    InOut,
}

/// A type of values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ValueType {
    /// `bit<N>`, and what is represented by it.
    Bit(u32),
    /// `bit<N>` of any width; each declaration has its own.
    AnyBit,
    /// `int<N>`, and what is represented by it.
    Int(u32),
    /// `bool`
    Bool,
    /// An enum without an underlying type, by its members.
    Enum(&'static [&'static str]),
    /// A struct, by the types of its fields.
    Struct(Vec<ValueType>),
}

/// Effect of a call on the memory of its instance, and its dependencies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Effect {
    /// `@pure`: its outputs depend on its inputs alone.
    Pure,
    /// `@noSideEffects`: it leaves the memory as it is.
    Reads,
    /// The method may change the memory.
    Writes,
}

impl ValueOffer {
    /// How a program declares it: `name` is that in `@value_extern("name")`.
    pub fn declaration(&self, name: &str) -> String {
        let head = format!("@value_extern(\"{name}\")");
        match (self.form, self.methods.as_slice()) {
            (Form::Function, [method]) => format!("{head} extern {method};"),
            _ => {
                let merge =
                    self.merge.map_or(String::new(), |merge| format!(" @merge(\"{}\")", merge.name()));
                let methods: Vec<String> = self
                    .methods
                    .iter()
                    .map(|m| match m.effect {
                        Effect::Pure => format!("@pure {m};"),
                        Effect::Reads => format!("@noSideEffects {m};"),
                        Effect::Writes => format!("{m};"),
                    })
                    .collect();
                format!("{head}{merge} extern Name {{ Name(...); {} }}", methods.join(" "))
            }
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.returns {
            None => write!(f, "void")?,
            Some(ty) => write!(f, "{ty}")?,
        }
        let params = self.params.iter().map(|(direction, ty)| format!("{direction} {ty}"));
        write!(f, " {}({})", self.name, params.collect::<Vec<_>>().join(", "))
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::In => "in",
            Direction::Out => "out",
            Direction::InOut => "inout",
        })
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueType::Bit(width) => write!(f, "bit<{width}>"),
            ValueType::AnyBit => write!(f, "bit<N>"),
            ValueType::Int(width) => write!(f, "int<{width}>"),
            ValueType::Bool => write!(f, "bool"),
            ValueType::Enum(members) => write!(f, "enum {{ {} }}", members.join(", ")),
            ValueType::Struct(fields) => {
                let fields: Vec<String> = fields.iter().map(ValueType::to_string).collect();
                write!(f, "struct {{ {} }}", fields.join(", "))
            }
        }
    }
}
