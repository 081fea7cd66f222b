//! Integer programs whose optimum an allocation must have: ExoPlane's own, one variable for each quantum and place (equations 1 to 5), and one with a number of flows for each app.
//!
//! A program is built together with a point, the allocation that was found. Each test checks that the point satisfies all rows and costs what the allocation says. With
//! `P4RACK_HIGHS`, a Python with the package `highspy`, HiGHS solves the programs, too, and the allocation must cost as much (`highs/run`).

use crate::definition::{cost, memory};
use crate::drawn::{Quanta, draw};
use crate::large::apps;
use app_allocation::{
    Affinity, Allocation, Effort, NoAllocation, ONE, Object, Objective, Place, Problem, Quantum, Row,
    allocate,
};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Columns by their number, each with its factor.
type Sum = Vec<(usize, i128)>;

/// An integer program: the least sum of costs.
#[derive(Default)]
struct Program {
    columns: Vec<Column>,
    /// Sums that are at least the number; `true`: exactly.
    rows: Vec<(Sum, bool, i128)>,
    /// Costs are in this unit for the solver, so that they are not too large for it.
    unit: i128,
}

/// A column, which is never negative.
struct Column {
    cost: i128,
    most: Option<u64>,
    is_integer: bool,
    /// Value in the allocation.
    value: i128,
}

impl Program {
    fn new(unit: i128) -> Program {
        Program { unit, ..Program::default() }
    }

    fn column(&mut self, cost: i128, most: Option<u64>, is_integer: bool, value: u64) -> usize {
        self.columns.push(Column { cost, most, is_integer, value: value.into() });
        self.columns.len() - 1
    }

    fn binary(&mut self, cost: i128, is_set: bool) -> usize {
        self.column(cost, Some(1), true, is_set.into())
    }

    /// Nothing where the sum has no column, for example the traffic to a class that no app can use.
    fn at_least(&mut self, sum: Sum, least: i128) {
        if !sum.is_empty() {
            self.rows.push((sum, false, least));
        }
    }

    fn at_most(&mut self, sum: Sum, most: u64) {
        self.at_least(sum.into_iter().map(|(at, part)| (at, -part)).collect(), -i128::from(most));
    }

    /// One of the columns is 1; without columns, nothing is possible.
    fn one_of(&mut self, mut columns: Vec<usize>) {
        if columns.is_empty() {
            columns.push(self.column(0, Some(0), true, 0));
        }
        self.rows.push((columns.into_iter().map(|at| (at, 1)).collect(), true, 1));
    }

    /// The cost of the allocation. Panics if it does not satisfy a row.
    fn checked(&self, what: &str) -> i128 {
        for (sum, is_exact, number) in &self.rows {
            let found: i128 = sum.iter().map(|(at, part)| self.columns[*at].value * part).sum();
            assert!(found == *number || (!is_exact && found > *number), "{what}: {sum:?}: {found}, {number}");
        }
        for column in &self.columns {
            assert!(column.most.is_none_or(|most| column.value <= most.into()), "{what}");
        }
        self.columns.iter().map(|column| column.value * column.cost).sum()
    }

    /// The format of CPLEX's LP files.
    fn text(&self) -> String {
        let mut text = "Minimize\n cost:\n".to_string();
        for (at, column) in self.columns.iter().enumerate().filter(|(_, column)| column.cost != 0) {
            let _ = writeln!(text, " {:+} x{at}", column.cost as f64 / self.unit as f64);
        }
        text += "Subject To\n";
        for (row, (sum, is_exact, number)) in self.rows.iter().enumerate() {
            let _ = write!(text, " r{row}:");
            for (at, part) in sum {
                let _ = writeln!(text, " {part:+} x{at}");
            }
            let _ = writeln!(text, " {} {number}", if *is_exact { "=" } else { ">=" });
        }
        text += "Bounds\n";
        for (at, column) in self.columns.iter().enumerate() {
            if let Some(most) = column.most {
                let _ = writeln!(text, " 0 <= x{at} <= {most}");
            }
        }
        text += "General\n";
        for (at, _) in self.columns.iter().enumerate().filter(|(_, column)| column.is_integer) {
            let _ = writeln!(text, " x{at}");
        }
        text + "End\n"
    }
}

/// Blocks of an object at the switch for flows that are the sum of `flows`, in the column that is returned.
fn blocks(program: &mut Program, object: &Object, flows: &[(usize, i128)], all: u64, here: u64) -> usize {
    let blocks = program.column(0, None, true, object.entries(here).div_ceil(object.block));
    let (number, of) = object.per_flow;
    let mut enough = vec![(blocks, i128::from(object.block * of))];
    enough.extend(flows.iter().map(|(at, each)| (*at, -each * i128::from(number))));
    if let Some(most) = object.most {
        // Entries for all flows are enough, or `most` entries.
        let is_full = program.binary(0, here * number > most * of);
        enough.push((is_full, i128::from(all * number)));
        program.at_least(vec![(blocks, object.block.into()), (is_full, -i128::from(most))], 0);
    }
    program.at_least(enough, 0);
    blocks
}

/// ExoPlane's program, with the corrections of `docs/internals/allocation.md`: a variable says whether a quantum is at a place, another which class holds an app's flows.
fn of_quanta(problem: &Problem, quanta: &[Quanta], found: Option<&Allocation>) -> Program {
    let mut program = Program::new(1);
    let mut switch: Vec<Sum> = vec![vec![]; problem.switch.len()];
    let mut memories: Vec<_> = problem.classes.iter().map(|class| vec![vec![]; class.memory.len()]).collect();
    let mut packets: Vec<Sum> = vec![vec![]; problem.classes.len()];
    let mut bits = packets.clone();
    for (number, (app, quanta)) in problem.apps.iter().zip(quanta).enumerate() {
        let plan = found.map(|found| &found.apps[number]);
        let all = quanta.flows * quanta.weights.len() as u64;
        let here = plan.map_or(0, |plan| plan.flows);
        let homes: Vec<(usize, &Place, usize)> = app
            .at_classes
            .iter()
            .enumerate()
            .filter(|_| app.affinity != Affinity::High)
            .filter_map(|(class, place)| Some((class, place.as_ref().ok()?)))
            .map(|(class, place)| {
                (class, place, program.binary(0, plan.is_some_and(|plan| plan.home == Some(class))))
            })
            .collect();
        if app.affinity != Affinity::High {
            program.one_of(homes.iter().map(|(.., home)| *home).collect());
        }
        let mut at_switch = vec![];
        for (quantum, weight) in quanta.weights.iter().enumerate() {
            let is_here = (quantum as u64 + 1) * quanta.flows <= here;
            let packets_of = i128::from(app.weight * weight);
            let mut places = vec![];
            if let (Ok(place), true) = (&app.at_switch, app.affinity != Affinity::Low) {
                places.push(program.binary(packets_of * i128::from(place.latency), is_here));
                at_switch.push(places[0]);
            }
            for (class, place, home) in &homes {
                let is_there = !is_here && plan.is_some_and(|plan| plan.home == Some(*class));
                let there = program.binary(packets_of * i128::from(place.latency), is_there);
                program.at_least(vec![(*home, 1), (there, -1)], 0);
                packets[*class].push((there, packets_of));
                bits[*class].push((there, packets_of * i128::from(app.packet_bits)));
                places.push(there);
            }
            program.one_of(places);
        }
        if let Ok(place) = &app.at_switch {
            let is_used = program.binary(0, here > 0);
            at_switch.iter().for_each(|at| program.at_least(vec![(is_used, 1), (*at, -1)], 0));
            for (sum, fixed) in switch.iter_mut().zip(&place.fixed) {
                sum.push((is_used, i128::from(*fixed)));
            }
            let flows: Vec<_> = at_switch.iter().map(|at| (*at, i128::from(quanta.flows))).collect();
            for object in &place.objects {
                let blocks = blocks(&mut program, object, &flows, all, here);
                switch[object.row].push((blocks, object.units.into()));
            }
        }
        for (class, place, home) in homes {
            let (rows, count) = (memories[class].len(), problem.classes[class].count);
            let units = memory(place, rows, all * (1 + app.replicas), count);
            memories[class]
                .iter_mut()
                .zip(units)
                .for_each(|(sum, units)| sum.push((home, i128::from(units))));
        }
    }
    for (sum, row) in switch.into_iter().zip(&problem.switch) {
        program.at_most(sum, row.capacity);
    }
    let loads = memories.into_iter().zip(packets).zip(bits);
    for (class, ((memories, packets), bits)) in problem.classes.iter().zip(loads) {
        let all = |each: u64| each * class.count * 1_000_000 / (1_000_000 + class.imbalance);
        for (sum, row) in memories.into_iter().zip(&class.memory) {
            program.at_most(sum, all(row.capacity));
        }
        for (sum, rate) in [(packets, class.packets), (bits, class.bits)] {
            rate.into_iter().for_each(|rate| program.at_most(sum.clone(), all(rate)));
        }
    }
    program
}

/// Flows of a quantum of large problems.
const QUANTUM: u64 = 10_000;

/// The weights of an app's quanta, in units of [`ONE`].
fn weights(app: &app_allocation::App) -> Vec<i128> {
    let share = |quantum: u64| i128::from(app.flows.share(quantum * QUANTUM));
    (0..app.flows.flows() / QUANTUM).map(|quantum| share(quantum + 1) - share(quantum)).collect()
}

/// ExoPlane's program as the paper has it: each quantum is at the switch or at one of the helpers, and each place has an entry for each of its flows.
fn of_devices(problem: &Problem, found: &Allocation) -> Program {
    let mut program = Program::new(ONE.into());
    let class = &problem.classes[0];
    let mut loads: Vec<Sum> = vec![vec![]; 1 + class.count as usize];
    for (app, plan) in problem.apps.iter().zip(&found.apps) {
        let (Ok(here), Ok(there)) = (&app.at_switch, &app.at_classes[0]) else { continue };
        for (quantum, weight) in weights(app).into_iter().enumerate() {
            let weight = weight * i128::from(app.weight);
            // The allocation does not say which helper; quanta are dealt out here.
            let of_plan = match (quantum as u64 + 1) * QUANTUM <= plan.flows {
                true => 0,
                false => 1 + quantum % class.count as usize,
            };
            let mut places = vec![];
            for (at, load) in loads.iter_mut().enumerate() {
                let place = if at == 0 { here } else { there };
                let it_is_there = program.binary(weight * i128::from(place.latency), at == of_plan);
                load.push((it_is_there, i128::from(place.objects[0].per_flow.0 * QUANTUM)));
                places.push(it_is_there);
            }
            program.one_of(places);
        }
    }
    for (at, load) in loads.into_iter().enumerate() {
        let row = if at == 0 { &problem.switch[0] } else { &class.memory[0] };
        program.at_most(load, row.capacity);
    }
    program
}

/// The problems of the paper's form: an entry for each unit of memory, without blocks and fixed parts, and helpers with 1.2 times the memory for all flows.
fn in_entries(count: u64, flows: u64) -> Problem {
    let mut problem = apps(count, flows, 1);
    problem.switch[0].capacity *= 1024;
    for app in &mut problem.apps {
        (app.quantum, app.replicas) = (Quantum::Flows(QUANTUM), 0);
        let places =
            app.at_classes.iter_mut().chain([&mut app.at_switch]).filter_map(|place| place.as_mut().ok());
        for place in places {
            place.fixed = vec![0];
            let per_flow = place.objects.first().map_or((1, 1), |object| object.per_flow);
            place.objects =
                vec![Object { name: "table".into(), row: 0, per_flow, most: None, block: 1, units: 1 }];
        }
    }
    let class = &mut problem.classes[0];
    class.memory = vec![Row { name: "entries".into(), capacity: count * flows * 12 / 10 / class.count }];
    problem
}

/// The program with a number of quanta for each app: how much of each quantum is at the switch, the most popular ones first by themselves, and whole blocks.
fn of_numbers(problem: &Problem, found: &Allocation) -> Program {
    let mut program = Program::new(ONE.into());
    let mut switch: Vec<Sum> = vec![vec![]; problem.switch.len()];
    let always = program.column(0, Some(1), true, 1);
    program.at_least(vec![(always, 1)], 1);
    for (app, plan) in problem.apps.iter().zip(&found.apps) {
        let (Ok(here), Ok(there)) = (&app.at_switch, &app.at_classes[0]) else { continue };
        let all = weights(app);
        program.columns[always].cost += i128::from(app.weight) * i128::from(ONE) * i128::from(there.latency);
        let gain = i128::from(there.latency) - i128::from(here.latency);
        let number = program.column(0, None, true, plan.flows / QUANTUM);
        let mut parts = vec![(number, -1)];
        for (quantum, weight) in all.iter().enumerate() {
            let is_here = (quantum as u64 + 1) * QUANTUM <= plan.flows;
            let part =
                program.column(-weight * i128::from(app.weight) * gain, Some(1), false, is_here.into());
            parts.push((part, 1));
        }
        program.rows.push((parts, true, 0));
        let is_used = program.binary(0, plan.flows > 0);
        program.at_least(vec![(is_used, all.len() as i128), (number, -1)], 0);
        for (sum, fixed) in switch.iter_mut().zip(&here.fixed) {
            sum.push((is_used, i128::from(*fixed)));
        }
        for object in &here.objects {
            let flows = [(number, i128::from(QUANTUM))];
            let blocks = blocks(&mut program, object, &flows, app.flows.flows(), plan.flows);
            switch[object.row].push((blocks, object.units.into()));
        }
    }
    for (sum, row) in switch.into_iter().zip(&problem.switch) {
        program.at_most(sum, row.capacity);
    }
    program
}

/// HiGHS's best cost and its bound, in units of the program's costs; none if there is no solution.
type Solved = Option<(f64, f64)>;

/// All programs solved, as near to the optimum as `gap`, relative to the cost; none without `P4RACK_HIGHS`.
fn solved(test: &str, gap: f64, programs: &[(String, &Program)]) -> Option<BTreeMap<String, Solved>> {
    let python = std::env::var_os("P4RACK_HIGHS")?;
    let directory = std::env::temp_dir().join(format!("p4rack-{test}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    for (name, program) in programs {
        std::fs::write(directory.join(format!("{name}.lp")), program.text()).unwrap();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/highs/solve.py");
    let run = Command::new(python).arg(script).arg(&directory).arg(gap.to_string()).output().unwrap();
    let text = std::fs::read_to_string(directory.join("found")).unwrap_or_default();
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let line = |line: &str| {
        let [name, found @ ..] = &line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let numbers: Vec<f64> = found.iter().filter_map(|number| number.parse().ok()).collect();
        let solved = match (found, &numbers[..]) {
            (["impossible"], []) => None,
            (_, [cost, bound]) => Some((*cost, *bound)),
            _ => panic!("{line}"),
        };
        (name.to_string(), solved)
    };
    let all: BTreeMap<_, _> = text.lines().map(line).collect();
    assert_eq!(all.len(), programs.len());
    Some(all)
}

#[test]
fn small_optima_are_those_of_the_papers_program() {
    let mut all = vec![];
    for seed in 0..500 {
        let drawn = draw(seed);
        let found = match allocate(&drawn.problem, Objective::Latency, &Effort::EXACT) {
            Ok(found) => Some(found),
            Err(NoAllocation::Impossible) => None,
            Err(why) => panic!("seed {seed}: {why:?}"),
        };
        let program = of_quanta(&drawn.problem, &drawn.quanta, found.as_ref());
        let name = format!("seed-{seed}");
        if let Some(found) = &found {
            assert_eq!(program.checked(&name), i128::from(cost(found)), "{name}");
        }
        all.push((name, program, found.as_ref().map(cost)));
    }
    let programs: Vec<_> = all.iter().map(|(name, program, _)| (name.clone(), program)).collect();
    let Some(solved) = solved("small", 0.0, &programs) else { return };
    for (name, _, found) in &all {
        let best = solved[name].map(|(cost, _)| cost.round() as u64);
        assert_eq!(*found, best, "{name}");
    }
}

/// Checks that an allocation costs no more than HiGHS's, and no less than HiGHS's bound.
fn compare(test: &str, all: &[(String, Problem, Program, Allocation)]) {
    for (name, _, program, found) in all {
        assert_eq!(program.checked(name), found.cost, "{name}");
    }
    let programs: Vec<_> = all.iter().map(|(name, _, program, _)| (name.clone(), program)).collect();
    let Some(solved) = solved(test, 1e-7, &programs) else { return };
    for (name, _, program, found) in all {
        let (cost, bound) = solved[name].unwrap_or_else(|| panic!("{name}: no solution"));
        let ours = found.cost as f64 / program.unit as f64;
        println!("{name}: {} columns; ours {ours}, HiGHS {cost}, at least {bound}", program.columns.len());
        let near = ours * 1e-9;
        assert!(ours <= cost + near && bound - near <= ours, "{name}: {ours}, {cost}, {bound}");
    }
}

#[test]
fn large_optima_are_those_of_the_papers_program() {
    let few = [(4, 1_000_000), (4, 5_000_000)];
    let all = [(4, 10_000_000), (16, 1_000_000), (32, 1_000_000), (64, 1_000_000)];
    let sizes = few.into_iter().chain(all.into_iter().filter(|_| features::is_long()));
    let one = |(count, flows)| {
        let problem = in_entries(count, flows);
        let found = allocate(&problem, Objective::Latency, &Effort::EXACT).unwrap();
        assert!(found.is_optimal);
        let program = of_devices(&problem, &found);
        (format!("{count}x{flows}"), problem, program, found)
    };
    compare("devices", &sizes.map(one).collect::<Vec<_>>());
}

#[test]
fn large_optima_are_those_of_the_program_with_numbers() {
    let few = [(4, 1_000_000, 1), (16, 1_000_000, 1), (4, 1_000_000, 3)];
    let all = [(4, 10_000_000, 1), (64, 1_000_000, 1), (16, 1_000_000, 3)];
    let sizes = few.into_iter().chain(all.into_iter().filter(|_| features::is_long()));
    let one = |(count, flows, rows)| {
        let mut problem = apps(count, flows, rows);
        problem.apps.iter_mut().for_each(|app| app.quantum = Quantum::Flows(QUANTUM));
        let effort = if rows == 1 { Effort::EXACT } else { Effort { states: 4096, gap: 0 } };
        let found = allocate(&problem, Objective::Latency, &effort).unwrap();
        let program = of_numbers(&problem, &found);
        (format!("{count}x{flows}x{rows}"), problem, program, found)
    };
    compare("numbers", &sizes.map(one).collect::<Vec<_>>());
}
