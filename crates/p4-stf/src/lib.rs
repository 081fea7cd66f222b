//! The STF test language: packets, expectations and table entries as text.
//!
//! One statement a line. Keywords are those words in any case that stand first in a line; `#` starts a comment,
//! but not in lines of packets.
//!
//! ```
//! use p4_stf::{Pattern, Statement, parse};
//! let (file, problems) = parse("packet 0 0a0b\nexpect 1 0a** $\n", 1);
//! assert!(problems.is_empty());
//! let Statement::Packet { port: 0, data } = &file.statements[0].kind else { panic!() };
//! assert_eq!(data, &[0x0a, 0x0b]);
//! let Statement::Expect { data: Some(pattern), .. } = &file.statements[1].kind else { panic!() };
//! assert_eq!(pattern, &Pattern { nibbles: vec![Some(0), Some(10), None, None], exact: true });
//! ```

mod lexer;
mod number;
mod parser;
mod statement;

pub use number::{Base, Number};
pub use parser::parse;
pub use statement::{
    ActionCall, Comparison, CounterCheck, CounterIndex, File, KeyValue, MatchValue, Named, NodePorts,
    Pattern, Spanned, Statement, Unit,
};
