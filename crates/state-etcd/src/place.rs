//! The address of a state in etcd, as text.

use std::fmt;
use std::str::FromStr;

/// `etcd://HOST:PORT[,HOST:PORT...]/NAME[?lease=SECONDS]`: members of a cluster, and the name of a state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EtcdPlace {
    /// `host:port` of each member.
    pub members: Vec<String>,
    /// Name of the state. Controllers that share a state name the same.
    pub name: String,
    /// Seconds for which a leader that is not heard of stays the leader. etcd may make it longer.
    pub lease: u32,
}

/// Start of such an address.
const SCHEME: &str = "etcd://";

/// Most characters of a name.
const LONGEST: usize = 64;

/// Seconds of a lease, unless the address says it.
const LEASE: u32 = 2;

const FORM: &str =
    "write etcd://HOST:PORT[,HOST:PORT...]/NAME[?lease=SECONDS], as in etcd://127.0.0.1:2379/lab";

impl FromStr for EtcdPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<EtcdPlace, String> {
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| FORM.to_string())?;
        let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
        let lease = match query.map(|query| query.strip_prefix("lease=")) {
            None => LEASE,
            Some(Some(seconds)) => seconds
                .parse()
                .ok()
                .filter(|seconds| (1..=60).contains(seconds))
                .ok_or("`lease` is a number of seconds from 1 to 60")?,
            Some(None) => return Err(format!("`lease` is the only option of an address: {FORM}")),
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
            return Err(
                "users of etcd are not supported: run an etcd without `auth` that only controllers reach, and leave the part before `@` out"
                    .to_string(),
            );
        }
        let members: Vec<String> = members.split(',').map(ToString::to_string).collect();
        for member in &members {
            let port = member.rsplit_once(':').filter(|(host, _)| !host.is_empty());
            if port.is_none_or(|(_, port)| port.parse::<u16>().is_err()) {
                return Err(format!("`{member}` has no host or no port: {FORM}"));
            }
        }
        Ok(EtcdPlace { members, name: name.to_string(), lease })
    }
}

impl fmt::Display for EtcdPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.members.join(","), self.name)?;
        if self.lease == LEASE { Ok(()) } else { write!(f, "?lease={}", self.lease) }
    }
}

#[cfg(test)]
mod tests {
    use super::EtcdPlace;

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
        for lease in ["0", "61", "2s", ""] {
            let text = format!("etcd://h:1/a?lease={lease}");
            assert_eq!(refused(&text), "`lease` is a number of seconds from 1 to 60");
        }
        assert!(refused("etcd://h:1/a?x=1").starts_with("`lease` is the only option"));
        assert!(refused("etcd://user:secret@h:1/a").starts_with("users of etcd are not supported"));
        assert!(refused("http://h:1/a").starts_with("write etcd://"));
    }
}
