//! When a key was last seen, and flowlets: bursts of a flow that take one route.
//!
//! Times are in any unit; they may wrap, as differences of 32 bits are compared. A cell that is older than 2^31 units looks young again: write cells of idle
//! flows before that, or choose a longer unit.

use crate::block::any;
use crate::count_min::{KEY, keyed_register};
use crate::hash::Rows;
use crate::parameters::Kind;
use crate::{Access, Block, Body, Cost, Hash, Model, Parameter, Port, Values, hash};
use std::fmt::Write;

const ROWS: Parameter = Parameter {
    name: "rows",
    about: "number of hashes of the key, each with a row of cells",
    default: 2,
    range: (1, 8),
    kind: Kind::Any,
};
const COLUMNS: Parameter = Parameter {
    name: "columns",
    about: "cells of a row",
    default: 4096,
    range: (2, 1 << 24),
    kind: Kind::PowerOfTwo,
};
const ROUTES: Parameter = Parameter {
    name: "routes",
    about: "number of routes",
    default: 4,
    range: (2, 256),
    kind: Kind::PowerOfTwo,
};
const TIMEOUT: Parameter = Parameter {
    name: "timeout",
    about: "a longer gap between packets ends a burst, in units of `now`",
    default: 500,
    range: (1, 1 << 30),
    kind: Kind::Any,
};

/// The sketch of the least time stamp (FlexSwitch, section 3.1).
pub(crate) static MIN_TIMESTAMP: Block = Block {
    name: "min-timestamp",
    control: "MinTimestamp",
    about: "time since a key was last seen; the key then counts as seen now",
    error: "never above the true time, because each cell of the key stores the key's last time or a later one. Below it only if other keys have since written all cells of the key.",
    parameters: &[ROWS, COLUMNS, KEY],
    check: any,
    ports: |values| {
        vec![Port::input("item", values.small("key")), Port::input("now", 32), Port::output("age", 32)]
    },
    p4: ages,
    exact: |values| Body {
        before: keyed_register(values.small("key"), 32),
        members: "KeyedRegister(1048576) times;\n".to_string(),
        apply: "age = now - times.read(item);\ntimes.write(item, now);\n".to_string(),
        ..Body::default()
    },
    model: |values| Box::new(Ages(Rows::new(values, values.small("rows")))),
    cost: |values| {
        let rows = values.small("rows");
        Cost {
            state_bits: u64::from(rows) * values.get("columns") * 32,
            hashes: rows,
            tables: vec![],
            stages: 2 + rows.next_power_of_two().ilog2(),
        }
    },
    not_for_tna: None,
};

/// The flowlet sketch in one pass. Each of two cells has a time and a part of the route; the route is their sum.
pub(crate) static FLOWLET: Block = Block {
    name: "flowlet",
    control: "Flowlet",
    about: "a route for the packet: that of its burst, or the desired one if a new burst begins",
    error: "a burst never changes its route, as a cell that was written within the timeout keeps its part. A new burst is missed, and keeps the route, if other flows wrote both of its \
            cells within the timeout; it gets another route than the wished one if they wrote the second only. Measured: missed less than 1.2 % with 2 cells in each row for a flow \
            (`cargo test -p p4-blocks --test it flowlets::`).",
    parameters: &[COLUMNS, ROUTES, TIMEOUT, KEY],
    check: any,
    ports: |values| {
        let route = values.get("routes").ilog2();
        vec![
            Port::input("item", values.small("key")),
            Port::input("now", 32),
            Port::input("wish", route),
            Port::output("route", route),
            Port::output("begins", 1),
        ]
    },
    p4: flowlet,
    exact: exact_flowlet,
    model: |values| {
        let [routes, timeout] = ["routes", "timeout"].map(|name| values.small(name));
        Box::new(Flowlets { rows: Rows::new(values, 2), routes, timeout })
    },
    cost: |values| Cost {
        state_bits: 2 * values.get("columns") * (32 + u64::from(values.get("routes").ilog2())),
        hashes: 2,
        tables: vec![],
        stages: 8,
    },
    not_for_tna: None,
};

/// The times of row `row` of `rows`: `code` says what the packet gets of the cell, which then has the present time.
fn times(body: &mut Body, values: &Values, (row, rows): (u32, u32), result: (&str, u32), code: &str) {
    let (columns, key) = (values.get("columns"), values.small("key"));
    let data = hash::expression("item", key, row, rows);
    body.hashes.push(Hash { name: format!("index{row}"), data, bits: columns.ilog2() });
    body.accesses.push(Access {
        register: format!("times{row}"),
        cells: columns,
        bits: 32,
        index: format!("index{row}"),
        result: format!("{}{row}", result.0),
        result_bits: result.1,
        code: format!("{code}\ncell = now;\n"),
    });
}

fn ages(values: &Values) -> Body {
    let rows = values.small("rows");
    let mut body = Body { apply: "age = 0;\n".to_string(), ..Body::default() };
    for row in 0..rows {
        times(&mut body, values, (row, rows), ("age", 32), "$ = now - cell;");
        let _ = writeln!(body.apply, "@index{row}\n@times{row}\nif (age{row} > age) {{ age = age{row}; }}");
    }
    body
}

/// A row is two arrays with one index: times, and parts of routes.
fn flowlet(values: &Values) -> Body {
    let (columns, timeout, route) =
        (values.get("columns"), values.get("timeout"), values.get("routes").ilog2());
    let mut body = Body { members: format!("bit<{route}> rest = 0;\n"), ..Body::default() };
    let age = format!("$ = 0;\nif (now - cell > {timeout}) {{ $ = 1; }}");
    for (row, wished) in [(0, "wish"), (1, "rest")] {
        times(&mut body, values, (row, 2), ("is_old", 1), &age);
        body.accesses.push(Access {
            register: format!("parts{row}"),
            cells: columns,
            bits: route,
            index: format!("index{row}"),
            result: format!("part{row}"),
            result_bits: route,
            code: format!("if (is_old{row} == 1) {{ cell = {wished}; }}\n$ = cell;\n"),
        });
    }
    body.apply = "@index0
@index1
@times0
@times1
@parts0
rest = wish - part0;
@parts1
route = part0 + part1;
begins = is_old0 | is_old1;
"
    .to_string();
    body
}

fn exact_flowlet(values: &Values) -> Body {
    let (timeout, route) = (values.get("timeout"), values.get("routes").ilog2());
    let cell = 32 + route;
    Body {
        before: keyed_register(values.small("key"), cell),
        members: "KeyedRegister(1048576) bursts;\n".to_string(),
        apply: format!(
            "bit<{cell}> known = bursts.read(item);
route = known[{}:0];
begins = 0;
if (now - known[{}:{route}] > {timeout}) {{ route = wish; begins = 1; }}
bursts.write(item, now ++ route);
",
            route - 1,
            cell - 1
        ),
        ..Body::default()
    }
}

struct Ages(Rows<u32>);

impl Model for Ages {
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
        let now = inputs[1] as u32;
        let ages = self.0.cells(inputs[0]).map(|time| now.wrapping_sub(std::mem::replace(time, now)));
        vec![ages.max().unwrap_or(0).into()]
    }
}

struct Flowlets {
    /// Time and part of the route.
    rows: Rows<(u32, u32)>,
    routes: u32,
    timeout: u32,
}

impl Model for Flowlets {
    fn apply(&mut self, inputs: &[u128]) -> Vec<u128> {
        let (now, wish) = (inputs[1] as u32, inputs[2] as u32);
        let (mut route, mut begins) = (0u32, false);
        for (time, part) in self.rows.cells(inputs[0]) {
            if now.wrapping_sub(*time) > self.timeout {
                *part = wish.wrapping_sub(route) % self.routes;
                begins = true;
            }
            *time = now;
            route = (route + *part) % self.routes;
        }
        vec![route.into(), begins.into()]
    }
}
