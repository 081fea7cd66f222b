//! Time of a handler's calls: the function alone, from lists of numbers, in machine code, and in a process of its own.

use super::{handler_program, thread, wall};
use base_bits::Bits;
use base_time::{Duration, Rng, Time};
use dataplane_api::ValueExtern;
use handlers::{Built, Inline, Isolated};
use ir_handlers::Handler;
use serde_json::{Value, json};
use std::sync::Arc;

/// Distinct requests; they come again and again.
const REQUESTS: usize = 1024;

/// Nanoseconds for each call; none where the handler cannot run like this.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HandlerTimes {
    /// The function in C, inline. Processor time.
    pub alone: Option<f64>,
    /// Inline, from lists of numbers, as the interpreter calls it. Processor time.
    pub inline: Option<f64>,
    /// A packet of a loop in C over batches, for comparison. Processor time.
    pub loop_in_c: Option<f64>,
    /// A packet of a small program without a call, and of the same program with one, inline in machine code. Processor time.
    pub packets: Option<(f64, f64)>,
    /// In a process of its own. Time that passes.
    pub isolated: f64,
}

/// Measures a handler with random requests from a seed, about this long in each way.
pub fn handler(
    built: &Arc<Built>,
    handler: &Handler,
    seed: u64,
    time: std::time::Duration,
) -> Result<HandlerTimes, String> {
    let shared = Arc::new(handler.clone());
    let mut rng = Rng::new(seed).split("requests");
    let requests: Vec<Vec<Bits>> = (0..REQUESTS).map(|_| request(handler, &mut rng)).collect();
    let packed: Vec<Vec<u8>> = requests.iter().map(|request| handlers::packed(handler, request)).collect();
    let widths = handler.response.iter().flat_map(|fields| fields.fields.iter().map(|field| field.width));
    let zero: Vec<Bits> = widths.chain(handler.returns.then_some(1)).map(Bits::zero).collect();
    let mut outputs = zero.clone();
    let mut call = |object: &mut dyn ValueExtern, n: usize, now: Time| {
        outputs.clone_from(&zero);
        object.call(0, &requests[n], &mut outputs, now);
    };
    // Handlers in Python are in processes of their own alone.
    let (mut alone, mut inline, mut packets, mut loop_in_c) = (None, None, None, None);
    if !built.is_in_python(&handler.name) {
        let mut one = Inline::new(built, &shared, seed).map_err(|error| error.0)?;
        alone = Some(each(thread, time, |n, now| {
            one.raw(&packed[n], now);
        }));
        let mut one = Inline::new(built, &shared, seed).map_err(|error| error.0)?;
        inline = Some(each(thread, time, |n, now| call(&mut one, n, now)));
        let mut one = Inline::new(built, &shared, seed).map_err(|error| error.0)?;
        loop_in_c = Some(handler_program::loop_in_c(&mut one, handler, &packed, time)?);
        packets = Some(handler_program::packets(built, handler, seed, &packed, time)?);
    }
    let mut one = Isolated::new(built, &shared, seed).map_err(|error| error.0)?;
    let isolated = each(wall, time, |n, now| call(&mut one, n, now));
    Ok(HandlerTimes { alone, inline, loop_in_c, packets, isolated })
}

/// Random numbers for all fields. A few values of each, so that flows come again.
fn request(handler: &Handler, rng: &mut Rng) -> Vec<Bits> {
    let members = |field: &ir_handlers::Field, n: u64| {
        let count = field.members.len() as u64;
        field.members.get(n.checked_rem(count).unwrap_or(0) as usize).map_or(n % 64, |(_, value)| *value)
    };
    let fields = handler.request.fields.iter();
    fields.map(|field| Bits::new(field.width, u128::from(members(field, rng.next_u64())))).collect()
}

/// Nanoseconds for each call, which gets its number and a time; a microsecond passes between two.
fn each(
    clock: fn() -> std::time::Duration,
    time: std::time::Duration,
    mut call: impl FnMut(usize, Time),
) -> f64 {
    let (start, mut calls) = (clock(), 0u64);
    loop {
        for n in 0..REQUESTS {
            calls += 1;
            call(n, Time::ZERO + Duration::from_us(calls));
        }
        let took = clock() - start;
        if took >= time {
            return took.as_nanos() as f64 / calls as f64;
        }
    }
}

impl HandlerTimes {
    /// A line for each way.
    pub fn text(&self, name: &str) -> String {
        let HandlerTimes { alone, inline, loop_in_c, packets, isolated } = *self;
        let rows = [
            ("the function alone, inline", alone, "call"),
            ("inline, from lists of numbers", inline, "call"),
            ("a loop in C over batches", loop_in_c, "packet"),
            ("machine code without a call", packets.map(|(without, _)| without), "packet"),
            ("machine code with an inline call", packets.map(|(_, with)| with), "packet"),
            ("in a process of its own", Some(isolated), "call"),
        ];
        let row = |(way, time, of): (&str, Option<f64>, &str)| {
            Some(format!("  {way:<33} {:8.1} ns a {of}\n", time?))
        };
        format!("{name}\n") + &rows.into_iter().filter_map(row).collect::<String>()
    }

    /// In nanoseconds.
    pub fn json(&self, name: &str) -> Value {
        json!({
            "handler": name,
            "alone_ns": self.alone,
            "inline_ns": self.inline,
            "loop_in_c_ns": self.loop_in_c,
            "packet_ns": self.packets.map(|(without, _)| without),
            "packet_with_call_ns": self.packets.map(|(_, with)| with),
            "isolated_ns": self.isolated,
        })
    }
}
