//! Metadata that controllers store with their entities.

use crate::fault::{Result, Within, fault};
use p4runtime_proto::google::rpc::Code;

/// The most bytes of a controller's own in an entry or a group. P4Runtime sets no bound; without one a single entry could be
/// larger than any message in which it is read.
const MOST_METADATA: usize = 64 << 10;

/// Metadata of an entity; refused if it is too long.
pub(crate) fn metadata(given: &[u8]) -> Result<Vec<u8>> {
    if given.len() > MOST_METADATA {
        let why = format!("it has {} bytes, and the limit is {MOST_METADATA}", given.len());
        return fault("the metadata is too long", why).code(Code::ResourceExhausted).within("metadata");
    }
    Ok(given.to_vec())
}
