//! The edges over which packets come to an entry, where its exact keys fix the shard of its packets (`ir_keys::shardings`).
//!
//! ```text
//! flows  10.0.0.1, 10.0.0.2   shard crc32(0a000001 0a000002) % 6 = 4   edge `nic2`, `nic1`
//! ```

use base_bits::{BitWriter, Bits};
use controller::EdgesTo;
use device::hash::Algorithm;
use ir::{Block, Callee, Control, Name, Program, StageKind, StmtKind, SwitchOn, visit};
use ir_keys::{Choice, Hash, Hashed, Input, Sharding, Test};
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::{TableEntry, field_match::FieldMatchType};
use p4runtime_store::Described;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// An edge: its regions, and the shards that it leads if it does not lead all packets.
pub(super) type LeadsTo = (Vec<Name>, Option<Vec<u64>>);

/// Most headers of which it is not known whether packets have them.
const MOST_DOUBTFUL: usize = 4;

/// A table whose entries fix the shards of a region.
struct Fixed {
    number: Arc<Number>,
    /// The keys with the hash's inputs: numbers of fields, and widths.
    fields: BTreeMap<Input, (u32, u32)>,
    /// The region's edges by shard, by their places among all.
    by_shard: BTreeMap<u64, BTreeSet<usize>>,
    /// Edges to the table that do not lead to the region by shard.
    others: BTreeSet<usize>,
}

struct Number {
    hash: Hash,
    algorithm: Algorithm,
}

/// None if no edge leads shards.
pub(super) fn edges_to(whole: &Program, info: &P4Info, edges: &[LeadsTo]) -> Option<EdgesTo> {
    if edges.iter().all(|(_, shards)| shards.is_none()) {
        return None;
    }
    let mut tables: BTreeMap<u32, Vec<Fixed>> = BTreeMap::new();
    let applied = regions_of_tables(whole);
    for Sharding { region, number, tables: fixing } in ir_keys::shardings(whole) {
        let Some(algorithm) = Algorithm::by_name(&number.algorithm).filter(|of| of.fixed(&[]).is_some())
        else {
            continue;
        };
        let number = Arc::new(Number { hash: number, algorithm });
        let (mut by_shard, mut others) = (BTreeMap::<u64, BTreeSet<usize>>::new(), vec![]);
        for (at, (regions, shards)) in edges.iter().enumerate() {
            match shards {
                // The regions of an edge are divided by one field.
                Some(shards) if regions.contains(&region) => {
                    for shard in shards {
                        by_shard.entry(*shard).or_default().insert(at);
                    }
                }
                _ => others.push((at, regions)),
            }
        }
        for table in &info.tables {
            let Some(keys) = fixing.get(table.name()) else { continue };
            let field = |(input, name): (&Input, &Name)| {
                let field = table.match_fields.iter().find(|field| field.name == **name)?;
                Some((input.clone(), (field.id, u32::try_from(field.bitwidth).ok()?)))
            };
            let Some(fields) = keys.iter().map(field).collect::<Option<BTreeMap<_, _>>>() else { continue };
            let (number, by_shard) = (Arc::clone(&number), by_shard.clone());
            let others = others.iter().filter(|(_, regions)| applied.is_led_by(table.name(), regions));
            let others = others.map(|(at, _)| *at).collect();
            tables.entry(table.id()).or_default().push(Fixed { number, fields, by_shard, others });
        }
    }
    // An edge leads to the entry if no region's number speaks against it.
    let edges_to = move |entry: &TableEntry| {
        let all = tables.get(&entry.table_id)?.iter().map(|fixed| fixed.edges(entry));
        all.reduce(|some, more| Some(&some? & &more?)).flatten()
    };
    Some(Arc::new(edges_to))
}

/// The regions in which tables are applied.
#[derive(Default)]
struct Applied {
    /// All regions that the program marks.
    marked: BTreeSet<Name>,
    /// The regions of each table, by control-plane name; `None` is outside of all regions.
    of: BTreeMap<Name, BTreeSet<Option<Name>>>,
}

impl Applied {
    /// Packets that come over an edge to these regions may come to the table: each is in one of its regions, but for regions that the program does not
    /// mark, and tables that are applied outside, too.
    fn is_led_by(&self, table: &str, regions: &[Name]) -> bool {
        let Some(own) = self.of.get(table).filter(|own| !own.contains(&None)) else { return true };
        regions.iter().any(|region| own.contains(&Some(region.clone())) || !self.marked.contains(region))
    }

    fn add(&mut self, program: &Program, control: &Control, block: &Block, within: &BTreeSet<Name>) {
        for stmt in &block.stmts {
            let mut within = within.clone();
            match &stmt.kind {
                StmtKind::Apply(id) | StmtKind::Switch(SwitchOn::ActionRun(id), _) => {
                    let Some(table) = control.tables.get(id.index()) else { continue };
                    let own = self.of.entry(table.control_plane_name.clone()).or_default();
                    own.extend(within.iter().cloned().map(Some));
                    own.extend(within.is_empty().then_some(None));
                }
                StmtKind::Call(call) => {
                    if let Callee::Control(id) = call.callee {
                        let called = program.control(id);
                        self.add(program, called, &called.body, &within);
                    }
                }
                StmtKind::Block(block) => {
                    self.marked.extend(block.region());
                    within.extend(block.region());
                }
                _ => {}
            }
            visit::blocks(stmt, &mut |inner| self.add(program, control, inner, &within));
        }
    }
}

fn regions_of_tables(program: &Program) -> Applied {
    let mut applied = Applied::default();
    for stage in &program.stages {
        if let StageKind::Control(id) | StageKind::Deparse(id) = stage.kind {
            let control = program.control(id);
            applied.add(program, control, &control.body, &BTreeSet::new());
        }
    }
    applied
}

impl Fixed {
    fn edges(&self, entry: &TableEntry) -> Option<BTreeSet<usize>> {
        let value = |(input, (id, width)): (&Input, &(u32, u32))| {
            let field = entry.r#match.iter().find(|field| field.field_id == *id)?;
            let Some(FieldMatchType::Exact(exact)) = &field.field_match_type else { return None };
            Some((input.clone(), Bits::from_be_bytes(*width, &exact.value)))
        };
        let values = self.fields.iter().map(value).collect::<Option<BTreeMap<_, _>>>()?;
        let shards = self.number.of(&values)?;
        let mut edges = self.others.clone();
        for shard in shards {
            edges.extend(self.by_shard.get(&shard).into_iter().flatten());
        }
        Some(edges)
    }
}

impl Number {
    /// The shards of packets with these inputs: a packet without a header has zeros in the keys, too, but what the hash leaves out is missing.
    fn of(&self, values: &BTreeMap<Input, Bits>) -> Option<BTreeSet<u64>> {
        let mut headers: BTreeMap<String, bool> = BTreeMap::new();
        for part in self.hash.parts.iter().filter(|part| part.is_of_header) {
            if let Hashed::Input(input) = &part.value {
                *headers.entry(header(input)).or_insert(true) &= values.get(input)?.is_zero();
            }
        }
        let doubtful: Vec<String> =
            headers.into_iter().filter(|(_, is_zero)| *is_zero).map(|(header, _)| header).collect();
        if doubtful.len() > MOST_DOUBTFUL {
            return None;
        }
        let subsets = 0_u32..1 << doubtful.len();
        let missing = |subset: u32| {
            let of_it = doubtful.iter().enumerate().filter(move |(at, _)| subset & 1 << at != 0);
            of_it.map(|(_, header)| header.clone()).collect::<BTreeSet<String>>()
        };
        subsets.map(|subset| self.without(&missing(subset), values)).collect()
    }

    fn without(&self, missing: &BTreeSet<String>, values: &BTreeMap<Input, Bits>) -> Option<u64> {
        let mut data = BitWriter::new();
        for part in &self.hash.parts {
            let input = match &part.value {
                Hashed::Input(input) if part.is_of_header && missing.contains(&header(input)) => continue,
                Hashed::Input(input) => input,
                Hashed::Choice(Choice { test, yes, no }) => {
                    if holds(test, values)? {
                        yes
                    } else {
                        no
                    }
                }
            };
            data.push(values.get(input)?);
        }
        let hashed = self.algorithm.fixed(&data.finish())?;
        Some((hashed % self.hash.max).wrapping_add(self.hash.base))
    }
}

/// The header of a field.
fn header(input: &Input) -> String {
    let name = input.to_string();
    name.rsplit_once('.').map_or(String::new(), |(header, _)| header.to_string())
}

fn holds(test: &Test, values: &BTreeMap<Input, Bits>) -> Option<bool> {
    let both = |a: &Input, b: &Input| Some(values.get(a)?.cmp_unsigned(values.get(b)?));
    Some(match test {
        Test::Const(value) => *value,
        Test::Less(a, b) => both(a, b)?.is_lt(),
        Test::Equal(a, b) => both(a, b)?.is_eq(),
        Test::And(a, b) => holds(a, values)? && holds(b, values)?,
        Test::Or(a, b) => holds(a, values)? || holds(b, values)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table in two regions, one of which leads packets by shard.
    #[test]
    fn packets_come_over_other_edges_too() {
        let hash = Hash { algorithm: "crc16".into(), base: 0, max: 1, parts: vec![] };
        let number = Arc::new(Number { hash, algorithm: Algorithm::by_name("crc16").unwrap() });
        let (by_shard, others) = ([(0, [1].into())].into(), [2].into());
        let fixed = Fixed { number, fields: BTreeMap::new(), by_shard, others };
        assert_eq!(fixed.edges(&TableEntry::default()), Some([1, 2].into()));
    }
}
