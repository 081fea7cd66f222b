//! The syntax tree as readable P4: four spaces a level, lines of about 100 columns.
//!
//! **Invariant**: of a tree that `parse` made without errors, the printed text parses to the same tree again,
//! spans aside. Of a tree that a program built, it does if every part could stand where it does.

mod annotation;
mod decl;
mod expr;
mod stmt;
mod table;
mod types;

use crate::ast::{Name, Path, Program};

/// The column at which a line should end.
const WIDTH: usize = 100;

/// The program as P4 source text.
pub fn print(program: &Program) -> String {
    let mut printer = Printer::default();
    for (i, decl) in program.decls.iter().enumerate() {
        if i > 0 {
            printer.blank_line_between(&program.decls[i - 1], decl);
        }
        printer.decl(decl);
        printer.end_line();
    }
    printer.out
}

#[derive(Default)]
struct Printer {
    out: String,
    /// Levels of indentation of the line that begins next.
    indent: usize,
    /// Every comparison by `<` gets parentheses.
    guards: bool,
}

/// True of `a < b, c > (d)` and `a < b, c > .d`: two comparisons that would be read as one name with type arguments.
fn looks_generic(text: &str) -> bool {
    let behind = text.split_once(" < ").and_then(|(_, rest)| rest.split_once(','));
    behind.is_some_and(|(_, rest)| rest.contains("> (") || rest.contains("> ."))
}

impl Printer {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn end_line(&mut self) {
        while self.out.ends_with(' ') {
            self.out.pop();
        }
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    /// Begins a line: after this, text stands at the current indentation.
    fn line(&mut self) {
        self.end_line();
        self.out.extend(std::iter::repeat_n("    ", self.indent));
    }

    /// Columns used in the line so far.
    fn column(&self) -> usize {
        let start = self.out.rfind('\n').map_or(0, |at| at + 1);
        self.out[start..].chars().count()
    }

    fn name(&mut self, name: &Name) {
        self.push(&name.text);
    }

    fn path(&mut self, path: &Path) {
        if path.absolute {
            self.push(".");
        }
        self.name(&path.name);
    }

    /// `a, b, c`
    fn commas<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        self.guarded(|p| {
            for (i, it) in items.iter().enumerate() {
                if i > 0 {
                    p.push(", ");
                }
                item(p, it);
            }
        });
    }

    /// The output of `print`; if it looks like generic arguments, printed again with [guards](Printer::guards).
    fn guarded(&mut self, mut print: impl FnMut(&mut Self)) {
        let before = self.out.len();
        print(self);
        if !self.guards && looks_generic(&self.out[before..]) {
            self.out.truncate(before);
            self.guards = true;
            print(self);
            self.guards = false;
        }
    }

    /// `{`, each item on a line of its own, `}`; `{}` if there are none.
    fn lines<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        if items.is_empty() {
            return self.push("{}");
        }
        self.push("{");
        self.indent += 1;
        for it in items {
            self.line();
            item(self, it);
        }
        self.indent -= 1;
        self.line();
        self.push("}");
    }

    /// `open`, items separated by commas, `close`: on one line if that is not too long, else a line each.
    fn fit<T>(&mut self, open: &str, items: &[T], close: &str, mut item: impl FnMut(&mut Self, &T)) {
        let before = self.out.len();
        self.push(open);
        self.commas(items, &mut item);
        self.push(close);
        let one_line = !self.out[before..].contains('\n');
        if items.is_empty() || one_line && self.column() <= WIDTH {
            return;
        }
        self.out.truncate(before);
        self.broken(open, items, close, item);
    }

    /// `open`, each item on a line of its own, `close`.
    fn broken<T>(&mut self, open: &str, items: &[T], close: &str, mut item: impl FnMut(&mut Self, &T)) {
        self.push(open);
        self.indent += 1;
        self.guarded(|p| {
            for (i, it) in items.iter().enumerate() {
                p.line();
                item(p, it);
                if i + 1 < items.len() {
                    p.push(",");
                }
            }
        });
        self.indent -= 1;
        self.line();
        self.push(close);
    }
}
