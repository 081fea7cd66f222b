//! Random inputs of a block.

use base_time::Rng;
use p4_blocks::{Direction, Port};

/// Inputs, packet after packet.
pub struct Inputs {
    ports: Vec<Port>,
    rng: Rng,
    now: u128,
    epoch: u128,
}

impl Inputs {
    /// Inputs for a block with these ports.
    pub fn new(ports: &[Port], seed: u64) -> Inputs {
        let inputs = ports.iter().filter(|port| port.direction == Direction::In).cloned();
        Inputs { ports: inputs.collect(), rng: Rng::new(seed), now: 0, epoch: 0 }
    }

    /// Inputs of the next packet: keys that come again, numbers of every length, a time that goes on.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Vec<u128> {
        let length = self.rng.below(12);
        self.now += u128::from(self.rng.below(1 << length));
        if self.rng.chance(1, 40) {
            self.epoch += u128::from(1 + self.rng.below(3));
        }
        let rng = &mut self.rng;
        let value = |port: &Port| {
            let most = u128::MAX >> (128 - port.bits);
            let value = match port.name {
                "now" => self.now,
                "epoch" => self.epoch,
                "item" if !rng.chance(1, 4) => {
                    u128::from(rng.below(100)).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
                }
                _ => {
                    let all = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
                    match rng.below(12) {
                        0 => 0,
                        1 => most,
                        _ => (all & most) >> rng.below(port.bits.into()),
                    }
                }
            };
            value & most
        };
        self.ports.iter().map(value).collect()
    }
}
