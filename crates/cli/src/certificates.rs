//! The certificates of a rack: an authority of its own, one for the controller and operators, and one for each agent.
//!
//! ```text
//! DIR/authority.pem   authority.key      signs the others; the key stays here
//! DIR/controller.pem  controller.key     certificate of the controller and operators, shown to agents
//! DIR/agents/HOST:PORT/                  files of an agent: `p4rack switch --certificates`
//!     authority.pem  switch.pem  switch.key
//! ```
//!
//! Missing files are created. Directories have mode 700 and keys 600.

use crate::{once, secret};
use agent::{ClientTls, private};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Validity of certificates.
const YEARS: u64 = 10;

/// Maximum difference of clocks: certificates are valid from this time before now.
const BEHIND: Duration = Duration::from_secs(24 * 3600);

/// The directory of the user's own: `certificates` beside the secret.
pub fn usual() -> Option<PathBuf> {
    Some(secret::usual()?.with_file_name("certificates"))
}

/// True if traffic to `host:port` cannot leave this machine.
pub fn is_loopback(address: &str) -> bool {
    let host = host(address);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The host of `host:port`.
fn host(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Creates missing files for these agents. Returns the controller's TLS settings.
pub fn made<'a>(directory: &Path, agents: impl Iterator<Item = &'a str>) -> Result<ClientTls, String> {
    let authority = Authority::made(directory)?;
    for agent in agents {
        // A name that leaves the directory is not an address.
        if agent.contains(['/', '\0']) || host(agent).is_empty() {
            return Err(format!("`{agent}` is not HOST:PORT"));
        }
        let own = directory.join("agents").join(agent);
        authority.sign(&own, "switch", host(agent), ExtendedKeyUsagePurpose::ServerAuth)?;
        once::make(&own.join("authority.pem"), 0o644, || fs::read_to_string(&authority.certificate))?;
    }
    authority.sign(directory, "controller", "controller", ExtendedKeyUsagePurpose::ClientAuth)?;
    found(directory)
}

/// Existing certificates for a client of agents.
pub fn found(directory: &Path) -> Result<ClientTls, String> {
    let file = |name: &str| read(&directory.join(name)).map(String::into_bytes);
    let identity = (file("controller.pem")?, private(&directory.join("controller.key"))?.into_bytes());
    Ok(ClientTls { authority: file("authority.pem")?, identity: Some(identity) })
}

/// The CA of a rack.
struct Authority {
    certificate: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn made(directory: &Path) -> Result<Authority, String> {
        let key = key(&directory.join("authority.key"))?;
        let mut params = params("p4rack", &[]).map_err(|error| error.to_string())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let certificate = directory.join("authority.pem");
        once::make(&certificate, 0o644, || Ok(params.self_signed(&key).map_err(io::Error::other)?.pem()))?;
        Ok(Authority { certificate, issuer: Issuer::new(params, key) })
    }

    /// `NAME.pem` and `NAME.key`, for a host or for a controller or operator.
    fn sign(
        &self,
        directory: &Path,
        name: &str,
        subject: &str,
        purpose: ExtendedKeyUsagePurpose,
    ) -> Result<(), String> {
        let key = key(&directory.join(format!("{name}.key")))?;
        once::make(&directory.join(format!("{name}.pem")), 0o644, || {
            let mut params = params(subject, &[subject]).map_err(io::Error::other)?;
            params.is_ca = IsCa::ExplicitNoCa;
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.extended_key_usages = vec![purpose];
            Ok(params.signed_by(&key, &self.issuer).map_err(io::Error::other)?.pem())
        })
    }
}

/// Parameters of a certificate for this name, valid from now on.
// When a certificate begins to be good is the wall clock's.
#[allow(clippy::disallowed_methods)]
fn params(name: &str, hosts: &[&str]) -> Result<CertificateParams, rcgen::Error> {
    let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(hosts)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = epoch + now.saturating_sub(BEHIND);
    params.not_after = epoch + now + Duration::from_secs(YEARS * 365 * 24 * 3600);
    Ok(params)
}

/// Reads a private key; creates it if missing.
fn key(path: &Path) -> Result<KeyPair, String> {
    once::make(path, 0o600, || KeyPair::generate().map(|key| key.serialize_pem()).map_err(io::Error::other))?;
    let text = private(path)?;
    KeyPair::from_pem(&text).map_err(|error| format!("`{}` is not a private key: {error}", path.display()))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("`{}` cannot be read: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_alone() {
        for address in ["127.0.0.1:9559", "127.9.9.9:1", "[::1]:9559", "localhost:9559"] {
            assert!(is_loopback(address), "{address}");
        }
        for address in
            ["10.0.0.2:9559", "[2001:db8::1]:9559", "0.0.0.0:1", "tor:9559", "localhost.example:1", "::1", ""]
        {
            assert!(!is_loopback(address), "{address}");
        }
    }
}
