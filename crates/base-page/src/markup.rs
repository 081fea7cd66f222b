//! Shared parts of pages and pictures.

/// Text as it stands in SVG and HTML.
pub fn escape(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = text.chars().map(plain).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The attributes of a picture's size. On a page that is narrower it shrinks, to 85 % at most, so that its text can be read; what is
/// still too wide scrolls.
pub fn size(width: f64, height: f64) -> String {
    let least = (width * 0.85).ceil();
    format!(
        "width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" style=\"--least: {least}px\""
    )
}

/// Style of all pages: light and dark; content wider than a small screen scrolls in a box of its own. The box has a
/// hint and a shadow, and keeps the first column of a table in sight.
const STYLE: &str = ":root { color-scheme: light dark; --back: #fff; --text: #222; --edge: #555; --grid: #e4e4e4; --faint: #f6f6f6; \
--device: #eef4fb; --border: #35618e; --chosen: #dcebfa; } \
@media (prefers-color-scheme: dark) { :root { --back: #16191d; --text: #dfe3e8; --edge: #9aa3ad; --grid: #333a42; --faint: #22272d; \
--device: #1d2b3a; --border: #6f9fce; --chosen: #24405c; } } \
body { font: 14px sans-serif; margin: 24px; color: var(--text); background: var(--back); } h1, h2 { overflow-wrap: anywhere; } \
table { border-collapse: collapse; margin: 8px 0 20px; } th, td { padding: 2px 10px; text-align: right; white-space: nowrap; } \
svg { max-width: max(100%, var(--least)); height: auto; } svg.bars { display: block; } tr.chosen { background: var(--chosen); } text { font: 12px sans-serif; fill: var(--text); } .left { text-align: left; } \
.name { font-weight: bold; } .scroll { overflow-x: auto; background: linear-gradient(to right, var(--back) 40%, transparent) 0 0 / 40px 100% no-repeat local, \
linear-gradient(to left, var(--back) 40%, transparent) 100% 0 / 40px 100% no-repeat local, \
linear-gradient(to right, var(--edge), transparent) 0 0 / 10px 100% no-repeat scroll, \
linear-gradient(to left, var(--edge), transparent) 100% 0 / 10px 100% no-repeat scroll; } \
.scroll.wide::before { content: \"\\2194  scroll sideways\"; position: sticky; left: 0; display: inline-block; font-size: 12px; color: var(--edge); } \
.scroll.wide td:first-child, .scroll.wide th:first-child { position: sticky; left: 0; background: var(--back); } \
@media (max-width: 500px) { body { margin: 12px; } h1 { font-size: 22px; } } .device { fill: var(--device); stroke: var(--border); } ";

/// Marks the boxes that scroll, now and whenever the screen gets another width.
const SCRIPT: &str = "const mark = () => document.querySelectorAll('.scroll').forEach(box => \
box.classList.toggle('wide', box.scrollWidth > box.clientWidth + 1)); addEventListener('resize', mark); mark(); ";

/// A page of HTML that needs nothing else; `style` is what it has beside [`STYLE`].
pub fn page(title: &str, style: &str, body: &str, script: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{}</title>\n<style>{STYLE}{style}</style></head>\n<body>\n{body}<script>{SCRIPT}{script}</script>\n</body></html>\n",
        escape(title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_has_its_like_in_the_dark() {
        let (light, dark) = STYLE.split_once("@media (prefers-color-scheme: dark)").expect("both are there");
        let named = |text: &str| -> Vec<String> {
            let block = text
                .split_once(":root {")
                .and_then(|(_, rest)| rest.split_once('}'))
                .expect("it is closed")
                .0;
            block
                .split(';')
                .filter_map(|line| line.trim().strip_prefix("--")?.split_once(':'))
                .map(|(name, _)| name.to_string())
                .collect()
        };
        assert_eq!(named(light), named(dark));
        assert!(!named(light).is_empty());
    }

    #[test]
    fn pictures_shrink_a_little_before_they_scroll() {
        let size = size(1000.0, 300.5);
        assert_eq!(
            size,
            "width=\"1000\" height=\"300.5\" viewBox=\"0 0 1000 300.5\" style=\"--least: 850px\""
        );
        assert!(STYLE.contains("svg { max-width: max(100%, var(--least)); height: auto; }"));
    }

    #[test]
    fn a_page_is_as_wide_as_its_screen() {
        let page = page("<rack>", "", "", "");
        assert!(page.contains("width=device-width") && page.contains("&lt;rack&gt;"), "{page}");
    }
}
