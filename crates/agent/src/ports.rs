//! Ports: capture files, TAP interfaces, and cables inside the process and to others.

use base_pcap::{Reader, Record, Writer};
use base_time::Time;
use p4runtime_grpc::Front;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::BufWriter;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// What a port is, as `-i` says it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortSpec {
    /// Its number.
    pub port: u32,
    /// What stands behind it.
    pub kind: PortKind,
}

/// What stands behind a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PortKind {
    /// Frames come from a capture file, as fast as they are taken, and go to another.
    Pcap {
        /// Where frames come from.
        input: Option<PathBuf>,
        /// Where they go.
        output: Option<PathBuf>,
    },
    /// A TAP interface with this name, made if there is none.
    Tap(String),
    /// A frame is a datagram from one address to the other: a cable to another process.
    Udp {
        /// Here.
        from: SocketAddr,
        /// There; what comes from elsewhere is not taken.
        to: SocketAddr,
    },
}

impl FromStr for PortSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<PortSpec, String> {
        let form = "a port is written NUMBER@pcap:IN,OUT (either may be empty), NUMBER@tap:NAME or \
                    NUMBER@udp:HERE,THERE (addresses with ports)";
        let (port, kind) = text.split_once('@').ok_or(form)?;
        let port = port.parse().map_err(|_| format!("`{port}` is no port number: {form}"))?;
        let colon = || match kind.is_empty() {
            true => form.to_string(),
            false => format!("`{kind}` without its kind; of real interfaces only TAP can be used: {form}"),
        };
        let kind = match kind.split_once(':').ok_or_else(colon)? {
            ("pcap", files) => {
                let (input, output) = files.split_once(',').unwrap_or((files, ""));
                let path = |name: &str| (!name.is_empty()).then(|| PathBuf::from(name));
                PortKind::Pcap { input: path(input), output: path(output) }
            }
            ("udp", ends) => {
                let (from, to) = ends.split_once(',').ok_or(form)?;
                let address = |text: &str| {
                    text.parse().map_err(|_| format!("`{text}` is no address like 127.0.0.1:5001: {form}"))
                };
                PortKind::Udp { from: address(from)?, to: address(to)? }
            }
            ("tap", name) if !name.is_empty() && name.len() < 16 => PortKind::Tap(name.to_string()),
            ("tap", _) => return Err("the name of an interface has 1 to 15 letters".to_string()),
            (kind, _) => return Err(format!("`{kind}` is no kind of port: {form}")),
        };
        Ok(PortSpec { port, kind })
    }
}

/// Why a port cannot be opened.
#[derive(Debug)]
pub struct PortError(String);

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One end of a cable inside the process.
pub struct Cable {
    to: SyncSender<Vec<u8>>,
    from: Receiver<Vec<u8>>,
}

/// The two ends of a cable on which `length` frames wait each way.
pub fn cable(length: usize) -> (Cable, Cable) {
    let ((to, from), (back, forth)) = (sync_channel(length), sync_channel(length));
    (Cable { to, from: forth }, Cable { to: back, from })
}

impl Cable {
    /// Sends a frame. False if there is no room, or the other end is gone: then it is lost.
    pub fn send(&self, frame: Vec<u8>) -> bool {
        self.to.try_send(frame).is_ok()
    }

    /// A frame that has come; `None` if there is none, or none can come any more.
    pub fn receive(&self) -> Option<Vec<u8>> {
        self.from.try_recv().ok()
    }
}

/// The ports of a device.
#[derive(Default)]
pub(crate) struct Ports {
    out: BTreeMap<u32, Out>,
    inputs: Vec<(u32, In)>,
    /// Frames that were not taken.
    lost: u64,
}

enum Out {
    Capture(Writer<BufWriter<File>>),
    Tap(Arc<tun::Device>),
    Cable(SyncSender<Vec<u8>>),
    Udp(UdpSocket),
    Nowhere,
}

enum In {
    Capture(Reader<'static>),
    Tap(Arc<tun::Device>),
    Cable(Receiver<Vec<u8>>),
    Udp(UdpSocket),
}

impl Ports {
    /// Opens all; none if one cannot be opened.
    pub(crate) fn open(specs: &[PortSpec], cables: Vec<(u32, Cable)>) -> Result<Ports, PortError> {
        let mut ports = Ports::default();
        for (port, cable) in cables {
            ports.inputs.push((port, In::Cable(cable.from)));
            if ports.out.insert(port, Out::Cable(cable.to)).is_some() {
                return Err(PortError(format!("port {port}: it is given twice")));
            }
        }
        for spec in specs {
            let told = |error: &dyn fmt::Display| PortError(format!("port {}: {error}", spec.port));
            if ports.out.contains_key(&spec.port) {
                return Err(told(&"it is given twice"));
            }
            let out = match &spec.kind {
                PortKind::Pcap { input, output } => {
                    if let Some(path) = input {
                        let named =
                            |error: &dyn fmt::Display| told(&format!("`{}`: {error}", path.display()));
                        let file = File::open(path).map_err(|error| named(&error))?;
                        let reader = Reader::new(file).map_err(|error| named(&error))?;
                        ports.inputs.push((spec.port, In::Capture(reader)));
                    }
                    match output {
                        Some(path) => {
                            let named =
                                |error: std::io::Error| told(&format!("`{}`: {error}", path.display()));
                            let file = BufWriter::new(File::create(path).map_err(named)?);
                            Out::Capture(Writer::new(file).map_err(named)?)
                        }
                        None => Out::Nowhere,
                    }
                }
                PortKind::Tap(name) => {
                    let mut config = tun::Configuration::default();
                    config.tun_name(name).layer(tun::Layer::L2).up();
                    let device =
                        tun::create(&config).map_err(|error| told(&format!("TAP `{name}`: {error}")))?;
                    let device = Arc::new(device);
                    ports.inputs.push((spec.port, In::Tap(Arc::clone(&device))));
                    Out::Tap(device)
                }
                PortKind::Udp { from, to } => {
                    let open = || {
                        let socket = UdpSocket::bind(from)?;
                        socket.connect(to)?;
                        Ok((socket.try_clone()?, socket))
                    };
                    let named = |error: std::io::Error| told(&format!("{from} to {to}: {error}"));
                    let (input, out) = open().map_err(named)?;
                    ports.inputs.push((spec.port, In::Udp(input)));
                    Out::Udp(out)
                }
            };
            ports.out.insert(spec.port, out);
        }
        Ok(ports)
    }

    /// Begins to give what comes in to the device.
    pub(crate) fn listen(&mut self, front: &Front) {
        for (port, input) in std::mem::take(&mut self.inputs) {
            let front = front.clone();
            thread::spawn(move || match input {
                In::Capture(reader) => replay(port, reader, &front),
                In::Tap(device) => receive(port, |buffer| device.recv(buffer), &front),
                In::Udp(socket) => receive(port, |buffer| no_echo(socket.recv(buffer)), &front),
                In::Cable(frames) => pass_on(port, frames, &front),
            });
        }
    }

    /// Sends a frame. What cannot be sent is lost, as on a wire, and counted.
    pub(crate) fn send(&mut self, port: u32, frame: Vec<u8>, now: Time) {
        let sent = match self.out.get_mut(&port) {
            Some(Out::Capture(writer)) => {
                let original = u32::try_from(frame.len()).unwrap_or(u32::MAX);
                writer.write(&Record { nanos: now.as_ns(), frame, original }).is_ok()
            }
            Some(Out::Tap(device)) => device.send(&frame).is_ok(),
            Some(Out::Cable(cable)) => cable.try_send(frame).is_ok(),
            // An error may be that of the frame before.
            Some(Out::Udp(socket)) => socket.send(&frame).or_else(|_| socket.send(&frame)).is_ok(),
            Some(Out::Nowhere) | None => true,
        };
        self.lost += u64::from(!sent);
    }

    /// The numbers of all.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.out.keys().copied()
    }

    /// How many frames were not taken.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Writes what waits to be written.
    pub(crate) fn flush(&mut self) -> std::io::Result<()> {
        self.out.values_mut().try_for_each(|out| match out {
            Out::Capture(writer) => writer.flush(),
            Out::Tap(_) | Out::Cable(_) | Out::Udp(_) | Out::Nowhere => Ok(()),
        })
    }
}

/// What there is no room for waits on the cable.
fn pass_on(port: u32, frames: Receiver<Vec<u8>>, front: &Front) {
    for frame in frames {
        if !front.frame_when_possible(port, frame) {
            return;
        }
    }
}

fn replay(port: u32, reader: Reader<'static>, front: &Front) {
    for record in reader {
        let record = match record {
            Ok(record) => record,
            Err(error) => return tracing::warn!(port, %error, "the capture cannot be read to its end"),
        };
        // A capture waits for room; nothing of it is lost.
        if !front.frame_when_possible(port, record.frame) {
            return;
        }
    }
}

fn receive(port: u32, mut next: impl FnMut(&mut [u8]) -> std::io::Result<usize>, front: &Front) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length) = next(&mut buffer) {
        if length > 0 {
            front.frame(port, buffer.get(..length).unwrap_or_default().to_vec());
        }
    }
}

/// Where nobody listened to a datagram, the next one may be heard all the same.
fn no_echo(received: std::io::Result<usize>) -> std::io::Result<usize> {
    match received {
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => Ok(0),
        received => received,
    }
}
