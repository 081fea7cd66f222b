//! Locks on keys, granted in the order in which they are asked for.
//!
//! A request names all its keys at once and waits for each after the requests that came before it, so no two requests wait
//! for each other, and none waits for ever if each holder releases.
//!
//! ```text
//! flow A   shared  tenant 7, conn a      granted
//! write W  alone   tenant 7              waits for A
//! flow B   shared  tenant 7, conn b      waits for W, though A would allow it: W does not starve
//! ```

use std::collections::{BTreeMap, VecDeque};

/// How a holder uses a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Use {
    /// Together with other shared holders.
    Shared,
    Alone,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Place<H> {
    holder: H,
    how: Use,
    granted: bool,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Request<K> {
    keys: Vec<K>,
    /// Keys that are not granted yet.
    missing: usize,
}

/// Holder and waiters of each key `K`. `H` identifies a holder.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Locks<K, H> {
    places: BTreeMap<K, VecDeque<Place<H>>>,
    requests: BTreeMap<H, Request<K>>,
    /// Holders that have all their keys and have not been taken by [`Locks::granted`].
    ready: VecDeque<H>,
}

impl<K: Clone + Ord, H: Clone + Ord> Locks<K, H> {
    pub(crate) fn new() -> Self {
        Self { places: BTreeMap::new(), requests: BTreeMap::new(), ready: VecDeque::new() }
    }

    /// Asks for all `keys` at once. A holder has at most one request; the keys differ from each other.
    pub(crate) fn request(&mut self, holder: H, keys: Vec<K>, how: Use) {
        debug_assert!(!self.requests.contains_key(&holder), "a holder asks once");
        for key in &keys {
            let place = Place { holder: holder.clone(), how, granted: false };
            self.places.entry(key.clone()).or_default().push_back(place);
        }
        let request = Request { missing: keys.len(), keys: keys.clone() };
        if keys.is_empty() {
            self.ready.push_back(holder.clone());
        }
        self.requests.insert(holder, request);
        keys.iter().for_each(|key| self.grant(key));
    }

    /// Releases the holder's keys and cancels its requests.
    pub(crate) fn release(&mut self, holder: &H) {
        let Some(request) = self.requests.remove(holder) else { return };
        self.ready.retain(|ready| ready != holder);
        for key in &request.keys {
            if let Some(places) = self.places.get_mut(key) {
                places.retain(|place| place.holder != *holder);
                if places.is_empty() {
                    self.places.remove(key);
                }
            }
            self.grant(key);
        }
    }

    /// The next holder that has got all its keys since it was last asked.
    pub(crate) fn granted(&mut self) -> Option<H> {
        self.ready.pop_front()
    }

    /// Whether nobody holds or waits for anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Grants one key: the first place, and the following ones as long as all are shared.
    fn grant(&mut self, key: &K) {
        let Some(places) = self.places.get_mut(key) else { return };
        let alone = places.front().is_some_and(|first| first.how == Use::Alone);
        let count =
            if alone { 1 } else { places.iter().take_while(|place| place.how == Use::Shared).count() };
        for place in places.iter_mut().take(count).filter(|place| !place.granted) {
            place.granted = true;
            let Some(request) = self.requests.get_mut(&place.holder) else { continue };
            request.missing -= 1;
            if request.missing == 0 {
                self.ready.push_back(place.holder.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Locks, Use};

    fn all(locks: &mut Locks<char, u32>) -> Vec<u32> {
        std::iter::from_fn(|| locks.granted()).collect()
    }

    #[test]
    fn shared_requests_hold_a_key_together() {
        let mut locks = Locks::new();
        locks.request(1, vec!['k', 'a'], Use::Shared);
        locks.request(2, vec!['k', 'b'], Use::Shared);
        assert_eq!(all(&mut locks), [1, 2]);
    }

    #[test]
    fn a_request_that_is_alone_waits_and_is_not_overtaken() {
        let mut locks = Locks::new();
        locks.request(1, vec!['k'], Use::Shared);
        locks.request(2, vec!['k'], Use::Alone);
        locks.request(3, vec!['k'], Use::Shared);
        assert_eq!(all(&mut locks), [1]);
        locks.release(&1);
        assert_eq!(all(&mut locks), [2]);
        locks.release(&2);
        assert_eq!(all(&mut locks), [3]);
        locks.release(&3);
        assert!(locks.is_empty());
    }

    #[test]
    fn a_request_that_is_given_up_while_it_waits_lets_the_next_pass() {
        let mut locks = Locks::new();
        locks.request(1, vec!['k'], Use::Shared);
        locks.request(2, vec!['k', 'x'], Use::Alone);
        locks.request(3, vec!['k'], Use::Shared);
        locks.release(&2);
        assert_eq!(all(&mut locks), [1, 3]);
    }

    #[test]
    fn a_request_of_nothing_is_granted() {
        let mut locks = Locks::<char, u32>::new();
        locks.request(1, vec![], Use::Alone);
        assert_eq!(all(&mut locks), [1]);
    }
}
