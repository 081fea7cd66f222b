//! Certificates, of those who serve and of those who call.

use crate::serve::{ServeError, chain};
use std::error::Error;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity, ServerTlsConfig};

/// TLS settings of a server, as PEM.
#[derive(Clone)]
pub struct Tls {
    /// The server's certificate.
    pub certificate: Vec<u8>,
    /// Private key.
    pub key: Vec<u8>,
    /// Authority of controllers' certificates; `None` if they need none.
    pub clients: Option<Vec<u8>>,
}

impl Tls {
    pub(crate) fn config(self) -> ServerTlsConfig {
        let config = ServerTlsConfig::new().identity(Identity::from_pem(self.certificate, self.key));
        match self.clients {
            Some(clients) => config.client_ca_root(Certificate::from_pem(clients)),
            None => config,
        }
    }
}

/// TLS settings of a client, as PEM.
#[derive(Clone)]
pub struct ClientTls {
    /// Authority of servers' certificates.
    pub authority: Vec<u8>,
    /// The client's certificate and its private key, for servers that want them.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// Endpoint of a server at `host:port`. With TLS, its certificate must be for that host.
pub fn endpoint(address: &str, tls: Option<&ClientTls>) -> Result<Endpoint, ServeError> {
    let scheme = if tls.is_some() { "https" } else { "http" };
    let endpoint = Endpoint::from_shared(format!("{scheme}://{address}"));
    let endpoint = endpoint.map_err(|error| ServeError(chain(&error)))?.tcp_nodelay(true);
    let Some(tls) = tls else { return Ok(endpoint) };
    let config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&tls.authority));
    let config = match &tls.identity {
        Some((certificate, key)) => config.identity(Identity::from_pem(certificate, key)),
        None => config,
    };
    endpoint.tls_config(config).map_err(|error| ServeError(format!("TLS: {}", chain(&error))))
}

/// Reason of a failed call: the server's message, or the error of the connection.
pub fn failure(status: &tonic::Status) -> String {
    match status.source() {
        Some(cause) => chain(cause),
        None => status.message().to_string(),
    }
}
