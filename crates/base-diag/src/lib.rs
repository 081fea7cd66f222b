//! Sources, spans and diagnostics: made as values, rendered only at the edge.
//!
//! A stage pushes [`Diagnostic`]s to [`Diagnostics`]; a front door sorts them and turns them into text ([`render`]) or
//! JSON ([`to_json`]). Places are [`Span`]s, which a [`SourceMap`] maps through macros, includes and line markers to
//! the user's text. [`codes`] explains every code.

pub mod codes;
mod diagnostic;
mod json;
mod render;
mod sink;
mod source;
mod span;
mod suggest;
mod text;
mod warnings;

pub use diagnostic::{Code, Diagnostic, Label, ParseCodeError, Severity};
pub use json::to_json;
pub use render::{Style, render};
pub use sink::Diagnostics;
pub use source::{Expansion, File, FileId, Position, SourceMap, TooLarge};
pub use span::{ExpansionId, Span};
pub use suggest::did_you_mean;
pub use text::{NotUtf8, from_utf8, without_mark};
pub use warnings::{WARNINGS, WarningPolicy};
