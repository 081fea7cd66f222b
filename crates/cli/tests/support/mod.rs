//! Helpers for tests of pages.

/// Tags that are opened and not closed, or closed and not opened.
pub fn unbalanced(page: &str) -> Vec<String> {
    let mut open: Vec<&str> = vec![];
    let mut wrong = vec![];
    for tag in page.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(tag, _)| tag) {
        let name = tag.trim_start_matches('/').split_whitespace().next().unwrap_or_default();
        if tag.starts_with('!') || tag.ends_with('/') || name == "meta" {
            continue;
        }
        match tag.starts_with('/') {
            true if open.pop() == Some(name) => {}
            true => wrong.push(tag.to_string()),
            false => open.push(name),
        }
    }
    wrong.extend(open.into_iter().map(str::to_string));
    wrong
}
