//! Programs in C and C++, compiled by the machine's compiler, as a group of three processes.

#![allow(clippy::disallowed_methods)]

use reduce_workers::GroupPlan;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The static library: this test's own build has made it.
fn library() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let made = own.parent().unwrap().read_dir().unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("libp4rack_reduce") && name.ends_with(".a")
    };
    let made: Vec<PathBuf> = made.filter(is_it).collect();
    made.into_iter()
        .max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok())
        .expect("it was built")
}

fn run(compiler: &str, source: &str, options: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = place.join(source.replace('.', "-"));
    let compiled = Command::new(compiler)
        .args(options)
        .args(["-Wall", "-Wextra", "-Werror", "-I"])
        .args([
            root.join("include"),
            "-o".into(),
            program.clone(),
            root.join("tests").join(source),
            library(),
        ])
        .args(["-lpthread", "-ldl", "-lm"])
        .output();
    let compiled = match compiled {
        Ok(compiled) => compiled,
        // `./test` asks for `cc` alone.
        Err(error) if compiler == "c++" => return eprintln!("not tested, {compiler}: {error}"),
        Err(error) => panic!("{compiler}: {error}"),
    };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let address = linux_net::free_addresses(1).unwrap()[0];
    let file = program.with_extension("group.json");
    std::fs::write(&file, GroupPlan::on_this_machine(3, address.port()).text()).unwrap();
    let start = |rank: u32| {
        let mut command = Command::new(&program);
        command.arg(&file).args([address.to_string(), rank.to_string()]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..3).map(start).collect();
    let done: Vec<Output> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    for one in done {
        assert!(one.status.success() && one.stdout == b"ok\n", "{}", String::from_utf8_lossy(&one.stderr));
    }
}

#[test]
fn a_program_in_c_is_a_rank() {
    run("cc", "program.c", &["-std=c11", "-fsanitize=undefined", "-fno-sanitize-recover=all"]);
}

#[test]
fn a_program_in_cpp_is_a_rank() {
    run("c++", "program.cpp", &["-std=c++17"]);
}
