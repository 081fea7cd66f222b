//! Flows as text: what people read and write.

use crate::tables::Flow;
use base_bits::Bits;
use ir_keys::Part;
use p4_entries::parse_number;
use std::net::Ipv4Addr;

/// A number or an address, with this width.
///
/// # Errors
///
/// Why it is none.
pub fn value(text: &str, width: u32) -> Result<Bits, String> {
    let number = parse_number(text).map_err(|error| error.to_string())?;
    if number.bits() > u64::from(width) {
        return Err(format!("it has {width} bits: this does not fit"));
    }
    Ok(Bits::from_biguint(width, number))
}

/// The value of a part: IPv4 addresses as such, and 0 as `0`.
pub fn shown(part: &Part, value: &Bits) -> String {
    let is_address = part.width == 32 && short(part.name.as_str()).contains("ip") && !value.is_zero();
    match value.to_u32().filter(|_| is_address) {
        Some(address) => Ipv4Addr::from(address).to_string(),
        None => value.to_biguint().to_string(),
    }
}

/// The last two steps of a part's name; of standard metadata the last one: `ipv4.src`, `ingress_port`.
pub fn short(name: &str) -> &str {
    let Some((rest, field)) = name.rsplit_once('.') else { return name };
    match rest.rsplit('.').next() {
        Some("standard_metadata") | None => field,
        Some(header) => &name[name.len() - header.len() - 1 - field.len()..],
    }
}

/// A flow for people: the parts that are not 0, by their short names.
pub fn words(parts: &[Part], flow: &Flow) -> String {
    let part =
        |(part, value): (&Part, &Bits)| format!("{}={}", short(part.name.as_str()), shown(part, value));
    let said: Vec<String> = parts.iter().zip(flow).filter(|(_, value)| !value.is_zero()).map(part).collect();
    if said.is_empty() { "all parts 0".to_string() } else { said.join(" ") }
}

/// The flow with these values; a part has its name, or the end of it from a dot on. Parts that are not named are 0.
///
/// # Errors
///
/// Everything that is wrong.
pub fn flow<'t>(parts: &[Part], said: impl Iterator<Item = (&'t str, &'t str)>) -> Result<Flow, Vec<String>> {
    let mut flow: Flow = parts.iter().map(|part| Bits::zero(part.width)).collect();
    let mut named = vec![false; parts.len()];
    let mut wrong = vec![];
    for (name, text) in said {
        let is_it = |part: &Part| {
            let rest = part.name.strip_suffix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.')) && !name.is_empty()
        };
        let found: Vec<usize> = (0..parts.len()).filter(|at| is_it(&parts[*at])).collect();
        let known = |all: &mut dyn Iterator<Item = &Part>| {
            all.map(|part| format!("`{}`", part.name)).collect::<Vec<_>>().join(", ")
        };
        let name = name.escape_debug();
        match found.as_slice() {
            [] => wrong.push(format!(
                "`{name}` is no part of a flow's key; its parts are {}",
                known(&mut parts.iter())
            )),
            [at] if std::mem::replace(&mut named[*at], true) => {
                wrong.push(format!("`{}` is given twice", parts[*at].name));
            }
            [at] => match value(text, parts[*at].width) {
                Ok(value) => flow[*at] = value,
                Err(why) => wrong.push(format!("not a value of `{}`: {why}", parts[*at].name)),
            },
            several => {
                let all = known(&mut several.iter().map(|at| &parts[*at]));
                wrong.push(format!("`{name}` may be {all}: write more of the name"));
            }
        }
    }
    if wrong.is_empty() { Ok(flow) } else { Err(wrong) }
}

#[cfg(test)]
mod tests {
    use super::{flow, short, words};
    use ir_keys::{Part, Source};

    fn parts() -> Vec<Part> {
        let part = |(name, width): (&str, u32)| Part { name: name.into(), width, source: Source::Port };
        [("hdr.ipv4.src", 32), ("hdr.udp.src", 16), ("standard_metadata.ingress_port", 9)].map(part).to_vec()
    }

    fn said(text: &str) -> Result<String, String> {
        let pairs = text.split_whitespace().filter_map(|pair| pair.split_once('='));
        let flow = flow(&parts(), pairs).map_err(|wrong| wrong.join("; "))?;
        Ok(words(&parts(), &flow))
    }

    #[test]
    fn what_is_printed_can_be_read() {
        for text in ["ipv4.src=10.0.0.1 udp.src=53 ingress_port=4", "udp.src=65535", "ingress_port=511"] {
            assert_eq!(said(text), Ok(text.to_string()));
        }
        assert_eq!(said("hdr.ipv4.src=0xa000001"), Ok("ipv4.src=10.0.0.1".to_string()));
        assert_eq!(said(""), Ok("all parts 0".to_string()));
        assert_eq!([short("x"), short("a.b"), short("a.b.c")], ["x", "a.b", "b.c"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |text: &str| said(text).unwrap_err();
        assert!(wrong("src=1").contains("`src` may be `hdr.ipv4.src`, `hdr.udp.src`"));
        assert!(wrong("rc=1").contains("`rc` is no part of a flow's key"), "names end at dots");
        assert!(wrong("udp.src=70000").contains("it has 16 bits"));
        assert!(wrong("udp.src=many").contains("not a value of `hdr.udp.src`"));
        assert!(wrong("udp.src=1 hdr.udp.src=2").contains("given twice"));
        assert_eq!(wrong("x=1 y=2").matches("is no part").count(), 2);
    }
}
