//! The address of a state in etcd, as text.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// `etcd://HOST:PORT[,HOST:PORT...]/NAME[?OPTION=VALUE[&...]]`: members of a cluster, and the name of a state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EtcdPlace {
    /// `host:port` of each member.
    pub members: Vec<String>,
    /// Name of the state. Controllers that share a state name the same.
    pub name: String,
    /// Seconds for which a leader that is not heard of stays the leader. etcd may make it longer.
    pub lease: u32,
    /// Files for TLS; `None` for connections in plaintext.
    pub tls: Option<EtcdTls>,
    /// User of an etcd with authentication.
    pub user: Option<EtcdUser>,
}

/// Files in PEM form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EtcdTls {
    /// `cacert`: authority of the members' certificates.
    pub authority: PathBuf,
    /// `cert` and `key`: certificate and private key of this client.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// A user of etcd.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EtcdUser {
    /// `user`: the name.
    pub name: String,
    /// `password`: a file with the password. Arguments of commands are visible to all users of a machine.
    pub password: PathBuf,
}

/// Start of such an address.
const SCHEME: &str = "etcd://";

/// Most characters of a name.
const LONGEST: usize = 64;

/// Seconds of a lease, unless the address says it.
const LEASE: u32 = 2;

const FORM: &str =
    "write etcd://HOST:PORT[,HOST:PORT...]/NAME[?OPTION=VALUE[&...]], as in etcd://127.0.0.1:2379/lab";

/// Names of options, in the order in which they are printed.
const OPTIONS: [&str; 6] = ["lease", "cacert", "cert", "key", "user", "password"];

impl FromStr for EtcdPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<EtcdPlace, String> {
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| FORM.to_string())?;
        let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
        let mut options = options(query)?;
        let lease = match options.remove("lease") {
            None => LEASE,
            Some(seconds) => seconds
                .parse()
                .ok()
                .filter(|seconds| (1..=60).contains(seconds))
                .ok_or("`lease` is a number of seconds from 1 to 60")?,
        };
        let mut file = |name| options.remove(name).map(PathBuf::from);
        let identity = match (file("cert"), file("key")) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err("`cert` and `key` are used together: name both files".to_string()),
        };
        let tls = match (file("cacert"), identity) {
            (Some(authority), identity) => Some(EtcdTls { authority, identity }),
            (None, None) => None,
            (None, Some(_)) => {
                return Err("`cert` needs `cacert`, a file with the authority of the members' certificates"
                    .to_string());
            }
        };
        let user = match (options.remove("user"), options.remove("password")) {
            (Some(name), Some(password)) => {
                Some(EtcdUser { name: name.to_string(), password: PathBuf::from(password) })
            }
            (None, None) => None,
            _ => return Err("`user` and `password` are used together: `password` names a file".to_string()),
        };
        let (members, name) = rest.split_once('/').unwrap_or((rest, ""));
        let is_plain = |char: char| char.is_ascii_alphanumeric() || ".-_".contains(char);
        if name.is_empty() {
            return Err(format!("the name of the state is missing: {FORM}"));
        }
        if name.len() > LONGEST || !name.chars().all(is_plain) {
            return Err(format!(
                "a name has letters, digits, `.`, `-` and `_`, at most {LONGEST}, and `{name}` has others or more"
            ));
        }
        if members.contains('@') {
            return Err("write a user behind the name of the state: `?user=NAME&password=FILE`".to_string());
        }
        let members: Vec<String> = members.split(',').map(ToString::to_string).collect();
        for member in &members {
            let port = member.rsplit_once(':').filter(|(host, _)| !host.is_empty());
            if port.is_none_or(|(_, port)| port.parse::<u16>().is_err()) {
                return Err(format!("`{member}` has no host or no port: {FORM}"));
            }
        }
        Ok(EtcdPlace { members, name: name.to_string(), lease, tls, user })
    }
}

impl fmt::Display for EtcdPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.members.join(","), self.name)?;
        let lease = (self.lease != LEASE).then(|| self.lease.to_string());
        let file = |path: &PathBuf| path.display().to_string();
        let tls = self.tls.as_ref();
        let identity = tls.and_then(|tls| tls.identity.as_ref());
        let user = self.user.as_ref();
        let values = [
            lease,
            tls.map(|tls| file(&tls.authority)),
            identity.map(|(certificate, _)| file(certificate)),
            identity.map(|(_, key)| file(key)),
            user.map(|user| user.name.clone()),
            user.map(|user| file(&user.password)),
        ];
        let given = OPTIONS.iter().zip(values).filter_map(|(name, value)| Some((name, value?)));
        given
            .zip(std::iter::once('?').chain(std::iter::repeat('&')))
            .try_for_each(|((name, value), before)| write!(f, "{before}{name}={value}"))
    }
}

/// The options behind `?`.
fn options(query: Option<&str>) -> Result<BTreeMap<&str, &str>, String> {
    let mut found = BTreeMap::new();
    for option in query.into_iter().flat_map(|query| query.split('&')) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        if !OPTIONS.contains(&name) {
            return Err(format!(
                "`{name}` is no option of an address, which has {}: {FORM}",
                OPTIONS.join(", ")
            ));
        }
        if value.is_empty() {
            return Err(format!("`{name}` has no value: {FORM}"));
        }
        if found.insert(name, value).is_some() {
            return Err(format!("`{name}` is given twice"));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{EtcdPlace, EtcdUser};
    use std::path::PathBuf;

    #[test]
    fn an_address_names_members_and_a_state() {
        let text = "etcd://127.0.0.1:2379,[::1]:2380/lab-1";
        let place: EtcdPlace = text.parse().unwrap();
        assert_eq!(place.members, ["127.0.0.1:2379", "[::1]:2380"]);
        assert_eq!((place.name.as_str(), place.lease), ("lab-1", 2));
        assert_eq!(place.to_string(), text);
        let longer = format!("{text}?lease=10");
        assert_eq!(longer.parse::<EtcdPlace>().unwrap().lease, 10);
        assert_eq!(longer.parse::<EtcdPlace>().unwrap().to_string(), longer);
    }

    #[test]
    fn options_name_files_and_a_user() {
        let text = "etcd://h:1/lab?cacert=ca.pem&cert=/etc/me.pem&key=me.key&user=rack&password=secret";
        let place: EtcdPlace = text.parse().unwrap();
        let tls = place.tls.as_ref().unwrap();
        assert_eq!(tls.authority, PathBuf::from("ca.pem"));
        assert_eq!(tls.identity, Some((PathBuf::from("/etc/me.pem"), PathBuf::from("me.key"))));
        let user = EtcdUser { name: "rack".to_string(), password: PathBuf::from("secret") };
        assert_eq!(place.user, Some(user));
        assert_eq!(place.to_string(), text);
        let turned = "etcd://h:1/lab?user=rack&lease=7&password=p";
        assert_eq!(
            turned.parse::<EtcdPlace>().unwrap().to_string(),
            "etcd://h:1/lab?lease=7&user=rack&password=p"
        );
    }

    #[test]
    fn anything_else_is_refused_with_what_to_write() {
        let refused = |text: &str| text.parse::<EtcdPlace>().unwrap_err();
        for text in ["etcd://h:1", "etcd://h:1/"] {
            assert!(refused(text).starts_with("the name of the state is missing: write etcd://"), "{text}");
        }
        for text in ["etcd:///a", "etcd://h/a", "etcd://:1/a", "etcd://h:1,/a", "etcd://h:70000/a"] {
            assert!(refused(text).contains("has no host or no port: write etcd://"), "{text}");
        }
        for name in ["a/b", "a b", "ä", &"a".repeat(65)] {
            assert!(refused(&format!("etcd://h:1/{name}")).starts_with("a name has letters"), "{name}");
        }
        for lease in ["0", "61", "2s"] {
            let text = format!("etcd://h:1/a?lease={lease}");
            assert_eq!(refused(&text), "`lease` is a number of seconds from 1 to 60");
        }
        for (options, why) in [
            ("x=1", "`x` is no option of an address, which has lease, cacert, cert, key, user, password"),
            ("", "`` is no option"),
            ("lease=", "`lease` has no value"),
            ("lease=3&lease=3", "`lease` is given twice"),
            ("cacert=a&cert=b", "`cert` and `key` are used together"),
            ("cert=b&key=c", "`cert` needs `cacert`"),
            ("user=me", "`user` and `password` are used together"),
            ("password=file", "`user` and `password` are used together"),
        ] {
            let text = format!("etcd://h:1/a?{options}");
            assert!(refused(&text).starts_with(why), "{text}: {}", refused(&text));
        }
        assert!(refused("etcd://user:secret@h:1/a").starts_with("write a user behind the name"));
        assert!(refused("http://h:1/a").starts_with("write etcd://"));
    }
}
