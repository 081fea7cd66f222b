//! Time to fit programs of 30 and of 200 tables: lowering, dependencies, placement, containers.
//!
//! ```sh
//! cargo bench -p rmt-fit
//! ```

#[path = "../examples/compare/families.rs"]
#[allow(dead_code)]
mod families;
#[path = "../examples/compare/measured.rs"]
#[allow(dead_code)]
mod measured;

use base_diag::SourceMap;
use rmt_fit::Device;

/// Chains of five tables, exact and ternary in turns, beside each other.
fn program(tables: usize) -> String {
    let chains = tables.div_ceil(5);
    let (mut fields, mut declared, mut applied) = (String::new(), String::new(), String::new());
    for chain in 0..chains {
        fields += &format!("bit<8> f{chain}; ");
        for at in 0..5 {
            let (name, kind) = (chain * 5 + at, if at % 2 == 0 { "exact" } else { "ternary" });
            let key = if at == 0 { "h.v4.dst".to_string() } else { format!("m.f{chain}") };
            declared += &format!(
                "    action set{name}(bit<8> v) {{ m.f{chain} = v; }}
    table t{name} {{ key = {{ {key}: {kind}; h.v4.src: {kind}; }} actions = {{ set{name}; NoAction; }} size = 512; }}\n"
            );
            applied += &format!("t{name}.apply(); ");
        }
        applied += &format!("h.v4.tos = m.f{chain}; ");
    }
    let whole = families::program("exact_dst32_1024").expect("it is a family");
    let start = whole.find("    table t ").expect("it has a table");
    let end = start + whole[start..].find("\n}").expect("the control ends");
    let text = format!("{}{declared}    apply {{ {applied} }}{}", &whole[..start], &whole[end..]);
    text.replace("struct metadata_t { bit<8> x; }", &format!("struct metadata_t {{ bit<8> x; {fields} }}"))
}

#[allow(clippy::disallowed_methods)]
fn main() {
    for tables in [30, 200] {
        let program =
            measured::elaborate_text(&program(tables), 1, &mut SourceMap::new()).expect("it is right");
        for name in rmt_fit::BUILT_IN {
            let device = Device::built_in(name).expect("it is built in");
            let mut best = None;
            let mut stages = 0;
            for _ in 0..5 {
                let start = std::time::Instant::now();
                let fit = rmt_fit::fit(&program, &device).expect("it is lowered");
                let took = start.elapsed();
                stages = fit.pipes[0].placement.stages.len();
                best = Some(best.map_or(took, |best: std::time::Duration| best.min(took)));
            }
            println!(
                "{tables:4} tables on {name}: {:7.1} ms, {stages} stages",
                best.unwrap_or_default().as_secs_f64() * 1e3
            );
        }
    }
}
