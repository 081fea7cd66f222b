//! Switch that lanes run frames on, and work that they leave to the thread that owns the device.

use base_time::Time;
use dataplane_api::Port;
use device::PortNumbers;
use target_native::Shared;

/// Work of a lane for the thread that owns the device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Passed {
    /// A frame that the lane may not run: its port, when it came, the frame.
    Frame(Port, Time, Vec<u8>),
    /// A frame is for controllers.
    ForControllers(Vec<u8>),
    /// A port has gone up or down.
    Link(Port, bool),
}

/// Switch and ports that lanes run frames with.
#[derive(Clone)]
pub struct Path {
    /// The program and its state.
    pub shared: Shared,
    /// Frames by ports that the program cannot number are passed on.
    pub numbers: PortNumbers,
    /// Port of frames for controllers.
    pub cpu_port: Option<Port>,
}

impl Path {
    /// The program of a device and its state.
    pub fn new(shared: Shared, cpu_port: Option<Port>) -> Path {
        let numbers = *shared.lock().port_numbers();
        Path { shared, numbers, cpu_port }
    }
}
