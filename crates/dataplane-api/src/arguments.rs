//! The arguments of constructors and calls of externs.

use crate::ExternError;
use base_bits::Bits;

/// The constructor's arguments of the extern `name`, each with its name and its width in bits, which is 64 at most.
pub fn constructor_arguments<const N: usize>(
    name: &str,
    wanted: [(&str, u32); N],
    args: &[Bits],
) -> Result<[u64; N], ExternError> {
    if args.len() != N {
        let names: Vec<&str> = wanted.iter().map(|(name, _)| *name).collect();
        let s = if N == 1 { "" } else { "s" };
        let names = names.join(", ");
        return Err(ExternError(format!(
            "`{name}` takes {N} argument{s}, {names}, and was given {}",
            args.len()
        )));
    }
    let mut values = [0; N];
    for ((value, (what, width)), arg) in values.iter_mut().zip(wanted).zip(args) {
        *value = arg.to_u64().filter(|v| width >= 64 || v >> width == 0).ok_or_else(|| {
            let shown = arg.to_decimal();
            ExternError(format!("`{what}` of `{name}` is bit<{width}>, and {shown} does not fit"))
        })?;
    }
    Ok(values)
}

/// The first arguments of a call; `None` if there are fewer or one is longer than 64 bits.
pub fn call_arguments<const N: usize>(args: &[Bits]) -> Option<[u64; N]> {
    let mut values = [0; N];
    for (value, arg) in values.iter_mut().zip(args.get(..N)?) {
        *value = arg.to_u64()?;
    }
    Some(values)
}
