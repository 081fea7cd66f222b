//! Proof of a client's identity for members: its certificate, and the token of a user.

use crate::api::AuthenticateRequest;
use crate::api::auth_client::AuthClient;
use crate::cluster::EtcdError;
use crate::place::{EtcdPlace, EtcdTls};
use p4runtime_grpc::ClientTls;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::transport::Channel;
use tonic::{Request, Status};

/// Starts of the messages after which a client authenticates and asks again: etcd has not executed the request.
const STALE: [&str; 2] = ["etcdserver: invalid auth token", "etcdserver: revision of auth store is old"];

/// A user's name and password, and the token that stands for them. Without a user, calls have no token.
#[derive(Clone)]
pub(crate) struct Access {
    user: Option<AuthenticateRequest>,
    token: Option<MetadataValue<Ascii>>,
}

impl Access {
    /// With the password from its file.
    pub(crate) fn new(place: &EtcdPlace) -> Result<Access, EtcdError> {
        let Some(user) = &place.user else { return Ok(Access { user: None, token: None }) };
        let text = String::from_utf8(private(&user.password)?);
        let text = text.map_err(|_| unusable(&user.password, "is not text in UTF-8"))?;
        let password = text.trim_end_matches(['\r', '\n']).to_string();
        Ok(Access { user: Some(AuthenticateRequest { name: user.name.clone(), password }), token: None })
    }

    /// Gets a token, if calls need one and there is none.
    pub(crate) async fn enter(&mut self, channel: Channel) -> Result<(), Status> {
        if let (Some(user), None) = (&self.user, &self.token) {
            let answer = AuthClient::new(channel).authenticate(user.clone()).await?.into_inner();
            let token = answer.token.parse();
            self.token = Some(token.map_err(|_| Status::internal("the token cannot be sent in a header"))?);
        }
        Ok(())
    }

    /// Forgets a token that etcd does not know any more. True if there was one.
    pub(crate) fn is_stale(&mut self, status: &Status) -> bool {
        STALE.iter().any(|message| status.message().starts_with(message)) && self.token.take().is_some()
    }
}

impl Interceptor for Access {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.token {
            request.metadata_mut().insert("token", token.clone());
        }
        Ok(request)
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.user.as_ref().map(|user| &user.name);
        f.debug_struct("Access").field("user", &name).finish_non_exhaustive()
    }
}

/// The files for TLS.
pub(crate) fn certificates(tls: &EtcdTls) -> Result<ClientTls, EtcdError> {
    let authority = pem(&tls.authority, file(&tls.authority)?, "CERTIFICATE-----", "a certificate")?;
    let identity = match &tls.identity {
        Some((certificate, key)) => Some((
            pem(certificate, file(certificate)?, "CERTIFICATE-----", "a certificate")?,
            pem(key, private(key)?, "PRIVATE KEY-----", "a private key")?,
        )),
        None => None,
    };
    Ok(ClientTls { authority, identity })
}

fn pem(path: &Path, bytes: Vec<u8>, mark: &str, what: &str) -> Result<Vec<u8>, EtcdError> {
    match bytes.windows(mark.len()).any(|part| part == mark.as_bytes()) {
        true => Ok(bytes),
        false => Err(unusable(path, &format!("does not contain {what} in PEM form"))),
    }
}

/// Reads a file that only its owner may read.
fn private(path: &Path) -> Result<Vec<u8>, EtcdError> {
    let mode = fs::metadata(path).map_err(|error| unusable(path, &format!("cannot be read: {error}")))?;
    match mode.permissions().mode() & 0o077 {
        0 => file(path),
        _ => Err(unusable(path, "can be read by other users: run `chmod 600` on it")),
    }
}

fn file(path: &Path) -> Result<Vec<u8>, EtcdError> {
    fs::read(path).map_err(|error| unusable(path, &format!("cannot be read: {error}")))
}

fn unusable(path: &Path, why: &str) -> EtcdError {
    EtcdError::Unusable(format!("`{}` {why}", path.display()))
}
