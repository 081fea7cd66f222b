//! Random programs that the grammar allows, from a seed. They mean nothing.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

pub struct Generator {
    rng: Pcg64Mcg,
    out: String,
    /// Nesting that is left.
    fuel: u32,
}

const TYPES: &[&str] = &["T", "S", "H", "E"];
const NAMES: &[&str] = &["a", "b", "key", "state", "x_1", "apply", "priority", "hdr"];
const BINARY: &[&str] = &[
    "+", "-", "*", "/", "%", "|+|", "|-|", "++", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&", "^", "|",
    "&&", "||",
];
const ASSIGN: &[&str] = &["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "|+|=", "|-|="];
const LITERALS: &[&str] = &[
    "0",
    "17",
    "8w255",
    "4s1",
    "0xDEAD_beef",
    "0b101",
    "16w0o17",
    "true",
    "false",
    "\"a \\\" b\"",
    "{#}",
    "this",
];

/// A program from a seed.
pub fn program(seed: u64) -> String {
    let mut g = Generator { rng: Pcg64Mcg::seed_from_u64(seed), out: String::new(), fuel: 0 };
    g.put("typedef bit<8> T; struct S { T f; } header H { T f; } enum E { A }\n");
    for _ in 0..g.below(8) + 1 {
        g.fuel = 6;
        g.decl();
        g.put("\n");
    }
    g.out
}

impl Generator {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push(' ');
    }

    fn below(&mut self, n: u32) -> u32 {
        self.rng.random_range(0..n)
    }

    fn pick(&mut self, list: &[&'static str]) -> &'static str {
        list[self.below(list.len() as u32) as usize]
    }

    fn some(&mut self, f: fn(&mut Self)) {
        for _ in 0..self.below(3) {
            f(self);
        }
    }

    fn commas(&mut self, min: u32, f: fn(&mut Self)) {
        for i in 0..min + self.below(3) {
            if i > 0 {
                self.put(",");
            }
            f(self);
        }
    }

    fn name(&mut self) {
        let name = self.pick(NAMES);
        self.put(name);
    }

    /// Runs `f` if nesting is left, else `leaf`.
    fn deeper(&mut self, f: fn(&mut Self), leaf: fn(&mut Self)) {
        if self.fuel == 0 {
            return leaf(self);
        }
        self.fuel -= 1;
        f(self);
        self.fuel += 1;
    }

    fn decl(&mut self) {
        self.annotations();
        match self.below(10) {
            0 => self.constant(),
            1 => self.callable("action a", Self::block),
            2 => {
                self.put("T f < X , Y >");
                self.params();
                self.block();
            }
            3 => {
                self.put("control C < X >");
                self.params();
                self.put("{");
                self.some(Self::control_local);
                self.put("apply");
                self.block();
                self.put("}");
            }
            4 => {
                self.put("parser P");
                self.params();
                self.put("{");
                self.some(Self::local);
                self.state();
                self.some(Self::state);
                self.put("}");
            }
            5 => {
                self.put("extern X < Y > { X ( ) ;");
                self.some(Self::method);
                self.put("}");
            }
            6 => {
                let kind = self.pick(&["struct", "header", "header_union"]);
                self.put(kind);
                self.put("N < X > {");
                self.some(Self::field);
                self.put("}");
            }
            7 => {
                self.put("enum bit < 8 > N { A = ");
                self.expr();
                self.put(", B = 2 }");
            }
            8 => self.callable("package K", |g| g.put(";")),
            _ => self.instance(),
        }
    }

    fn callable(&mut self, head: &str, body: fn(&mut Self)) {
        self.put(head);
        self.params();
        body(self);
    }

    fn method(&mut self) {
        self.annotations();
        self.put("abstract void m");
        self.params();
        self.put(";");
    }

    fn field(&mut self) {
        self.annotations();
        self.ty();
        self.name();
        self.put(";");
    }

    fn params(&mut self) {
        self.put("(");
        self.commas(0, |g| {
            g.annotations();
            let direction = g.pick(&["", "in", "out", "inout"]);
            g.put(direction);
            g.ty();
            g.name();
        });
        self.put(")");
    }

    fn annotations(&mut self) {
        match self.below(12) {
            0 => self.put("@name(\"x.y\")"),
            1 => {
                self.put("@list[");
                self.commas(0, Self::expr);
                self.put("]");
            }
            2 => self.put("@any(a . b , ( ) >> ' ; \"s\")"),
            3 => self.put("@pragma p 1 (2\n"),
            4 => self.put("@pair[k = 1]"),
            _ => {}
        }
    }

    fn constant(&mut self) {
        self.put("const");
        self.ty();
        self.name();
        self.put("=");
        self.expr();
        self.put(";");
    }

    fn variable(&mut self) {
        self.ty();
        self.name();
        if self.below(2) == 0 {
            self.put("=");
            self.expr();
        }
        self.put(";");
    }

    fn instance(&mut self) {
        self.ty();
        self.args();
        self.name();
        if self.below(4) == 0 {
            self.put("= { void m");
            self.params();
            self.block();
            self.put("}");
        }
        self.put(";");
    }

    fn local(&mut self) {
        match self.below(3) {
            0 => self.constant(),
            1 => self.variable(),
            _ => self.instance(),
        }
    }

    fn control_local(&mut self) {
        match self.below(3) {
            0 => self.callable("action b", Self::block),
            1 => self.table(),
            _ => self.local(),
        }
    }

    fn table(&mut self) {
        self.put("table t { key = {");
        self.some(|g| {
            g.expr();
            g.put(": exact ;");
        });
        self.put("} actions = { a ; b (");
        self.commas(0, Self::arg);
        self.put(") ; } entries = {");
        self.some(|g| {
            g.keyset();
            g.put(": a ;");
        });
        self.put("} const default_action =");
        self.expr();
        self.put("; }");
    }

    fn state(&mut self) {
        self.annotations();
        self.put("state s {");
        self.some(|g| g.assign());
        self.put("transition select (");
        self.commas(1, Self::expr);
        self.put(") {");
        self.some(|g| {
            g.keyset();
            g.put(": accept ;");
        });
        self.put("} }");
    }

    fn keyset(&mut self) {
        if self.below(2) == 0 {
            return self.keyset_element();
        }
        self.put("(");
        self.commas(1, Self::keyset_element);
        self.put(")");
    }

    fn keyset_element(&mut self) {
        match self.below(5) {
            0 => self.put("_"),
            1 => self.put("default"),
            2 => {
                self.expr();
                self.put("&&&");
                self.expr();
            }
            3 => {
                self.expr();
                self.put("..");
                self.expr();
            }
            _ => self.expr(),
        }
    }

    fn block(&mut self) {
        self.put("{");
        self.deeper(|g| g.some(Self::stmt), |_| {});
        self.put("}");
    }

    fn stmt(&mut self) {
        match self.below(12) {
            0 => self.block(),
            1 => {
                self.put("if (");
                self.expr();
                self.put(")");
                self.deeper(Self::stmt, |g| g.put(";"));
                if self.below(2) == 0 {
                    self.put("else");
                    self.deeper(Self::stmt, |g| g.put(";"));
                }
            }
            2 => self.local(),
            3 => {
                self.put("return");
                self.expr();
                self.put(";");
            }
            4 => {
                self.put("switch (");
                self.expr();
                self.put(") {");
                self.some(|g| {
                    g.lvalue();
                    g.put(":");
                    g.block();
                });
                self.put("default : }");
            }
            5 => {
                self.put("for ( T i = 0 ; i < 5 ; i += 1 )");
                self.deeper(Self::stmt, |g| g.put(";"));
            }
            6 => {
                self.put("for (");
                self.ty();
                self.put("i in");
                self.keyset_element_of_for();
                self.put(")");
                self.deeper(Self::stmt, |g| g.put(";"));
            }
            7 => {
                self.lvalue();
                self.args();
                self.put(";");
            }
            8 => {
                let word = self.pick(&["exit", "break", "continue", ""]);
                self.put(word);
                self.put(";");
            }
            _ => self.assign(),
        }
    }

    fn keyset_element_of_for(&mut self) {
        self.expr();
        if self.below(2) == 0 {
            self.put("..");
            self.expr();
        }
    }

    fn assign(&mut self) {
        self.lvalue();
        let op = self.pick(ASSIGN);
        self.put(op);
        self.expr();
        self.put(";");
    }

    fn lvalue(&mut self) {
        self.name();
        self.some(|g| match g.below(3) {
            0 => {
                g.put(".");
                g.name();
            }
            1 => {
                g.put("[");
                g.expr();
                g.put("]");
            }
            _ => {
                g.put("[");
                g.expr();
                g.put("+:");
                g.expr();
                g.put("]");
            }
        });
    }

    fn args(&mut self) {
        self.put("(");
        self.commas(0, Self::arg);
        self.put(")");
    }

    fn arg(&mut self) {
        match self.below(4) {
            0 => self.put("_"),
            1 => {
                self.name();
                self.put("=");
                self.expr();
            }
            _ => self.expr(),
        }
    }

    fn ty(&mut self) {
        self.deeper(Self::any_type, |g| g.put("T"));
    }

    fn any_type(&mut self) {
        match self.below(8) {
            0 => {
                self.put("bit < (");
                self.expr();
                self.put(") >");
            }
            1 => {
                self.put("tuple <");
                self.commas(0, Self::ty);
                self.put(">");
            }
            2 => {
                self.put("list <");
                self.ty();
                self.put(">");
            }
            3 => {
                self.put("S <");
                self.commas(1, Self::ty);
                self.put(">");
            }
            4 => {
                self.put("H [");
                self.expr();
                self.put("]");
            }
            5 => {
                let ty =
                    self.pick(&["bool", "error", "int", "bit", "string", "match_kind", "varbit<4>", ".T"]);
                self.put(ty);
            }
            _ => {
                let ty = self.pick(TYPES);
                self.put(ty);
            }
        }
    }

    fn expr(&mut self) {
        self.deeper(Self::any_expr, Self::leaf);
    }

    fn leaf(&mut self) {
        if self.below(2) == 0 {
            return self.name();
        }
        let literal = self.pick(LITERALS);
        self.put(literal);
    }

    fn any_expr(&mut self) {
        match self.below(14) {
            0..4 => {
                self.expr();
                let op = self.pick(BINARY);
                self.put(op);
                // `a < b > (c)` would be a call.
                if op == "<" {
                    self.put("(");
                    self.expr();
                    self.put(")");
                } else {
                    self.expr();
                }
            }
            4 => {
                let op = self.pick(&["-", "+", "!", "~"]);
                self.put(op);
                self.expr();
            }
            5 => {
                self.put("(");
                self.ty();
                self.put(")");
                self.expr();
            }
            6 => {
                self.put("(");
                self.expr();
                self.put(")");
            }
            7 => {
                self.put("{");
                self.commas(0, Self::expr);
                self.put("}");
            }
            8 => self.put("{ a = 1 , ... }"),
            9 => {
                self.expr();
                self.put("?");
                self.expr();
                self.put(":");
                self.expr();
            }
            10 => {
                self.lvalue();
                self.args();
            }
            11 => {
                self.name();
                self.put("<");
                self.commas(1, Self::ty);
                self.put(">");
                self.args();
            }
            12 => {
                let text = self.pick(&["error.X", "E.A", "S<T>.f", "x[3:0]", ".a", "T()", "T.f()"]);
                self.put(text);
            }
            _ => self.leaf(),
        }
    }
}
