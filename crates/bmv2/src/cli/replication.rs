//! Commands about multicast groups and clone sessions.

use super::Caller;
use super::calls::{call, done, numbers};
use super::show::scalar;
use super::words::Line;
use crate::wire::{Fields, Value};

pub fn multicast(
    line: &mut Line<'_>,
    to: &mut dyn Caller,
    method: &str,
    count: usize,
) -> Result<String, String> {
    let all = std::iter::once(Value::I32(0)).chain(numbers(line, count)?);
    done(call(to, "simple_pre_lag", method, (1..).zip(all).collect()))
}

/// A number, then `PORT... [| LAG...]`.
pub fn node(line: &mut Line<'_>) -> Result<Fields, String> {
    let (number, ports) = (line.int()?, map(line, 1 << 16, "a port")?);
    let lags = match line.words.split_first() {
        Some((_, rest)) => {
            line.words = rest;
            map(line, 256, "a link aggregation group")?
        }
        None => Value::text(""),
    };
    line.finish()?;
    Ok(vec![(1, Value::I32(0)), (2, Value::I32(number)), (3, ports), (4, lags)])
}

/// The numbers until `|` or the end of the line, as a map.
fn map(line: &mut Line<'_>, most: usize, what: &str) -> Result<Value, String> {
    let mut map = vec![];
    while line.words.first().is_some_and(|word| *word != "|") {
        let number = usize::try_from(line.int()?).ok().filter(|number| *number < most);
        let number = number.ok_or_else(|| format!("{what} is below {most}"))?;
        map.resize(map.len().max(number + 1), b'0');
        map[number] = b'1';
    }
    map.reverse();
    Ok(Value::String(map))
}

pub fn set_lag_membership(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let (lag, ports) = (line.int()?, map(line, 1 << 16, "a port")?);
    line.finish()?;
    let lag = i16::try_from(lag).map_err(|_| "a link aggregation group is below 256".to_string())?;
    let fields = vec![(1, Value::I32(0)), (2, Value::I16(lag)), (3, ports)];
    done(call(to, "simple_pre_lag", "bm_mc_set_lag_membership", fields))
}

pub fn node_create(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let handle = call(to, "simple_pre_lag", "bm_mc_node_create", node(line)?)?;
    Ok(format!("node was created with handle {}\n", scalar(handle.as_ref())))
}

pub fn node_update(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    done(call(to, "simple_pre_lag", "bm_mc_node_update", node(line)?))
}

pub fn mc_dump(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    line.finish()?;
    let dump = call(to, "simple_pre_lag", "bm_mc_get_entries", vec![(1, Value::I32(0))])?;
    Ok(format!("{}\n", scalar(dump.as_ref())))
}

pub fn mirroring(line: &mut Line<'_>, to: &mut dyn Caller, kind: i16) -> Result<String, String> {
    let (session, target) = (line.int()?, line.int()?);
    line.finish()?;
    let config = Value::Struct(vec![(kind, Value::I32(target))]);
    done(call(to, "simple_switch", "mirroring_session_add", vec![(1, Value::I32(session)), (2, config)]))
}

pub fn mirroring_delete(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let session = line.int()?;
    line.finish()?;
    done(call(to, "simple_switch", "mirroring_session_delete", vec![(1, Value::I32(session))]))
}

pub fn mirroring_get(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let session = line.int()?;
    line.finish()?;
    let config = call(to, "simple_switch", "mirroring_session_get", vec![(1, Value::I32(session))])?;
    let Some(Value::Struct(fields)) = config else { return Ok(String::new()) };
    let shown = fields
        .iter()
        .map(|(id, value)| format!("{} {}\n", if *id == 1 { "port" } else { "group" }, scalar(Some(value))));
    Ok(shown.collect())
}
