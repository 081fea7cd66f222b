//! Commands about entries that are there: `simple_switch` gave each a handle.

use crate::commands::{Line, Read};
use crate::{Args, Statement, Value};
use base_time::Duration;

/// `table_modify TABLE ACTION HANDLE [=>] ARG...`
pub(crate) fn table_modify(line: &mut Line) -> Read {
    let (table, action) = (line.take("the table")?, line.take("the action")?);
    let handle = entry(line)?;
    let words = std::mem::take(&mut line.words);
    let args = match words.split_first() {
        Some((first, rest)) if first.text == "=>" => rest,
        _ => words.as_slice(),
    };
    let args = line.args(args)?;
    Ok(Some(Statement::Modify { table, handle, action, args: Args::InOrder(args), span: line.span }))
}

/// `table_delete TABLE HANDLE`, `table_indirect_delete TABLE HANDLE`
pub(crate) fn table_delete(line: &mut Line) -> Read {
    let table = line.take("the table")?;
    let handle = entry(line)?;
    line.finish()?;
    Ok(Some(Statement::Delete { table, handle }))
}

/// `table_set_timeout TABLE HANDLE MILLISECONDS`
pub(crate) fn table_set_timeout(line: &mut Line) -> Read {
    let table = line.take("the table")?;
    let handle = entry(line)?;
    let time = line.take("the time")?;
    line.finish()?;
    let Ok(milliseconds) = time.text.parse::<u32>() else {
        return Err(line.wrong(time.span, "this is not a time", "a number of milliseconds, below 2^32"));
    };
    let timeout = Duration::from_ms(u64::from(milliseconds));
    Ok(Some(Statement::Timeout { table, handle, timeout, span: line.span }))
}

/// `table_clear TABLE`
pub(crate) fn table_clear(line: &mut Line) -> Read {
    let table = line.take("the table")?;
    line.finish()?;
    Ok(Some(Statement::Clear(table)))
}

/// `table_reset_default TABLE`
pub(crate) fn table_reset_default(line: &mut Line) -> Read {
    let table = line.take("the table")?;
    line.finish()?;
    Ok(Some(Statement::ResetDefault(table)))
}

fn entry(line: &mut Line) -> Result<Value<u64>, base_diag::Diagnostic> {
    let word = line.take("the entry's handle")?;
    match word.text.parse() {
        Ok(value) => Ok(Value { value, span: word.span }),
        Err(_) => Err(line.wrong(word.span, "this is not a handle", "handles count up from 0")),
    }
}
