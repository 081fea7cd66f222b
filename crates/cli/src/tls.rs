//! Certificates, from files.

use crate::secret;
use agent::{ClientTls, Secret, Tls};
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
    /// The secret that a rack's controller, its agents and operators share; `switch` makes the file if it is not there
    #[arg(long, value_name = "FILE", global = true)]
    secret: Option<PathBuf>,
}

impl ClientArgs {
    /// The secret of the file that is named.
    pub fn named_secret(&self) -> Result<Option<Secret>, String> {
        self.secret.as_deref().map(secret::made).transpose()
    }

    /// The secret for a rack's agents: of the file that is named, or of the user's own.
    pub fn agents_secret(&self) -> Result<Option<Secret>, String> {
        match (&self.secret, secret::usual()) {
            (Some(path), _) => secret::made(path).map(Some),
            (None, Some(path)) => secret::made(&path).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// The secret for a switch that is asked: of the file that is named, or of the user's own, if there is one.
    pub fn known_secret(&self) -> Result<Option<Secret>, String> {
        match (&self.secret, secret::usual()) {
            (Some(path), _) => secret::read(path).map(Some),
            (None, Some(path)) if path.exists() => secret::read(&path).map(Some),
            (None, _) => Ok(None),
        }
    }

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
