//! What to generate.

/// How programs are made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// About how many statements a control's body has, nested ones included.
    pub size: u32,
    /// Leave out what depends on clocks, queues or chance, and what BMv2 and p4c are known to do differently:
    /// for comparing with them.
    pub portable: bool,
    /// Packets for each program.
    pub packets: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config { size: 24, portable: false, packets: 24 }
    }
}
