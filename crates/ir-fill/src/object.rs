//! Registers, counters and meters.

use crate::resolver::Resolver;
use crate::{Resolved, Write, refuse, refused};
use base_bits::Bits;
use control_writes::{Count, Crc, Data, EntryKey, Rates};
use dataplane_api::EntryError;
use device::v1model::calculations;
use device::{ObjectKind, fit};
use ir::{Name, Type, TypeKind};
use p4_entries::Named;

impl Resolver {
    /// Programs whose calculations BMv2 does not name have one set of parameters.
    pub(crate) fn custom_crc(&self, calculation: &Named, width: u32, to: Crc) -> Resolved {
        let all = calculations(&self.program);
        let known = all.iter().filter(|of| of.custom_width() == Some(width));
        if !all.is_empty() && !known.clone().any(|of| of.name == calculation.text) {
            let kind = format!("calculation with `crc{width}_custom`");
            let known = known.map(|of| of.name.as_str());
            return Err(refuse(calculation.span, device::unknown(&kind, &calculation.text, known)));
        }
        let calculation = (!all.is_empty()).then(|| calculation.text.clone());
        Ok(vec![Write::CustomCrc { calculation, width, to }])
    }

    /// Writes a cell of a register. The number is the value's bits: those of a struct are its fields in order. An error
    /// says whether it concerns the name.
    pub(crate) fn register(
        &self,
        name: &str,
        index: u64,
        value: &Bits,
    ) -> Result<Vec<Write>, (bool, EntryError)> {
        let is_register = |kind: &ObjectKind| matches!(kind, ObjectKind::Register(_));
        let spec = self.specs.object("register", name, is_register).map_err(|e| (true, e))?;
        let ObjectKind::Register(ty) = &spec.kind else { return Ok(vec![]) };
        let to = match self.program.representation(ty) {
            Type::Bool => Some(Data::Bool(!value.is_zero())),
            _ => self.data(ty, value),
        };
        let to =
            to.ok_or_else(|| (false, refused(format!("the value does not fit into a cell of `{name}`"))))?;
        Ok(vec![Write::Register { register: spec.name.clone(), index, to }])
    }

    /// The value of a type with these bits; `None` if they are too many, or if the type has parts that are not bits.
    fn data(&self, ty: &Type, value: &Bits) -> Option<Data> {
        let width = u32::try_from(self.program.bits(ty)?).ok()?;
        let mut rest = fit(value, width)?;
        self.leading(ty, &mut rest)
    }

    /// Takes a value of this type off the front of `rest`.
    fn leading(&self, ty: &Type, rest: &mut Bits) -> Option<Data> {
        let mut take = |width: u32| {
            let left = rest.width().checked_sub(width)?;
            let shift = Bits::new(32, left.into());
            let front = rest.shr(&shift).resize(width);
            *rest = rest.resize(left);
            Some(front)
        };
        let ty = self.program.representation(ty);
        Some(match ty {
            Type::Bit(width) | Type::Int(width) => Data::Bits(take(*width)?),
            Type::Bool => Data::Bool(!take(1)?.is_zero()),
            Type::Tuple(types) => {
                let parts = types.iter().map(|part| self.leading(part, rest));
                Data::Fields(parts.collect::<Option<_>>()?)
            }
            Type::Named(id) => match &self.program.type_decl(*id).kind {
                TypeKind::Struct(fields) => {
                    let parts = fields.iter().map(|field| self.leading(&field.ty, rest));
                    Data::Fields(parts.collect::<Option<_>>()?)
                }
                TypeKind::Header(fields) => {
                    let widths = fields.iter().map(|field| u32::try_from(self.program.bits(&field.ty)?).ok());
                    let fields = widths.map(|width| take(width?)).collect::<Option<_>>()?;
                    Data::Header { valid: true, fields }
                }
                _ => return None,
            },
            _ => return None,
        })
    }

    /// All cells of a register become zero.
    pub(crate) fn reset_register(&self, name: &str) -> Result<Vec<Write>, EntryError> {
        let is_register = |kind: &ObjectKind| matches!(kind, ObjectKind::Register(_));
        let spec = self.specs.object("register", name, is_register)?;
        Ok(vec![Write::RegisterReset { register: spec.name.clone() }])
    }

    /// Writes a cell of a counter.
    pub(crate) fn counter(&self, name: &str, index: u64, to: Count) -> Result<Vec<Write>, EntryError> {
        let spec = self.specs.object("counter", name, |kind| *kind == ObjectKind::Counter)?;
        Ok(vec![Write::Counter { counter: spec.name.clone(), index, to }])
    }

    /// All cells of a counter become zero, of a direct counter those of all entries.
    pub(crate) fn reset_counter(&self, name: &Named) -> Resolved {
        let is_counter = |kind: &ObjectKind| matches!(kind, ObjectKind::Counter | ObjectKind::DirectCounter);
        let spec = self.specs.object("counter", &name.text, is_counter).map_err(|e| refuse(name.span, e))?;
        if spec.kind == ObjectKind::Counter {
            return Ok(vec![Write::CounterReset { counter: spec.name.clone() }]);
        }
        let tables = self.specs.tables.iter().zip(&self.tables);
        let counted = tables.filter(|(table, _)| table.counter.as_ref() == Some(&spec.name));
        let writes = counted.flat_map(|(table, entries)| {
            entries.by_key.keys().map(|key| Write::DirectCounter {
                table: table.name.clone(),
                key: key.clone(),
                to: Count::default(),
            })
        });
        Ok(writes.collect())
    }

    /// Sets the rates of a meter; of a direct one, those of the entry with this handle of the device.
    pub(crate) fn meter(&mut self, name: &str, index: u64, rates: Rates) -> Result<Vec<Write>, EntryError> {
        let is_meter = |kind: &ObjectKind| matches!(kind, ObjectKind::Meter | ObjectKind::DirectMeter);
        let spec = self.specs.object("meter", name, is_meter)?;
        if spec.kind == ObjectKind::Meter {
            return Ok(vec![Write::Meter { meter: spec.name.clone(), index, to: Some(rates) }]);
        }
        let none = || refused(format!("`{name}` has no meter for handle {index}"));
        let (at, key) = self.measured(&spec.name, index).ok_or_else(none)?;
        self.change(at, key, |entry| entry.meter = Some(rates))
    }

    /// The entry that a direct meter measures.
    fn measured(&self, meter: &Name, handle: u64) -> Option<(usize, EntryKey)> {
        let at = self.specs.tables.iter().position(|table| table.meter.as_ref() == Some(meter))?;
        Some((at, self.tables.get(at)?.with_handle(handle)?.clone()))
    }

    /// Sets the rates of all meters of an array.
    pub(crate) fn meter_array(&self, name: &str, rates: Rates) -> Result<Vec<Write>, EntryError> {
        let spec = self.specs.object("meter", name, |kind| *kind == ObjectKind::Meter)?;
        Ok(vec![Write::MeterArray { meter: spec.name.clone(), to: Some(rates) }])
    }
}
