//! The externs of the user's own that a device offers, by name.

use crate::{FrameExternFactory, ValueOffer};
use std::collections::BTreeMap;

/// Externs by the name in `@frame_extern("name")` or `@value_extern("name")`. A name belongs to one extern.
#[derive(Clone, Default)]
pub struct Registry {
    frames: BTreeMap<String, FrameExternFactory>,
    values: BTreeMap<String, ValueOffer>,
}

impl Registry {
    /// Offers a frame extern.
    pub fn add(&mut self, name: &str, factory: FrameExternFactory) {
        self.frames.insert(name.to_string(), factory);
    }

    /// The frame extern of this name.
    pub fn get(&self, name: &str) -> Option<&FrameExternFactory> {
        self.frames.get(name)
    }

    /// The names of all frame externs, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.frames.keys().map(String::as_str)
    }

    /// Offers a value extern.
    pub fn add_value(&mut self, name: &str, offer: ValueOffer) {
        self.values.insert(name.to_string(), offer);
    }

    /// The value extern of this name.
    pub fn value(&self, name: &str) -> Option<&ValueOffer> {
        self.values.get(name)
    }

    /// The names of all value externs, sorted.
    pub fn value_names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }
}
