//! The analyser's abstract programs.

use super::bare;
use super::json::{Node, Result, parse};
use crate::{App, Edge, Factor, Region};

/// Reads a program called `name`. Aliases of the start run on the device `focus`. An edge carries the hand-over to the
/// segment after it.
pub fn read_program(text: &str, base: u32, name: &str, focus: usize) -> Result<App> {
    let value = parse(text, base)?;
    let root = Node::root(&value, base);
    let mut app = App { name: name.into(), ..App::default() };
    for item in root.get("Abstract program")?.list()? {
        let (segment, paths) = item.single()?;
        if app.regions.iter().any(|r| r.name == segment) {
            return Err(item.twice(&format!("segment `{segment}`")));
        }
        let mut region = Region { name: segment.into(), span: item.span(), ..Region::default() };
        for path in paths.list()? {
            let props = path.get("Props")?.list()?;
            region.paths.push(props.iter().map(|p| Ok(bare(p.text()?).into())).collect::<Result<_>>()?);
        }
        app.regions.push(region);
    }
    for alias in root.get("FlightStartAliases")?.list()? {
        let at = segment(&alias, alias.text()?, &app)?;
        app.regions[at].on = vec![focus];
    }
    let overheads = root.find("Hand-over Overheads");
    for item in root.get("CFG")?.list()? {
        let (from, to) = item.single()?;
        let (from, target) = (segment(&item, from, &app)?, to.text()?);
        let to = segment(&to, target, &app)?;
        let mut bits = 0i64;
        if let Some(values) = overheads.as_ref().and_then(|o| o.find(target)) {
            for (_, value) in values.entries()? {
                bits = bits.saturating_add(value.quantity(crate::Unit::Bits)?);
            }
        }
        app.edges.push(Edge { from, to, bits, share: Factor::ONE, passes: 0 });
    }
    Ok(app)
}

fn segment(item: &Node<'_>, name: &str, app: &App) -> Result<usize> {
    item.named("segment", name, app.regions.iter().map(|r| r.name.as_str()))
}
