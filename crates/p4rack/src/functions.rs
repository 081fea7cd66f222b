//! The frame externs that p4rack has.

use dataplane_api::Registry;
use ir::Program;

/// All of them.
pub fn all() -> Registry {
    let mut registry = Registry::default();
    netfn_beacon::register(&mut registry);
    registry
}

/// Those that a device offers.
pub fn offered(names: impl IntoIterator<Item = impl AsRef<str>>) -> Registry {
    let all = all();
    let mut registry = Registry::default();
    for name in names {
        if let Some(factory) = all.get(name.as_ref()) {
            registry.add(name.as_ref(), factory.clone());
        }
    }
    registry
}

/// Those that a program calls, by the name in `@frame_extern("name")`, sorted.
pub fn used(program: &Program) -> Vec<String> {
    let objects = program.instances.iter().map(|i| program.extern_object(i.object));
    let names = objects.filter_map(|o| o.annotations.iter().find(|a| a.name == "frame_extern")?.as_str());
    let mut names: Vec<String> = names.map(str::to_string).collect();
    names.sort();
    names.dedup();
    names
}
