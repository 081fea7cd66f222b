//! Certificates, from files.

use agent::{ClientTls, Tls};
use std::path::{Path, PathBuf};

/// What a switch shows to controllers and asks of them.
#[derive(clap::Args)]
pub struct ServerArgs {
    /// The server's certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "grpc_server_key")]
    grpc_server_cert: Option<PathBuf>,
    /// Its private key, as PEM
    #[arg(long, value_name = "FILE", requires = "grpc_server_cert")]
    grpc_server_key: Option<PathBuf>,
    /// Who signs controllers' certificates, as PEM: controllers without one are turned away
    #[arg(long, value_name = "FILE", requires = "grpc_server_cert")]
    grpc_server_cacert: Option<PathBuf>,
}

impl ServerArgs {
    /// What the files say; nothing if connections are not encrypted.
    pub fn read(&self) -> Result<Option<Tls>, String> {
        let (Some(certificate), Some(key)) = (&self.grpc_server_cert, &self.grpc_server_key) else {
            return Ok(None);
        };
        let clients = self.grpc_server_cacert.as_deref().map(certificates).transpose()?;
        Ok(Some(Tls { certificate: certificates(certificate)?, key: private_key(key)?, clients }))
    }
}

/// What is asked of switches that are called, and shown to them.
#[derive(clap::Args)]
pub struct ClientArgs {
    /// Who signs the certificates of the switches that are called, as PEM: connections to them are encrypted
    #[arg(long, value_name = "FILE", global = true)]
    cacert: Option<PathBuf>,
    /// The certificate that they are shown, as PEM
    #[arg(long, value_name = "FILE", global = true)]
    cert: Option<PathBuf>,
    /// Its private key, as PEM
    #[arg(long, value_name = "FILE", global = true)]
    key: Option<PathBuf>,
}

impl ClientArgs {
    /// What the files say; nothing if connections are not encrypted.
    pub fn read(&self) -> Result<Option<ClientTls>, String> {
        let identity = match (&self.cert, &self.key) {
            (Some(certificate), Some(key)) => Some((certificates(certificate)?, private_key(key)?)),
            (None, None) => None,
            _ => return Err("--cert and --key belong together: name both".to_string()),
        };
        match (&self.cacert, identity) {
            (Some(authority), identity) => {
                Ok(Some(ClientTls { authority: certificates(authority)?, identity }))
            }
            (None, Some(_)) => Err(
                "--cert is for encrypted connections: name who signs switches' certificates with --cacert"
                    .to_string(),
            ),
            (None, None) => Ok(None),
        }
    }
}

fn certificates(path: &Path) -> Result<Vec<u8>, String> {
    pem(path, "CERTIFICATE-----", "a certificate")
}

fn private_key(path: &Path) -> Result<Vec<u8>, String> {
    pem(path, "PRIVATE KEY-----", "a private key")
}

/// A file with something in it that is marked so.
fn pem(path: &Path, mark: &str, what: &str) -> Result<Vec<u8>, String> {
    let text = std::fs::read(path);
    let text = text.map_err(|error| format!("`{}` cannot be read: {error}", path.display()))?;
    match text.windows(mark.len()).any(|part| part == mark.as_bytes()) {
        true => Ok(text),
        false => Err(format!("`{}` has not {what} as PEM in it", path.display())),
    }
}
