#![allow(missing_docs)]
use p4_syntax::{LoadError, Loader, Options};
use std::sync::Arc;
struct Files(Option<String>);
impl Loader for Files {
    fn read(&self, path: &str) -> Result<Arc<str>, LoadError> {
        if path == "printed.p4" {
            if let Some(t) = &self.0 {
                return Ok(t.as_str().into());
            }
        }
        std::fs::read_to_string(path).map(Arc::from).map_err(|_| LoadError::NotFound)
    }
    fn builtin(&self, name: &str) -> Option<Arc<str>> {
        p4_arch::include(name).map(Arc::from)
    }
}
fn compile(name: &str, text: Option<String>) -> Result<ir::Program, String> {
    let mut map = base_diag::SourceMap::new();
    let parsed = p4_syntax::parse(name, &Files(text), &Options::default(), &mut map);
    let (typed, found) = p4_check::check(&parsed.program);
    let mut diags = parsed.diagnostics.into_sorted(&map);
    diags.extend(found);
    let errors = |list: &[base_diag::Diagnostic]| {
        list.iter()
            .filter(|d| d.severity == base_diag::Severity::Error)
            .map(|d| base_diag::render(d, &map, base_diag::Style::Plain))
            .collect::<String>()
    };
    let e = errors(&diags);
    if !e.is_empty() {
        return Err(e);
    }
    let (made, found) = ir_elaborate::elaborate(&typed);
    let e = errors(&found);
    if !e.is_empty() {
        return Err(format!("ELAB {e}"));
    }
    let mut p = made.ok_or("no program")?;
    ir::text::erase_spans(&mut p);
    Ok(p)
}
fn one(path: &str, show: bool) -> String {
    let p = match compile(path, None) {
        Ok(p) => p,
        Err(e) => {
            if show {
                println!("{e}");
            }
            return if e.starts_with("ELAB") { "refused-elab".into() } else { "refused".into() };
        }
    };
    let t = ir::text::write(&p);
    if show {
        println!("{t}");
    }
    match ir::text::read(&t) {
        Err(e) => return format!("TEXT-READ {e}: {}", t.lines().nth(e.line - 1).unwrap_or("")),
        Ok(q) => {
            if q != p {
                return "TEXT-DIFF".into();
            }
        }
    }
    if let Err(e) = ir::verify::verify(&p) {
        return format!("VERIFY {}", e[0]);
    }
    if !target_p4::check(&p).is_empty() {
        return "unprintable".into();
    }
    let printed = target_p4::print(&p);
    if show {
        println!("{printed}");
    }
    let q = match compile("printed.p4", Some(printed.clone())) {
        Ok(q) => q,
        Err(e) => {
            if show {
                println!("{e}");
            }
            return format!("RECOMPILE {}", e.lines().next().unwrap_or(""));
        }
    };
    let again = target_p4::print(&q);
    let u = ir::text::write(&q);
    if u == t {
        return "ok".into();
    }
    if show {
        std::fs::write("/tmp/a.ir", &t).unwrap();
        std::fs::write("/tmp/b.ir", &u).unwrap();
        std::fs::write("/tmp/a.p4", &printed).unwrap();
        std::fs::write("/tmp/b.p4", &again).unwrap();
    }
    let first = t
        .lines()
        .zip(u.lines())
        .find(|(a, b)| a != b)
        .map(|(a, b)| format!("{} | {}", a.trim(), b.trim()))
        .unwrap_or_default();
    if again == printed { format!("FIXPOINT {first}") } else { format!("DIFF {first}") }
}
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args[0] == "-v" {
        println!("{}", one(&args[1], true));
        return;
    }
    for a in &args {
        let a2 = a.clone();
        let r =
            std::thread::Builder::new().stack_size(64 << 20).spawn(move || one(&a2, false)).unwrap().join();
        let r = r.unwrap_or_else(|_| "PANIC".into());
        println!("{}\t{r}", a.rsplit('/').next().unwrap());
    }
}
