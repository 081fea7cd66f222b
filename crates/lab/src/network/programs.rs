//! Programs that run in hosts and beside the lab.

use super::Network;
use crate::printed::Printed;
use crate::registry::MARK;
use crate::space::own_sys;
use std::fs::File;
use std::io;
use std::process::{Child, Command, Stdio};

impl Network {
    /// Runs the commands of the hosts. Their output is shown; a failure does not end the lab.
    pub(super) fn run_commands(&mut self) {
        for at in 0..self.lab.hosts.len() {
            for command in self.lab.hosts[at].commands.clone() {
                let done = self.output(at, &["bash", "-c", &command]);
                let name = &self.lab.hosts[at].name.value;
                match done {
                    Ok((true, _)) => {}
                    Ok((false, text)) => {
                        self.notes.push(format!("{name}: `{command}` failed: {}", text.trim()))
                    }
                    Err(error) => self.notes.push(format!("{name}: `{command}` failed: {error}")),
                }
            }
        }
    }

    /// Starts the programs beside the lab. Their output goes to files: `logs/script-1.log` and on, if the description names none.
    pub(super) fn start_scripts(&mut self) {
        for (number, script) in (1..).zip(&self.lab.scripts) {
            let file = script.output.clone().unwrap_or_else(|| format!("logs/script-{number}.log"));
            let file = self.base.join(file);
            let start = || {
                file.parent().map_or(Ok(()), std::fs::create_dir_all)?;
                let out = File::create(&file)?;
                let wrong = out.try_clone()?;
                let mut command = self.command(&["bash", "-c", &script.command]);
                command.stdin(Stdio::null()).stdout(out).stderr(wrong).spawn()
            };
            self.notes.push(match start() {
                Ok(_) => format!("`{}` is running: {}", script.command, file.display()),
                Err(error) => format!("`{}` is not running: {}: {error}", script.command, file.display()),
            });
        }
    }

    /// Runs a program in a host and waits for it: whether it succeeded, and its output.
    pub fn output(&self, host: usize, words: &[&str]) -> io::Result<(bool, String)> {
        let (mut command, printed) = (self.command(words), Printed::new()?);
        command.stdin(Stdio::null()).stdout(printed.end()?).stderr(printed.end()?);
        let status = self.space(host)?.within(|| {
            own_sys();
            command.status()
        })??;
        Ok((status.success(), printed.text()?))
    }

    /// Starts a program in a host, with this process's input and output.
    pub fn start(&self, host: usize, words: &[&str]) -> io::Result<Child> {
        let mut command = self.command(words);
        self.space(host)?.within(|| {
            own_sys();
            command.spawn()
        })?
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(words.first().copied().unwrap_or("true"));
        command.args(words.iter().skip(1)).current_dir(&self.base).env(MARK, &self.id);
        command
    }
}
