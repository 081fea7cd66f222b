//! Addresses of the hosts of a job.

/// Address of the reducer.
pub const REDUCER: u32 = 0x0a00_00fe;

/// Address of switch 0, for requests; the others follow.
pub const SWITCH: u32 = 0x0a00_0301;

/// Address of the mapper of channel 0; the others follow.
pub const MAPPERS: u32 = 0x0a00_0101;
