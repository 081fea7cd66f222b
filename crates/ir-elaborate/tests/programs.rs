//! Whole programs, and the declarations of every architecture.

use crate::support;

use expect_test::{expect, expect_file};
use support::{compile, refusal};

#[test]
fn a_router() {
    let program = support::elaborate(include_str!("router.p4"));
    expect_file!["router.ir"].assert_eq(&ir::text::write(&program));
}

#[test]
fn every_declaration_file_of_ours_checks() {
    for name in p4_arch::include_names() {
        if name.starts_with("tofino") {
            continue;
        }
        let (_, diagnostics, _) = compile(&format!("#include <{name}>\n"));
        let codes: Vec<String> = diagnostics.iter().map(|d| format!("{} {}", d.code, d.title)).collect();
        assert_eq!(codes, ["P4R0302 the program has no `main` package"], "{name}");
    }
}

#[test]
fn the_version_of_v1model_is_kept() {
    let source = include_str!("router.p4").replacen(
        "#include <v1",
        "#define V1MODEL_VERSION 20200408\n#include <v1",
        1,
    );
    let source = source.replace("register<bit<32>>", "register<bit<32>, bit<32>>");
    assert_eq!(support::elaborate(&source).arch, ir::Arch::V1Model(20200408));
    assert_eq!(support::elaborate(include_str!("router.p4")).arch, ir::Arch::V1Model(20180101));
}

#[test]
fn a_program_without_main_is_reported_so() {
    expect![[r#"
        P4R0302: the program has no `main` package
    "#]]
    .assert_eq(&refusal("#include <core.p4>\nheader h_t { bit<8> a; }"));
}
