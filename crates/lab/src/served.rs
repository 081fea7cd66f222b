//! A lab for a program: it reads a command from each line of standard input and answers with a line of JSON.
//!
//! ```text
//! {"ok":true,"lab":{"id":"812-9041","hosts":[...],"switches":[...]},"notes":[]}     the lab is up
//! < pingall
//! {"ok":true,"output":"h1 -> h2\n..."}
//! < "h1 printf 'a\nb'"                                                              a string of JSON, for text with line ends
//! {"ok":true,"output":"a\nb"}
//! ```

use crate::command::{Done, Streams, perform};
use crate::network::Network;
use serde_json::{Value, json};
use std::io::BufRead;

/// Does commands until the input ends; `say` gets each answer. True if all commands succeeded.
pub fn serve(network: &Network, input: impl BufRead, mut say: impl FnMut(&Value)) -> bool {
    say(&json!({ "ok": true, "lab": network.record(), "notes": network.notes }));
    let mut all_well = true;
    for line in input.lines() {
        let Ok(line) = line else { break };
        let done = match command(&line) {
            Ok(command) => perform(network, &command, Streams::Captured),
            Err(why) => Done::Badly(why),
        };
        let (ok, output) = match done {
            Done::Exit => break,
            Done::Well(text) => (true, text),
            Done::Badly(text) => (false, text),
        };
        all_well &= ok;
        say(&json!({ "ok": ok, "output": output }));
    }
    all_well
}

/// A line, or the string that it is in JSON.
fn command(line: &str) -> Result<String, String> {
    match line.trim_start().starts_with('"') {
        true => {
            serde_json::from_str(line).map_err(|error| format!("this is not a string of JSON: {error}\n"))
        }
        false => Ok(line.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn commands_are_lines_or_strings_of_json() {
        assert_eq!(command("h1 echo \"a\"").as_deref(), Ok("h1 echo \"a\""));
        assert_eq!(command(r#""h1 echo 'a\nb'""#).as_deref(), Ok("h1 echo 'a\nb'"));
        assert!(command("\"h1").is_err_and(|why| why.starts_with("this is not a string of JSON")));
    }
}
