//! Each rule of the verifier, by a good program broken in one place.

use ir::text::read;
use ir::verify::verify;
use ir::{Expr, ExprKind, Program, Stmt, StmtKind};

const EVERYTHING: &str = include_str!("programs/everything.ir");
const BROKEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/broken.txt");

#[test]
fn the_good_program_has_no_errors() {
    let program = read(EVERYTHING).unwrap();
    if let Err(errors) = verify(&program) {
        panic!("{}", errors.iter().map(|e| format!("{e}\n")).collect::<String>());
    }
}

/// The good program with `old`, which stands there once, in the form `new`.
fn broken(old: &str, new: &str) -> String {
    assert_eq!(EVERYTHING.matches(old).count(), 1, "`{old}` does not stand there once");
    let text = EVERYTHING.replacen(old, new, 1);
    let program = read(&text).unwrap_or_else(|e| panic!("`{new}`: {e}"));
    match verify(&program) {
        Ok(()) => panic!("nothing is wrong with `{new}`"),
        Err(errors) => errors[0].to_string(),
    }
}

#[test]
fn every_broken_program_is_caught() {
    let cases = std::fs::read_to_string(BROKEN).unwrap();
    let (mut actual, mut old, mut new) = (String::new(), vec![], vec![]);
    for line in cases.lines() {
        match line.split_at(line.len().min(2)) {
            ("- ", rest) => old.push(rest),
            ("+ ", rest) => new.push(rest),
            ("! ", _) => {
                let error = broken(&old.join("\n"), &new.join("\n"));
                actual.push_str(&format!("! {error}\n"));
                (old, new) = (vec![], vec![]);
                continue;
            }
            _ => {}
        }
        actual.push_str(&format!("{line}\n"));
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(BROKEN, &actual).unwrap();
    }
    for (number, (wanted, found)) in cases.lines().zip(actual.lines()).enumerate() {
        assert_eq!(found, wanted, "line {}", number + 1);
    }
}

/// The good program changed by `change`, where the text cannot say it: names that are used must be unique there.
#[track_caller]
fn changed(change: impl FnOnce(&mut Program), message: &str) {
    let mut program = read(EVERYTHING).unwrap();
    change(&mut program);
    let errors = verify(&program).expect_err("nothing is wrong");
    assert_eq!(errors[0].to_string(), message);
}

#[test]
fn names_that_are_used_twice() {
    changed(|p| p.types[9].name = p.types[8].name.clone(), "types: two of its members are named `prefix_t`");
    changed(|p| p.externs[1].name = "packet_in".into(), "externs: two of its members are named `packet_in`");
    changed(|p| p.functions[1].name = "chooser".into(), "names: two of its functions are named `chooser`");
    changed(|p| p.parsers[0].name = "MyParser".into(), "names: two of its parsers are named `MyParser`");
    changed(|p| p.controls[0].name = "ingress".into(), "names: two of its controls are named `ingress`");
    let ingress = |p: &mut Program| p.controls.iter().position(|c| c.name == "ingress").unwrap();
    changed(
        |p| {
            let at = ingress(p);
            p.controls[at].actions[2].name = "NoAction".into();
        },
        "control ingress: two of its actions are named `NoAction`",
    );
    changed(
        |p| {
            let at = ingress(p);
            p.controls[at].tables[1].name = "route".into();
        },
        "control ingress: two of its tables are named `route`",
    );
    changed(
        |p| p.parsers[1].states[1].name = "start".into(),
        "parser MyParser: two of its states are named `start`",
    );
}

#[test]
fn statements_where_the_text_has_no_place_for_them() {
    let exit = || Stmt::new(StmtKind::Exit);
    changed(|p| p.controls[1].locals.push(exit()), "control ingress: its locals are no declarations");
    changed(
        |p| {
            let value = Expr { kind: ExprKind::InvalidHeader, ty: ir::Type::Void, span: Default::default() };
            p.controls[1].body.stmts.push(Stmt::new(StmtKind::Return(Some(value))));
        },
        "control ingress: `({#} : void)` makes no sense as `void`",
    );
}

/// Mutants of the text that can be read: whatever they are, the verifier answers.
#[test]
fn no_program_makes_the_verifier_panic() {
    let mut rng = base_time::Rng::new(12);
    let mut words: Vec<&str> = EVERYTHING.split([' ', '\n', '(', ')']).filter(|w| !w.is_empty()).collect();
    words.sort_unstable();
    words.dedup();
    words.extend(["?#0", "?#99", "_", "8w0x1", "true", "void", "bit<8>", "extern ?#7", "hdr[99]"]);
    let (mut read_well, mut caught) = (0, 0);
    for _ in 0..1500 {
        let mut text = EVERYTHING.to_string();
        let at = text.find("struct headers_t").unwrap() + rng.index(text.len() - 3000);
        let start = text[at..].find(|c: char| c.is_alphanumeric()).map_or(at, |i| at + i);
        let end = text[start..].find(|c: char| !c.is_alphanumeric() && c != '_').map_or(start, |i| start + i);
        text.replace_range(start..end, rng.pick(&words).unwrap());
        if let Ok(program) = read(&text) {
            read_well += 1;
            caught += usize::from(verify(&program).is_err());
        }
    }
    assert!(read_well > 100 && caught > 20, "{read_well} were read, {caught} caught");
}
