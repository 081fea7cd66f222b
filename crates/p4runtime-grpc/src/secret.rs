//! A secret that a switch and those who may call it share: in each call's metadata, as `authorization: Bearer SECRET`.
//!
//! ```text
//! a secret from the start      calls without it are refused
//! none yet, and it learns      the first controller of a rack that brings one is the only one that is served from then on
//! none                         everybody is served
//! ```
//!
//! On connections that are not encrypted, an eavesdropper learns the secret.

use std::sync::{Arc, Mutex, PoisonError};
use tonic::metadata::{Ascii, MetadataMap, MetadataValue};
use tonic::service::Interceptor;
use tonic::{Request, Status};

const HEADER: &str = "authorization";
/// Marker of a rack's controller, whose secret a switch may learn.
const CONTROLLER: &str = "p4rack-controller";

/// A shared secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(MetadataValue<Ascii>);

impl Secret {
    /// Secret from printable ASCII text without spaces; `None` for other text and for fewer than 16 characters.
    pub fn new(text: &str) -> Option<Secret> {
        let is_long = text.len() >= 16 && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_long.then(|| MetadataValue::try_from(format!("Bearer {text}")).ok().map(Secret)).flatten()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// Whom a switch serves. A clone is the same.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    secret: Option<MetadataValue<Ascii>>,
    learns: bool,
}

impl Gate {
    /// From now on only calls with this secret are served; without one, a rack's controller may bring one, if it `learns`.
    pub(crate) fn set(&self, secret: Option<Secret>, learns: bool) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = State { secret: secret.map(|secret| secret.0), learns };
    }

    pub(crate) fn check(&self, given: &MetadataMap) -> Result<(), Status> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (&state.secret, given.get(HEADER)) {
            (None, Some(new)) if state.learns && given.contains_key(CONTROLLER) => {
                state.secret = Some(new.clone());
                Ok(())
            }
            (None, _) => Ok(()),
            (Some(wanted), Some(given)) if is_same(wanted.as_bytes(), given.as_bytes()) => Ok(()),
            (Some(_), _) => {
                Err(Status::unauthenticated("this switch requires its secret: give the file with `--secret`"))
            }
        }
    }
}

/// Takes as long whichever bytes differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

impl Interceptor for Gate {
    fn call(&mut self, request: Request<()>) -> Result<Request<()>, Status> {
        self.check(request.metadata())?;
        Ok(request)
    }
}

/// Credentials of a caller.
#[derive(Clone, Default, Debug)]
pub struct Badge {
    secret: Option<Secret>,
    is_controller: bool,
}

impl Badge {
    /// Credentials with this secret, if there is one.
    pub fn new(secret: Option<Secret>) -> Badge {
        Badge { secret, is_controller: false }
    }

    /// Credentials of a rack's controller.
    pub(crate) fn of_controller(secret: Option<Secret>) -> Badge {
        Badge { secret, is_controller: true }
    }
}

impl Interceptor for Badge {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(secret) = &self.secret {
            request.metadata_mut().insert(HEADER, secret.0.clone());
            if self.is_controller {
                request.metadata_mut().insert(CONTROLLER, MetadataValue::from_static("1"));
            }
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(gate: &Gate, badge: &mut Badge) -> bool {
        let request = badge.call(Request::new(())).unwrap();
        gate.clone().call(request).is_ok()
    }

    #[test]
    fn a_switch_learns_the_secret_of_its_first_controller() {
        let [ours, theirs] = ["0123456789abcdef", "fedcba9876543210"].map(Secret::new);
        let (mut nobody, mut operator) = (Badge::default(), Badge::new(ours.clone()));
        let mut controller = Badge::of_controller(ours.clone());
        let mut impostor = Badge::of_controller(theirs);
        let gate = Gate::default();
        assert!(call(&gate, &mut impostor) && call(&gate, &mut nobody));
        gate.set(None, true);
        // An operator's secret is not learnt.
        assert!(call(&gate, &mut operator) && call(&gate, &mut nobody));
        assert!(call(&gate, &mut controller));
        let served = [&mut controller, &mut operator, &mut nobody, &mut impostor].map(|who| call(&gate, who));
        assert_eq!(served, [true, true, false, false]);
        gate.set(ours, false);
        assert!(call(&gate, &mut operator) && !call(&gate, &mut nobody));
        assert!(Secret::new("short").is_none() && Secret::new("with spaces in the middle").is_none());
    }
}
