//! The bytes that hashes and checksums see: the bits of all fields in order, without those of invalid headers,
//! filled up with zero bits to a whole byte.

use super::externs::V1;
use crate::machine::{Machine, Stop};
use crate::place::is_place;
use crate::wire::encode;
use base_bits::BitWriter;
use ir::{Expr, ExprKind};

impl Machine<'_, V1<'_>> {
    /// The bytes of `data`, and then the payload if `with_payload`.
    pub(super) fn packed(&mut self, data: &Expr, with_payload: bool) -> Result<Vec<u8>, Stop> {
        let mut out = BitWriter::new();
        self.pack(data, &mut out)?;
        if with_payload {
            out.push_bytes(&self.arch.payload);
        }
        Ok(out.finish())
    }

    fn pack(&mut self, data: &Expr, out: &mut BitWriter) -> Result<(), Stop> {
        match &data.kind {
            ExprKind::Aggregate(parts) => parts.iter().try_for_each(|part| self.pack(part, out)),
            ExprKind::Cast(inner) if matches!(inner.kind, ExprKind::Aggregate(_)) => self.pack(inner, out),
            _ if self.in_invalid_header(data)? => Ok(()),
            _ => {
                let value = self.eval(data)?;
                encode(&value, out);
                Ok(())
            }
        }
    }

    /// True if `expr` is a part of a header that is invalid.
    pub(super) fn in_invalid_header(&mut self, expr: &Expr) -> Result<bool, Stop> {
        let base = match &expr.kind {
            ExprKind::Slice { base, .. } => return self.in_invalid_header(base),
            ExprKind::Field(base, _) => base,
            _ => return Ok(false),
        };
        if self.program.is_header(&base.ty) && is_place(base) {
            let place = self.place(base)?;
            return Ok(!self.at(&place)?.is_some_and(crate::value::Value::is_valid));
        }
        self.in_invalid_header(base)
    }
}
