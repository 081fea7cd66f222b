//! Packets on their way to the sinks.

/// Packets of a batch by the port that they leave by, and the ports whose receivers have not been woken since.
#[derive(Default)]
pub(crate) struct Leaving {
    /// Positions of packets in the batch, by the position of their port.
    which: Vec<Vec<usize>>,
    /// The ports that have any.
    pub(crate) touched: Vec<usize>,
    /// Ports to wake, and for each port whether it is one.
    sent_to: Vec<usize>,
    is_sent_to: Vec<bool>,
    /// Packets sent since the receivers were woken.
    pub(crate) sent: usize,
}

impl Leaving {
    /// Changes the number of ports. Nothing must be on its way.
    pub(crate) fn resize(&mut self, ports: usize) {
        self.which.resize(ports, vec![]);
        self.is_sent_to.resize(ports, false);
    }

    /// A packet leaves by a port.
    #[inline]
    pub(crate) fn add(&mut self, port: usize, packet: usize) {
        let which = &mut self.which[port];
        if which.is_empty() {
            self.touched.push(port);
        }
        which.push(packet);
    }

    /// Packets that leave by a port.
    pub(crate) fn packets(&self, port: usize) -> &[usize] {
        &self.which[port]
    }

    /// The packets of a port have been sent.
    pub(crate) fn clear(&mut self, port: usize) {
        self.sent += self.which[port].len();
        self.which[port].clear();
        if !std::mem::replace(&mut self.is_sent_to[port], true) {
            self.sent_to.push(port);
        }
    }

    /// Takes the ports to which packets were sent since the last call. [`woken`](Leaving::woken) is to be called next.
    pub(crate) fn take_sent_to(&mut self) -> Vec<usize> {
        self.sent = 0;
        self.sent_to.iter().for_each(|port| self.is_sent_to[*port] = false);
        std::mem::take(&mut self.sent_to)
    }

    /// All ports have been woken; gives the memory of their list back.
    pub(crate) fn woken(&mut self, mut ports: Vec<usize>) {
        ports.clear();
        self.sent_to = ports;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_port_is_woken_once_for_what_was_sent_to_it() {
        let mut leaving = Leaving::default();
        leaving.resize(3);
        for round in 0..2 {
            for (port, packet) in [(2, 0), (0, 1), (2, 2)] {
                leaving.add(port, packet);
            }
            assert_eq!((&leaving.touched[..], leaving.packets(2)), (&[2, 0][..], &[0, 2][..]), "{round}");
            // Two batches are sent before receivers are woken.
            for port in std::mem::take(&mut leaving.touched) {
                leaving.clear(port);
                leaving.add(port, 3);
                leaving.clear(port);
            }
            leaving.touched.clear();
            assert_eq!(leaving.sent, 5);
            let ports = leaving.take_sent_to();
            assert_eq!((&ports[..], leaving.sent), (&[2, 0][..], 0), "{round}");
            leaving.woken(ports);
        }
    }
}
