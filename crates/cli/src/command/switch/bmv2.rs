//! Options that only `simple_switch` and `simple_switch_grpc` have, and the defaults of these programs.
//!
//! A symbolic link to `p4rack` that is named `simple_switch` or `simple_switch_grpc` runs `p4rack switch` with BMv2's defaults.

use crate::saved_state;
use agent::{PortKind, PortSpec};
use bmv2_thrift::{NotificationsAddress, NotificationsListener};
use p4runtime_proto::p4rack::v1::SavedState;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options of `simple_switch_grpc`.
#[derive(clap::Args)]
#[command(next_help_heading = "Options of simple_switch_grpc")]
pub struct Bmv2Args {
    /// Write the frames of each port to `INTERFACE_in.pcap` and `INTERFACE_out.pcap` in DIR, by default the current directory
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    pcap: Option<PathBuf>,
    /// Use files instead of interfaces: read `INTERFACE_in.pcap`, SECONDS after the start, and write `INTERFACE_out.pcap`
    #[arg(long, value_name = "SECONDS", conflicts_with = "pcap")]
    use_files: Option<u64>,
    /// Publish digests for BMv2's clients (nanomsg) at `ipc://PATH` or `tcp://IP:PORT`; beyond the loopback only with --insecure
    #[arg(long, value_name = "ADDR")]
    notifications_addr: Option<NotificationsAddress>,
    /// Queues behind each port, for priorities below N; a packet of another priority is lost. v1model has 8 priorities. With fewer
    /// queues, and with rates of queues (`set_queue_rate`), one thread runs all frames
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    priority_queues: u32,
    /// Start with the state in FILE, which `serialize_state` or `p4rack ctl save` has written
    #[arg(long, value_name = "FILE", conflicts_with = "state")]
    restore_state: Option<PathBuf>,
    /// Start without a program; a controller pushes it
    #[arg(long)]
    no_p4: bool,
    /// Has no effect: --grpc-server-cert and --grpc-server-key, which must be given, enable TLS
    #[arg(long, requires = "grpc_server_cert")]
    grpc_server_ssl: bool,
    /// Has no effect: --grpc-server-cacert, which must be given, makes controllers present certificates
    #[arg(long, requires = "grpc_server_cacert")]
    grpc_server_with_client_auth: bool,
    /// Print the version of p4rack. `p4rack --version` prints it, too
    #[arg(short = 'v', long)]
    version: bool,
    /// Print the version of the `NAME.json` that `p4rack compile` writes, and whose parts for control planes are those of BMv2's format
    #[arg(long)]
    json_version: bool,
    /// Defaults of a program named `simple_switch` or `simple_switch_grpc`
    #[arg(long, hide = true, value_enum, value_name = "NAME")]
    called: Option<Called>,
    #[command(flatten)]
    ignored: Ignored,
}

/// Options without an effect, accepted because scripts for BMv2 give them.
#[derive(clap::Args)]
struct Ignored {
    /// Has no effect: the number of ports is not limited
    #[arg(long, value_name = "N")]
    max_port_count: Option<u64>,
    /// Has no effect: only memory limits the number of multicast groups
    #[arg(long, value_name = "N")]
    max_mc_groups: Option<u64>,
    /// Has no effect: see --max-mc-groups
    #[arg(long, value_name = "N")]
    max_l1_entries: Option<u64>,
    /// Has no effect: see --max-mc-groups
    #[arg(long, value_name = "N")]
    max_l2_entries: Option<u64>,
    /// Has no effect: programs can always be pushed
    #[arg(long)]
    enable_swap: bool,
    /// Has no effect: programs can always be pushed
    #[arg(long)]
    disable_swap: bool,
    /// Has no effect: `p4rack ctl trace` shows the path of a packet
    #[arg(long, value_name = "ADDR")]
    nanolog: Option<String>,
    /// Has no effect: `p4rack ctl trace` shows the path of a packet
    #[arg(long)]
    debugger: bool,
    /// Has no effect: see --debugger
    #[arg(long, value_name = "ADDR")]
    debugger_addr: Option<String>,
    /// Has no effect: --pcap records frames
    #[arg(long, value_name = "BYTES")]
    dump_packet_data: Option<u64>,
    /// Has no effect: frames arrive on the ports of -i
    #[arg(long, value_name = "ADDR")]
    packet_in: Option<String>,
    /// Has no effect: frames arrive on the ports of -i
    #[arg(long, value_name = "ADDR")]
    dp_grpc_server_addr: Option<String>,
    /// Has no effect: externs are part of p4rack
    #[arg(long, value_name = "MODULES")]
    load_modules: Option<String>,
    /// Has no effect: invalid headers are read without a warning
    #[arg(long)]
    warn_on_invalid_hdr_read: bool,
    /// Has no effect: fields of invalid headers keep their values
    #[arg(long)]
    ret_zero_on_invalid_hdr_read: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Called {
    SimpleSwitch,
    SimpleSwitchGrpc,
}

impl Ignored {
    /// The options that are given, each with why it has no effect.
    fn notes(&self) -> Vec<(&'static str, &'static str)> {
        const SWAP: &str = "programs can always be pushed";
        const TRACE: &str = "`p4rack ctl trace` shows the path of a packet";
        const GROUPS: &str = "only memory limits the number of multicast groups";
        const PORTS: &str = "frames arrive on the ports of -i";
        let all = [
            ("--max-port-count", self.max_port_count.is_some(), "the number of ports is not limited"),
            ("--max-mc-groups", self.max_mc_groups.is_some(), GROUPS),
            ("--max-l1-entries", self.max_l1_entries.is_some(), GROUPS),
            ("--max-l2-entries", self.max_l2_entries.is_some(), GROUPS),
            ("--enable-swap", self.enable_swap, SWAP),
            ("--disable-swap", self.disable_swap, SWAP),
            ("--nanolog", self.nanolog.is_some(), TRACE),
            ("--debugger", self.debugger, TRACE),
            ("--debugger-addr", self.debugger_addr.is_some(), TRACE),
            ("--dump-packet-data", self.dump_packet_data.is_some(), "--pcap records frames"),
            ("--packet-in", self.packet_in.is_some(), PORTS),
            ("--dp-grpc-server-addr", self.dp_grpc_server_addr.is_some(), PORTS),
            ("--load-modules", self.load_modules.is_some(), "externs are part of p4rack"),
            (
                "--warn-on-invalid-hdr-read",
                self.warn_on_invalid_hdr_read,
                "invalid headers are read without a warning",
            ),
            (
                "--ret-zero-on-invalid-hdr-read",
                self.ret_zero_on_invalid_hdr_read,
                "fields of invalid headers keep their values",
            ),
        ];
        all.into_iter().filter(|(_, is_given, _)| *is_given).map(|(option, _, why)| (option, why)).collect()
    }
}

impl Bmv2Args {
    /// Prints the options that have no effect.
    pub fn report(&self) {
        for (option, why) in self.ignored.notes() {
            report!("p4rack: {option} has no effect: {why}");
        }
    }

    /// The answer to --version or --json-version.
    pub fn answer(&self) -> Option<String> {
        match (self.version, self.json_version) {
            (true, _) => Some(format!("p4rack {}\n", env!("CARGO_PKG_VERSION"))),
            (_, true) => Some(format!("{}\n", bmv2::JSON_VERSION.map(|number| number.to_string()).join("."))),
            _ => None,
        }
    }

    /// True for a program named `simple_switch` or `simple_switch_grpc`.
    pub fn is_called_so(&self) -> bool {
        self.called.is_some()
    }

    /// Queues behind each port.
    pub fn priority_queues(&self) -> u8 {
        u8::try_from(self.priority_queues).unwrap_or(u8::MAX)
    }

    /// True if the switch starts without a program, even if one is named.
    pub fn is_without_program(&self) -> bool {
        self.no_p4
    }

    /// Socket on which digests are published. A program with BMv2's name has BMv2's address, if it is free.
    pub fn notifications(
        &self,
        device_id: u64,
        insecure: bool,
    ) -> Result<Option<NotificationsListener>, String> {
        let address = match &self.notifications_addr {
            Some(address) => address.clone(),
            None if self.is_called_so() => NotificationsAddress::of_device(device_id),
            None => return Ok(None),
        };
        if !address.is_local() && !insecure {
            return Err(format!(
                "--notifications-addr {address} can be reached from other machines: add --insecure"
            ));
        }
        match NotificationsListener::bind(&address) {
            Ok(listener) => Ok(Some(listener)),
            Err(error) if self.notifications_addr.is_some() => {
                Err(format!("cannot listen on {address} (`--notifications-addr`): {error}"))
            }
            Err(error) => {
                report!("p4rack: digests are not published: {address}: {error}");
                Ok(None)
            }
        }
    }

    /// The state to start with.
    pub fn restored(&self) -> Result<Option<SavedState>, String> {
        let read = |file: &PathBuf| saved_state::read(file).map_err(|why| format!("--restore-state: {why}"));
        self.restore_state.as_ref().map(read).transpose()
    }

    /// The directory for captures, which must exist.
    pub fn record(&self) -> Result<Option<PathBuf>, String> {
        match &self.pcap {
            Some(directory) if !directory.is_dir() => {
                Err(format!("--pcap: `{}` is not a directory", directory.display()))
            }
            pcap => Ok(pcap.clone()),
        }
    }

    /// The ports, and time until they are opened: with `--use-files`, interfaces are files.
    pub fn ports(&self, ports: &[PortSpec]) -> (Vec<PortSpec>, Duration) {
        let Some(seconds) = self.use_files else { return (ports.to_vec(), Duration::ZERO) };
        let file = |name: &str, way: &str| Some(PathBuf::from(format!("{name}_{way}.pcap")));
        let as_files = |spec: &PortSpec| {
            let kind = match &spec.kind {
                PortKind::Packet(name) => {
                    PortKind::Pcap { input: file(name, "in"), output: file(name, "out") }
                }
                other => other.clone(),
            };
            PortSpec { kind, ..spec.clone() }
        };
        (ports.iter().map(as_files).collect(), Duration::from_secs(seconds))
    }
}

/// The command line in p4rack's own form: a link's name becomes a command, `--` before target options goes, and `--pcap` takes the word after it only if
/// that is a directory.
pub fn normalized<A: Into<OsString>>(arguments: impl IntoIterator<Item = A>) -> Vec<OsString> {
    let mut given: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let name = given.first().and_then(|name| Path::new(name).file_name()).and_then(OsStr::to_str);
    let called = match name {
        Some("simple_switch") => Some("simple-switch"),
        Some("simple_switch_grpc") => Some("simple-switch-grpc"),
        _ => None,
    };
    if let Some(called) = called {
        given.splice(1..1, ["switch", "--called", called].map(OsString::from));
    }
    if given.get(1).is_none_or(|command| command != "switch") {
        return given;
    }
    given.retain(|word| word != "--");
    for at in 0..given.len() {
        let is_directory = given.get(at + 1).is_some_and(|next| Path::new(next).is_dir());
        if given[at] == "--pcap" && !is_directory {
            given[at] = "--pcap=.".into();
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> String {
        let words = normalized(text.split(' ')).into_iter().map(|word| word.into_string().unwrap());
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn links_are_commands_and_target_options_are_options() {
        assert_eq!(
            line("/usr/bin/simple_switch_grpc --no-p4 -- --grpc-server-addr 0.0.0.0:50051 --cpu-port 255"),
            "/usr/bin/simple_switch_grpc switch --called simple-switch-grpc --no-p4 --grpc-server-addr 0.0.0.0:50051 --cpu-port 255"
        );
        assert_eq!(line("simple_switch x.json"), "simple_switch switch --called simple-switch x.json");
        assert_eq!(line("p4rack switch x.p4 -- --drop-port 3"), "p4rack switch x.p4 --drop-port 3");
        assert_eq!(line("p4rack lab exec h1 -- ls"), "p4rack lab exec h1 -- ls");
        assert_eq!(line("p4rack switch --pcap x.p4"), "p4rack switch --pcap=. x.p4");
        assert_eq!(line("p4rack switch --pcap / x.p4"), "p4rack switch --pcap / x.p4");
    }
}
