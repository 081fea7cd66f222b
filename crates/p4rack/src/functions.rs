//! The frame externs that p4rack has.

use dataplane_api::Registry;
use ir::{Instance, Program};

/// All of them.
pub fn all() -> Registry {
    let mut registry = Registry::default();
    netfn_beacon::register(&mut registry);
    netfn_cache::register(&mut registry);
    netfn_compress::register(&mut registry);
    netfn_fec::register(&mut registry);
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
    let mut names: Vec<String> =
        program.instances.iter().filter_map(|i| name(program, i)).map(str::to_string).collect();
    names.sort();
    names.dedup();
    names
}

/// The frame extern that an instance is one of, if it is.
pub fn name<'p>(program: &'p Program, instance: &Instance) -> Option<&'p str> {
    program.extern_object(instance.object).frame_extern()?.as_str()
}
