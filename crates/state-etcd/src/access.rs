//! Proof of a client's identity for members: its certificate, and the token of a user.

use crate::api::AuthenticateRequest;
use crate::api::auth_client::AuthClient;
use crate::place::{EtcdPlace, EtcdTls};
use p4runtime_grpc::{ClientTls, certificate_of, only_owner, private, private_key};
use std::fmt;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::transport::Channel;
use tonic::{Request, Status};

/// Starts of the messages after which a client authenticates and asks again: etcd has not executed the request.
const STALE: [&str; 2] = ["etcdserver: invalid auth token", "etcdserver: revision of auth store is old"];

/// A user's name and password, and the token that stands for them. Without a user, calls have no token.
pub(crate) struct Access {
    user: Option<AuthenticateRequest>,
    token: Token,
}

/// The part of a call's metadata that names its user.
#[derive(Clone, Default)]
pub(crate) struct Token(Option<MetadataValue<Ascii>>);

impl Access {
    /// With the password from its file.
    pub(crate) fn new(place: &EtcdPlace) -> Result<Access, String> {
        let Some(user) = &place.user else { return Ok(Access { user: None, token: Token::default() }) };
        let password = private(&user.password)?.trim_end_matches(['\r', '\n']).to_string();
        let user = AuthenticateRequest { name: user.name.clone(), password };
        Ok(Access { user: Some(user), token: Token::default() })
    }

    /// The token for a call; without one, the user gets it first.
    pub(crate) async fn token(&mut self, channel: Channel) -> Result<Token, Status> {
        if let (Some(user), None) = (&self.user, &self.token.0) {
            let answer = AuthClient::new(channel).authenticate(user.clone()).await?.into_inner();
            let token = answer.token.parse();
            self.token.0 = Some(token.map_err(|_| Status::internal("the token cannot be sent in a header"))?);
        }
        Ok(self.token.clone())
    }

    /// Forgets a token that etcd does not know any more. True if there was one.
    pub(crate) fn is_stale(&mut self, status: &Status) -> bool {
        STALE.iter().any(|message| status.message().starts_with(message)) && self.token.0.take().is_some()
    }
}

impl Interceptor for Token {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
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
pub(crate) fn certificates(tls: &EtcdTls) -> Result<ClientTls, String> {
    let authority = certificate_of(&tls.authority)?;
    let identity = match &tls.identity {
        Some((certificate, key)) => {
            only_owner(key)?;
            Some((certificate_of(certificate)?, private_key(key)?))
        }
        None => None,
    };
    Ok(ClientTls { authority, identity })
}
