//! The bits that a parser of TNA finds before the frame: the switch's metadata, piece by piece.

use crate::values::{concat, from_top, member, width};
use base_diag::{Diagnostic, codes::tna as codes};
use device::tna::Half;
use ir::{BinaryOp, Expr, ExprKind, Program, Type, build};

/// Values of known widths, one after the other.
pub(crate) struct Pieces(Vec<Expr>);

impl Pieces {
    /// The bits that the parser of `half` finds, given the metadata and the standard metadata.
    pub(crate) fn before(
        program: &Program,
        half: Half,
        meta: &Expr,
        standard: &Expr,
        port_bits: u32,
    ) -> Option<Pieces> {
        let (header, names): (&str, &[(&str, &str)]) = match half {
            Half::Ingress => (
                "ingress_intrinsic_metadata_t",
                &[("resubmit_flag", "again"), ("ingress_port", "port"), ("ingress_mac_tstamp", "arrived")],
            ),
            Half::Egress => (
                "egress_intrinsic_metadata_t",
                &[
                    ("egress_port", "port"),
                    ("enq_qdepth", "enqueue_depth"),
                    ("enq_tstamp", "enqueued"),
                    ("deq_qdepth", "dequeue_depth"),
                    ("deq_timedelta", "waited"),
                    ("egress_rid", "replica"),
                    ("egress_qid", "queue"),
                    ("egress_cos", "class"),
                ],
            ),
        };
        let ty = program.types.iter().position(|decl| decl.name == header)?;
        let mut pieces = vec![];
        for field in program.fields(&Type::Named(ty.into())) {
            let wide = u32::try_from(program.bits(&field.ty)?).ok()?;
            let value = match names.iter().find(|(name, _)| *name == field.name) {
                Some((name, known)) => {
                    let value = member(program, meta, known)?;
                    let is_time = matches!(*name, "ingress_mac_tstamp" | "enq_tstamp" | "deq_timedelta");
                    resize(if is_time { nanoseconds(value) } else { value }, wide)
                }
                None if field.name == "pkt_length" => {
                    resize(member(program, standard, "packet_length")?, wide)
                }
                None => build::bits(wide, 0),
            };
            pieces.push(value);
        }
        if half == Half::Ingress {
            let data = member(program, meta, "resubmitted")?;
            debug_assert_eq!(width(&data), port_bits);
            pieces.push(data);
        }
        Some(Pieces(pieces))
    }

    /// Bits of all.
    pub(crate) fn bits(&self) -> u32 {
        self.0.iter().map(width).sum()
    }

    /// The bits from `offset` on.
    pub(crate) fn slice(&self, mut offset: u32, mut wide: u32) -> Expr {
        let mut parts = vec![];
        for piece in &self.0 {
            let size = width(piece);
            if offset >= size {
                offset -= size;
                continue;
            }
            let taken = wide.min(size - offset);
            parts.push(match &piece.kind {
                ExprKind::Const(_) => build::bits(taken, 0),
                _ => from_top(piece, offset, taken),
            });
            (offset, wide) = (0, wide - taken);
            if wide == 0 {
                break;
            }
        }
        concat(parts).unwrap_or_else(|| build::bits(wide.max(1), 0))
    }
}

/// v1model's clocks count microseconds.
pub(crate) fn nanoseconds(value: Expr) -> Expr {
    let value = build::cast(value, Type::Bit(48));
    build::binary(BinaryOp::Mul, value, build::bits(48, 1000), Type::Bit(48))
}

/// The low bits of a number, or zeros before it.
pub(crate) fn resize(value: Expr, wide: u32) -> Expr {
    build::cast(value, Type::Bit(wide))
}

/// A construct without a counterpart.
pub(crate) fn refused(title: &str, span: base_diag::Span, label: &str) -> Diagnostic {
    Diagnostic::error(codes::CONVERT, title).at(span, label)
}

/// Name of the header for metadata that a parser leaves.
pub(crate) fn rest_name(half: Half, bits: u32) -> String {
    format!("{}_rest_{bits}", ["ingress", "egress"][half as usize])
}
