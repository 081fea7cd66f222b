//! Counts that a control plane reads from a device.

/// Value of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Frames through a port.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PortCount {
    /// Came in, and what comes of it has left.
    pub received: u64,
    /// Left.
    pub sent: u64,
}
