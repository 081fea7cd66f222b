//! What the externs of several architectures are made of.

use crate::access::AccessKind;
use crate::environment::Source;
use crate::machine::{Arch, Machine, Stop};
use crate::objects::Object;
use crate::place::is_place;
use crate::state::State;
use crate::table::DirectCells;
use crate::trace::EventKind;
use crate::value::Value;
use crate::wire::encode;
use base_bits::{BitWriter, Bits};
use base_time::Time;
use ir::{ControlId, Expr, ExprKind, InstanceId, Name, Program, TableId, Type};

/// The argument in that position.
pub(crate) fn arg(args: &[Option<Expr>], position: usize) -> Result<&Expr, Stop> {
    args.get(position).and_then(Option::as_ref).ok_or(Stop::Broken("a missing argument"))
}

/// `number` as a value of type `ty`, cut to its width.
pub(crate) fn number_of(ty: &Type, number: u128) -> Result<Value, Stop> {
    match ty {
        Type::Bit(n) | Type::Int(n) => Ok(Value::Bits(Bits::new(*n, number))),
        Type::Bool => Ok(Value::Bool(number != 0)),
        _ => Err(Stop::Broken("a number for what is none")),
    }
}

impl State {
    /// A number that is uniform in `lo..=hi`, which is not empty.
    pub(crate) fn draw(&mut self, lo: u128, hi: u128) -> u128 {
        let span = hi.saturating_sub(lo);
        let offset = match u64::try_from(span) {
            Ok(span) => u128::from(self.rng.between(0, span)),
            Err(_) if span == u128::MAX => self.rng.next_u128(),
            Err(_) => self.rng.next_u128() % (span + 1),
        };
        self.accesses.add(&Name::from("random"), AccessKind::Update);
        self.environment.read(&Source::Random { lo, hi }, lo + offset)
    }
}

impl<A: Arch> Machine<'_, A> {
    /// The lowest 64 bits of a number.
    pub(crate) fn eval_number(&mut self, expr: &Expr) -> Result<u64, Stop> {
        let value = self.eval(expr)?;
        match value {
            Value::Int(n) => Ok(Bits::from_bigint(64, &n).low_u64()),
            value => Ok(value.to_key().ok_or(Stop::Broken("a number is wanted"))?.low_u64()),
        }
    }

    /// Writes a number into an `out` argument, cut to its width.
    pub(crate) fn give(&mut self, to: &Expr, number: u128) -> Result<(), Stop> {
        let place = self.place(to)?;
        let value = number_of(self.program.representation(&to.ty), number)?;
        self.write(&place, value)
    }

    /// The bytes that hashes and checksums see of `data`: the bits of all fields in order, without those of
    /// invalid headers, filled up with zero bits to a whole byte.
    pub(crate) fn packed(&mut self, data: &Expr) -> Result<Vec<u8>, Stop> {
        let mut out = BitWriter::new();
        self.pack(data, &mut out)?;
        let bytes = out.finish();
        self.spend(bytes.len() as u64)?;
        Ok(bytes)
    }

    /// Appends the bits that [`packed`](Machine::packed) gives.
    pub(crate) fn pack(&mut self, data: &Expr, out: &mut BitWriter) -> Result<(), Stop> {
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
    pub(crate) fn in_invalid_header(&mut self, expr: &Expr) -> Result<bool, Stop> {
        let base = match &expr.kind {
            ExprKind::Slice { base, .. } => return self.in_invalid_header(base),
            ExprKind::Field(base, _) => base,
            _ => return Ok(false),
        };
        if self.program.is_header(&base.ty) && is_place(base) {
            let place = self.place(base)?;
            return Ok(!self.at(&place)?.is_some_and(Value::is_valid));
        }
        self.in_invalid_header(base)
    }

    /// A cell of a register; `None` out of range.
    pub(crate) fn register_cell(&mut self, id: InstanceId, index: u64) -> Result<Option<Value>, Stop> {
        self.accessed(id, AccessKind::Read);
        match self.state.objects.get(id.index()) {
            Some(Object::Register(register)) => Ok(register.read(index)),
            _ => Err(Stop::Broken("a register that is none")),
        }
    }

    /// Writes a cell of a register; out of range nothing happens.
    pub(crate) fn register_write(&mut self, id: InstanceId, index: &Expr, value: &Expr) -> Result<(), Stop> {
        let index = self.eval_number(index)?;
        let ty = &value.ty;
        let value = self.eval(value)?;
        self.accessed(id, AccessKind::Write);
        if self.state.trace.on() {
            self.trace_cell(id, index, ty, &value);
        }
        match self.state.objects.get_mut(id.index()) {
            Some(Object::Register(register)) => {
                register.write(index, value);
                Ok(())
            }
            _ => Err(Stop::Broken("a register that is none")),
        }
    }

    /// Counts a packet of `bytes`; out of range nothing happens.
    pub(crate) fn count(&mut self, id: InstanceId, index: &Expr, bytes: u64) -> Result<(), Stop> {
        let index = self.eval_number(index)?;
        self.accessed(id, AccessKind::Update);
        match self.state.objects.get_mut(id.index()) {
            Some(Object::Counter(counter)) => {
                counter.count(index, bytes);
                if index < counter.size {
                    self.counted(id, index, bytes);
                }
                Ok(())
            }
            _ => Err(Stop::Broken("a counter that is none")),
        }
    }

    /// Tells the trace that a cell of a counter, or the counter of an entry, has counted.
    pub(crate) fn counted(&mut self, id: InstanceId, index: u64, bytes: u64) {
        let program = self.program;
        let counter = || program.instance(id).control_plane_name.clone();
        self.state.trace.add(|| EventKind::Count { counter: counter(), index, bytes });
    }

    /// The colour of a packet of `bytes` that has the colour `before`; `None` out of range.
    pub(crate) fn meter(
        &mut self,
        id: InstanceId,
        index: u64,
        bytes: u64,
        before: u8,
        now: Time,
    ) -> Result<Option<u8>, Stop> {
        self.state.meter(self.program, id, index, bytes, before, now)
    }

    /// The colour that the direct meter of an entry, or of the default action, gives a packet of `bytes` that has the colour
    /// `before`; `None` if there is no such meter.
    pub(crate) fn direct_meter(
        &mut self,
        id: InstanceId,
        applied: (ControlId, TableId, Option<usize>),
        bytes: u64,
        before: u8,
        now: Time,
    ) -> Option<u8> {
        self.accessed(id, AccessKind::Update);
        let counts_bytes = matches!(self.state.objects.get(id.index()), Some(Object::DirectMeter(true)));
        let now = self.state.meter_now(self.program, id, now);
        let units = if counts_bytes { bytes } else { 1 };
        let (handle, direct) = self.direct_mut(applied)?;
        let colour = direct.meter.execute(units, before, now);
        self.state.metered(self.program, id, handle, colour);
        Some(colour)
    }

    /// See [`Table::direct_mut`](crate::table::Table::direct_mut).
    pub(crate) fn direct_mut(
        &mut self,
        (control, table, found): (ControlId, TableId, Option<usize>),
    ) -> Option<(Option<u64>, &mut DirectCells)> {
        self.state.tables.get_mut(control, table)?.direct_mut(found)
    }
}

impl State {
    /// See [`Machine::meter`].
    pub(crate) fn meter(
        &mut self,
        program: &Program,
        id: InstanceId,
        index: u64,
        bytes: u64,
        before: u8,
        now: Time,
    ) -> Result<Option<u8>, Stop> {
        self.accesses.add(&program.instance(id).control_plane_name, AccessKind::Update);
        let now = self.meter_now(program, id, now);
        let colour = match self.objects.get_mut(id.index()) {
            Some(Object::Meter(meters)) => meters.execute(index, bytes, before, now),
            _ => return Err(Stop::Broken("a meter that is none")),
        };
        if let Some(colour) = colour {
            self.metered(program, id, Some(index), colour);
        }
        Ok(colour)
    }

    /// Tells the trace which colour a cell of a meter, or the meter of an entry or of the default action, gave.
    fn metered(&mut self, program: &Program, id: InstanceId, index: Option<u64>, colour: u8) {
        let meter = || program.instance(id).control_plane_name.clone();
        self.trace.add(|| EventKind::Meter { meter: meter(), index, colour });
    }

    /// The clock as a meter sees it, in microseconds.
    fn meter_now(&mut self, program: &Program, id: InstanceId, now: Time) -> u64 {
        let name = program.instance(id).control_plane_name.to_string();
        self.read_environment(&Source::MeterNow(name), now.as_us())
    }
}
