//! The processes, and requests to them.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Far longer than anything takes.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Directory of the tests' secret, so that the user's own is left alone.
pub fn state() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("agents_state")
}

/// A command that uses it.
pub fn secret(command: &mut Command) -> &mut Command {
    command.env("XDG_STATE_HOME", state())
}

/// A `p4rack switch` that ends with the test.
pub struct Switch {
    pub process: Child,
    pub address: String,
    lines: Mutex<Receiver<String>>,
    args: Vec<String>,
}

/// A `p4rack switch` that has not reported yet where it listens, and may wait for another controller.
pub struct Starting {
    process: Option<Child>,
    lines: Receiver<String>,
    args: Vec<String>,
}

impl Starting {
    pub fn new(args: &[&str]) -> Starting {
        let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
        command.arg("switch").args(args).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = secret(&mut command).spawn().expect("the binary runs");
        let reported = BufReader::new(process.stderr.take().expect("it is piped")).lines();
        let (line, lines) = channel();
        // The process must not block on its output.
        std::thread::spawn(move || {
            reported.map_while(Result::ok).for_each(|text| line.send(text).unwrap_or_default())
        });
        let args = args.iter().map(ToString::to_string).collect();
        Starting { process: Some(process), lines, args }
    }

    /// The next line with this text.
    pub fn reports(&self, text: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("it reports `{text}`"));
            if line.contains(text) {
                return line;
            }
        }
    }

    /// The switch, when it listens.
    pub fn listens(mut self) -> Switch {
        let line = self.reports(" listens on ");
        let address = line.split_once(" listens on ").map(|(_, address)| address.to_string()).unwrap();
        let process = self.process.take().unwrap();
        let (_, nothing) = channel();
        let lines = std::mem::replace(&mut self.lines, nothing);
        Switch { process, address, lines: Mutex::new(lines), args: std::mem::take(&mut self.args) }
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Switch {
    pub fn start(args: &[&str]) -> Switch {
        Starting::new(args).listens()
    }

    /// The next line with this text.
    pub fn reports(&self, text: &str) -> String {
        let lines = self.lines.lock().unwrap();
        loop {
            let line = lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("it reports `{text}`"));
            if line.contains(text) {
                return line;
            }
        }
    }

    /// The last line that it reports before it ends.
    pub fn last_words(&self) -> String {
        self.lines.lock().unwrap().iter().last().unwrap_or_default()
    }

    /// Starts it again, with the same arguments, and does not wait for it.
    pub fn starts_again(&self) -> Starting {
        Starting::new(&self.args.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Starts it again, with the same arguments.
    pub fn restart(&mut self) {
        *self = self.starts_again().listens();
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Two devices, their controller, and the ends of the rack's two ports.
pub struct Rack {
    pub tor: Switch,
    pub nic: Switch,
    pub controller: Switch,
    pub inside: [String; 2],
    ports: [UdpSocket; 2],
    /// Options for clients of a switch.
    client: Vec<String>,
}

/// Addresses of agents, and their ports.
struct Places {
    tor: String,
    nic: String,
    tor_ports: Vec<String>,
    nic_ports: Vec<String>,
}

impl Places {
    fn agent(&self, address: &str, ports: &[String], more: &[&str]) -> Switch {
        let ports = ports.iter().flat_map(|port| ["-i", port]);
        Switch::start(
            &["--grpc-server-addr", address]
                .into_iter()
                .chain(ports)
                .chain(more.iter().copied())
                .collect::<Vec<_>>(),
        )
    }

    fn controller(&self, directory: &Path, more: &[&str]) -> Switch {
        let rack = directory.display().to_string();
        let agents = [format!("tor={}", self.tor), format!("nic={}", self.nic)];
        let args = [&rack, "--grpc-server-addr", "127.0.0.1:0", "--agent", &agents[0], "--agent", &agents[1]];
        Switch::start(&[&args, more].concat())
    }
}

pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents")
}

/// A copy of it with a changed program.
pub fn changed(name: &str, from: &str, to: &str) -> PathBuf {
    let copy = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&copy).unwrap();
    for file in ["count.p4", "entries.stf", "RACK.toml"] {
        let text = std::fs::read_to_string(directory().join(file)).unwrap();
        std::fs::write(copy.join(file), text.replace(from, to)).unwrap();
    }
    copy
}

/// A free UDP address.
pub fn free_udp() -> SocketAddr {
    linux_net::free_addresses(1).unwrap()[0]
}

pub fn free_tcp() -> String {
    linux_net::free_addresses(1).unwrap()[0].to_string()
}

impl Rack {
    pub fn new() -> Rack {
        Rack::with(&[], &[])
    }

    /// With arguments of the controller.
    pub fn with_controller(args: &[&str]) -> Rack {
        Rack::with_all(&directory(), &[], &[], args)
    }

    /// The rack of another directory.
    pub fn of(directory: &Path, controller: &[&str]) -> Rack {
        Rack::with_all(directory, &[], &[], controller)
    }

    /// A rack with arguments for all servers and for all clients.
    pub fn with(server: &[&str], client: &[&str]) -> Rack {
        Rack::with_all(&directory(), server, client, &[])
    }

    /// With arguments of the agents alone.
    pub fn with_agents(args: &[&str]) -> Rack {
        Rack::begin(&[], |places| {
            let tor = places.agent(&places.tor, &places.tor_ports, args);
            let nic = places.agent(&places.nic, &places.nic_ports, args);
            (tor, nic, places.controller(&directory(), &[]))
        })
    }

    /// The controller makes certificates in a directory, and each agent is started with its own.
    pub fn certified(certificates: &Path) -> Rack {
        let client = ["--certificates".to_string(), certificates.display().to_string()];
        let client = [client[0].as_str(), client[1].as_str()];
        Rack::begin(&[], |places| {
            // It waits for its agents.
            let controller = places.controller(&directory(), &client);
            let agent = |address: &String, ports: &[String]| {
                let own = certificates.join("agents").join(address);
                places.agent(address, ports, &["--certificates", &own.display().to_string()])
            };
            (agent(&places.tor, &places.tor_ports), agent(&places.nic, &places.nic_ports), controller)
        })
    }

    fn with_all(directory: &Path, server: &[&str], client: &[&str], controller: &[&str]) -> Rack {
        Rack::begin(client, |places| {
            let tor = places.agent(&places.tor, &places.tor_ports, server);
            let nic = places.agent(&places.nic, &places.nic_ports, server);
            (tor, nic, places.controller(directory, &[server, client, controller].concat()))
        })
    }

    fn begin(client: &[&str], start: impl FnOnce(&Places) -> (Switch, Switch, Switch)) -> Rack {
        let port = || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let device = free_udp();
            socket.connect(device).unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            (format!("{device},{}", socket.local_addr().unwrap()), socket)
        };
        let ((first, one), (second, two)) = (port(), port());
        let (here, there) = (free_udp(), free_udp());
        let inside = [format!("500@udp:{here},{there}"), format!("500@udp:{there},{here}")];
        let places = Places {
            tor: free_tcp(),
            nic: free_tcp(),
            tor_ports: vec![format!("1@udp:{first}"), format!("2@udp:{second}"), inside[0].clone()],
            nic_ports: vec![inside[1].clone()],
        };
        let (tor, nic, controller) = start(&places);
        let client = client.iter().map(ToString::to_string).collect();
        let rack = Rack { tor, nic, controller, inside, ports: [one, two], client };
        rack.wait(&rack.controller, |shown| is_running(shown) && are_sound(shown));
        rack
    }

    pub fn ctl(&self, args: &[&str]) -> Output {
        self.ask(&self.controller, args)
    }

    pub fn show(&self) -> Value {
        self.shown(&self.controller)
    }

    fn ask(&self, switch: &Switch, args: &[&str]) -> Output {
        let client: Vec<&str> = self.client.iter().map(String::as_str).collect();
        ctl(&switch.address, &[args, &client].concat())
    }

    fn shown(&self, switch: &Switch) -> Value {
        let output = self.ask(switch, &["show", "--json"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        serde_json::from_slice(&output.stdout).expect("it prints JSON")
    }

    /// Waits until a switch is as it is wanted; it is to be so long before [`PATIENCE`] ends.
    pub fn wait(&self, switch: &Switch, wanted: impl Fn(&Value) -> bool) {
        let begun = Instant::now();
        loop {
            let shown = self.shown(switch);
            if wanted(&shown) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{} is still like this: {shown}", switch.address);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn send(&self, number: u32) {
        self.send_frame(&frame(number, 0));
    }

    pub fn send_frame(&self, frame: &[u8]) {
        self.ports[0].send(frame).unwrap();
    }

    /// Next frame that comes out: its number, and the rack's.
    pub fn receive(&self) -> (u32, u32) {
        let mut buffer = [0; 2048];
        let length = self.ports[1].recv(&mut buffer).expect("a frame comes");
        let at = |from: usize| u32::from_be_bytes(buffer[from..from + 4].try_into().unwrap());
        assert_eq!(length, 60);
        (at(14), at(18))
    }

    pub fn pass(&self, number: u32) -> (u32, u32) {
        self.send(number);
        self.receive()
    }
}

/// A frame that is numbered.
pub fn frame(sent: u32, number: u32) -> Vec<u8> {
    let mut frame = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x12, 0x34].to_vec();
    frame.extend(sent.to_be_bytes());
    frame.extend(number.to_be_bytes());
    frame.resize(60, 0);
    frame
}

pub fn ctl(address: &str, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_p4rack"));
    secret(command.args(["ctl", "--addr", address]).args(args)).output().expect("the binary runs")
}

pub fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn is_running(shown: &Value) -> bool {
    shown["state"] == "RUNNING"
}

pub fn are_sound(shown: &Value) -> bool {
    shown["devices"].as_array().unwrap().iter().all(|device| device["stale"].is_null())
}
