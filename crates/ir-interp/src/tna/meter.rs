//! Meters of TNA: their colours are numbers.

use super::externs::{Tna, word};
use crate::externs::arg;
use device::data_plane::{GREEN, RED, YELLOW};
use device::stage::Stop;
use ir::{Const, Expr, ExprKind, ExternMethod, InstanceId};
use ir_value::Value;

/// Colours as `MeterColor_t` numbers them: red, yellow, green.
const COLOURS: [u64; 3] = [3, 1, 0];

impl Tna<'_> {
    /// `execute([index,] [colour,] [adjust])`.
    pub(super) fn execute_meter(
        &mut self,
        id: InstanceId,
        method: &ExternMethod,
        args: &[Option<Expr>],
    ) -> Result<Value, Stop> {
        let at = |name: &str| method.signature.params.iter().position(|param| param.name == name);
        let index = match at("index") {
            Some(at) => Some(self.eval_number(arg(args, at)?)?),
            None => None,
        };
        let before = match at("color") {
            Some(at) => match self.eval_number(arg(args, at)?)? {
                0 => GREEN,
                1 | 2 => YELLOW,
                _ => RED,
            },
            None => GREEN,
        };
        let bytes = self.bytes(at("adjust_byte_count").and_then(|at| args.get(at)))?;
        let now = self.arch.now;
        let after = match (index, self.arch.applied) {
            (Some(index), _) => self.state.meter(self.program, id, index, bytes, before, now)?,
            (None, Some(applied)) => self.state.direct_meter(self.program, id, applied, bytes, before, now),
            (None, None) => None,
        };
        let [red, yellow, green] = self.colours(id);
        let number = match after.unwrap_or(before) {
            RED => red,
            YELLOW => yellow,
            _ => green,
        };
        Ok(word(8, number))
    }

    /// The numbers for red, yellow and green: three arguments of the constructor, or those of `MeterColor_t`.
    fn colours(&self, id: InstanceId) -> [u64; 3] {
        let args = self.program.instances.get(id.index()).map_or(&[][..], |instance| &instance.args);
        let numbers: Vec<u64> = args
            .iter()
            .filter_map(|arg| match &arg.kind {
                ExprKind::Const(Const::Bits(bits)) if bits.width() == 8 => bits.to_u64(),
                _ => None,
            })
            .collect();
        <[u64; 3]>::try_from(numbers).unwrap_or(COLOURS)
    }
}
