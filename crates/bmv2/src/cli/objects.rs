//! Commands about counters, meters, registers and parser value sets.

use super::Caller;
use super::calls::{about, done};
use super::program::Object;
use super::show::{hex, scalar};
use super::words::Line;
use crate::wire::{Type, Value};
use std::fmt::Write;

pub fn object<'l>(line: &mut Line<'l>, kind: &str, all: &'l [Object]) -> Result<&'l Object, String> {
    let name = line.name_among(kind, all.iter().map(|object| object.name.as_str()))?;
    all.iter().find(|object| object.name == name).map_or_else(|| line.usage(), Ok)
}

pub fn counter_read(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let program = line.program;
    let (counter, index) = (object(line, "counter", &program.counters)?, line.int()?);
    line.finish()?;
    let found = match &counter.table {
        Some(table) => about(to, "bm_mt_read_counter", table, vec![Value::I32(index)])?,
        None => about(to, "bm_counter_read", &counter.name, vec![Value::I32(index)])?,
    };
    let Some(Value::Struct(fields)) = found else { return Err("the counter has no value".to_string()) };
    let field = |id| scalar(fields.iter().find(|(of, _)| *of == id).map(|(_, value)| value));
    Ok(format!("{}[{index}]= ({} bytes, {} packets)\n", counter.name, field(1), field(2)))
}

pub fn counter_write(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let program = line.program;
    let (counter, index) = (object(line, "counter", &program.counters)?, line.int()?);
    let (packets, bytes) = (line.long()?, line.long()?);
    line.finish()?;
    let count = Value::Struct(vec![(1, Value::I64(bytes)), (2, Value::I64(packets))]);
    let more = vec![Value::I32(index), count];
    done(match &counter.table {
        Some(table) => about(to, "bm_mt_write_counter", table, more),
        None => about(to, "bm_counter_write", &counter.name, more),
    })
}

pub fn counter_reset(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let program = line.program;
    let counter = object(line, "counter", &program.counters)?;
    line.finish()?;
    done(match &counter.table {
        Some(table) => about(to, "bm_mt_reset_counters", table, vec![]),
        None => about(to, "bm_counter_reset_all", &counter.name, vec![]),
    })
}

pub fn rates(line: &mut Line<'_>) -> Result<Value, String> {
    let mut all = vec![];
    while !line.words.is_empty() {
        let word = line.word()?;
        let rate = word
            .split_once(':')
            .and_then(|(rate, burst)| Some((rate.parse::<f64>().ok()?, burst.parse::<i32>().ok()?)));
        let (rate, burst) = rate.ok_or_else(|| format!("`{word}` is not RATE:BURST, as in 0.5:10"))?;
        all.push(Value::Struct(vec![(1, Value::Double(rate)), (2, Value::I32(burst))]));
    }
    if all.len() == 2 { Ok(Value::List(Type::Struct, all)) } else { line.usage() }
}

pub fn meter_set(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let program = line.program;
    let (meter, index, rates) = (object(line, "meter", &program.meters)?, line.int()?, rates(line)?);
    let more = vec![Value::I32(index), rates];
    done(match &meter.table {
        Some(table) => about(to, "bm_mt_set_meter_rates", table, more),
        None => about(to, "bm_meter_set_rates", &meter.name, more),
    })
}

pub fn meter_array_set(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let program = line.program;
    let (meter, rates) = (object(line, "meter", &program.meters)?, rates(line)?);
    done(about(to, "bm_meter_array_set_rates", &meter.name, vec![rates]))
}

pub fn meter_get(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let program = line.program;
    let (meter, index) = (object(line, "meter", &program.meters)?, line.int()?);
    line.finish()?;
    let found = match &meter.table {
        Some(table) => about(to, "bm_mt_get_meter_rates", table, vec![Value::I32(index)])?,
        None => about(to, "bm_meter_get_rates", &meter.name, vec![Value::I32(index)])?,
    };
    let Some(Value::List(_, rates)) = found else { return Err("the meter has no rates".to_string()) };
    let mut text = String::new();
    for (at, rate) in rates.iter().enumerate() {
        if let Value::Struct(fields) = rate {
            let field = |id| scalar(fields.iter().find(|(of, _)| *of == id).map(|(_, value)| value));
            let _ = writeln!(text, "{at}: info rate = {}, burst size = {}", field(1), field(2));
        }
    }
    Ok(text)
}

pub fn register_read(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let program = line.program;
    let register = &object(line, "register", &program.registers)?.name;
    if line.words.is_empty() {
        let Some(Value::List(_, cells)) = about(to, "bm_register_read_all", register, vec![])? else {
            return Err("the register has no cells".to_string());
        };
        let cells: Vec<String> = cells.iter().map(|cell| scalar(Some(cell))).collect();
        return Ok(format!("{register}= {}\n", cells.join(", ")));
    }
    let index = line.int()?;
    line.finish()?;
    let cell = about(to, "bm_register_read", register, vec![Value::I32(index)])?;
    Ok(format!("{register}[{index}]= {}\n", scalar(cell.as_ref())))
}

pub fn register_write(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let program = line.program;
    let (register, index, value) = (object(line, "register", &program.registers)?, line.int()?, line.long()?);
    line.finish()?;
    done(about(to, "bm_register_write", &register.name, vec![Value::I32(index), Value::I64(value)]))
}

pub fn register_reset(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let program = line.program;
    let register = object(line, "register", &program.registers)?;
    line.finish()?;
    done(about(to, "bm_register_reset", &register.name, vec![]))
}

pub fn set_name<'l>(line: &mut Line<'l>) -> Result<&'l str, String> {
    let program = line.program;
    line.name_among("parser value set", program.value_sets.iter().map(|(name, _)| name.as_str()))
}

pub fn value_set(line: &mut Line<'_>, to: &mut dyn Caller, method: &str) -> Result<String, String> {
    let set = set_name(line)?;
    let word = line.word()?;
    line.finish()?;
    let number = p4_entries::parse_number(word).map_err(|why| why.to_string())?;
    let bits = line.program.value_sets.iter().find(|(name, _)| name == set).map_or(0, |(_, bits)| *bits);
    if number > crate::value::ones(bits) {
        return Err(format!("`{word}` needs more than {bits} bits"));
    }
    let value = crate::value::padded(&crate::value::shortest(&number.to_bytes_be()), bits);
    done(about(to, method, set, vec![Value::String(value)]))
}

pub fn pvs_get(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let set = set_name(line)?;
    line.finish()?;
    let Some(Value::List(_, values)) = about(to, "bm_parse_vset_get", set, vec![])? else {
        return Ok(String::new());
    };
    Ok(values.iter().map(|value| format!("{}\n", hex(value))).collect())
}

pub fn pvs_clear(line: &mut Line<'_>, to: &mut dyn Caller) -> Result<String, String> {
    let set = set_name(line)?;
    line.finish()?;
    done(about(to, "bm_parse_vset_clear", set, vec![]))
}

/// Numbers are signed in Thrift and unsigned in a CRC.
pub fn set_crc(line: &mut Line<'_>, to: &mut dyn Caller, width: u32) -> Result<String, String> {
    let algorithm = format!("crc{width}_custom");
    let known = line.program.calculations.iter().filter(|(_, of)| *of == algorithm);
    let name =
        line.name_among(&format!("calculation with `{algorithm}`"), known.map(|(name, _)| name.as_str()))?;
    let mut fields = vec![];
    for id in 1..=3 {
        let word = line.word()?;
        let number = p4_entries::parse_number(word).map_err(|why| why.to_string())?;
        let number = u32::try_from(number).ok().filter(|number| *number <= u32::MAX >> (32 - width));
        let number = number.ok_or_else(|| format!("`{word}` needs more than {width} bits"))?;
        fields.push((id, if width == 16 { Value::I16(number as i16) } else { Value::I32(number as i32) }));
    }
    for id in 4..=5 {
        let word = line.word()?;
        let flag = match word.to_ascii_lowercase().as_str() {
            "true" | "1" => true,
            "false" | "0" => false,
            _ => return Err(format!("`{word}` is neither true nor false")),
        };
        fields.push((id, Value::Bool(flag)));
    }
    line.finish()?;
    let method = format!("bm_set_crc{width}_custom_parameters");
    done(about(to, &method, name, vec![Value::Struct(fields)]))
}
