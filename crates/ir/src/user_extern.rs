//! Externs of the user's own, which devices offer by name: frame externs and value externs.

use crate::{Annotation, ExternFunction, ExternMethod, ExternObject, Instance, Program};

/// Dependencies and effects of a call of a value extern (P4-16 §20.3 for the annotations).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CallEffect {
    /// `@pure`: the result depends on the arguments alone.
    Pure,
    /// `@noSideEffects`: the method also reads the memory of its instance, and does not change it.
    Reads,
    /// The method may change the memory of its instance.
    Writes,
}

impl ExternObject {
    /// The annotation `@frame_extern("name")`, if it has one.
    pub fn frame_extern(&self) -> Option<&Annotation> {
        self.annotations.iter().find(|a| a.name == "frame_extern")
    }

    /// The annotation `@value_extern("name")`, if it has one.
    pub fn value_extern(&self) -> Option<&Annotation> {
        self.annotations.iter().find(|a| a.name == "value_extern")
    }
}

impl ExternFunction {
    /// The annotation `@value_extern("name")`, if it has one. Such a function has no memory.
    pub fn value_extern(&self) -> Option<&Annotation> {
        self.annotations.iter().find(|a| a.name == "value_extern")
    }
}

impl ExternMethod {
    /// Effect that the annotations declare, if the method belongs to a value extern.
    pub fn effect(&self) -> CallEffect {
        let has = |name: &str| self.annotations.iter().any(|a| a.name == name);
        match (has("pure"), has("noSideEffects")) {
            (true, _) => CallEffect::Pure,
            (false, true) => CallEffect::Reads,
            (false, false) => CallEffect::Writes,
        }
    }
}

impl Program {
    /// The name in `@frame_extern("name")` of an instance's type, if it is a frame extern.
    pub fn frame_extern(&self, instance: &Instance) -> Option<&str> {
        self.extern_object(instance.object).frame_extern()?.as_str()
    }

    /// The frame externs that have instances, by name, sorted.
    pub fn frame_externs(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.instances.iter().filter_map(|i| self.frame_extern(i)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The name in `@value_extern("name")` of an instance's type, if it is a value extern.
    pub fn value_extern(&self, instance: &Instance) -> Option<&str> {
        self.extern_object(instance.object).value_extern()?.as_str()
    }

    /// The externs of the user's own that have instances or are functions, by name, sorted: a device must offer them to
    /// run the program.
    pub fn own_externs(&self) -> Vec<&str> {
        let values = self.instances.iter().filter_map(|i| self.value_extern(i));
        let functions = self.extern_functions.iter().filter_map(|f| f.value_extern()?.as_str());
        let mut names: Vec<&str> = self.frame_externs().into_iter().chain(values).chain(functions).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}
