//! Action profiles and selectors: a selector becomes one of TNA, with a profile for its members and a hash.
//!
//! Before: `action_selector(HashAlgorithm.crc16, 32w1024, 32w16) paths;`
//! After:  `ActionProfile(1024) paths_members; Hash<bit<16>>(HashAlgorithm_t.CRC16) paths_hash;`
//!         `ActionSelector(paths_members, paths_hash, SelectorMode_t.FAIR, 120, 256) paths;`
//!
//! Members and groups are those of the selector, as before. A group has at most 120 members, which a word of a Tofino's selector memory holds; there is room for as many
//! groups as the largest table with the selector has entries.

use crate::hashes;
use crate::original::refused;
use base_diag::{Diagnostic, Span};
use ir::{
    Const, Direction, Expr, ExprKind, ExternId, ExternObject, Instance, InstanceId, Name, Owner, Program,
    SignatureParam, Type, TypeDecl, TypeId, TypeKind, build,
};

const PROFILE: &str = "action_profile";
pub(crate) const SELECTOR: &str = "action_selector";
/// Members of a group in a word of the selector's memory.
const GROUP_SIZE: u64 = 120;
/// Groups, if no table says how many.
const GROUPS: u64 = 1024;

/// The type `object`, if the program knows it.
fn object(program: &Program, object: &str) -> Option<ExternId> {
    program.externs.iter().position(|known| known.name == object && !known.user).map(ExternId::from)
}

/// The member of `HashAlgorithm_t` for a selector's hash, and the bits of the result.
fn algorithm(program: &Program, selector: &Instance) -> Option<(u32, u32)> {
    let name = hashes::member(program, selector.args.first()?)?;
    match name.as_str() {
        // The chosen member depends on all bits of the keys.
        "identity" => Some((hashes::number_of("IDENTITY")?, 64)),
        name => {
            let (_, name, bits) = hashes::ALGORITHMS.iter().find(|(known, ..)| *known == name)?;
            Some((hashes::number_of(name)?, *bits))
        }
    }
}

/// Refuses selectors with other hashes.
pub(crate) fn check(program: &Program) -> Vec<Diagnostic> {
    let Some(object) = object(program, SELECTOR) else { return vec![] };
    let other = |instance: &&Instance| instance.object == object && algorithm(program, instance).is_none();
    let label = "its hash is none of `identity`, `crc16`, `crc32`, `xor16`";
    let refuse = |instance: &Instance| refused("this selector", instance.span, label);
    program.instances.iter().filter(other).map(refuse).collect()
}

/// True if the program has selectors.
pub(crate) fn are_used(program: &Program) -> bool {
    let object = object(program, SELECTOR);
    program.instances.iter().any(|instance| Some(instance.object) == object)
}

/// Replaces profiles and selectors.
pub(crate) fn replace(program: &mut Program) {
    let old = program.clone();
    if let Some(id) = object(&old, PROFILE) {
        program.externs[id.index()].name = Name::from("ActionProfile");
    }
    let Some(selectors) = object(&old, SELECTOR).filter(|_| are_used(&old)) else { return };
    let profile = object(program, "ActionProfile").unwrap_or_else(|| {
        program.externs.push(declared("ActionProfile", vec![("size", Type::Bit(32))]));
        ExternId::from(program.externs.len() - 1)
    });
    let (algorithms, hash) = hashes::object(program);
    let mode = Type::Named(TypeId::from(program.types.len()));
    program.types.push(TypeDecl {
        name: "SelectorMode_t".into(),
        kind: TypeKind::Enum(["FAIR", "RESILIENT"].map(Name::from).to_vec()),
        annotations: vec![],
        span: Span::NONE,
    });
    let params = vec![
        ("action_profile", Type::Extern(profile, vec![])),
        ("hash", Type::Extern(hash, vec![Type::Param("_".into())])),
        ("mode", mode.clone()),
        ("max_group_size", Type::Bit(32)),
        ("num_groups", Type::Bit(32)),
    ];
    program.externs[selectors.index()] = declared("ActionSelector", params);
    for (at, before) in old.instances.iter().enumerate().filter(|(_, of)| of.object == selectors) {
        let (Some((member, bits)), Some(size)) = (algorithm(&old, before), before.args.get(1)) else {
            continue;
        };
        let id = InstanceId::from(at);
        let argument = |kind: Const, ty: Type| build::expr(ExprKind::Const(kind), ty);
        // Those that another one takes stand before it.
        let (hash_id, new) = (InstanceId::from(program.instances.len()), program.instances.len() + 1);
        let new = InstanceId::from(new);
        let global = |ending: &str, object: ExternId, type_args: Vec<Type>, args: Vec<Expr>| Instance {
            name: format!("{}_{ending}", before.name).into(),
            control_plane_name: format!("{}_{ending}", before.control_plane_name).into(),
            object,
            type_args,
            args,
            owner: Owner::Program,
            methods: vec![],
            annotations: vec![],
            span: before.span,
        };
        let wide = vec![Type::Bit(bits)];
        let of_members = Type::Extern(profile, vec![]);
        let of_hash = Type::Extern(hash, wide.clone());
        program.instances[at] = global("members", profile, vec![], vec![size.clone()]);
        let algorithm = argument(Const::Enum(member), Type::Named(algorithms));
        program.instances.push(global("hash", hash, wide, vec![algorithm]));
        program.instances.push(Instance {
            type_args: vec![],
            args: vec![
                argument(Const::Instance(id), of_members),
                argument(Const::Instance(hash_id), of_hash),
                argument(Const::Enum(0), mode.clone()),
                build::bits(32, GROUP_SIZE),
                build::bits(32, groups(&old, id)),
            ],
            ..before.clone()
        });
        for control in &mut program.controls {
            control.instances.iter_mut().filter(|of| **of == id).for_each(|of| *of = new);
            let tables = control.tables.iter_mut();
            tables
                .filter(|table| table.implementation == Some(id))
                .for_each(|t| t.implementation = Some(new));
        }
    }
}

/// The most entries of a table with a selector.
fn groups(program: &Program, selector: InstanceId) -> u64 {
    let tables = program.controls.iter().flat_map(|control| &control.tables);
    let sizes = tables.filter(|table| table.implementation == Some(selector)).filter_map(|table| table.size);
    sizes.max().unwrap_or(GROUPS)
}

/// An object without methods.
fn declared(name: &str, params: Vec<(&str, Type)>) -> ExternObject {
    let param = |(name, ty): (&str, Type)| SignatureParam {
        name: name.into(),
        direction: Direction::In,
        ty,
        optional: false,
    };
    ExternObject {
        name: name.into(),
        user: false,
        type_params: vec![],
        constructors: vec![params.into_iter().map(param).collect()],
        methods: vec![],
        annotations: vec![],
        span: Span::NONE,
    }
}
