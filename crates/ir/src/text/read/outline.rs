//! The first look: which declarations there are, and where their contents stand.

use super::{Names, Reader, Result, Token};
use crate::{Annotations, Arch, Name};

/// A declaration at the top level.
struct Outline {
    keyword: String,
    user: bool,
    name: Name,
    annotations: Annotations,
    /// The token after the name.
    content: usize,
}

impl Reader<'_> {
    pub(super) fn read_program(&mut self) -> Result<()> {
        self.program.annotations = self.annotations()?;
        self.arch()?;
        self.expect_word("errors")?;
        self.expect("{")?;
        self.program.errors = self.list("}", Reader::name)?;
        self.errors = Names::new(&self.program.errors);
        let mut outlines = vec![];
        while !self.sees_word("stages") {
            let outline = self.outline()?;
            outlines.push(outline);
        }
        let stages = self.at;
        let (blocks, others): (Vec<_>, Vec<_>) = outlines
            .into_iter()
            .partition(|o| matches!(o.keyword.as_str(), "function" | "parser" | "control"));
        let (instances, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|o| o.keyword == "instance");
        for outline in others.into_iter().chain(instances) {
            self.declaration(outline)?;
        }
        // Signatures of blocks first: bodies may refer to any of them.
        let mut bodies = vec![];
        for outline in blocks {
            let (keyword, name) = (outline.keyword, outline.name);
            self.at = outline.content;
            match keyword.as_str() {
                "function" => self.function_head(name, outline.annotations)?,
                "parser" => self.parser_head(name, outline.annotations)?,
                _ => self.control_head(name, outline.annotations)?,
            }
            bodies.push((keyword, outline.content));
        }
        let (mut functions, mut parsers, mut controls) = (0.., 0.., 0..);
        for (keyword, content) in bodies {
            self.at = content;
            match keyword.as_str() {
                "function" => self.function_body(functions.next().unwrap_or(0))?,
                "parser" => self.parser_body(parsers.next().unwrap_or(0))?,
                _ => self.control_body(controls.next().unwrap_or(0))?,
            }
        }
        self.at = stages;
        self.stages()?;
        self.main()?;
        if *self.peek() == Token::End { Ok(()) } else { self.expected("the end of the text") }
    }

    fn arch(&mut self) -> Result<()> {
        self.expect_word("arch")?;
        self.program.arch = if self.eat_word("v1model") {
            Arch::V1Model(self.number()?)
        } else if self.eat_word("psa") {
            Arch::Psa { dpdk: self.eat_word("dpdk") }
        } else if self.eat_word("pna") {
            Arch::Pna { dpdk: self.eat_word("dpdk") }
        } else if self.eat_word("tna") {
            Arch::Tna(self.number()?)
        } else if self.eat_word("t2na") {
            Arch::T2na
        } else if self.eat_word("other") {
            Arch::Other(self.name()?)
        } else {
            return self.expected("`v1model`, `psa`, `pna`, `tna`, `t2na` or `other`");
        };
        self.expect(";")
    }

    /// Notes a declaration's name and passes over its content.
    fn outline(&mut self) -> Result<Outline> {
        let annotations = self.annotations()?;
        let user = self.eat_word("user");
        let keyword = match self.peek() {
            Token::Word(word) => word.clone(),
            _ => return self.expected("a declaration"),
        };
        if !matches!(self.ahead(1), Token::Word(_) | Token::Quoted(_)) {
            self.advance();
            return self.expected("a name");
        }
        let names = match keyword.as_str() {
            "header" | "union" | "struct" | "enum" | "type" => &mut self.types,
            "extern" => &mut self.externs,
            "extern_function" => &mut self.extern_functions,
            "instance" => &mut self.instances,
            "function" => &mut self.functions,
            "parser" => &mut self.parsers,
            "control" => &mut self.controls,
            _ => return self.expected("a declaration"),
        };
        if let Some(Token::Word(name) | Token::Quoted(name)) = self.tokens.get(self.at + 1).map(|t| &t.token)
        {
            names.push(name.as_str().into());
        }
        self.advance();
        let name = self.name()?;
        let content = self.at;
        self.skip_content()?;
        Ok(Outline { keyword, user, name, annotations, content })
    }

    /// Passes over everything up to a `;` outside of braces and parentheses, or to the brace that closes the first
    /// one opened outside of parentheses.
    pub(super) fn skip_content(&mut self) -> Result<()> {
        let start = self.here();
        let mut open = 0u32;
        loop {
            match self.peek() {
                Token::End => return self.error_at(start, "this declaration has no end"),
                Token::Sign("{" | "(") => open += 1,
                Token::Sign(close @ ("}" | ")")) if open == 0 => {
                    return self.error(format!("unexpected `{close}`"));
                }
                Token::Sign("}") if open == 1 => {
                    self.advance();
                    return Ok(());
                }
                Token::Sign("}" | ")") => open -= 1,
                Token::Sign(";") if open == 0 => {
                    self.advance();
                    return Ok(());
                }
                _ => {}
            }
            self.advance();
        }
    }

    fn declaration(&mut self, outline: Outline) -> Result<()> {
        let Outline { keyword, user, name, annotations, content } = outline;
        self.at = content;
        match keyword.as_str() {
            "extern" => self.extern_object(name, user, annotations),
            "extern_function" => self.extern_function(name, user, annotations),
            "instance" => self.instance(name, annotations),
            _ => self.type_decl(&keyword, name, annotations),
        }
    }
}
