//! Something for each port, found at once for the ports that there usually are.

use dataplane_api::Port;
use std::collections::BTreeMap;

/// Ports with smaller numbers have a place in an array.
const NEAR: usize = 1024;

/// Values by port. Ports below [`NEAR`] have a place in an array.
#[derive(Clone, Debug)]
pub(crate) struct ByPort<T> {
    near: Vec<Option<T>>,
    far: BTreeMap<Port, T>,
    /// Number of ports with a value.
    count: usize,
}

impl<T> Default for ByPort<T> {
    fn default() -> ByPort<T> {
        ByPort { near: vec![], far: BTreeMap::new(), count: 0 }
    }
}

impl<T> ByPort<T> {
    /// Number of ports with a value.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    #[inline]
    pub(crate) fn get(&self, port: Port) -> Option<&T> {
        let at = port as usize;
        if at < NEAR { self.near.get(at)?.as_ref() } else { self.far.get(&port) }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, port: Port) -> Option<&mut T> {
        let at = port as usize;
        if at < NEAR { self.near.get_mut(at)?.as_mut() } else { self.far.get_mut(&port) }
    }

    pub(crate) fn insert(&mut self, port: Port, value: T) {
        let at = port as usize;
        let old = if at < NEAR {
            if self.near.len() <= at {
                self.near.resize_with(at + 1, || None);
            }
            self.near[at].replace(value)
        } else {
            self.far.insert(port, value)
        };
        self.count += usize::from(old.is_none());
    }

    pub(crate) fn remove(&mut self, port: Port) {
        let old = match self.near.get_mut(port as usize) {
            Some(near) => near.take(),
            None => self.far.remove(&port),
        };
        self.count -= usize::from(old.is_some());
    }

    /// Takes all, by ascending numbers.
    pub(crate) fn into_all(self) -> impl Iterator<Item = (Port, T)> {
        let near = (0..).zip(self.near).filter_map(|(port, value)| Some((port, value?)));
        near.chain(self.far)
    }

    /// All, by ascending numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Port, &T)> {
        let near = (0..).zip(&self.near).filter_map(|(port, value)| Some((port, value.as_ref()?)));
        near.chain(self.far.iter().map(|(port, value)| (*port, value)))
    }
}

impl<T> FromIterator<(Port, T)> for ByPort<T> {
    fn from_iter<I: IntoIterator<Item = (Port, T)>>(all: I) -> ByPort<T> {
        let mut by_port = ByPort::default();
        all.into_iter().for_each(|(port, value)| by_port.insert(port, value));
        by_port
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_and_far_ports_are_kept_in_order() {
        let mut all: ByPort<&str> = [(5000, "far"), (1023, "last"), (3, "near")].into_iter().collect();
        all.insert(3, "new");
        *all.get_mut(5000).unwrap() = "changed";
        all.insert(7, "gone");
        [7, 7, 2000].into_iter().for_each(|port| all.remove(port));
        assert_eq!(all.len(), 3);
        assert_eq!(all.iter().collect::<Vec<_>>(), [(3, &"new"), (1023, &"last"), (5000, &"changed")]);
        assert_eq!([2, 1024, u32::MAX].map(|port| all.get(port)), [None; 3]);
        assert_eq!(all.into_all().collect::<Vec<_>>(), [(3, "new"), (1023, "last"), (5000, "changed")]);
    }
}
