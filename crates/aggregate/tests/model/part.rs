//! Parts of a state that are shared by all states in which they are equal, because nothing has changed them.

use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// A part, which is copied before its first change.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Part<T>(Rc<T>);

impl<T> Part<T> {
    pub fn new(part: T) -> Part<T> {
        Part(Rc::new(part))
    }
}

impl<T> Deref for Part<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Part<T> {
    fn deref_mut(&mut self) -> &mut T {
        Rc::make_mut(&mut self.0)
    }
}
