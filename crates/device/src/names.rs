//! Control-plane names as users write them: whole, or a part after a dot that is unique.

use base_diag::did_you_mean;
use dataplane_api::EntryError;

/// Resolves `name` among `known`: an exact match, else the only name that ends in `.name`. `kind` is for the error.
pub(crate) fn resolve<'n>(
    kind: &str,
    name: &str,
    known: impl Iterator<Item = &'n str> + Clone,
) -> Result<usize, EntryError> {
    let bare = name.strip_prefix('.').unwrap_or(name);
    if let Some(found) = known.clone().position(|k| k == name || k == bare) {
        return Ok(found);
    }
    let is_tail = |k: &str| k.strip_suffix(bare).is_some_and(|head| head.ends_with('.'));
    let found: Vec<(usize, &str)> = known.clone().enumerate().filter(|(_, k)| is_tail(k)).collect();
    match found.as_slice() {
        [(index, _)] => Ok(*index),
        [] => Err(unknown(kind, name, known)),
        [(_, first), (_, second), ..] => Err(EntryError {
            message: format!("`{name}` may be the {kind} `{first}` or `{second}`"),
            help: Some("write the full name".to_string()),
        }),
    }
}

/// The action of a table with this name, or whose name ends in it.
pub(crate) fn resolve_action<'n>(
    table: &str,
    name: &str,
    known: impl Iterator<Item = &'n str> + Clone,
) -> Result<usize, EntryError> {
    resolve("action", name, known)
        .map_err(|error| EntryError { message: format!("{} in table `{table}`", error.message), ..error })
}

/// No such name, and which one may be meant.
pub fn unknown<'n>(kind: &str, name: &str, known: impl Iterator<Item = &'n str> + Clone) -> EntryError {
    let tails = known.clone().map(|k| k.rsplit('.').next().unwrap_or(k));
    let near = did_you_mean(name, known.clone()).or_else(|| did_you_mean(name, tails));
    let help = match near {
        Some(near) => Some(format!("did you mean `{near}`?")),
        None => list(known),
    };
    EntryError { message: format!("there is no {kind} `{name}`"), help }
}

/// At most eight of the names there are.
fn list<'n>(known: impl Iterator<Item = &'n str>) -> Option<String> {
    let names: Vec<String> = known.take(9).map(|k| format!("`{k}`")).collect();
    let more = if names.len() > 8 { ", ..." } else { "" };
    let shown = names.get(..8).unwrap_or(&names).join(", ");
    (!names.is_empty()).then(|| format!("known names: {shown}{more}"))
}

/// An error without advice.
pub(crate) fn refused(message: impl Into<String>) -> EntryError {
    EntryError { message: message.into(), help: None }
}

#[cfg(test)]
mod tests {
    use super::resolve;

    const KNOWN: [&str; 4] = ["ingress.acl", "egress.acl", "ingress.routes", "NoAction"];

    fn check(name: &str) -> Result<usize, String> {
        resolve("table", name, KNOWN.into_iter())
            .map_err(|e| format!("{}; {}", e.message, e.help.unwrap_or_default()))
    }

    #[test]
    fn a_name_is_exact_or_a_unique_tail() {
        assert_eq!(check("egress.acl"), Ok(1));
        assert_eq!(check("routes"), Ok(2));
        assert_eq!(check(".NoAction"), Ok(3));
        assert_eq!(
            check("acl"),
            Err("`acl` may be the table `ingress.acl` or `egress.acl`; write the full name".into())
        );
        assert_eq!(check("rutes"), Err("there is no table `rutes`; did you mean `routes`?".into()));
        assert!(check("outes").is_err());
    }
}
