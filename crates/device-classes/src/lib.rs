//! Properties of devices of each class: one [`Profile`] per class.
//!
//! Speeds are round figures of the right order, for racks whose files give none: measured ones belong in `RACK.toml`.
//! The abilities that a class lacks decide which code must run elsewhere (`cuts = "beyond"`).

use base_time::Duration;

/// The kind of machine that a device is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum DeviceClass {
    /// A switch with an Intel Tofino 1.
    Tofino1,
    /// A switch with an Intel Tofino 2.
    Tofino2,
    /// The limited switch of FlexSwitch (NSDI'17, section 2): additions, comparisons, hashes and tables, and each register array once a pass.
    FlexSwitch,
    /// Any other programmable switch.
    Switch,
    /// A network card with a programmable pipeline.
    SmartNic,
    /// An FPGA.
    Fpga,
    /// A server that runs the program in software.
    Cpu,
    /// A switch of fixed function, which follows flow rules.
    Legacy,
}

/// Properties of devices of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Profile {
    /// As files name the class.
    pub word: &'static str,
    /// Service time of a packet.
    pub service: Duration,
    /// Number of packets that the device processes in parallel.
    pub parallel: u32,
    /// Missing abilities, whatever the resources.
    pub lacks: Lacks,
}

/// Abilities that devices of a class lack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lacks {
    /// `for` loops.
    pub loops: bool,
    /// Products, but for those with powers of two.
    pub products: bool,
    /// Shifts by values that are not constants.
    pub shifts_by_values: bool,
    /// Functions and objects that a program declares itself, frame externs among them.
    pub functions_of_programs: bool,
    /// Register cells of more bits.
    pub cells_above_bits: Option<u64>,
    /// A second access to a register array while a packet passes; to read a cell and to write it is one access.
    pub second_accesses: bool,
}

impl Lacks {
    /// Nothing.
    pub const NOTHING: Lacks = Lacks {
        loops: false,
        products: false,
        shifts_by_values: false,
        functions_of_programs: false,
        cells_above_bits: None,
        second_accesses: false,
    };

    /// A pipeline of stages has neither loops nor multipliers and shifts by constants; a register array belongs to one stage.
    /// (P4 divides by powers of two only.)
    const OF_STAGES: Lacks = Lacks {
        loops: true,
        products: true,
        shifts_by_values: true,
        functions_of_programs: true,
        cells_above_bits: None,
        second_accesses: true,
    };

    /// A stateful ALU of a Tofino works on at most a pair of 32 bits.
    const OF_TOFINO: Lacks = Lacks { cells_above_bits: Some(64), ..Lacks::OF_STAGES };
}

/// Profiles, indexed by [`DeviceClass`].
const PROFILES: [Profile; 8] = [
    Profile { word: "tofino1", service: Duration::from_ns(500), parallel: 2048, lacks: Lacks::OF_TOFINO },
    Profile { word: "tofino2", service: Duration::from_ns(500), parallel: 3072, lacks: Lacks::OF_TOFINO },
    Profile { word: "flexswitch", service: Duration::from_ns(500), parallel: 1024, lacks: Lacks::OF_STAGES },
    Profile {
        word: "switch",
        service: Duration::from_us(1),
        parallel: 1024,
        lacks: Lacks { functions_of_programs: true, ..Lacks::NOTHING },
    },
    Profile { word: "smartnic", service: Duration::from_us(3), parallel: 48, lacks: Lacks::NOTHING },
    Profile { word: "fpga", service: Duration::from_us(2), parallel: 32, lacks: Lacks::NOTHING },
    Profile { word: "cpu", service: Duration::from_us(10), parallel: 8, lacks: Lacks::NOTHING },
    // It runs no programs: nothing is ever placed on it.
    Profile { word: "legacy", service: Duration::from_ns(500), parallel: 1024, lacks: Lacks::NOTHING },
];

impl DeviceClass {
    /// All classes.
    pub const ALL: [DeviceClass; 8] = [
        DeviceClass::Tofino1,
        DeviceClass::Tofino2,
        DeviceClass::FlexSwitch,
        DeviceClass::Switch,
        DeviceClass::SmartNic,
        DeviceClass::Fpga,
        DeviceClass::Cpu,
        DeviceClass::Legacy,
    ];

    /// Properties of devices of the class.
    pub fn profile(self) -> &'static Profile {
        &PROFILES[self as usize]
    }

    /// As files name the class.
    pub fn word(self) -> &'static str {
        self.profile().word
    }
}

#[cfg(test)]
mod tests {
    use super::{DeviceClass, Lacks};

    #[test]
    fn profiles_stand_in_the_order_of_the_classes() {
        let words = DeviceClass::ALL.map(DeviceClass::word);
        assert_eq!(
            words,
            ["tofino1", "tofino2", "flexswitch", "switch", "smartnic", "fpga", "cpu", "legacy"]
        );
        let lacking = DeviceClass::ALL.map(|class| class.profile().lacks != Lacks::NOTHING);
        assert_eq!(lacking, [true, true, true, true, false, false, false, false]);
    }
}
