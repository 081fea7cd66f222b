//! Interfaces by AF_XDP sockets: the driver hands frames over before the kernel makes packets of them.
//!
//! AF_XDP gives no information about work left to a card. A partial checksum is known by its value, and completed.
//! Large segments do not come: where a program runs in the driver, the kernel cuts them before; otherwise they are
//! lost; a warning says so when the port is opened.

use crate::batch::Batch;
use crate::link::LinkState;
use crate::losses::{Losses, Reason};
use crate::port::{Sink, Source, Wait};
use base_offload::{complete, partial};
use base_time::Time;
use dataplane_api::Port;
use linux_net::xdp::{LONGEST, Mode, Socket, Sockets, is_missing};
use nix::errno::Errno;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use target_native::{MOST_BYTES, Packet};

/// Bytes of Ethernet's header with two VLAN tags.
const ETHERNET: u32 = 22;

/// Rounds after which frames are counted that the kernel has lost.
const COUNTED: u32 = 1024;

/// State shared by both ends.
struct Shared {
    link: Arc<LinkState>,
    losses: Arc<Losses>,
    open: Mutex<Open>,
}

/// The sockets of the interface that has the name now.
#[derive(Default)]
struct Open {
    index: u32,
    /// `None` while there is no interface, or if it could not be opened.
    sockets: Option<Sockets>,
    /// The lane does not wait for them yet.
    is_new: bool,
}

/// Receiving end of an interface.
pub(crate) struct XdpSource {
    shared: Arc<Shared>,
    rounds: u32,
}

/// Sending end of an interface.
pub(crate) struct XdpSink(Arc<Shared>);

/// Opens an interface, and says how its frames come.
pub(crate) fn open(
    link: &Arc<LinkState>,
    losses: &Arc<Losses>,
) -> Result<(XdpSource, XdpSink, Mode), String> {
    let name = link.name();
    if link.mtu() + ETHERNET > LONGEST.min(MOST_BYTES) as u32 {
        let most = LONGEST.min(MOST_BYTES) as u32 - ETHERNET;
        return Err(format!(
            "`{name}`: AF_XDP takes an MTU of at most {most}, not {}: use packet:{name}, or `ip link set {name} mtu {most}`",
            link.mtu()
        ));
    }
    let shared = Shared { link: Arc::clone(link), losses: Arc::clone(losses), open: Mutex::default() };
    let mode = shared.renew(&mut shared.lock()).map_err(|error| why(name, &error))?;
    let mode = mode.ok_or_else(|| format!("`{name}` does not exist any more"))?;
    let shared = Arc::new(shared);
    Ok((XdpSource { shared: Arc::clone(&shared), rounds: 0 }, XdpSink(shared), mode))
}

fn why(name: &str, error: &io::Error) -> String {
    match Errno::from_raw(error.raw_os_error().unwrap_or(0)) {
        Errno::EPERM | Errno::EACCES => format!(
            "`{name}`: no permission for AF_XDP: run as root, or `setcap cap_net_raw,cap_net_admin,cap_bpf+ep` the command"
        ),
        Errno::EBUSY | Errno::EEXIST => {
            format!(
                "`{name}` is in use: it has an XDP program or AF_XDP sockets already; `ip link show {name}` names the program"
            )
        }
        _ if is_missing(error) => format!("`{name}`: there is no AF_XDP for it ({error}): use packet:{name}"),
        _ => format!("`{name}`: AF_XDP: {error}"),
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the interface that has the name now, if that is another one. How its frames come; `None` while there is none.
    fn renew(&self, open: &mut Open) -> io::Result<Option<Mode>> {
        let index = self.link.index().unwrap_or(0);
        if open.index != index {
            *open = Open { index, ..Open::default() };
            if index != 0 {
                let native = Sockets::open(index, Mode::Native);
                let sockets = match native {
                    Err(error) if is_missing(&error) => {
                        let sockets = Sockets::open(index, Mode::Generic)?;
                        let name = self.link.name();
                        tracing::warn!(
                            interface = name,
                            "the driver runs no XDP programs ({error}): AF_XDP in generic mode is slower, and loses segments that are larger than the MTU; \
                             turn them off with `ethtool -K {name} gro off`, and `tso off gso off` at the other end, or use packet:{name}"
                        );
                        sockets
                    }
                    ended => ended?,
                };
                *open = Open { index, sockets: Some(sockets), is_new: true };
            }
        }
        Ok(open.sockets.as_ref().map(|sockets| sockets.mode))
    }

    fn count(&self, open: &Open) {
        let counts = open.sockets.iter().flat_map(|sockets| &sockets.all).map(Socket::lost);
        let (full, long) = counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        self.losses.set(Reason::ReceiveRing, full);
        self.losses.set(Reason::TooLong, long);
    }

    fn send(&self, frames: &[&[u8]]) -> usize {
        let mut open = self.lock();
        let is_open = self.renew(&mut open).is_ok() && self.link.is_up();
        let Some(socket) =
            open.sockets.as_mut().filter(|_| is_open).and_then(|sockets| sockets.all.first_mut())
        else {
            self.losses.add(Reason::Down, frames.len() as u64);
            return 0;
        };
        let most = LONGEST.min((self.link.mtu() + ETHERNET) as usize);
        let fit = frames.iter().copied().filter(|frame| frame.len() <= most);
        let (fitting, sent) = (fit.clone().count(), socket.send(fit));
        self.losses.add(Reason::Mtu, (frames.len() - fitting) as u64);
        self.losses.add(Reason::Queue, (fitting - sent) as u64);
        sent
    }
}

impl Source for XdpSource {
    fn receive(&mut self, port: Port, batch: &mut Batch) -> io::Result<()> {
        let mut open = self.shared.lock();
        // An error as result would end the port, but the interface may be usable later.
        if let Err(error) = self.shared.renew(&mut open) {
            tracing::warn!(port, interface = self.shared.link.name(), %error, "cannot be opened");
            return Ok(());
        }
        self.rounds += 1;
        if self.rounds.is_multiple_of(COUNTED) {
            self.shared.count(&open);
        }
        for socket in open.sockets.iter_mut().flat_map(|sockets| &mut sockets.all) {
            socket.receive(batch.room().len(), |frame| {
                let Some(packet) = batch.room().first_mut() else { return };
                let Some(room) = packet.room().get_mut(..frame.len()) else { return batch.push(port, frame) };
                room.copy_from_slice(frame);
                if let Some(partial) = partial(room) {
                    complete(room, partial);
                }
                packet.arrive(port, frame.len());
                batch.filled(1);
            });
        }
        Ok(())
    }

    fn wait(&mut self, _: &Arc<mio::Waker>) -> Wait {
        let mut open = self.shared.lock();
        self.shared.count(&open);
        if open.sockets.is_none() {
            // It is tried again.
            open.index = 0;
        }
        let is_new = std::mem::take(&mut open.is_new);
        let files = open.sockets.iter().flat_map(|sockets| &sockets.all).map(Socket::file).collect();
        if is_new { Wait::Anew(files) } else { Wait::Woken }
    }

    fn keeps(&self) -> bool {
        false
    }

    fn is_up(&self) -> bool {
        self.shared.link.is_up()
    }
}

impl Sink for XdpSink {
    fn send(&mut self, packets: &mut [Packet], which: &[usize], _: Time) -> usize {
        let frames: Vec<&[u8]> = which.iter().map(|at| packets[*at].frame()).collect();
        self.0.send(&frames)
    }

    fn send_frame(&mut self, frame: &[u8], _: Time) -> bool {
        self.0.send(&[frame]) == 1
    }
}
