//! Data of hashes and checksums: the bits of a list of fields, without those of invalid headers.
//!
//! ```text
//! Internet checksum of a header's fields, pairs of bytes that lie together   sums of words in place
//! all headers valid                                                          bits put together in the scratch, one call
//! some are not                                                               a list of numbers with widths, another call
//! ```

use super::place::{HeaderAt, Place, is_near, span};
use super::value::Reach;
use super::{Code, Made, PLAIN, Unable};
use crate::layout::{Part, kind_of};
use crate::runtime::{CALL, FILL_IN_FRONT};
use base_diag::Span;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use device::hash::{Algorithm, ByByte, by_byte};
use ir::{Const, Expr, ExprKind, Type, TypeKind};

/// Fields that are hashed by code at most, and their bits.
const MOST_ITEMS: usize = 60;
const MOST_BITS: u32 = 8 * 2000;

/// Offset of the list of numbers in the scratch.
const LIST: i32 = 2048;

/// A hash that code can make.
pub(crate) struct HashPlan<'a> {
    algorithm: Algorithm,
    items: Vec<Item<'a>>,
    /// Zero bits go in front, and not after, to make whole bytes.
    fills_in_front: bool,
    /// The call in the source, if the control plane may set its parameters.
    call: Option<Span>,
}

impl HashPlan<'_> {
    /// Fills whole bytes with zero bits in front, and not after.
    pub(crate) fn filled_in_front(self) -> Self {
        HashPlan { fills_in_front: true, ..self }
    }

    /// Uses the parameters of a call in the source.
    fn of_call(self, call: Span) -> Self {
        let is_custom = matches!(self.algorithm, Algorithm::Crc16Custom | Algorithm::Crc32Custom);
        HashPlan { call: is_custom.then_some(call), ..self }
    }
}

/// One field or value.
struct Item<'a> {
    /// `None` for a field of a header that is given as a whole, which is in its place.
    expr: Option<&'a Expr>,
    width: u32,
    /// The place, if the expression is one.
    place: Option<Place<'a>>,
}

/// The header that a place is in.
pub(crate) fn owner<'p, 'a>(place: &'p Place<'a>) -> Option<&'p HeaderAt<'a>> {
    match place {
        Place::Part(header, _) => Some(header),
        Place::Slice(base, ..) => owner(base),
        _ => None,
    }
}

impl<'a> Code<'a, '_> {
    /// The plan of a hash, if code can make it.
    pub(crate) fn plan_hash(&self, algorithm: &Expr, data: &'a Expr) -> Option<HashPlan<'a>> {
        let name = match (&algorithm.ty, &algorithm.kind) {
            (Type::Named(id), ExprKind::Const(Const::Enum(member))) => {
                match &self.program.type_decl(*id).kind {
                    TypeKind::Enum(members) => members.get(*member as usize)?,
                    _ => return None,
                }
            }
            _ => return None,
        };
        self.plan(Algorithm::by_name(name)?, data)
    }

    /// The same, with the parameters of a call.
    pub(crate) fn plan_call(&self, algorithm: &Expr, data: &'a Expr, call: Span) -> Option<HashPlan<'a>> {
        self.plan_hash(algorithm, data).map(|plan| plan.of_call(call))
    }

    /// Parts of a sum of 16-bit words.
    pub(crate) fn plan_sum(&self, data: &'a Expr) -> Option<HashPlan<'a>> {
        self.plan(Algorithm::Csum16, data)
    }

    fn plan(&self, algorithm: Algorithm, data: &'a Expr) -> Option<HashPlan<'a>> {
        let mut items = vec![];
        self.items(data, &mut items)?;
        let bits: u32 = items.iter().map(|item| item.width).sum();
        let fits = items.len() <= MOST_ITEMS && bits <= MOST_BITS;
        fits.then_some(HashPlan { algorithm, items, fills_in_front: false, call: None })
    }

    fn items(&self, data: &'a Expr, items: &mut Vec<Item<'a>>) -> Option<()> {
        match &data.kind {
            ExprKind::Aggregate(parts) => parts.iter().try_for_each(|part| self.items(part, items)),
            ExprKind::Cast(inner) if matches!(inner.kind, ExprKind::Aggregate(_)) => self.items(inner, items),
            _ if self.program.is_header(&data.ty) => {
                let (header, shape) = self.places().target(data)?;
                fields(&header, &shape.parts, items)
            }
            _ => {
                let width = kind_of(self.program, &data.ty)?.width();
                let place = self.places().scalar(data).map(|(place, _)| place);
                self.places().can(data).then(|| items.push(Item { expr: Some(data), width, place }))
            }
        }
    }

    fn item(&mut self, item: &Item<'a>) -> Made<Value> {
        match (item.expr, &item.place) {
            (Some(expr), _) => self.value(expr),
            (None, Some(place)) => self.read(place),
            (None, None) => Err(Unable("an item without a place")),
        }
    }

    /// The hash as a number of 64 bits.
    pub(crate) fn hash_of(&mut self, plan: &HashPlan<'a>, payload: bool) -> Made<Value> {
        if plan.algorithm == Algorithm::Csum16
            && !payload
            && !plan.fills_in_front
            && let Some((header, runs)) = runs(&plan.items)
        {
            let valid = self.valid(header)?;
            let pointer = self.pointer(header, Reach::Read)?;
            let own = match header {
                HeaderAt::Own(index) => Some(*index),
                HeaderAt::Element(..) => None,
            };
            let sum = self.checksum(own, pointer, &runs);
            // The checksum of no words: the complement of 0 (RFC 1071).
            let empty = self.number(types::I64, 0xffff);
            return Ok(self.b.ins().select(valid, sum, empty));
        }
        let result = self.b.declare_var(types::I64);
        match self.all_valid(plan)? {
            None => {
                let value = self.packed(plan, payload)?;
                self.b.def_var(result, value);
            }
            Some(all_valid) => self.branch(
                all_valid,
                |code| {
                    let value = code.packed(plan, payload)?;
                    code.b.def_var(result, value);
                    Ok(())
                },
                |code| {
                    let value = code.listed(plan, payload)?;
                    code.b.def_var(result, value);
                    Ok(())
                },
            )?,
        }
        Ok(self.b.use_var(result))
    }

    /// The sum of the 16-bit words of all items, and how many they are.
    pub(crate) fn sum_of_words(&mut self, plan: &HashPlan<'a>) -> Made<(Value, Value)> {
        let (sum, count) = (self.b.declare_var(types::I64), self.b.declare_var(types::I64));
        let of_all = |code: &mut Self| {
            let (words, bits) = code.words(plan)?;
            let value = code.sum_of_pairs(&words);
            code.b.def_var(sum, value);
            let value = code.number(types::I64, u64::from(bits.div_ceil(16)));
            code.b.def_var(count, value);
            Ok(())
        };
        match self.all_valid(plan)? {
            None => of_all(self)?,
            Some(all_valid) => self.branch(all_valid, of_all, |code| {
                let (list, items) = code.list(plan)?;
                let call = code.b.ins().call(code.calls.sum_list, &[list, items]);
                let both = code.b.inst_results(call)[0];
                let (low, high) = (code.keep_low(both, 32), code.shift_down(both, 32));
                code.b.def_var(sum, low);
                code.b.def_var(count, high);
                Ok(())
            })?,
        }
        Ok((self.b.use_var(sum), self.b.use_var(count)))
    }

    /// The sum of the four 16-bit words of each word.
    fn sum_of_pairs(&mut self, words: &[Value]) -> Value {
        let mut sum = self.number(types::I64, 0);
        let lower = self.number(types::I64, 0x0000_ffff_0000_ffff);
        for word in words {
            let high = self.shift_down(*word, 16);
            for part in [*word, high] {
                let part = self.b.ins().band(part, lower);
                sum = self.b.ins().iadd(sum, part);
            }
        }
        let (low, high) = (self.keep_low(sum, 32), self.shift_down(sum, 32));
        self.b.ins().iadd(low, high)
    }

    /// True if all headers that items are in are valid; `None` if there is no such header.
    fn all_valid(&mut self, plan: &HashPlan<'a>) -> Made<Option<Value>> {
        let mut all_valid: Option<Value> = None;
        let mut seen = vec![];
        for header in plan.items.iter().filter_map(|item| item.place.as_ref().and_then(owner)) {
            let name = format!("{header:?}");
            if !seen.contains(&name) {
                seen.push(name);
                let valid = self.valid(header)?;
                all_valid = Some(match all_valid {
                    Some(all) => self.b.ins().band(all, valid),
                    None => valid,
                });
            }
        }
        Ok(all_valid)
    }

    /// The payload's address and length; nothing if it is not wanted.
    fn payload(&mut self, wanted: bool) -> [Value; 2] {
        if !wanted {
            let zero = self.number(types::I64, 0);
            return [self.frame, zero];
        }
        let registers = self.layout.registers;
        let (cursor, end) = (self.scalar(registers.cursor), self.scalar(registers.end));
        [cursor, self.b.ins().isub(end, cursor)]
    }

    /// All items one after the other, from the highest bit of the first word on, and how many bits they are.
    fn words(&mut self, plan: &HashPlan<'a>) -> Made<(Vec<Value>, u32)> {
        let all: u32 = plan.items.iter().map(|item| item.width).sum();
        // Bits that make whole bytes; after the data, the shift at the end leaves them zero.
        let front = if plan.fills_in_front { all.next_multiple_of(8) - all } else { 0 };
        let (mut word, mut filled) = (self.number(types::I64, 0), front);
        let (mut bits, mut words) = (front, vec![]);
        for item in &plan.items {
            let value = self.item(item)?;
            let mut left = item.width;
            bits += left;
            while left > 0 {
                let now = left.min(64 - filled);
                left -= now;
                let part = self.shift_down(value, left);
                let part = self.resize(part, types::I64);
                let part = self.keep_low(part, now);
                word = if now == 64 { part } else { self.shift_up(word, now) };
                if now < 64 {
                    word = self.b.ins().bor(word, part);
                }
                filled += now;
                if filled == 64 {
                    words.push(word);
                    (word, filled) = (self.number(types::I64, 0), 0);
                }
            }
        }
        if filled > 0 {
            words.push(self.shift_up(word, 64 - filled));
        }
        Ok((words, bits))
    }

    /// All items count.
    fn packed(&mut self, plan: &HashPlan<'a>, payload: bool) -> Made<Value> {
        let (words, bits) = self.words(plan)?;
        let bytes = bits.div_ceil(8);
        if let (false, Some(sum)) = (payload, by_byte(plan.algorithm, bytes as usize)) {
            return Ok(self.sum_of_bytes(&words, &sum));
        }
        for (word, at) in words.into_iter().zip((self.layout.homes.scratch..).step_by(8)) {
            let swapped = self.b.ins().bswap(word);
            self.b.ins().store(PLAIN, swapped, self.frame, at);
        }
        let algorithm = self.algorithm(plan);
        let data = self.at(self.layout.homes.scratch);
        let bytes = self.number(types::I64, u64::from(bytes));
        let [more, length] = self.payload(payload);
        let call = self.b.ins().call(self.calls.hash, &[self.context, algorithm, data, bytes, more, length]);
        Ok(self.b.inst_results(call)[0])
    }

    /// A check of few bytes, which lie in `words` from their highest bits on: no lookup waits for another.
    fn sum_of_bytes(&mut self, words: &[Value], sum: &ByByte) -> Value {
        let tables = self.number(types::I64, sum.tables.as_ptr().expose_provenance() as u64);
        let mut result = self.number(types::I32, sum.zeros);
        for at in 0..sum.tables.len() {
            let byte = self.shift_down(words[at / 8], 56 - 8 * (at as u32 % 8));
            let byte = self.keep_low(byte, 8);
            let entry = self.shift_up(byte, 2);
            let entry = self.b.ins().iadd(tables, entry);
            let table = (sum.tables.len() - 1 - at) * size_of_val(&sum.tables[0]);
            let value = self.b.ins().load(types::I32, PLAIN, entry, table as i32);
            result = self.b.ins().bxor(result, value);
        }
        self.b.ins().uextend(types::I64, result)
    }

    /// The number of the algorithm for a call of the runtime.
    fn algorithm(&mut self, plan: &HashPlan<'a>) -> Value {
        let front = if plan.fills_in_front { FILL_IN_FRONT } else { 0 };
        let call = plan.call.map_or(0, |call| {
            let known = &mut self.notes.calculations;
            let at = known.iter().position(|of| *of == call).unwrap_or_else(|| {
                known.push(call);
                known.len() - 1
            });
            at as u32 + 1
        });
        self.number(types::I32, u64::from(plan.algorithm as u32 | front | call << CALL))
    }

    /// Items of invalid headers do not count.
    fn listed(&mut self, plan: &HashPlan<'a>, payload: bool) -> Made<Value> {
        let (list, count) = self.list(plan)?;
        let algorithm = self.algorithm(plan);
        let [more, length] = self.payload(payload);
        let call =
            self.b.ins().call(self.calls.hash_list, &[self.context, algorithm, list, count, more, length]);
        Ok(self.b.inst_results(call)[0])
    }

    /// The address of a list of numbers with their widths, which are 0 for those of invalid headers, and how many they are.
    pub(crate) fn list(&mut self, plan: &HashPlan<'a>) -> Made<(Value, Value)> {
        let mut at = self.layout.homes.scratch + LIST;
        for item in &plan.items {
            let value = self.item(item)?;
            let (low, high) = match self.b.func.dfg.value_type(value) {
                types::I128 => self.b.ins().isplit(value),
                _ => (self.resize(value, types::I64), self.number(types::I64, 0)),
            };
            let width = self.number(types::I64, u64::from(item.width));
            let width = match item.place.as_ref().and_then(owner) {
                None => width,
                Some(header) => {
                    let valid = self.valid(header)?;
                    let none = self.number(types::I64, 0);
                    self.b.ins().select(valid, width, none)
                }
            };
            for (word, offset) in [(low, 0), (high, 8), (width, 16)] {
                self.b.ins().store(PLAIN, word, self.frame, at + offset);
            }
            // An item of the list: the low word, the high word, the width, of 8 bytes each.
            at += 24;
        }
        let list = self.at(self.layout.homes.scratch + LIST);
        let count = self.number(types::I64, plan.items.len() as u64);
        Ok((list, count))
    }

    /// A sum of 16-bit words, of 64 bits, with its carries added until it has 16 bits: 0 stays 0, and no other sum becomes 0.
    ///
    /// ```text
    /// high:low  +  low:high    in the higher half: high + low, and the carry of the lower half
    /// ```
    pub(crate) fn folded(&mut self, sum: Value) -> Value {
        let half = self.number(types::I32, 32);
        let turned = self.b.ins().rotl(sum, half);
        let sum = self.b.ins().iadd(sum, turned);
        let sum = self.shift_down(sum, 32);
        let sum = self.b.ins().ireduce(types::I32, sum);
        let half = self.number(types::I32, 16);
        let turned = self.b.ins().rotl(sum, half);
        let sum = self.b.ins().iadd(sum, turned);
        let sum = self.shift_down(sum, 16);
        self.b.ins().uextend(types::I64, sum)
    }

    /// The Internet checksum of runs of a header's bytes, of 64 bits: the sum does not care in which order the bytes of a word are, if they are
    /// swapped at the end (RFC 1071).
    fn checksum(&mut self, header: Option<usize>, pointer: Value, runs: &[(u32, u32)]) -> Value {
        let words: Vec<(u32, u32)> = runs.iter().flat_map(|run| words_of(*run)).collect();
        let sum = self.sum_of_header(header, pointer, &words);
        let sum = self.folded(sum);
        let sum = self.b.ins().ireduce(types::I16, sum);
        let sum = self.b.ins().bswap(sum);
        let sum = self.b.ins().bnot(sum);
        self.b.ins().uextend(types::I64, sum)
    }
}

/// A run of an even number of bytes in words of four bytes, and of two at its end.
fn words_of((first, bytes): (u32, u32)) -> impl Iterator<Item = (u32, u32)> {
    (0..bytes).step_by(4).map(move |at| (first + at, (bytes - at).min(4)))
}

/// Adds the fields of a header; `None` if it has one that code does not read.
fn fields<'a>(header: &HeaderAt<'a>, parts: &'a [Part], items: &mut Vec<Item<'a>>) -> Option<()> {
    parts.iter().try_for_each(|part| match part {
        Part::Struct(parts) => fields(header, parts, items),
        Part::Varbit => None,
        Part::Field(_, kind) => {
            let place = Place::Part(header.clone(), part);
            (kind.width() <= 128 && is_near(&place)).then(|| {
                items.push(Item { expr: None, width: kind.width(), place: Some(place) });
            })
        }
    })
}

/// The items as runs of bytes of one header, an even number each; `None` if they are anything else.
fn runs<'p, 'a>(items: &'p [Item<'a>]) -> Option<(&'p HeaderAt<'a>, Vec<(u32, u32)>)> {
    let mut spans: Vec<(u32, u32)> = vec![];
    let header = owner(items.first()?.place.as_ref()?)?;
    let name = format!("{header:?}");
    for item in items {
        let place = item.place.as_ref()?;
        if format!("{:?}", owner(place)?) != name {
            return None;
        }
        let (at, width) = span(place)?;
        match spans.last_mut() {
            Some((first, bits)) if *first + *bits == at => *bits += width,
            _ => spans.push((at, width)),
        }
    }
    spans
        .into_iter()
        .map(|(at, bits)| (at % 8 == 0 && bits % 16 == 0).then_some((at / 8, bits / 8)))
        .collect::<Option<Vec<_>>>()
        .map(|runs| (header, runs))
}
