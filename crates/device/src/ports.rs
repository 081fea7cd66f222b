//! Ranges of port and multicast group numbers: the architecture's metadata has a width for both.
//!
//! If the metadata cannot hold a number, packets would show another one, so numbers from users are checked first.

use crate::names::refused;
use dataplane_api::{EntryError, Port};
use ir::{Arch, Program, TypeKind};

/// The numbers that ports and multicast groups of a program's architecture can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortNumbers {
    port_bits: u32,
    group_bits: u32,
    drop_port: Option<Port>,
}

impl PortNumbers {
    /// Ranges for a program; `drop_port` means "drop" on v1model.
    pub fn of(program: &Program, drop_port: Port) -> PortNumbers {
        let bits = |name: &str, field: &str| width(program, name, field);
        match program.arch {
            Arch::V1Model(_) => PortNumbers {
                port_bits: bits("standard_metadata_t", "ingress_port"),
                group_bits: bits("standard_metadata_t", "mcast_grp"),
                drop_port: Some(drop_port),
            },
            Arch::Psa { .. } => PortNumbers {
                port_bits: bits("psa_ingress_input_metadata_t", "ingress_port"),
                group_bits: bits("psa_ingress_output_metadata_t", "multicast_group"),
                drop_port: None,
            },
            Arch::Tna(_) | Arch::T2na => PortNumbers {
                port_bits: bits("ingress_intrinsic_metadata_for_tm_t", "ucast_egress_port"),
                group_bits: bits("ingress_intrinsic_metadata_for_tm_t", "mcast_grp_a"),
                drop_port: None,
            },
            _ => PortNumbers { port_bits: u32::BITS, group_bits: u32::BITS, drop_port: None },
        }
    }

    /// The port that means "drop", where a port means it.
    pub fn drop_port(&self) -> Option<Port> {
        self.drop_port
    }

    /// The bits of a port's number.
    pub fn port_bits(&self) -> u32 {
        self.port_bits
    }

    /// The bits of a multicast group's number.
    pub fn group_bits(&self) -> u32 {
        self.group_bits
    }

    /// Refuses a port that the architecture's type cannot hold.
    pub fn check_port(&self, port: Port) -> Result<(), EntryError> {
        let bits = self.port_bits;
        if fits(port, bits) {
            return Ok(());
        }
        let largest = (1u64 << bits) - 1;
        Err(EntryError {
            message: format!("port {port} does not fit into the {bits} bits of a port"),
            help: Some(match self.drop_port {
                Some(drop) if u64::from(drop) == largest => {
                    format!("use a port from 0 to {}; {drop} means drop", largest - 1)
                }
                _ => format!("use a port from 0 to {largest}"),
            }),
        })
    }

    /// Refuses a multicast group that the architecture's type cannot hold.
    pub fn check_group(&self, group: u32) -> Result<(), EntryError> {
        let bits = self.group_bits;
        if fits(group, bits) {
            return Ok(());
        }
        Err(refused(format!("group {group} does not fit into the {bits} bits of a multicast group")))
    }
}

/// The width of a field; 32, which holds every number here, if the program does not use the struct.
fn width(program: &Program, name: &str, field: &str) -> u32 {
    let named = program.types.iter().find(|ty| ty.name == name);
    let fields = match named.map(|ty| &ty.kind) {
        Some(TypeKind::Struct(fields)) => fields.as_slice(),
        _ => &[],
    };
    let bits = fields.iter().find(|f| f.name == field).and_then(|f| program.bits(&f.ty));
    bits.and_then(|bits| u32::try_from(bits).ok()).unwrap_or(u32::BITS)
}

fn fits(number: u32, bits: u32) -> bool {
    bits >= u32::BITS || number >> bits == 0
}
