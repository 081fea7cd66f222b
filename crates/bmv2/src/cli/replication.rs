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

pub fn node(line: &mut Line<'_>) -> Result<Fields, String> {
    let number = line.int()?;
    let mut map = vec![];
    while !line.words.is_empty() {
        let port = usize::try_from(line.int()?)
            .ok()
            .filter(|port| *port < 1 << 16)
            .ok_or("a port is below 65536")?;
        map.resize(map.len().max(port + 1), b'0');
        map[port] = b'1';
    }
    map.reverse();
    Ok(vec![(1, Value::I32(0)), (2, Value::I32(number)), (3, Value::String(map)), (4, Value::text(""))])
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
