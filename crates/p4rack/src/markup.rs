//! What pages and pictures have in common.

/// Text as it stands in SVG and HTML.
pub(crate) fn escape(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = text.chars().map(plain).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A page of HTML that needs nothing else.
pub(crate) fn page(title: &str, style: &str, body: &str, script: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title>\n<style>{style}</style></head>\n<body>\n{body}<script>{script}</script>\n</body></html>\n",
        escape(title)
    )
}
