//! `p4rack lab test FILE`: commands of the prompt with their expected results.
//!
//! ```text
//! # Comments and empty lines are passed over.
//! pingall                          must succeed
//! expect 0% dropped                what the command before printed has this text
//! expect not X                     or does not have it
//! link s1 s2 down
//! ! h1 ping -c 1 -W 1 h2           must fail
//! within 10s h1 ping -c 1 h3       is tried until it succeeds
//! sleep 500ms
//! ```

use crate::command::{Done, Streams, perform};
use crate::network::Network;
use std::time::{Duration, Instant};

/// Delay before a command is tried again.
const PAUSE: Duration = Duration::from_millis(200);

/// A line of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// Line number, from 1.
    pub line: usize,
    /// As written.
    pub text: String,
    what: What,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum What {
    Run { command: String, fails: bool, within: Option<Duration> },
    Expect { text: String, is_there: bool },
    Sleep(Duration),
}

/// Result of a line.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Outcome {
    /// Line number, from 1.
    pub line: usize,
    /// As written.
    pub text: String,
    /// The step succeeded.
    pub ok: bool,
    /// Output of the command.
    pub output: String,
}

/// Reads a script; the error names the line.
pub fn read(text: &str) -> Result<Vec<Step>, String> {
    let mut steps: Vec<Step> = vec![];
    for (number, raw) in (1..).zip(text.lines()) {
        let line = raw.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let what = step(line).map_err(|why| format!("line {number}: {why}"))?;
        let follows = steps.iter().any(|step| matches!(step.what, What::Run { .. }));
        if matches!(what, What::Expect { .. }) && !follows {
            return Err(format!("line {number}: `expect` comes after a command"));
        }
        steps.push(Step { line: number, text: line.to_string(), what });
    }
    Ok(steps)
}

fn step(line: &str) -> Result<What, String> {
    let (word, rest) =
        line.split_once(char::is_whitespace).map_or((line, ""), |(word, rest)| (word, rest.trim()));
    Ok(match word {
        "expect" => {
            let (is_there, text) = match rest.strip_prefix("not ") {
                Some(text) => (false, text.trim()),
                None => (true, rest),
            };
            if text.is_empty() {
                return Err("`expect` needs a text".to_string());
            }
            What::Expect { text: text.to_string(), is_there }
        }
        "sleep" => What::Sleep(duration(rest)?),
        "within" => {
            let (time, command) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let within = Some(duration(time)?);
            if command.trim().is_empty() {
                return Err("`within` needs a command".to_string());
            }
            What::Run { command: command.trim().to_string(), fails: false, within }
        }
        "!" => What::Run { command: rest.to_string(), fails: true, within: None },
        _ => What::Run { command: line.to_string(), fails: false, within: None },
    })
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration: base_time::Duration =
        text.parse().map_err(|error| format!("`{text}` is not a time: {error}"))?;
    Ok(Duration::from_nanos(duration.as_ns()))
}

/// Runs a script to its end, even after failures; `report` gets each result at once.
pub fn run(network: &Network, steps: &[Step], mut report: impl FnMut(&Outcome)) -> Vec<Outcome> {
    let (mut results, mut last) = (vec![], String::new());
    for Step { line, text, what } in steps {
        let (ok, output) = match what {
            What::Sleep(time) => {
                std::thread::sleep(*time);
                (true, String::new())
            }
            What::Expect { text, is_there } => match last.contains(text.as_str()) == *is_there {
                true => (true, String::new()),
                false => (false, last.clone()),
            },
            What::Run { command, fails, within } => {
                let (succeeded, output) = tried(network, command, *within);
                last.clone_from(&output);
                (succeeded != *fails, output)
            }
        };
        let result = Outcome { line: *line, text: text.clone(), ok, output };
        report(&result);
        results.push(result);
    }
    results
}

fn tried(network: &Network, command: &str, within: Option<Duration>) -> (bool, String) {
    let until = within.map(|within| Instant::now() + within);
    loop {
        let (succeeded, output) = match perform(network, command, Streams::Captured) {
            Done::Well(text) => (true, text),
            Done::Badly(text) => (false, text),
            Done::Exit => (true, String::new()),
        };
        if succeeded || until.is_none_or(|until| Instant::now() > until) {
            return (succeeded, output);
        }
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_read() {
        let steps = read("# x\npingall\nexpect not X\n! h1 ping h2\nwithin 2s h1 true\nsleep 1ms\n").unwrap();
        let run = |command: &str, fails, within| What::Run { command: command.to_string(), fails, within };
        let whats: Vec<What> = steps.into_iter().map(|step| step.what).collect();
        let expected = vec![
            run("pingall", false, None),
            What::Expect { text: "X".to_string(), is_there: false },
            run("h1 ping h2", true, None),
            run("h1 true", false, Some(Duration::from_secs(2))),
            What::Sleep(Duration::from_millis(1)),
        ];
        assert_eq!(whats, expected);
        for (text, why) in [
            ("expect x", "line 1: `expect` comes after a command"),
            ("\nsleep x", "line 2: `x` is not a time: expected a number and a unit"),
            ("within 1s", "line 1: `within` needs a command"),
            ("pingall\nexpect", "line 2: `expect` needs a text"),
        ] {
            let found = read(text).unwrap_err();
            assert!(found.starts_with(why.split(": expected").next().unwrap()), "{found}");
        }
    }
}
