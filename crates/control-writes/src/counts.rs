//! What a control plane reads of a device's counts.

/// What a counter has counted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// What has passed a port.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PortCount {
    /// Came in, and what comes of it has left.
    pub received: u64,
    /// Left.
    pub sent: u64,
}
