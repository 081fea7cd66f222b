//! What lanes run frames with, and what they leave to the thread that owns the device.

use dataplane_api::Port;
use device::PortNumbers;
use target_native::Shared;

/// What a lane does not do itself, for the thread that owns the device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Passed {
    /// A frame came in by a port, and the lane may not run it.
    Frame(Port, Vec<u8>),
    /// A frame is for controllers.
    ForControllers(Vec<u8>),
    /// What is at the other end of a port has come, or has gone.
    Link(Port, bool),
}

/// What lanes run frames with.
#[derive(Clone)]
pub struct Path {
    /// The program and its state.
    pub shared: Shared,
    /// Frames by ports that the program cannot number are passed on.
    pub numbers: PortNumbers,
    /// What leaves by this port is for controllers.
    pub cpu_port: Option<Port>,
}

impl Path {
    /// The program of a device and its state.
    pub fn new(shared: Shared, cpu_port: Option<Port>) -> Path {
        let numbers = *shared.lock().port_numbers();
        Path { shared, numbers, cpu_port }
    }
}
