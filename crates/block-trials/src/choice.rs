//! Choice among the blocks of a purpose, by error and by what they take on a device.

use crate::tofino::{TofinoCost, tofino_cost};
use p4_blocks::{Block, Purpose, Request, Variant, Wanted, rank};
use rmt_fit::Device;

/// A block with the sizes that reach the error.
pub struct Placed {
    /// The block.
    pub block: &'static Block,
    /// Sizes of the block, or the reason why it is excluded.
    pub found: Result<Found, String>,
}

/// A block that is possible.
pub struct Found {
    /// The sizes.
    pub request: Request,
    /// The error that is expected.
    pub error: f64,
    /// The cost on the device, if there is one.
    pub tofino: Option<TofinoCost>,
}

impl Placed {
    /// Stages, and then memory; what is out of the question is last.
    fn rank(&self) -> (u64, u64) {
        match &self.found {
            Err(_) => (u64::MAX, 0),
            Ok(Found { tofino: Some(cost), .. }) => {
                (cost.stages.max(0) as u64, (cost.sram + cost.tcam).max(0) as u64)
            }
            Ok(Found { request, .. }) => rank(&(self.block.cost)(&request.values)),
        }
    }
}

/// The blocks of a purpose with their cheapest sizes for an error, the best first; those that are out of the question come last. Without a
/// device, the blocks' own costs decide.
pub fn choose(purpose: &Purpose, wanted: &Wanted, device: Option<&Device>) -> Vec<Placed> {
    let placed = |Variant { block, found }: Variant| {
        let found = found.and_then(|(request, error)| {
            let tofino = device.map(|device| tofino_cost(block, &request, device)).transpose()?;
            Ok(Found { request, error, tofino })
        });
        Placed { block, found }
    };
    let mut all: Vec<Placed> = purpose.variants(wanted).into_iter().map(placed).collect();
    all.sort_by_key(Placed::rank);
    all
}
