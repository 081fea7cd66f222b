//! Rules with the costs of each function on each class: JSON, or the table they are generated from.

use super::bare;
use super::json::{Node, Result, parse};
use super::network::read_bound;
use crate::{Bound, Change, Compare, Effect, Factor, Rule, Scope, Signature, VarId};
use base_diag::codes::plan as codes;
use base_diag::{Diagnostic, Span};

/// Reads rules in JSON. Bounds on the area of single devices are left out: here the area is each device's own, and its limit is kept.
pub fn read_performance_json(text: &str, base: u32, signature: &Signature) -> Result<Vec<Rule>> {
    let value = parse(text, base)?;
    let root = Node::root(&value, base);
    let mut rules = vec![];
    for item in root.list()? {
        let mut rule = Rule {
            name: item.get("name")?.text()?.into(),
            head: bare(item.get("conclusion")?.text()?).into(),
            needs: vec![],
            bounds: vec![],
            effects: vec![],
            span: item.span(),
        };
        for prop in item.get("props")?.list()? {
            rule.needs.push(bare(prop.text()?).into());
        }
        for bound in item.get("bounds")?.list()? {
            let (_, of) = bound.single()?;
            if !bare(of.pair()?.0.text()?).contains("_Area_") {
                rule.bounds.push(read_bound(&bound, signature)?);
            }
        }
        for update in item.get("g")?.list()? {
            let (sign, of) = update.single()?;
            if sign == "aF" {
                area(&of, signature, &mut rule)?;
                continue;
            }
            let (name, value) = of.pair()?;
            let var = of.variable(bare(name.text()?), signature)?;
            let quantity = || value.quantity(signature.get(var).unit);
            let change = match (sign, signature.get(var).scope) {
                ("aP", Scope::Path) | ("aO", Scope::Once) => Change::Add(quantity()?),
                ("a", Scope::Path) => Change::Assign(quantity()?),
                ("aM", Scope::Path) => {
                    let factor = Factor::parse(&value.number()?);
                    Change::Multiply(factor.map_err(|why| value.wrong("not a factor").note(why))?)
                }
                _ => return Err(update.wrong(format!("`{sign}` cannot change this variable"))),
            };
            rule.effects.push(Effect { var, change });
        }
        rules.push(rule);
    }
    Ok(rules)
}

/// Resources listed by `aF`.
const AREAS: [&str; 3] = ["LUTs", "BRAMs", "FFs"];

fn area(of: &Node<'_>, signature: &Signature, rule: &mut Rule) -> Result<()> {
    let values = of.list()?;
    if values.len() != AREAS.len() {
        return Err(of.wrong("a list of three areas is expected here"));
    }
    for (name, value) in AREAS.into_iter().zip(values) {
        let var = of.variable(name, signature)?;
        let change = Change::Add(value.quantity(signature.get(var).unit)?);
        rule.effects.push(Effect { var, change });
    }
    Ok(())
}

/// Columns that are no bounds or effects.
const NAME: usize = 0;
const CLASS: usize = 1;

/// Reads the table. Its first line names the columns: `bounds:lt:VAR`, `g:aP:VAR` and so on; a row that starts with `#` is left out, and so is
/// an empty cell.
pub fn read_performance_csv(text: &str, base: u32, signature: &Signature) -> Result<Vec<Rule>> {
    let (text, base) = base_diag::without_mark(text, base);
    let mut at = 0usize;
    let mut columns: Option<Vec<Column>> = None;
    let mut rules = vec![];
    for line in text.split_inclusive('\n') {
        let place = |offset: usize, length: usize| {
            let lo = base.saturating_add(u32::try_from(at + offset).unwrap_or(u32::MAX));
            Span { lo, hi: lo.saturating_add(length as u32), ..Span::NONE }
        };
        let row = line.trim();
        if !row.is_empty() && !row.starts_with('#') {
            let mut cells = vec![];
            let mut offset = line.len() - line.trim_start().len();
            for cell in row.split(',') {
                cells.push((cell.trim(), place(offset, cell.len().max(1))));
                offset += cell.len() + 1;
            }
            match &columns {
                None => {
                    columns = Some(cells.iter().map(|cell| column(*cell, signature)).collect::<Result<_>>()?)
                }
                Some(columns) => rules.push(row_rule(&cells, columns, signature, place(0, row.len()))?),
            }
        }
        at += line.len();
    }
    match columns {
        Some(_) => Ok(rules),
        None => Err(Diagnostic::error(codes::FORM, "the table has no first line")
            .at(Span { lo: base, hi: base.saturating_add(1), ..Span::NONE }, "columns are named here")),
    }
}

#[derive(Clone, Copy)]
enum Column {
    Text,
    Bound(VarId, Compare),
    Effect(VarId, fn(&str, crate::Unit) -> std::result::Result<Change, String>),
    Conclusion,
}

/// `bounds:ltData::Bound::InputRate`, `bounds:gt:Data::Bound::PacketSize`, `g:aP:Data::Bound::Latency`, `g:aF:LUTs`.
fn column((name, span): (&str, Span), signature: &Signature) -> Result<Column> {
    let unknown = |what: &str| {
        Diagnostic::error(codes::FORM, format!("column `{}` is not known", name.escape_debug()))
            .at(span, what)
    };
    let var = || {
        signature
            .find(bare(name.rsplit(':').next().unwrap_or(name)))
            .ok_or_else(|| unknown("no such variable"))
    };
    let add = |text: &str, unit: crate::Unit| unit.parse(text).map(Change::Add);
    let multiply = |text: &str, _: crate::Unit| Factor::parse(text).map(Change::Multiply);
    let assign = |text: &str, unit: crate::Unit| unit.parse(text).map(Change::Assign);
    Ok(match name {
        "name" => Column::Text,
        "conclusion" => Column::Conclusion,
        _ if name.starts_with("props") => Column::Text,
        _ if name.starts_with("bounds:lt") => Column::Bound(var()?, Compare::Less),
        _ if name.starts_with("bounds:gt") => Column::Bound(var()?, Compare::Greater),
        _ if name.starts_with("g:aP:") || name.starts_with("g:aO:") || name.starts_with("g:aF:") => {
            Column::Effect(var()?, add)
        }
        _ if name.starts_with("g:aM:") => Column::Effect(var()?, multiply),
        _ if name.starts_with("g:a:") => Column::Effect(var()?, assign),
        _ => return Err(unknown("neither a bound nor an effect")),
    })
}

fn row_rule(cells: &[(&str, Span)], columns: &[Column], signature: &Signature, span: Span) -> Result<Rule> {
    if cells.len() != columns.len() {
        let note = format!("there are {} columns, and {} cells here", columns.len(), cells.len());
        return Err(Diagnostic::error(codes::FORM, "the row has another number of cells").at(span, note));
    }
    let mut rule = Rule {
        name: cells[NAME].0.into(),
        head: "".into(),
        needs: vec![bare(cells[CLASS].0).into()],
        bounds: vec![],
        effects: vec![],
        span,
    };
    for ((text, span), column) in cells.iter().zip(columns).filter(|((text, _), _)| !text.is_empty()) {
        let wrong =
            |why: String| Diagnostic::error(codes::QUANTITY, "not a quantity of this kind").at(*span, why);
        match column {
            Column::Text => {}
            Column::Conclusion => rule.head = bare(text).into(),
            Column::Bound(var, compare) => {
                let value = signature.get(*var).unit.parse(text).map_err(wrong)?;
                rule.bounds.push(Bound { var: *var, compare: *compare, value });
            }
            Column::Effect(var, read) => {
                let change = read(text, signature.get(*var).unit).map_err(wrong)?;
                rule.effects.push(Effect { var: *var, change });
            }
        }
    }
    match rule.head.is_empty() {
        true => Err(Diagnostic::error(codes::FORM, "the row has no conclusion").at(span, "no conclusion")),
        false => Ok(rule),
    }
}
