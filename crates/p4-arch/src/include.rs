//! The declaration files, by the name a program includes them under.

/// The text of our `core.p4`, `v1model.p4`, ..., or `None` where the name is not ours.
pub fn include(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(file, _)| *file == name).map(|(_, text)| *text)
}

/// The names [`include()`] knows, for did-you-mean.
pub fn include_names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

const FILES: &[(&str, &str)] = &[
    ("core.p4", include_str!("../p4include/core.p4")),
    ("v1model.p4", include_str!("../p4include/v1model.p4")),
    ("psa.p4", include_str!("../p4include/psa.p4")),
    ("bmv2/psa.p4", include_str!("../p4include/psa.p4")),
    ("dpdk/psa.p4", include_str!("../p4include/dpdk/psa.p4")),
    ("pna.p4", include_str!("../p4include/pna.p4")),
    ("dpdk/pna.p4", include_str!("../p4include/dpdk/pna.p4")),
    ("tna.p4", include_str!("../p4include/tna.p4")),
    ("t2na.p4", include_str!("../p4include/t2na.p4")),
    ("tofino1_specs.p4", include_str!("../p4include/tofino1_specs.p4")),
    ("tofino1_base.p4", include_str!("../p4include/tofino1_base.p4")),
    ("tofino1_arch.p4", include_str!("../p4include/tofino1_arch.p4")),
    ("tofino2_specs.p4", include_str!("../p4include/tofino2_specs.p4")),
    ("tofino2_base.p4", include_str!("../p4include/tofino2_base.p4")),
    ("tofino2_arch.p4", include_str!("../p4include/tofino2_arch.p4")),
    ("tofino_specs.p4", include_str!("../p4include/tofino_specs.p4")),
    ("tofino_base.p4", include_str!("../p4include/tofino_base.p4")),
    ("tofino2_alu.p4", include_str!("../p4include/tofino2_alu.p4")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_files_are_found_by_the_name_programs_use() {
        assert!(include("core.p4").is_some_and(|t| t.contains("extern packet_in")));
        assert!(include("v1model.p4").is_some_and(|t| t.contains("package V1Switch")));
        assert_eq!(include("ebpf_model.p4"), None);
    }

    #[test]
    fn every_include_of_ours_is_ours() {
        for (file, text) in FILES {
            for line in text.lines().filter(|l| l.trim_start().starts_with("#include")) {
                let name = line.split(['<', '>', '"']).nth(1).unwrap_or("");
                assert!(include(name).is_some(), "{file} includes {name}");
            }
        }
    }
}
