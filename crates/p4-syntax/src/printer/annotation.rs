//! Annotations.

use super::Printer;
use crate::ast::{Annotation, AnnotationBody, AnnotationToken, AnnotationTokenKind};

impl Printer {
    /// Each on a line of its own, before a declaration.
    pub(super) fn annotations_above(&mut self, annotations: &[Annotation]) {
        for annotation in annotations {
            self.annotation(annotation);
            self.line();
        }
    }

    /// On the same line, each with a space after it.
    pub(super) fn annotations_before(&mut self, annotations: &[Annotation]) {
        for annotation in annotations {
            self.annotation(annotation);
            if annotation.pragma {
                self.line();
            } else {
                self.push(" ");
            }
        }
    }

    /// On the same line, each with a space before it.
    pub(super) fn annotations_behind(&mut self, annotations: &[Annotation]) {
        for annotation in annotations {
            self.push(" ");
            self.annotation(annotation);
            if annotation.pragma {
                self.line();
            }
        }
    }

    fn annotation(&mut self, annotation: &Annotation) {
        self.push(if annotation.pragma { "@pragma " } else { "@" });
        self.name(&annotation.name);
        match &annotation.body {
            AnnotationBody::Empty => {}
            AnnotationBody::Tokens(tokens) if annotation.pragma => {
                self.push(" ");
                self.tokens(tokens);
            }
            AnnotationBody::Tokens(tokens) => {
                self.push("(");
                self.tokens(tokens);
                self.push(")");
            }
            AnnotationBody::List(items) => {
                self.push("[");
                self.commas(items, Self::expr);
                self.push("]");
            }
            AnnotationBody::Record(pairs) => {
                self.push("[");
                self.commas(pairs, Self::named_expr);
                self.push("]");
            }
        }
    }

    /// A space between any two tokens but before `,` and inside parentheses: none may grow together.
    fn tokens(&mut self, tokens: &[AnnotationToken]) {
        for (i, token) in tokens.iter().enumerate() {
            let tight =
                |text: &str, list: &[&str]| token.kind == AnnotationTokenKind::Symbol && list.contains(&text);
            let after_open =
                i > 0 && tokens[i - 1].text == "(" && tokens[i - 1].kind == AnnotationTokenKind::Symbol;
            if i > 0 && !after_open && !tight(&token.text, &[",", ")"]) {
                self.push(" ");
            }
            match token.kind {
                AnnotationTokenKind::String => self.string(&token.text),
                _ => self.push(&token.text),
            }
        }
    }
}
