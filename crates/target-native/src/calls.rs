//! The functions of the runtime that compiled code calls, with their signatures.

use crate::runtime::{
    applied, ask, asked, choose, clear, colour, copy, direct_meter, direct_read, direct_write, finish,
    frame_call, hash, hash_list, hash_unit, looked_up, lookup, lookup_1, lookup_2, lookup_3, meter, prefetch,
    random, report, reset, residual, stage, statement, stop, sum_list, value_call, value_set,
};

/// The functions that compiled code calls.
#[derive(Clone, Copy)]
pub(crate) struct Calls<F> {
    pub(crate) lookup: F,
    pub(crate) lookup_1: F,
    pub(crate) lookup_2: F,
    pub(crate) lookup_3: F,
    pub(crate) ask: F,
    pub(crate) asked: F,
    pub(crate) prefetch: F,
    pub(crate) stop: F,
    pub(crate) looked_up: F,
    pub(crate) choose: F,
    pub(crate) random: F,
    pub(crate) meter: F,
    pub(crate) colour: F,
    pub(crate) report: F,
    pub(crate) statement: F,
    pub(crate) stage: F,
    pub(crate) finish: F,
    pub(crate) frame_call: F,
    pub(crate) value_call: F,
    pub(crate) reset: F,
    pub(crate) value_set: F,
    pub(crate) hash: F,
    pub(crate) hash_list: F,
    pub(crate) sum_list: F,
    pub(crate) copy: F,
    pub(crate) clear: F,
    pub(crate) applied: F,
    pub(crate) direct_meter: F,
    pub(crate) direct_read: F,
    pub(crate) direct_write: F,
    pub(crate) hash_unit: F,
    pub(crate) residual: F,
}

/// A type in the signature of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arg {
    /// 32 bits.
    Int,
    /// 64 bits, addresses too.
    Word,
}

/// A function: its name, its address, its parameters and result.
pub(crate) type Function = (&'static str, *const u8, &'static [Arg], Option<Arg>);

impl Calls<Function> {
    pub(crate) fn all() -> Calls<Function> {
        use Arg::{Int, Word};
        Calls {
            lookup: ("lookup", lookup as *const u8, &[Word, Word, Word], Some(Word)),
            lookup_1: ("lookup_1", lookup_1 as *const u8, &[Word, Word], Some(Word)),
            lookup_2: ("lookup_2", lookup_2 as *const u8, &[Word, Word, Word], Some(Word)),
            lookup_3: ("lookup_3", lookup_3 as *const u8, &[Word, Word, Word, Word], Some(Word)),
            ask: ("ask", ask as *const u8, &[Word, Word, Word, Word], None),
            asked: ("asked", asked as *const u8, &[Word], None),
            prefetch: ("prefetch", prefetch as *const u8, &[Word], None),
            stop: ("stop", stop as *const u8, &[Word], Some(Word)),
            looked_up: ("looked_up", looked_up as *const u8, &[Word, Int, Int, Word, Word], None),
            choose: ("choose", choose as *const u8, &[Word, Int, Word], Some(Word)),
            random: ("random", random as *const u8, &[Word], Some(Int)),
            meter: ("meter", meter as *const u8, &[Word, Int, Word, Word, Word], Some(Word)),
            colour: ("colour", colour as *const u8, &[Word, Int, Int], Some(Word)),
            report: ("report", report as *const u8, &[Word, Int], None),
            statement: ("statement", statement as *const u8, &[Word, Int], Some(Int)),
            stage: ("stage", stage as *const u8, &[Word, Int, Word], Some(Int)),
            finish: ("finish", finish as *const u8, &[Word, Word, Int], None),
            frame_call: ("frame_call", frame_call as *const u8, &[Word, Word, Int], None),
            value_call: ("value_call", value_call as *const u8, &[Word, Int], None),
            reset: ("reset", reset as *const u8, &[Word], None),
            value_set: ("value_set", value_set as *const u8, &[Word, Int, Int], Some(Int)),
            hash: ("hash", hash as *const u8, &[Word, Int, Word, Word, Word, Word], Some(Word)),
            hash_list: (
                "hash_list",
                hash_list as *const u8,
                &[Word, Int, Word, Word, Word, Word],
                Some(Word),
            ),
            sum_list: ("sum_list", sum_list as *const u8, &[Word, Word], Some(Word)),
            copy: ("copy", copy as *const u8, &[Word, Word, Word], None),
            clear: ("clear", clear as *const u8, &[Word, Word], None),
            applied: ("applied", applied as *const u8, &[Word, Int, Word], None),
            direct_meter: ("direct_meter", direct_meter as *const u8, &[Word, Int, Word, Word], Some(Word)),
            direct_read: ("direct_read", direct_read as *const u8, &[Word, Int], None),
            direct_write: ("direct_write", direct_write as *const u8, &[Word, Int], None),
            hash_unit: ("hash_unit", hash_unit as *const u8, &[Word, Int, Word, Word], Some(Word)),
            residual: ("residual", residual as *const u8, &[Word, Word, Word], Some(Word)),
        }
    }
}

impl<F> Calls<F> {
    pub(crate) fn map<G>(self, mut f: impl FnMut(F) -> G) -> Calls<G> {
        Calls {
            lookup: f(self.lookup),
            lookup_1: f(self.lookup_1),
            lookup_2: f(self.lookup_2),
            lookup_3: f(self.lookup_3),
            ask: f(self.ask),
            asked: f(self.asked),
            prefetch: f(self.prefetch),
            stop: f(self.stop),
            looked_up: f(self.looked_up),
            choose: f(self.choose),
            random: f(self.random),
            meter: f(self.meter),
            colour: f(self.colour),
            report: f(self.report),
            statement: f(self.statement),
            stage: f(self.stage),
            finish: f(self.finish),
            frame_call: f(self.frame_call),
            value_call: f(self.value_call),
            reset: f(self.reset),
            value_set: f(self.value_set),
            hash: f(self.hash),
            hash_list: f(self.hash_list),
            sum_list: f(self.sum_list),
            copy: f(self.copy),
            clear: f(self.clear),
            applied: f(self.applied),
            direct_meter: f(self.direct_meter),
            direct_read: f(self.direct_read),
            direct_write: f(self.direct_write),
            hash_unit: f(self.hash_unit),
            residual: f(self.residual),
        }
    }
}
