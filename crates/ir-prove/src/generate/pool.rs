//! The values to draw from: for each width a few, the program's own constants among them.

use base_bits::Bits;
use base_time::Rng;
use ir::{Block, Const, Expr, ExprKind, Keyset, Program, Transition, visit};
use std::collections::BTreeMap;

/// Number of random values of each width beside the program's constants.
const RANDOM_VALUES: usize = 4;

/// Values by width.
#[derive(Clone, Debug)]
pub struct Pool {
    by_width: BTreeMap<u32, Vec<Bits>>,
    seeds: Rng,
    /// Values of this width name ports; those reserved for links are never drawn.
    port_width: u32,
    reserved: Vec<u64>,
}

impl Pool {
    /// The constants of `program`, their neighbours, and a few random values. `reserved` are ports that join
    /// devices.
    pub fn new(program: &Program, reserved: &[u64], rng: &Rng) -> Pool {
        let mut pool = Pool {
            by_width: BTreeMap::new(),
            seeds: rng.split("pool"),
            port_width: ir_split::PORT_BITS,
            reserved: reserved.to_vec(),
        };
        for control in &program.controls {
            pool.add_block(&control.body);
            control.actions.iter().for_each(|a| pool.add_block(&a.body));
            for entry in control.tables.iter().flat_map(|t| &t.entries) {
                entry.keys.iter().for_each(|k| pool.add_keyset(k));
                entry.args.iter().for_each(|a| pool.add_expr(a));
            }
        }
        for parser in &program.parsers {
            for state in &parser.states {
                pool.add_block(&Block { annotations: vec![], stmts: state.stmts.clone() });
                if let Transition::Select(select) = &state.transition {
                    select.cases.iter().flat_map(|c| &c.keys).for_each(|k| pool.add_keyset(k));
                }
            }
        }
        pool
    }

    fn add_block(&mut self, block: &Block) {
        visit::all_exprs(block, &mut |e| self.add_one(e));
    }

    fn add_keyset(&mut self, keyset: &Keyset) {
        match keyset {
            Keyset::Value(e) => self.add_expr(e),
            Keyset::Mask(a, b) | Keyset::Range(a, b) => {
                self.add_expr(a);
                self.add_expr(b);
            }
            Keyset::DontCare | Keyset::ValueSet(_) => {}
        }
    }

    fn add_expr(&mut self, expr: &Expr) {
        visit::subexprs(expr, &mut |e| self.add_one(e));
    }

    fn add_one(&mut self, expr: &Expr) {
        if let ExprKind::Const(Const::Bits(bits)) = &expr.kind {
            let one = Bits::new(bits.width(), 1);
            for value in [bits.clone(), bits.add(&one), bits.sub(&one)] {
                self.add(value);
            }
        }
    }

    /// Another value to draw from.
    pub fn add(&mut self, value: Bits) {
        if value.width() == self.port_width && value.to_u64().is_some_and(|v| self.reserved.contains(&v)) {
            return;
        }
        let values = self.by_width.entry(value.width()).or_default();
        if !values.contains(&value) {
            values.push(value);
        }
    }

    /// A value of this width: mostly one that others draw too.
    pub fn draw(&mut self, width: u32, rng: &mut Rng) -> Bits {
        let is_port = width == self.port_width;
        if !is_port && rng.chance(1, 8) {
            return random(width, rng);
        }
        self.fill(width);
        let values = self.by_width.get(&width).map(Vec::as_slice).unwrap_or_default();
        rng.pick(values).cloned().unwrap_or_else(|| Bits::zero(width))
    }

    /// The values of this width.
    pub fn known(&self, width: u32) -> Vec<Bits> {
        self.by_width.get(&width).cloned().unwrap_or_default()
    }

    /// A port that packets come in by.
    pub fn port(&mut self, rng: &mut Rng) -> u32 {
        let drop_port = u64::from(device::Options::default().drop_port);
        for _ in 0..64 {
            let port = self.draw(self.port_width, rng).to_u64().unwrap_or(0);
            if port != drop_port {
                return port as u32;
            }
        }
        0
    }

    /// A width that no constant has gets its values when it is first drawn.
    fn fill(&mut self, width: u32) {
        let have = self.by_width.get(&width).map_or(0, Vec::len);
        let mut rng = self.seeds.split_index(u64::from(width));
        let mut added = 0;
        while added < RANDOM_VALUES && !self.filled(width, have) {
            self.add(random(width, &mut rng));
            added += 1;
        }
        if have == 0 {
            self.add(Bits::zero(width));
        }
    }

    fn filled(&self, width: u32, have: usize) -> bool {
        let room = if width < 20 { 1usize << width } else { usize::MAX };
        have >= 8 || have >= room || self.by_width.get(&width).is_some_and(|v| v.len() >= 8)
    }
}

/// Any value of this width.
pub fn random(width: u32, rng: &mut Rng) -> Bits {
    Bits::from_be_bytes(width, &rng.bytes((width as usize).div_ceil(8)))
}
