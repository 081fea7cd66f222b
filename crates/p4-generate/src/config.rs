//! Options of the generator.

/// How programs are made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// About how many statements a control's body has, nested ones included.
    pub size: u32,
    /// Leave out constructs that depend on clocks, queues or chance, and those in which BMv2 and p4c are known to
    /// differ: for comparisons with them.
    pub portable: bool,
    /// Packets for each program.
    pub packets: usize,
    /// Percentage of programs that are easy to cut: their parser only extracts, as the first header says,
    /// so that what came in can be made anew, and egress does not ask for the length of the packet.
    pub plain: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config { size: 24, portable: false, packets: 24, plain: 0 }
    }
}
