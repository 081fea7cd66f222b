//! TLS options and the files that they name.

use crate::{certificates, secret};
use agent::{ClientTls, Secret, Tls, certificate_of, private, private_key};
use std::path::{Path, PathBuf};

/// TLS towards controllers.
#[derive(clap::Args)]
pub struct ServerArgs {
    /// Server certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "grpc_server_key")]
    grpc_server_cert: Option<PathBuf>,
    /// Private key of the server certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "grpc_server_cert")]
    grpc_server_key: Option<PathBuf>,
    /// CA certificate for client certificates (PEM); controllers without a certificate signed by this CA are rejected
    #[arg(long, value_name = "FILE", requires = "grpc_server_cert")]
    grpc_server_cacert: Option<PathBuf>,
}

impl ServerArgs {
    /// Reads the files, or those of an agent's directory; `None` if connections are not encrypted.
    pub fn read(&self, directory: Option<&Path>) -> Result<Option<Tls>, String> {
        let (Some(certificate), Some(key)) = (&self.grpc_server_cert, &self.grpc_server_key) else {
            let Some(directory) = directory else { return Ok(None) };
            let clients = Some(certificate_of(&directory.join("authority.pem"))?);
            let key = private(&directory.join("switch.key"))?.into_bytes();
            return Ok(Some(Tls {
                certificate: certificate_of(&directory.join("switch.pem"))?,
                key,
                clients,
            }));
        };
        let clients = self.grpc_server_cacert.as_deref().map(certificate_of).transpose()?;
        Ok(Some(Tls { certificate: certificate_of(certificate)?, key: private_key(key)?, clients }))
    }
}

/// Heading of the options in the help.
pub const CONNECTIONS: &str = "Connections to switches and agents";

/// TLS and the secret towards other switches.
#[derive(clap::Args)]
pub struct ClientArgs {
    /// CA certificate (PEM). Connections use TLS, and the server must present a certificate signed by this CA. The server is an agent for `switch`, and
    /// the switch for `ctl`
    #[arg(long, value_name = "FILE", global = true, help_heading = CONNECTIONS)]
    cacert: Option<PathBuf>,
    /// Client certificate to present to agents (`switch`) or to the switch (`ctl`) (PEM)
    #[arg(long, value_name = "FILE", global = true, help_heading = CONNECTIONS)]
    cert: Option<PathBuf>,
    /// Private key of the client certificate (PEM)
    #[arg(long, value_name = "FILE", global = true, help_heading = CONNECTIONS)]
    key: Option<PathBuf>,
    /// Directory of the rack's certificates. A rack's controller creates them there, and `ctl` reads them; default: `p4rack/certificates` in
    /// $XDG_STATE_HOME or ~/.local/state. For an agent: a copy of the agent's own subdirectory of `agents`; no default
    #[arg(long, value_name = "DIR", global = true, help_heading = CONNECTIONS, conflicts_with_all = ["cacert", "cert", "key"])]
    certificates: Option<PathBuf>,
    /// File of the secret shared by a rack's controller, agents and operators; `switch` creates the file if missing. Default for a rack's controller
    /// and `ctl`: `p4rack/secret` in $XDG_STATE_HOME or ~/.local/state. A switch or agent with this option serves only clients that send the secret
    #[arg(long, value_name = "FILE", global = true, help_heading = CONNECTIONS)]
    secret: Option<PathBuf>,
}

impl ClientArgs {
    /// The secret in the named file.
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

    /// True if a CA certificate or a client certificate is given.
    pub fn names_authority(&self) -> bool {
        self.cacert.is_some() || self.cert.is_some() || self.key.is_some()
    }

    /// The directory of certificates that is named.
    pub fn certificates(&self) -> Option<&Path> {
        self.certificates.as_deref()
    }

    /// TLS settings for each of a rack's agents. Unless certificates are given, they are created for agents that are
    /// not on the loopback; with `insecure` those are not encrypted.
    pub fn for_agents(&self, agents: &[String], insecure: bool) -> Result<Vec<Option<ClientTls>>, String> {
        if let Some(tls) = self.read()? {
            return Ok(agents.iter().map(|_| Some(tls.clone())).collect());
        }
        let wants = |address: &&String| {
            self.certificates.is_some() || !(insecure || certificates::is_loopback(address))
        };
        if !agents.iter().any(|address| wants(&address)) {
            return Ok(agents.iter().map(|_| None).collect());
        }
        let directory = self.certificates.clone().or_else(certificates::usual);
        let directory =
            directory.ok_or("$HOME is not set: name a directory for certificates with --certificates DIR")?;
        let tls = certificates::made(&directory, agents.iter().filter(wants).map(String::as_str))?;
        report!(
            "p4rack: the agents' certificates are in `{}`: start each agent with `--certificates` and a copy of the directory named by its \
             address",
            directory.join("agents").display()
        );
        Ok(agents.iter().map(|address| wants(&address).then(|| tls.clone())).collect())
    }

    /// TLS settings and secret for a switch at an address. The secret is sent beyond the loopback only over TLS, or
    /// with `insecure`.
    pub fn for_switch(
        &self,
        address: &str,
        insecure: bool,
    ) -> Result<(Option<ClientTls>, Option<Secret>), String> {
        let is_plain = insecure || certificates::is_loopback(address);
        let usual =
            || certificates::usual().filter(|usual| !is_plain && usual.join("authority.pem").exists());
        let tls = match (self.read()?, self.certificates.clone().or_else(usual)) {
            (None, Some(directory)) => Some(certificates::found(&directory)?),
            (tls, _) => tls,
        };
        let secret = match &self.secret {
            _ if is_plain || tls.is_some() => self.known_secret()?,
            None => None,
            Some(path) => {
                return Err(format!(
                    "the connection to {address} is plaintext and would reveal the secret in `{}`: name certificates, or add \
                     --insecure",
                    path.display()
                ));
            }
        };
        Ok((tls, secret))
    }

    /// The secret for calls to a switch: from the file that is named, or else from the user's own file, if it exists.
    fn known_secret(&self) -> Result<Option<Secret>, String> {
        match (&self.secret, secret::usual()) {
            (Some(path), _) => secret::read(path).map(Some),
            (None, Some(path)) if path.exists() => secret::read(&path).map(Some),
            (None, _) => Ok(None),
        }
    }

    /// Reads the files; `None` if connections are not encrypted.
    fn read(&self) -> Result<Option<ClientTls>, String> {
        let identity = match (&self.cert, &self.key) {
            (Some(certificate), Some(key)) => Some((certificate_of(certificate)?, private_key(key)?)),
            (None, None) => None,
            _ => return Err("--cert and --key are used together: name both".to_string()),
        };
        match (&self.cacert, identity) {
            (Some(authority), identity) => {
                Ok(Some(ClientTls { authority: certificate_of(authority)?, identity }))
            }
            (None, Some(_)) => {
                Err("--cert needs TLS: name the CA of the switches' certificates with --cacert".to_string())
            }
            (None, None) => Ok(None),
        }
    }
}
