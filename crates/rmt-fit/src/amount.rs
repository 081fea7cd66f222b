//! Amounts of the resources of a stage.

use crate::device::Stage;
use serde::Serialize;

/// A kind of unit that each stage has a number of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Resource {
    Sram,
    Tcam,
    MapRam,
    MeterAlu,
    StatisticsAlu,
    Gateway,
    HashBits,
    HashUnits,
    ExactCrossbar,
    TernaryCrossbar,
    Vliw,
    ActionBytes,
    LogicalTables,
    TernaryTables,
}

impl Resource {
    /// All, in the order of reports.
    pub const ALL: [Resource; 14] = [
        Resource::Sram,
        Resource::Tcam,
        Resource::MapRam,
        Resource::MeterAlu,
        Resource::StatisticsAlu,
        Resource::Gateway,
        Resource::HashBits,
        Resource::HashUnits,
        Resource::ExactCrossbar,
        Resource::TernaryCrossbar,
        Resource::Vliw,
        Resource::ActionBytes,
        Resource::LogicalTables,
        Resource::TernaryTables,
    ];

    /// As a sentence names it.
    pub fn name(self) -> &'static str {
        match self {
            Resource::Sram => "SRAM blocks",
            Resource::Tcam => "TCAM blocks",
            Resource::MapRam => "map RAMs",
            Resource::MeterAlu => "meter and stateful ALUs",
            Resource::StatisticsAlu => "statistics ALUs",
            Resource::Gateway => "gateways",
            Resource::HashBits => "hash bits",
            Resource::HashUnits => "hash distribution units",
            Resource::ExactCrossbar => "exact crossbar bytes",
            Resource::TernaryCrossbar => "ternary crossbar bytes",
            Resource::Vliw => "VLIW instructions",
            Resource::ActionBytes => "action data bytes",
            Resource::LogicalTables => "logical tables",
            Resource::TernaryTables => "ternary tables",
        }
    }

    /// As the head of a column.
    pub fn short(self) -> &'static str {
        match self {
            Resource::Sram => "sram",
            Resource::Tcam => "tcam",
            Resource::MapRam => "map",
            Resource::MeterAlu => "meter",
            Resource::StatisticsAlu => "stats",
            Resource::Gateway => "gate",
            Resource::HashBits => "hash",
            Resource::HashUnits => "dist",
            Resource::ExactCrossbar => "exact",
            Resource::TernaryCrossbar => "tern",
            Resource::Vliw => "vliw",
            Resource::ActionBytes => "data",
            Resource::LogicalTables => "ids",
            Resource::TernaryTables => "tern-ids",
        }
    }
}

/// A number for each [`Resource`].
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Amounts([u32; Resource::ALL.len()]);

impl Amounts {
    /// The units of a stage.
    pub fn of(stage: &Stage) -> Amounts {
        let mut all = Amounts::default();
        for resource in Resource::ALL {
            all[resource] = match resource {
                Resource::Sram => stage.sram_rows.saturating_mul(stage.sram_columns),
                Resource::Tcam => stage.tcam_rows.saturating_mul(stage.tcam_columns),
                Resource::MapRam => stage.map_rams,
                Resource::MeterAlu => stage.meter_alus,
                Resource::StatisticsAlu => stage.statistics_alus,
                Resource::Gateway => stage.gateways,
                Resource::HashBits => stage.hash_bits,
                Resource::HashUnits => stage.hash_distribution_units,
                Resource::ExactCrossbar => stage.exact_crossbar_bytes,
                Resource::TernaryCrossbar => stage.ternary_crossbar_bytes,
                Resource::Vliw => stage.vliw_instructions,
                Resource::ActionBytes => stage.action_bytes,
                Resource::LogicalTables => stage.logical_tables,
                Resource::TernaryTables => stage.ternary_tables,
            };
        }
        all
    }

    /// The first resource whose amount exceeds `limit`.
    pub fn beyond(&self, limit: &Amounts) -> Option<Resource> {
        Resource::ALL.into_iter().find(|r| self[*r] > limit[*r])
    }

    /// `self` minus `used`, at least 0 for each resource.
    pub fn less(&self, used: &Amounts) -> Amounts {
        let mut left = *self;
        Resource::ALL.into_iter().for_each(|r| left[r] = left[r].saturating_sub(used[r]));
        left
    }
}

impl std::ops::Index<Resource> for Amounts {
    type Output = u32;

    fn index(&self, resource: Resource) -> &u32 {
        &self.0[resource as usize]
    }
}

impl std::ops::IndexMut<Resource> for Amounts {
    fn index_mut(&mut self, resource: Resource) -> &mut u32 {
        &mut self.0[resource as usize]
    }
}

impl std::ops::AddAssign for Amounts {
    fn add_assign(&mut self, other: Amounts) {
        Resource::ALL.into_iter().for_each(|r| self[r] = self[r].saturating_add(other[r]));
    }
}
