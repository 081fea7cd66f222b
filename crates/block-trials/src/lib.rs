//! Blocks tried: the example program of a block on every engine, on packets with random inputs, against the block's model, or that of its exact twin.
//! And placed: what a block costs on a Tofino, and which of several blocks costs less.

mod choice;
mod exact;
mod inputs;
mod programs;
mod tofino;

pub use choice::{Found, Placed, choose};
pub use inputs::Inputs;
pub use programs::{Device, compile};
pub use tofino::{TABLE_4, TofinoCost, tofino_cost};

use p4_blocks::{Block, Form, Request};

/// The devices that a trial compares.
pub struct Trial {
    /// By name.
    pub devices: Vec<(&'static str, Device)>,
    /// Gives the expected results.
    pub model: Box<dyn p4_blocks::Model>,
}

impl Trial {
    /// The block's program in the interpreter, as machine code, and in the interpreter after it was printed and compiled again.
    pub fn new(block: &Block, request: &Request, form: Form) -> Trial {
        let (program, map) = compile(block, request, form);
        let printed = programs::printed(&program, map);
        let ports = (block.ports)(&request.values);
        let devices = vec![
            ("interpreter", Device::interpreter(program.clone(), &ports)),
            ("engine", Device::engine(&program, &ports)),
            ("printed program", Device::interpreter(printed, &ports)),
        ];
        let model = match form {
            Form::Approximate => (block.model)(&request.values),
            Form::Exact => exact::model(block, &request.values),
        };
        Trial { devices, model }
    }

    /// Runs packets; says where a device differs from the model.
    pub fn run(&mut self, inputs: &mut Inputs, packets: u64) -> Result<(), String> {
        for packet in 0..packets {
            let values = inputs.next();
            let expected = self.model.apply(&values);
            for (name, device) in &mut self.devices {
                let given = device.apply(&values);
                if given != expected {
                    return Err(format!(
                        "packet {packet}, inputs {values:?}: the {name} gives {given:?}, the model {expected:?}"
                    ));
                }
            }
        }
        Ok(())
    }
}
