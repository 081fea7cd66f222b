//! Experiments of Flightplan's (NSDI'21), FlexSwitch's (NSDI'17), CLIP's, ExoPlane's and P4COM's, run again: each figure and table in a file of its own, with the paper's
//! number beside ours, the chosen parameters, and the effects that the model leaves out.

mod clip;
mod exoplane;
mod failing;
mod fig10;
mod fig11;
mod fig12;
mod fig13;
mod fig14;
mod fig18;
mod fig19;
mod fig20;
mod fig21;
mod fig22;
mod fig7;
mod fig9;
mod flexswitch;
mod hand_over;
mod lab;
mod p4com;
mod rtt;
mod stages;
mod table1;
mod table2;
mod table3;
mod table4;
mod tofino;

pub use clip::CLIP;
pub use exoplane::EXOPLANE;
pub use flexswitch::FLEXSWITCH;
pub use lab::Lab;
pub use p4com::P4COM;

use base_diag::Diagnostic;
use rack_emulator::Table;
use serde_json::{Map, Value, json};

/// A figure or table of the paper.
pub struct Experiment {
    /// As the command line names it.
    pub name: &'static str,
    /// Summary of the paper's result in a line.
    pub about: &'static str,
    /// Chosen parameters: flows, rates, sizes.
    pub set: &'static str,
    /// Effects that the model leaves out.
    pub leaves_out: &'static str,
    run: fn(&mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>>,
}

/// Flightplan's, in the paper's order.
pub const EXPERIMENTS: [&Experiment; 18] = [
    &fig7::EXPERIMENT,
    &fig9::EXPERIMENT,
    &fig10::EXPERIMENT,
    &fig11::EXPERIMENT,
    &fig12::EXPERIMENT,
    &fig13::EXPERIMENT,
    &fig14::EXPERIMENT,
    &fig18::EXPERIMENT,
    &fig19::EXPERIMENT,
    &fig20::EXPERIMENT,
    &fig21::EXPERIMENT,
    &fig22::EXPERIMENT,
    &rtt::EXPERIMENT,
    &stages::EXPERIMENT,
    &table1::EXPERIMENT,
    &table2::EXPERIMENT,
    &table3::EXPERIMENT,
    &table4::EXPERIMENT,
];

/// Results of an experiment.
pub struct Shown {
    /// Our numbers, with the paper's in the last columns.
    pub table: Table,
    /// A page with pictures, of those that have one.
    pub page: Option<String>,
}

impl From<Table> for Shown {
    fn from(table: Table) -> Shown {
        Shown { table, page: None }
    }
}

impl Experiment {
    /// Runs it; an error if a rack is not there or wrong.
    pub fn run(&self, lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
        (self.run)(lab)
    }

    /// Results as text for people.
    pub fn text(&self, shown: &Shown) -> String {
        let set = wrapped(&format!("Set: {}", self.set));
        let leaves_out = wrapped(&format!("The model leaves out: {}", self.leaves_out));
        format!("{}\n\n{}\n{set}{leaves_out}", self.about, shown.table)
    }

    /// The table as JSON: each row is an object.
    pub fn json(&self, shown: &Shown) -> Value {
        let row = |cells: &Vec<String>| -> Value {
            let titles = shown.table.titles.iter().map(|(title, _)| title.to_string());
            Value::Object(titles.zip(cells).map(|(title, cell)| (title, json!(cell))).collect::<Map<_, _>>())
        };
        json!({
            "ok": true,
            "experiment": self.name,
            "about": self.about,
            "rows": shown.table.rows.iter().map(row).collect::<Vec<_>>(),
            "set": self.set,
            "leaves_out": self.leaves_out,
        })
    }
}

/// Letters in a line.
const WIDTH: usize = 120;

/// Words in lines.
fn wrapped(text: &str) -> String {
    let mut lines: Vec<String> = vec![];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < WIDTH => *line = format!("{line} {word}"),
            _ => lines.push(word.to_string()),
        }
    }
    lines.into_iter().map(|line| line + "\n").collect()
}
