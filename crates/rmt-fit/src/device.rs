//! Pipelines as data: the resources of each stage, and those of the whole pipeline.
//!
//! ```toml
//! extends = "tofino1"
//! name = "half-a-tofino"
//! stages = 6
//! ```

use base_diag::codes::plan;
use base_diag::{Diagnostic, FileId, SourceMap, Span};
use serde::{Deserialize, Serialize};

/// A pipeline of match-action stages.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// As shown.
    pub name: String,
    /// Generation of a Tofino: the value of `__TARGET_TOFINO__` in its programs.
    pub tofino: Option<u32>,
    /// Match-action stages, shared by ingress and egress.
    pub stages: u32,
    /// Units in each stage.
    pub stage: Stage,
    /// Shapes of memory blocks.
    pub memory: Memory,
    /// Containers that hold headers and metadata.
    pub phv: Phv,
    /// The parsers.
    pub parser: Parser,
    /// Energy of accesses; none is checked where it is missing.
    pub power: Option<Power>,
}

/// Units in each stage.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Logical tables.
    pub logical_tables: u32,
    /// Logical tables that match in TCAM.
    pub ternary_tables: u32,
    /// Rows of SRAM blocks.
    pub sram_rows: u32,
    /// SRAM blocks in a row.
    pub sram_columns: u32,
    /// Rows of TCAM blocks; a wide key takes several rows of one column.
    pub tcam_rows: u32,
    /// TCAM blocks in a row.
    pub tcam_columns: u32,
    /// Map RAMs: one beside each SRAM block of a state object, and all of an idle time-out.
    pub map_rams: u32,
    /// ALUs of meters, registers and selectors.
    pub meter_alus: u32,
    /// ALUs of counters.
    pub statistics_alus: u32,
    /// Conditions.
    pub gateways: u32,
    /// Bits of all hash functions.
    pub hash_bits: u32,
    /// Units of 16 bits that bring a hash to an action or an object.
    pub hash_distribution_units: u32,
    /// Bytes that exact keys, hashes and conditions may read.
    pub exact_crossbar_bytes: u32,
    /// Bytes that ternary keys may read.
    pub ternary_crossbar_bytes: u32,
    /// Instruction words of actions.
    pub vliw_instructions: u32,
    /// Bytes of action data.
    pub action_bytes: u32,
}

/// Shapes of memory blocks.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Words of an SRAM block.
    pub sram_words: u32,
    /// Bits of such a word.
    pub sram_bits: u32,
    /// Entries of a TCAM block.
    pub tcam_words: u32,
    /// Bits that such an entry matches.
    pub tcam_bits: u32,
    /// The most SRAM blocks of one state object in a stage.
    pub object_rams: u32,
}

/// Containers.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Phv {
    /// Containers of 8 bits.
    pub bytes: u32,
    /// Containers of 16 bits.
    pub halves: u32,
    /// Containers of 32 bits.
    pub words: u32,
    /// Containers of 8 bits that stages cannot see.
    #[serde(default)]
    pub tagalong_bytes: u32,
    /// Containers of 16 bits that stages cannot see.
    #[serde(default)]
    pub tagalong_halves: u32,
    /// Containers of 32 bits that stages cannot see.
    #[serde(default)]
    pub tagalong_words: u32,
    /// Containers of 8 bits that actions only write as a whole.
    #[serde(default)]
    pub mocha_bytes: u32,
    /// Containers of 16 bits that actions only write as a whole.
    #[serde(default)]
    pub mocha_halves: u32,
    /// Containers of 32 bits that actions only write as a whole.
    #[serde(default)]
    pub mocha_words: u32,
    /// Number of validity bits for each half of the pipeline.
    pub pov_bits: u32,
}

impl Phv {
    /// The largest number of containers of a kind.
    fn most(&self) -> u32 {
        let normal = self.bytes.max(self.halves).max(self.words);
        let tagalong = self.tagalong_bytes.max(self.tagalong_halves).max(self.tagalong_words);
        normal.max(tagalong).max(self.mocha_bytes).max(self.mocha_halves).max(self.mocha_words)
    }
}

/// The parsers.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Parser {
    /// States (rows of TCAM) for each half of the pipeline.
    pub states: u32,
    /// Bytes that a state sees.
    pub window_bytes: u32,
    /// Bytes that a state matches.
    pub match_bytes: u32,
    /// Bytes of each packet that egress holds in containers at least, its intrinsic metadata included.
    #[serde(default)]
    pub egress_bytes: u32,
}

/// Shares of the power budget for one access by each packet, in millionths.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// A read of an SRAM block.
    pub sram_read: u32,
    /// A read and a write of a map RAM.
    pub map_ram: u32,
    /// A search of a TCAM block.
    pub tcam_search: u32,
}

const TOFINO1: &str = include_str!("../devices/tofino1.toml");
const TOFINO2: &str = include_str!("../devices/tofino2.toml");

/// Names of the devices that are built in.
pub const BUILT_IN: [&str; 2] = ["tofino1", "tofino2"];

impl Device {
    /// The device of this name, if it is built in.
    pub fn built_in(name: &str) -> Option<Device> {
        let text = built_in_text(name)?;
        Some(toml::from_str(text).expect("the files of the built-in devices are tested"))
    }

    /// Reads a device's file. With `extends = "tofino1"`, missing keys are taken from a built-in device.
    pub fn read(text: &str, file: FileId, map: &SourceMap) -> Result<Device, Diagnostic> {
        let place = |error: &toml::de::Error| {
            let start = map.file(file).map_or(0, |f| f.base());
            let at = |offset: usize| start.saturating_add(u32::try_from(offset).unwrap_or(u32::MAX));
            error.span().map_or(Span::NONE, |range| Span {
                lo: at(range.start),
                hi: at(range.end),
                ..Span::NONE
            })
        };
        let wrong = |error: toml::de::Error| {
            let text = error.message().trim_end().to_string();
            let found = Diagnostic::error(plan::DEVICE_FILE, "the device's file is not understood");
            // Missing and superfluous keys of a merged file have no place in the source.
            let found = if error.span().is_none() { found.note(text) } else { found.at(place(&error), text) };
            found.help("docs/how-to/fit-a-tofino.md lists the keys; `extends = \"tofino1\"` supplies those that are missing")
        };
        let mut own: toml::Table = toml::from_str(text).map_err(wrong)?;
        let Some(base) = own.remove("extends") else {
            return toml::from_str(text).map_err(wrong).and_then(Device::checked);
        };
        let Some(base) = base.as_str().and_then(built_in_text) else {
            return Err(Diagnostic::error(plan::DEVICE_FILE, "`extends` names no built-in device")
                .note(format!("there are `{}`", BUILT_IN.join("`, `"))));
        };
        let mut table: toml::Table = toml::from_str(base).map_err(wrong)?;
        merge(&mut table, own);
        Device::deserialize(table).map_err(wrong).and_then(Device::checked)
    }

    /// Refuses numbers for which a search would not end.
    fn checked(self) -> Result<Device, Diagnostic> {
        let (stage, memory) = (&self.stage, &self.memory);
        let blocks = |rows: u32, columns: u32| u64::from(rows) * u64::from(columns);
        let limits = [
            ("stages", u64::from(self.stages), 1, 256),
            ("sram_rows * sram_columns", blocks(stage.sram_rows, stage.sram_columns), 0, 4096),
            ("tcam_rows * tcam_columns", blocks(stage.tcam_rows, stage.tcam_columns), 0, 4096),
            ("sram_words", u64::from(memory.sram_words), 1, 1 << 20),
            ("sram_bits", u64::from(memory.sram_bits), 8, 1 << 12),
            ("tcam_words", u64::from(memory.tcam_words), 1, 1 << 20),
            ("tcam_bits", u64::from(memory.tcam_bits), 1, 1 << 12),
            ("window_bytes", u64::from(self.parser.window_bytes), 1, 1 << 12),
            ("match_bytes", u64::from(self.parser.match_bytes), 1, 1 << 12),
            ("egress_bytes", u64::from(self.parser.egress_bytes), 0, 1 << 12),
            ("containers of a kind", u64::from(self.phv.most()), 0, 1 << 16),
        ];
        match limits.iter().find(|(_, value, least, most)| value < least || value > most) {
            Some((key, value, least, most)) => {
                let title = format!("`{key}` of a device is out of range");
                Err(Diagnostic::error(plan::DEVICE_FILE, title)
                    .note(format!("it is {value}; {least} to {most} are possible")))
            }
            None => Ok(self),
        }
    }
}

fn built_in_text(name: &str) -> Option<&'static str> {
    match name {
        "tofino1" => Some(TOFINO1),
        "tofino2" => Some(TOFINO2),
        _ => None,
    }
}

/// Values of `over` replace those of `table`, within sections too.
fn merge(table: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (table.get_mut(&key), value) {
            (Some(toml::Value::Table(under)), toml::Value::Table(over)) => merge(under, over),
            (_, value) => {
                table.insert(key, value);
            }
        }
    }
}
