//! Compares the model with measurements of the open compiler's Tofino back end.
//!
//! ```sh
//! cargo run --release -p rmt-fit --example compare -- crates/rmt-fit/testdata/measured.csv FOLDER
//! ```
//!
//! `FOLDER` has the programs that are not generated: `p4c/NAME.p4`, `p4studio/NAME/NAME.p4`. Rows without one are left out.

mod families;
mod measured;

use rmt_fit::{Device, Resource};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), folder) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: compare MEASURED.csv [FOLDER]");
        std::process::exit(2);
    };
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{file}: {e}"));
    let mut score = Score::default();
    for row in measured::rows(&text) {
        let Some(program) = measured::program(&row, folder.as_deref().unwrap_or(".")) else {
            score.left_out += 1;
            continue;
        };
        let program = match program {
            Ok(program) => program,
            Err(error) => {
                println!("{:40} {:8} not compiled: {error}", row.program, row.device);
                score.not_compiled += 1;
                continue;
            }
        };
        score.add(&row, &program);
    }
    score.print();
}

#[derive(Default)]
struct Score {
    left_out: u32,
    not_compiled: u32,
    /// Rows that fit, and those that do not; of each, those with the same answer.
    fits: [(u32, u32); 2],
    stages: (u32, u32),
    deep: (u32, u32),
    memory: (u32, u32),
    phv: (u32, u32),
    all_phv: (u32, u32),
}

fn count(score: &mut (u32, u32), good: bool) {
    score.0 += 1;
    score.1 += u32::from(good);
}

/// True if `ours` is within so many percent of `theirs`.
fn within(ours: u64, theirs: u64, percent: u64) -> bool {
    ours.abs_diff(theirs) * 100 <= theirs * percent
}

impl Score {
    fn add(&mut self, row: &measured::Row, program: &ir::Program) {
        let name = if row.device == "tofino" { "tofino1" } else { "tofino2" };
        let device = Device::built_in(name).expect("it is built in");
        let fit = match rmt_fit::fit(program, &device) {
            Ok(fit) => fit,
            Err(refused) => {
                println!("{:40} {:8} not lowered: {}", row.program, row.device, refused[0].title);
                self.not_compiled += 1;
                return;
            }
        };
        let theirs = row.get("fits") == Some(1);
        let mut remarks = String::new();
        count(&mut self.fits[usize::from(!theirs)], fit.fits() == theirs);
        if fit.fits() != theirs {
            let lacks: Vec<_> = fit.pipes.iter().flat_map(|p| &p.lacks).collect();
            remarks += &format!(" fits: {} not {theirs} {lacks:?};", fit.fits());
        }
        if let Some(last) = row.get("last_stage") {
            let ours = fit.pipes.iter().map(|p| p.placement.stages.len() as u64).max().unwrap_or(0);
            let good = ours.abs_diff(last) <= 1;
            count(&mut self.stages, good);
            if last >= 6 {
                count(&mut self.deep, good);
            }
            if ours != last {
                remarks += &format!(" stages: {ours} not {last};");
            }
            let total = |resource| fit.pipes.iter().map(|p| u64::from(p.total()[resource])).sum::<u64>();
            let memory = [("sram", Resource::Sram), ("tcam", Resource::Tcam), ("map_ram", Resource::MapRam)];
            let wrong: Vec<String> = memory
                .iter()
                .map(|(column, resource)| (column, total(*resource), row.get(column).unwrap_or(0)))
                .filter(|(_, ours, theirs)| !within(*ours, *theirs, 10))
                .map(|(column, ours, theirs)| format!(" {column}: {ours} not {theirs};"))
                .collect();
            count(&mut self.memory, wrong.is_empty());
            remarks += &wrong.concat();
            let phv = fit.pipes.iter().flat_map(|p| p.phv);
            let (seen, tagalong) =
                phv.fold((0, 0), |s, c| (s.0 + u64::from(c.normal()), s.1 + u64::from(c.tagalong)));
            let good = within(seen, row.containers(), 15);
            count(&mut self.phv, good);
            let all = within(seen + tagalong, row.containers() + row.tagalong(), 15);
            count(&mut self.all_phv, all);
            if !good || !all {
                let own: Vec<String> = fit
                    .pipes
                    .iter()
                    .flat_map(|p| p.phv)
                    .map(|c| format!("{}/{}/{}", c.bytes, c.halves, c.words))
                    .collect();
                remarks += &format!(
                    " phv: {own:?}+{tagalong} not {}/{}/{}+{};",
                    row.get("phv_8").unwrap_or(0),
                    row.get("phv_16").unwrap_or(0),
                    row.get("phv_32").unwrap_or(0),
                    row.tagalong()
                );
            }
        }
        if !remarks.is_empty() {
            println!("{:40} {:8}{remarks}", row.program, row.device);
        }
    }

    fn print(&self) {
        let line = |what: &str, (all, good): (u32, u32)| {
            println!("{what:44} {good:3} of {all:3}  {:3} %", good * 100 / all.max(1));
        };
        println!();
        line("same answer where the program fits", self.fits[0]);
        line("same answer where it does not", self.fits[1]);
        line("stages within 1", self.stages);
        line("stages within 1, of six or more", self.deep);
        line("SRAM, TCAM and map RAM within 10 %", self.memory);
        line("containers that ALUs see within 15 %", self.phv);
        line("all containers within 15 %", self.all_phv);
        println!("not compiled: {}, without a program here: {}", self.not_compiled, self.left_out);
    }
}
