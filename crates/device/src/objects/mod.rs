//! State objects: the state of extern instances.
//!
//! Cells that were never written are not stored: a size is a bound, not an allocation.

pub(crate) mod counter;
pub(crate) mod direct_counter;
pub(crate) mod filter;
pub(crate) mod frame;
pub(crate) mod meter;
pub(crate) mod profile;
pub(crate) mod register;
pub(crate) mod value;

use crate::hash::Algorithm;
use crate::tna::{HashUnit, MathUnit};
use counter::Counter;
use filter::Filter;
use frame::FrameObject;
use ir_value::Value;
use meter::MeterArray;
use profile::Profile;
use register::Register;
use value::ValueObject;

/// One extern instance.
pub(crate) enum Object {
    /// Without memory.
    Nothing,
    /// An algorithm, without memory from packet to packet.
    Hash(Algorithm),
    /// TNA's `Hash`.
    HashUnit(HashUnit),
    /// TNA's `Lpf` or `Wred`; the cells of direct ones are with the entries.
    Filter(Filter),
    /// TNA's `MathUnit`.
    MathUnit(MathUnit),
    /// TNA's `DirectRegister`, with the value of a cell that was never written: the cells are with the entries.
    DirectRegister(Value),
    /// A register action of TNA: number of `execute_log` calls.
    Log(u64),
    /// `register`
    Register(Register),
    /// `counter`
    Counter(Counter),
    /// `direct_counter`: the counts are with the entries.
    DirectCounter,
    /// `meter`
    Meter(MeterArray),
    /// `direct_meter`: the meters are with the entries. True if they count bytes.
    DirectMeter(bool),
    /// `action_profile`, `action_selector`
    Profile(Profile),
    /// An object with `@frame_extern`.
    Frame(FrameObject),
    /// An object with `@value_extern`.
    Value(ValueObject),
}

/// Objects that are arrays of cells of one kind.
pub(crate) trait Array: Sized {
    /// Name of the kind, for users.
    const KIND: &str;

    /// Such an object.
    fn of(object: &Object) -> Option<&Self>;

    /// The array of an object, for changes.
    fn of_mut(object: &mut Object) -> Option<&mut Self>;
}

macro_rules! arrays {
    ($($ty:ident = $variant:ident, $kind:literal;)*) => {$(
        impl Array for $ty {
            const KIND: &str = $kind;

            fn of(object: &Object) -> Option<&Self> {
                if let Object::$variant(array) = object { Some(array) } else { None }
            }

            fn of_mut(object: &mut Object) -> Option<&mut Self> {
                if let Object::$variant(array) = object { Some(array) } else { None }
            }
        }
    )*};
}

arrays! {
    Register = Register, "register";
    Counter = Counter, "counter";
    MeterArray = Meter, "meter";
}
