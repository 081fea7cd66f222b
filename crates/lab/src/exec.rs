//! `p4rack lab exec`: this process becomes one of a host.

use crate::registry::{MARK, Record};
use crate::space::{enter, own_sys};
use base_diag::did_you_mean;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Becomes a program in a host of a running lab. It returns only if that fails, with the reason. To be called while the process has one thread.
pub fn exec(lab: &Record, host: &str, words: &[String]) -> String {
    let names = || lab.hosts.iter().map(|host| host.name.as_str());
    let Some(found) = lab.hosts.iter().find(|known| known.name == host) else {
        return match did_you_mean(host, names()) {
            Some(near) => format!("there is no host `{host}`; did you mean `{near}`?"),
            None => {
                format!("there is no host `{host}`; there are: {}", names().collect::<Vec<_>>().join(", "))
            }
        };
    };
    if let Err(error) = enter(lab.process, &found.namespace) {
        return format!(
            "`{host}` cannot be entered: {error}; a lab is entered by the user who started it, or by root"
        );
    }
    // `/sys/class/net` shows the interfaces of the namespace in which it was mounted.
    own_sys();
    // As in Mininet, the name of a host stands for its address.
    let address = |word: &str| {
        let host = lab.hosts.iter().find(|host| host.name == word)?;
        host.addresses.first().map(ToString::to_string)
    };
    let Some((program, args)) = words.split_first() else { return "there is no command".to_string() };
    let args = args.iter().map(|word| address(word).unwrap_or_else(|| word.clone()));
    let error = Command::new(program).args(args).env(MARK, &lab.id).exec();
    format!("`{program}` cannot be run: {error}")
}
