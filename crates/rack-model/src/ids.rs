//! Parts of a rack, by their places in its lists.

/// A device, by its place in [`Rack::devices`](crate::Rack::devices).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct DeviceId(pub u32);

/// A host, by its place in [`Rack::hosts`](crate::Rack::hosts).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct HostId(pub u32);

/// A link, by its place in [`Rack::links`](crate::Rack::links).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LinkId(pub u32);

/// Something that links are plugged into.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum NodeId {
    /// A device.
    Device(DeviceId),
    /// A host.
    Host(HostId),
}
