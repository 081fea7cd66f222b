//! A printed program in parts, for converters that put the blocks of another architecture around its blocks.
//!
//! ```text
//! V1Switch(MyParser(), Verify(), MyIngress(), MyEgress(), Compute(), MyDeparser()) main;
//! ```

/// A printed program without its `main`.
pub struct Apart<'t> {
    /// All declarations but `main`.
    pub body: &'t str,
    /// Names of the blocks that `main` has, in order.
    pub blocks: Vec<&'t str>,
}

impl<'t> Apart<'t> {
    /// Divides a printed program whose `main` is a `package` of blocks without annotations.
    pub fn of(printed: &'t str, package: &str) -> Apart<'t> {
        let head = format!("\n{package}(");
        let (body, main) = printed.split_at(printed.rfind(&head).unwrap_or(printed.len()));
        let main = main.strip_prefix(head.as_str()).unwrap_or_default();
        let blocks = main
            .split(['(', ')', ',', ' ', '\n', ';', '='])
            .filter(|word| !word.is_empty() && *word != "main")
            .collect();
        Apart { body, blocks }
    }

    /// The types of a parser's parameters.
    pub fn parameter_types(&self, parser: &str) -> Vec<String> {
        let Some((_, rest)) = self.body.split_once(&format!("parser {parser}(")) else { return vec![] };
        let params = rest.split(')').next().unwrap_or_default();
        let ty = |param: &str| {
            let words: Vec<&str> =
                param.split_whitespace().filter(|word| !["in", "out", "inout"].contains(word)).collect();
            words.split_last().map(|(_, ty)| ty.join(" ")).unwrap_or_default()
        };
        params.split(',').map(ty).collect()
    }

    /// `name`, with underscores appended until the program has no such word.
    pub fn fresh(&self, name: &str) -> String {
        let mut name = name.to_string();
        while self.body.contains(&name) {
            name.push('_');
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::Apart;

    #[test]
    fn blocks_types_and_names() {
        let text = "struct Taken {\n}\n\nparser P(packet_in packet, out h_t hdr, inout m_t meta) {\n}\n\nNic(P(),\n    C()) main;\n";
        let apart = Apart::of(text, "Nic");
        assert_eq!(apart.blocks, ["P", "C"]);
        assert_eq!(apart.parameter_types("P"), ["packet_in", "h_t", "m_t"]);
        assert_eq!([apart.fresh("Taken"), apart.fresh("Free")], ["Taken_", "Free"]);
        assert!(Apart::of(text, "Switch").blocks.is_empty());
    }
}
