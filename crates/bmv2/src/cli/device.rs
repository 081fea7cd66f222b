//! Commands about ports, queues and the switch.

use super::Caller;
use super::calls::{call, done};
use super::show::{ports, scalar};
use super::words::Line;
use crate::wire::Value;

pub fn port_add(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let (interface, port) = (line.word()?, line.int()?);
    line.finish()?;
    let arguments = vec![(1, Value::text(interface)), (2, Value::I32(port)), (3, Value::text(""))];
    done(call(to, "standard", "bm_dev_mgr_add_port", arguments))
}

pub fn port_remove(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let port = line.int()?;
    line.finish()?;
    done(call(to, "standard", "bm_dev_mgr_remove_port", vec![(1, Value::I32(port))]))
}

pub fn show_ports(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    line.finish()?;
    Ok(ports(call(to, "standard", "bm_dev_mgr_show_ports", vec![])?.as_ref()))
}

pub fn switch_info(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    line.finish()?;
    let Some(Value::Struct(fields)) = call(to, "standard", "bm_mgmt_get_info", vec![])? else {
        return Ok(String::new());
    };
    let name = |id| match id {
        1 => "device_id",
        2 => "thrift_port",
        3 => "notifications_socket",
        4 => "elogger_socket",
        _ => "debugger_socket",
    };
    Ok(fields.iter().map(|(id, value)| format!("{:25}: {}\n", name(*id), scalar(Some(value)))).collect())
}

pub fn queue(line: &mut Line<'_>, to: &mut dyn Caller, what: &str) -> Result<String, String> {
    let is_rate = what == "rate";
    let amount = line.int()?;
    let amount = if is_rate { Value::I64(amount.into()) } else { Value::I32(amount) };
    let mut places = vec![];
    while !line.words.is_empty() {
        places.push(Value::I32(line.int()?));
    }
    let method = match places.len() {
        0 => format!("set_all_egress_queue_{what}s"),
        1 => format!("set_egress_queue_{what}"),
        2 => format!("set_egress_priority_queue_{what}"),
        _ => return line.usage(),
    };
    places.push(amount);
    done(call(to, "simple_switch", &method, (1..).zip(places).collect()))
}

pub fn time(line: &mut Line<'_>, to: &mut dyn Caller, method: &str) -> Result<String, String> {
    line.finish()?;
    Ok(format!("{}\n", scalar(call(to, "simple_switch", method, vec![])?.as_ref())))
}

pub fn serialize_state(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let file = line.word()?;
    line.finish()?;
    match call(to, "standard", "bm_serialize_state", vec![])? {
        Some(Value::String(state)) => to.write_file(file, &state).map(|()| String::new()),
        _ => Err("the switch gives no state".to_string()),
    }
}

pub fn reset_state(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    line.finish()?;
    done(call(to, "standard", "bm_reset_state", vec![]))
}
