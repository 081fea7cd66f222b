//! Every code of elaboration and architectures (03xx) has a program that shows it: the example of its explanation, or, where
//! only size shows it, one made here. So has `P4R0407`, whose example is of the intermediate form, which no command reads. Those of the
//! other ranges are run by the test of the same name in `cli`.

use crate::support;

use base_diag::codes::{Entry, elaborate, run};
use base_diag::{Code, Diagnostic, SourceMap};
use compiler::reparse;

/// The example of an explanation, whole.
fn example(entry: &Entry) -> String {
    let (_, rest) = entry.text.split_once("```p4\n").expect("an example");
    rest.split_once("\n```").expect("the example's end").0.to_string()
}

/// Functions of which each calls the one before it so often.
fn calls(functions: usize, times: usize) -> String {
    let called = |i: usize| vec![format!("f{}(x)", i - 1); times].join(" + ");
    let functions_after_the_first =
        (1..functions).map(|i| format!("bit<8> f{i}(in bit<8> x) {{ return {}; }}\n", called(i)));
    let last = functions - 1;
    format!(
        "control Block(inout bit<8> x);\npackage Switch(Block b);\nbit<8> f0(in bit<8> x) {{ return x; }}\n{}\
         control c(inout bit<8> x) {{ apply {{ x = f{last}(x); }} }}\nSwitch(c()) main;\n",
        functions_after_the_first.collect::<String>()
    )
}

/// All diagnostics of a program from every part of the project.
fn judge(source: &str) -> Vec<Diagnostic> {
    let mut map = SourceMap::new();
    let program = match reparse("test.p4", source, &mut map) {
        Ok(program) => program,
        Err(found) => return found,
    };
    let mut found = vec![];
    found.extend(ir_lower::lower(&program).err().into_iter().flatten());
    found.extend(target_p4::check(&program));
    found.extend(p4info::p4info(&program).err().into_iter().flatten());
    found.extend(p4info::entries(&program).err().into_iter().flatten());
    found.extend(ir_split::split(&program, &support::placement(&[])).err().into_iter().flatten());
    found
}

#[test]
fn every_code_has_a_program_that_shows_it() {
    for entry in elaborate::ENTRIES {
        let source = match entry.code {
            // No source leads to it; tested in `target-p4`, on programs of the intermediate form.
            elaborate::NOT_PRINTABLE => continue,
            elaborate::TOO_DEEP => calls(120, 1),
            elaborate::INLINED_TOO_LARGE => calls(24, 2),
            _ => example(entry),
        };
        let found: Vec<Code> = judge(&source).iter().map(|d| d.code).collect();
        assert!(found.contains(&entry.code), "{} is not shown, but {found:?}:\n{source}", entry.code);
    }
}

/// The control `c` of a program that is well formed becomes that of the example.
#[test]
fn a_program_that_is_not_well_formed_is_refused() {
    let source = support::small_program("", "inner.apply(meta.x);", "")
        .replace("control I(", "control c(inout bit<8> x) { apply { x = 1; } }\ncontrol I(")
        .replace("inner.apply(meta.x);", "c.apply(meta.x);");
    let program = reparse("test.p4", &source, &mut SourceMap::new()).expect("a program");
    let text = ir::text::write(&program);
    let start = text.find("control c(").expect("the control");
    let end = start + text[start..].find("\n}\n").expect("its end") + 3;
    let entry = run::ENTRIES.iter().find(|entry| entry.code == run::MALFORMED).expect("an entry");
    let (_, rest) = entry.text.split_once("```\n").expect("an example");
    let example = rest.split_once("\n```").expect("the example's end").0;
    let lines: Vec<&str> = example.lines().map(|line| line.split("//").next().unwrap_or("")).collect();
    let changed = format!("{}{}\n{}", &text[..start], lines.join("\n"), &text[end..]);
    let program = ir::text::read(&changed).expect("it is read");
    let found = ir_interp::switch(program.into(), Default::default()).err().expect("it is refused");
    assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), [run::MALFORMED]);
}
