//! A terminal in a host: a window of X or, without X, of tmux.

use crate::network::Network;
use crate::process::own_command;
use std::path::Path;
use std::process::{Command, Stdio};

/// Opens a terminal in a host. Returns a message for the user.
pub fn open(network: &Network, host: usize) -> Result<String, String> {
    let name = network.lab.hosts[host].name.value.clone();
    let mut inside = own_command();
    inside.extend(["lab", "exec", "--lab", &network.id, &name, "--", "bash"].map(ToString::to_string));
    if std::env::var_os("DISPLAY").is_some() && is_there("xterm") {
        let mut command = Command::new("xterm");
        command.args(["-T", &name, "-e"]).args(&inside);
        return quiet(&mut command).spawn().map(|_| String::new()).map_err(|error| format!("xterm: {error}"));
    }
    if !is_there("tmux") {
        return Err(
            "there is no X with xterm here, and no tmux: install tmux, or open another terminal and run \
                    `p4rack lab exec HOST -- bash` there"
                .to_string(),
        );
    }
    let session = format!("p4rack-{}", std::process::id());
    let is_inside = std::env::var_os("TMUX").is_some();
    let mut command = Command::new("tmux");
    let has_session = || {
        let mut command = Command::new("tmux");
        command.args(["has-session", "-t", &session]);
        quiet(&mut command).status().is_ok_and(|status| status.success())
    };
    match (is_inside, !is_inside && has_session()) {
        (true, _) => command.args(["new-window", "-d", "-n", &name]),
        (false, true) => command.args(["new-window", "-d", "-t", &format!("{session}:"), "-n", &name]),
        (false, false) => command.args(["new-session", "-d", "-s", &session, "-n", &name]),
    };
    let done =
        command.args(&inside).stdin(Stdio::null()).output().map_err(|error| format!("tmux: {error}"))?;
    match (done.status.success(), is_inside) {
        (false, _) => Err(format!("tmux: {}", String::from_utf8_lossy(&done.stderr).trim())),
        (true, true) => Ok(format!("window {name} of tmux\n")),
        (true, false) => Ok(format!("in another terminal: tmux attach -t {session}\n")),
    }
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| Path::new(&directory).join(program).is_file())
}
